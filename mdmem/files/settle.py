"""Changes in, those that have settled out. Pure: the clock is an argument, in integer nanoseconds.

Two times: a folder must have been quiet for `quiet_ns` before its changes count, but never waits longer than
`max_ns` after the first of them. More than MANY paths become one scan of the folder.
"""

from __future__ import annotations

from typing import NamedTuple

MANY = 200


class Due(NamedTuple):
    """A folder whose changes have settled. `rels`: the paths to look at; None: the whole folder."""

    folder: str
    rels: frozenset[str] | None


class _Pending:
    __slots__ = ("first_ns", "last_ns", "rels", "whole")

    def __init__(self, now_ns: int) -> None:
        self.first_ns = now_ns
        self.last_ns = now_ns
        self.rels: set[str] = set()
        self.whole = False


class Settle:
    """Gathers changes per folder until they are due."""

    def __init__(self, *, quiet_ns: int, max_ns: int) -> None:
        self.quiet_ns = quiet_ns
        self.max_ns = max_ns
        self._pending: dict[str, _Pending] = {}

    def note(self, folder: str, rel: str | None, now_ns: int) -> None:
        """Something happened at a path of a folder; None: anywhere in it."""
        pending = self._pending.get(folder)
        if pending is None:
            pending = self._pending[folder] = _Pending(now_ns)
        pending.last_ns = now_ns
        if rel is None:
            pending.whole = True
        elif not pending.whole:
            pending.rels.add(rel)
            pending.whole = len(pending.rels) > MANY

    def take_due(self, now_ns: int) -> list[Due]:
        """Take out what has settled, the longest waiting first."""
        ready = [f for f, p in self._pending.items() if self._due_ns(p) <= now_ns]
        ready.sort(key=lambda folder: self._pending[folder].first_ns)
        taken = [(folder, self._pending.pop(folder)) for folder in ready]
        return [Due(folder, None if p.whole else frozenset(p.rels)) for folder, p in taken]

    def take(self, folder: str) -> Due | None:
        """Take out what is pending for a folder, settled or not."""
        pending = self._pending.pop(folder, None)
        return Due(folder, None if pending.whole else frozenset(pending.rels)) if pending else None

    def next_ns(self) -> int | None:
        """When something will be due; None when nothing waits."""
        return min((self._due_ns(p) for p in self._pending.values()), default=None)

    def _due_ns(self, pending: _Pending) -> int:
        return min(pending.last_ns + self.quiet_ns, pending.first_ns + self.max_ns)
