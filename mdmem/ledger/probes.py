"""What probes said, and which a person has allowed: rows in, what is known of each memory out. No text, no output.

Each is part of a transaction.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from typing import NamedTuple

from mdmem.db import Connection, marks
from mdmem.ledger.injections import Place
from mdmem.ledger.moment import stamp

_AT_ONCE = 500


class Probed(NamedTuple):
    """A probe that was run: of which memory, the sha256 of its text, and how it ended."""

    scope: str
    scope_ref: str | None
    path: str
    sha256: bytes
    ok: bool
    exit_code: int | None
    at: str
    ms: int

    @property
    def place(self) -> Place:
        return self.scope, self.scope_ref or "", self.path


class LastProbe(NamedTuple):
    """What is known of a memory's probe; see the table."""

    sha256: bytes | None
    ok: bool | None
    exit_code: int | None
    at: str | None
    ms: int | None
    failed_since: str | None
    doubted_at: str | None


def find_probes(db: Connection) -> dict[Place, LastProbe]:
    """What is known of every memory that was ever probed or doubted."""
    rows = db.execute(
        "SELECT scope, scope_ref, path, sha256, ok, exit_code, at, ms, failed_since, doubted_at FROM probe"
        " WHERE removed_at IS NULL"
    )
    return {tuple(row[:3]): LastProbe(row[3], None if row[4] is None else bool(row[4]), *row[5:]) for row in rows}


def find_allowed(db: Connection, asked: Sequence[bytes]) -> dict[bytes, str]:
    """Which of these a person has allowed, and when."""
    found: dict[bytes, str] = {}
    for at in range(0, len(asked), _AT_ONCE):
        some = asked[at : at + _AT_ONCE]
        rows = db.execute(f"SELECT sha256, at FROM probe_allowed WHERE sha256 IN ({marks(some)})", some)
        found.update((bytes(row[0]), str(row[1])) for row in rows)
    return found


def allow(db: Connection, allowed: Sequence[bytes], now: str) -> None:
    db.executemany("INSERT OR IGNORE INTO probe_allowed VALUES (?, ?)", [(one, now) for one in allowed])


def put(db: Connection, results: Sequence[Probed]) -> None:
    """The newest result of each memory stays. One that failed says since when: for another text it begins anew."""
    db.executemany(
        "INSERT INTO probe (scope, scope_ref, path, sha256, ok, exit_code, at, ms, failed_since)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, iif(?5, NULL, ?7)) ON CONFLICT DO UPDATE SET"
        " failed_since = iif(?5, NULL, coalesce(iif(sha256 = ?4, failed_since, NULL), ?7)),"
        " doubted_at = iif(?5, NULL, doubted_at), sha256 = ?4, ok = ?5, exit_code = ?6, at = ?7, ms = ?8,"
        " removed_at = NULL",
        [(*one.place, one.sha256, int(one.ok), one.exit_code, one.at, one.ms) for one in results],
    )


def doubt(db: Connection, place: Place, at: str) -> None:
    """The first doubt since a memory was last verified stays; one from before that says nothing."""
    db.execute(
        "INSERT INTO probe (scope, scope_ref, path, doubted_at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE"
        " SET doubted_at = min(coalesce(doubted_at, ?4), ?4) WHERE NOT (coalesce(ok, 0) AND at >= ?4)",
        (*place, _utc(at)),
    )


def vouch(db: Connection, place: Place, at: str) -> None:
    """A log told, after the doubt, that the like worked again."""
    db.execute(
        "UPDATE probe SET doubted_at = NULL WHERE scope = ? AND scope_ref = ? AND path = ? AND doubted_at <= ?",
        (*place, _utc(at)),
    )


def _utc(at: str) -> str:
    return stamp(datetime.datetime.fromisoformat(at))


def follow(
    db: Connection,
    scope: str,
    ref: str,
    moved: Sequence[tuple[str, str]],
    removed: Collection[str],
    added: Collection[str],
    now: str,
) -> None:
    """Files moved, went and came again under their old name (a checkout of another branch, and back)."""
    db.executemany(
        "UPDATE OR REPLACE probe SET path = ? WHERE scope = ? AND scope_ref = ? AND path = ?",
        [(new, scope, ref, old) for old, new in moved],
    )
    where = "WHERE scope = ? AND scope_ref = ? AND path = ?"
    db.executemany(f"UPDATE probe SET removed_at = ? {where}", [(now, scope, ref, path) for path in removed])
    db.executemany(f"UPDATE probe SET removed_at = NULL {where}", [(scope, ref, path) for path in added])


def expire(db: Connection, before: str) -> None:
    db.execute("DELETE FROM probe WHERE removed_at < ?", (before,))
