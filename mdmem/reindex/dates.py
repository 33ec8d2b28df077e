"""A scope folder inside a git work tree in, the first and last commit of each memory out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from mdmem.db import Connection, transaction
from mdmem.files import git, printable
from mdmem.index import read
from mdmem.index.write import Writer
from mdmem.reindex.look import rfc3339


class Dates(NamedTuple):
    """What git knows at one HEAD. A path that is missing is dirty or untracked: its mtime holds."""

    head: str | None
    dates: Mapping[str, tuple[str, str]]


def find_dates(folder: str) -> Dates | None:
    """Ask git; None outside a work tree. Takes as long as `git log` does: not for the thread that writes."""
    repository = git.repository(Path(folder))
    if repository is None:
        return None
    head = git.head(repository)
    found = git.dates(repository, Path(folder))
    return Dates(head, {printable(rel): times for rel, times in found.items()})


def apply_dates(db: Connection, writer: Writer, folder_id: int, found: Dates) -> int:
    """Write what git knows to the memories of a folder; how many changed."""
    changes = []
    for entry_id, path, mtime_ns, created, updated in read.dates_found(db, folder_id):
        mtime = rfc3339(mtime_ns)
        wanted = found.dates.get(path, (mtime, mtime))
        if (created, updated) != wanted:
            changes.append((entry_id, *wanted))
    with transaction(db):
        for entry_id, created, updated in changes:
            writer.set_dates(entry_id, created, updated)
        writer.set_head(folder_id, found.head)
        if changes:
            writer.resolve(folder_id)  # which of two claimants of a key is the newer may follow from it
    return len(changes)


def head_of(folder: str) -> str | None:
    """The commit that a folder's work tree is at; None outside git or before the first commit."""
    repository = git.repository(Path(folder))
    return git.head(repository) if repository else None


def busy_reason(folder: str) -> str | None:
    """What git is in the middle of in that work tree; None when it is quiet."""
    repository = git.repository(Path(folder))
    return git.busy(repository) if repository else None
