"""A request's fields in, checked values out. Each raises a UsageError that says what is wrong with which field."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from mdmem import document
from mdmem.app.resolve import encodable
from mdmem.errors import UsageError
from mdmem.memory import TYPE_ALIASES, TYPES
from mdmem.recall.validity import moment

Request = dict[str, Any]
MAX_LIMIT = 1_000


def text_of(request: Request, name: str) -> str | None:
    value = request.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        if "\0" in value and name == "cwd":
            raise UsageError(f"{name} is {value!r}, no path")
        # A path may hold bytes that are no text; anything else is for SQLite, which takes text alone.
        return value if name in ("cwd", "key") else encodable(value)
    raise UsageError(f"{name} is {value!r}, not text")


def names_of(request: Request, name: str) -> list[str]:
    value = request.get(name) or []
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        raise UsageError(f"{name} is {value!r}, not a list of names")
    return [encodable(value) for value in values]


def are_paths(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(v, str) and "\0" not in v for v in value))


def choice_of(request: Request, name: str, choices: Sequence[str]) -> str | None:
    value = text_of(request, name)
    if value is not None and value not in choices:
        raise unknown(name, value, choices)
    return value


def type_named(name: str) -> str:
    known = TYPE_ALIASES.get(name, name)
    if known not in TYPES:
        raise unknown("type", name, [*TYPES, *TYPE_ALIASES])
    return known


def unknown(what: str, value: str, choices: Sequence[str]) -> UsageError:
    import difflib

    near = difflib.get_close_matches(value, choices, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(choices)}"
    return UsageError(f"there is no {what} {value!r}", hint=hint)


def limit_of(request: Request) -> int:
    return whole_of(request, "limit", 10, MAX_LIMIT)


def whole_of(request: Request, name: str, default: int, most: int) -> int:
    value = request.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} is {value!r}, not a number from 1 to {most}")
    return min(value, most)


def number_of(request: Request, name: str, low: float, high: float) -> float | None:
    value = request.get(name)
    if value is None:
        return None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"{name} is {value!r}, not a number from {low} to {high}")
    return value


def as_of(request: Request) -> datetime.datetime | None:
    text = text_of(request, "as_of")
    if text is None:
        return None
    day = document.normalise_date(text)
    if day is None:
        raise UsageError(f"{text!r} is not a date", hint="write it as 2026-11-29")
    # The last moment of a bare day: what begins with the next one did not hold yet.
    return moment(day, whole_day=True) - datetime.timedelta(microseconds=1 if len(day) == 10 else 0)
