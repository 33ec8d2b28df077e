"""What agents were given in their prompts: rows in, what a session has seen out. Each is part of a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mdmem.db import Connection, as_bytes

Place = tuple[str, str, str]  # scope, scope_ref ('' for user), path


class Injection(NamedTuple):
    """One memory given: which, the sha256 of its file then, and why."""

    scope: str
    scope_ref: str | None
    path: str
    sha256: bytes
    reason: str

    @property
    def place(self) -> Place:
        return self.scope, self.scope_ref or "", self.path


def find_given(db: Connection, agent: str, session: str) -> dict[Place, bytes]:
    """What a session still has before it: place -> sha256 as last given."""
    rows = db.execute(
        "SELECT scope, scope_ref, path, sha256 FROM injection WHERE agent = ? AND session = ? AND in_context = 1"
        " ORDER BY id",
        (agent, session),
    )
    return {(str(row[0]), str(row[1]), str(row[2])): as_bytes(row[3]) for row in rows}


def put(db: Connection, agent: str, session: str, given: Sequence[Injection], now: str) -> None:
    db.executemany(
        "INSERT INTO injection (agent, session, scope, scope_ref, path, sha256, reason, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(agent, session, *one.place, one.sha256, one.reason, now) for one in given],
    )


def forget_session(db: Connection, agent: str, session: str) -> None:
    db.execute(
        "UPDATE injection SET in_context = 0 WHERE agent = ? AND session = ? AND in_context = 1", (agent, session)
    )


def mark_opened(db: Connection, place: Place, now: str) -> None:
    """The newest injection of a memory that was not opened yet is now; those before it never were."""
    db.execute(
        "UPDATE injection SET opened_at = ? WHERE id = (SELECT id FROM injection"
        " WHERE scope = ? AND scope_ref = ? AND path = ? AND opened_at IS NULL ORDER BY id DESC LIMIT 1)",
        (now, *place),
    )


def follow_moves(db: Connection, scope: str, scope_ref: str, moved: Sequence[tuple[str, str]]) -> None:
    db.executemany(
        "UPDATE injection SET path = ? WHERE scope = ? AND scope_ref = ? AND path = ?",
        [(new, scope, scope_ref, old) for old, new in moved],
    )


def expire(db: Connection, before: str) -> None:
    db.execute("DELETE FROM injection WHERE at < ?", (before,))
