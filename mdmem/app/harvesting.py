"""A request to learn from the past in; a part of it done, and how far it has come, out. Asked until it is over."""

from __future__ import annotations

import datetime
import itertools
import time
from typing import TYPE_CHECKING, Any

from mdmem.app.requests import Request, names_of, text_of
from mdmem.document import normalise_date
from mdmem.errors import UsageError
from mdmem.recall.validity import moment

if TYPE_CHECKING:
    from mdmem.app.answers import Backend
    from mdmem.app.learning import Learning

STEP_S = 1.0  # of one answer: so often a person is told how far it has come
MAX_SHOWN = 500  # of a dry run


def harvest(backend: Backend, request: Request) -> dict[str, Any]:
    """The answer to `harvest`: `number` (to be given back to go on), `done`, `of`, `events`, `finished`, `troubles`.
    With `dry_run`: `found`, and nothing is kept.
    """
    agents, paths = names_of(request, "agents"), names_of(request, "paths")
    since = _since(text_of(request, "since"), everything=bool(paths))
    if request.get("dry_run"):
        found = backend.learn(
            lambda learning: list(itertools.islice(learning.preview(since, agents, paths), MAX_SHOWN))
        )
        return {"found": found, "finished": True}
    number = request.get("number")
    if number is not None and not isinstance(number, int):
        raise UsageError(f"number is {number!r}, not what was answered before")
    return backend.learn(lambda learning: _step(learning, number, since, agents, paths))


def _step(
    learning: Learning, number: int | None, since: datetime.datetime, agents: list[str], paths: list[str]
) -> dict[str, Any]:
    number, under_way = learning.under_way(number, since, agents, paths)
    until = time.monotonic() + STEP_S
    told: dict[str, Any] = {"number": number, "done": 0, "of": 0, "events": 0, "finished": False, "troubles": []}
    for progress in under_way:
        told |= {"done": progress.done, "of": progress.of}
        told["events"] += progress.events
        if progress.trouble:
            told["troubles"].append(f"{progress.path}: {progress.trouble}")
        if time.monotonic() > until:
            return told
    return told | {"finished": True}


def _since(text: str | None, *, everything: bool) -> datetime.datetime:
    """A day, or how long ago (`30d`, `12h`, `2w`). Whoever names a log, and no time, wants all of it."""
    now = datetime.datetime.now(datetime.UTC)
    if text is None:
        return datetime.datetime.fromtimestamp(0, datetime.UTC) if everything else now - datetime.timedelta(days=30)
    hours = {"h": 1, "d": 24, "w": 7 * 24}.get(text[-1:], 0)
    if hours and text[:-1].isascii() and text[:-1].isdigit() and len(text) < 6:
        return now - datetime.timedelta(hours=hours * int(text[:-1]))
    day = normalise_date(text)
    if day is None:
        raise UsageError(f"{text!r} is no time", hint="write it as 30d, 12h, 2w or 2026-11-01")
    return moment(day)
