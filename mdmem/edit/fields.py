"""Fields that a person gave in; the same under the keys that a file uses, or an error naming what is accepted, out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mdmem.document import Document, memory_of
from mdmem.document.keys import KNOWN_KEYS, canonical
from mdmem.document.shape import Value
from mdmem.errors import Problem, UsageError
from mdmem.memory import TYPE_ALIASES, TYPES

Fields = Mapping[str, str | list[str]]


def check_fields(fields: Fields) -> None:
    """Raise UsageError for a value that its key can't have: types, confidence, dates, status, source, stability.

    The error says what is accepted, and which type comes nearest. Keys that mdmem has no use for take anything.
    """
    for key, value in fields.items():
        if not key.strip() or key != " ".join(key.split()):
            raise UsageError(f"{key!r} is no name for a field", hint="use a short word, such as topic")
        for text in [value] if isinstance(value, str) else value:
            check_text(text, f"the value of '{key}'")
    lines = dict.fromkeys(fields, 1)
    found = problems_of(
        Document({key: _value(value) for key, value in fields.items()}, lines, "", True, False, False, [])
    )
    if found:
        raise _unfit(found[0])
    types = [value for key, value in fields.items() if canonical(key) == "type"]
    for name in types:
        # Other programs' words for any file of theirs are read without complaint, but are no type to choose.
        if isinstance(name, str) and name.strip() and name.strip().lower() not in (*TYPES, *TYPE_ALIASES):
            raise UsageError(f"type is '{name[:60]}', which is none of ours", hint=f"use one of: {', '.join(TYPES)}")


def check_text(text: str, what: str) -> None:
    """Raise UsageError for text that no markdown file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} is not UTF-8 text", hint="convert it first, for example with iconv") from error
    if "\0" in text:
        raise UsageError(f"{what} holds NUL bytes: this is not text", hint="give text")


def check_new_problems(before: Document | None, after: Document) -> None:
    """Raise UsageError if a document has a problem that it didn't have before, such as dates that cross."""
    known = {problem[2:] for problem in problems_of(before)} if before else set()
    for problem in problems_of(after):
        if problem[2:] not in known:
            raise _unfit(problem)


def problems_of(doc: Document) -> list[Problem]:
    """What can't be read of the values of a document."""
    return memory_of(doc, path="memory.md", scope="user")[1]


def key_in(doc: Document, key: str) -> str:
    """The key under which a document has, or would get, a field: `title` where it says `title` for `name`."""
    if key in doc.fields:
        return key
    same = spellings(doc, [key])
    known = canonical(key)
    return known if known in same else next(iter(same), key)


def spellings(doc: Document, keys: Iterable[str]) -> list[str]:
    """All keys of a document that mean one of `keys`."""
    wanted = {canonical(key) for key in keys}
    return [key for key in doc.fields if canonical(key) in wanted]


def says(doc: Document, key: str) -> bool:
    """Whether a document has a known field, under any spelling or in a `metadata` map, and not empty."""
    metadata = doc.fields.get("metadata")
    places = [doc.fields, metadata] if isinstance(metadata, dict) else [doc.fields]
    return any(value not in ("", []) and canonical(name) == key for place in places for name, value in place.items())


def known_names(fields: Fields) -> dict[str, str | list[str]]:
    """Fields of a new file under mdmem's own names, without empty ones; those it doesn't know stay as they are."""
    given = {key: value for key, value in fields.items() if value}
    named = {canonical(key): value for key, value in given.items()}
    return named | {key: value for key, value in given.items() if key in KNOWN_KEYS}


def _value(value: str | list[str]) -> Value:
    return value if isinstance(value, str) else [*value]


def _unfit(problem: Problem) -> UsageError:
    # What a reader makes of a wrong type is of no use to whoever writes it.
    return UsageError(problem.message.partition("; read as ")[0], hint=problem.hint)
