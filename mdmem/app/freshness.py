"""Rows of the index in, whether their files still say the same out; those that moved are synced on the way."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mdmem import files
from mdmem.index.read import Entry
from mdmem.outputs.json import raw_rel

if TYPE_CHECKING:
    from mdmem.app.answers import Backend

MAX_LOOKS = 4  # at the files behind an answer, each time that one of them has moved


class Freshness:
    """Whether rows about to be given out are still what their files say."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._behind = False

    def freshen(self, entries: Sequence[Entry]) -> bool:
        """Look at the files behind these rows, and have those that moved synced. True when the question should be
        asked again.
        """
        moved: dict[str, list[str] | None] = {}
        for entry in entries:
            if not is_fresh(entry):
                moved[entry.folder] = [*(moved.get(entry.folder) or []), raw_rel(entry)]
        if not moved:
            return False
        self._behind = not self.backend.catch_up(moved)
        return not self._behind

    def vouches_for(self, entry: Entry) -> bool:
        """A row may be given out when its file was looked at, even if what stands there now (an editor may be half
        way) is not taken for its new state yet. One whose file is gone may not: its row outlives it for a moment where
        many went at once, and are looked at twice.
        """
        return _is_there(entry) and (not self._behind or is_fresh(entry))


def is_fresh(entry: Entry) -> bool:
    """Whether a row's file is still as it was read: size, times and inode."""
    try:
        stat = os.lstat(_file_of(entry))
    except OSError:
        return False
    return (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino) == (
        entry.size,
        entry.mtime_ns,
        entry.ctime_ns,
        entry.inode,
    )


def _is_there(entry: Entry) -> bool:
    """Whether anything has the name of a row's file; what can't be looked at counts as there."""
    try:
        os.lstat(_file_of(entry))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _file_of(entry: Entry) -> str:
    return os.path.join(files.from_printable(entry.folder), raw_rel(entry))
