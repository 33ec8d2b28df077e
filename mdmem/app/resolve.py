"""A KEY in, the one memory that it means out."""

from __future__ import annotations

import datetime
from pathlib import Path

from mdmem import files
from mdmem.db import Connection
from mdmem.errors import AmbiguousError, NotFoundError, UsageError
from mdmem.index import fold, read
from mdmem.index.read import Entry
from mdmem.outputs.json import absolute
from mdmem.recall import why_invalid


def resolve(db: Connection, ids: tuple[int, ...], text: str, cwd: str | None, hidden_domains: frozenset[str]) -> Entry:
    """The memory of these folders that a KEY means: its key, its path, or enough of either to be unique.

    What is hidden is as if it were not there. Raises UsageError, NotFoundError, AmbiguousError.
    """
    if not text.strip():
        raise UsageError("which memory?", hint="give its key, its path, or enough of either")
    words = encodable(text)

    def shown(entries: list[Entry]) -> list[Entry]:
        return [entry for entry in entries if fold(entry.domain or "") not in hidden_domains]

    found = shown(read.by_keys(db, ids, [words, words.removesuffix(".md")]))
    found = found or shown(_by_path(db, ids, text, cwd))
    found = found or shown(read.like_key(db, ids, words))
    if not found:
        raise NotFoundError(f"no memory {text!r} in your scopes", hint="see: mdmem list")
    now = datetime.datetime.now(datetime.UTC)
    valid = [e for e in found if why_invalid(e, now) is None]
    narrowed = valid if len(valid) == 1 else found
    if len(narrowed) > 1:
        raise AmbiguousError(
            f"{text!r} fits {len(narrowed)} memories",
            choices=[f"{e.key}  ({absolute(e)})" for e in narrowed[:10]],
            hint="give more of the key, the path, or --scope",
        )
    return narrowed[0]


def _by_path(db: Connection, ids: tuple[int, ...], text: str, cwd: str | None) -> list[Entry]:
    joined = str(Path(cwd or "/", text))
    # As the shell gives it, or as mdmem itself has printed it.
    paths = dict.fromkeys((files.printable(joined), encodable(joined)))
    found = []
    for folder in read.folders(db):
        inside = [path.removeprefix(f"{folder.path}/") for path in paths if path.startswith(f"{folder.path}/")]
        if folder.id in ids:
            entries = [read.by_path(db, folder.id, rel) for rel in inside or [encodable(text)]]
            found += [entry for entry in entries if entry]
    return found


def encodable(text: str) -> str:
    """Text that SQLite can take: undecodable bytes of a command line are half surrogate pairs here."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return files.printable(text)
    return text
