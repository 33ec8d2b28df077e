"""How far activity logs were read, which records were seen, what was found: rows in and out of a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mdmem.db import Connection, marks

SEEN_DAYS = 365
MAX_SEEN = 2_000_000
_KEYS_AT_ONCE = 500


class Cursor(NamedTuple):
    """How far one log was read; see the table."""

    path: bytes
    agent: str
    device: int
    inode: int
    offset: int = 0
    line: int = 0
    skipping: bool = False
    head: bytes = b""
    head_bytes: int = 0
    last: bytes = b""
    past: int = 0
    state: str = "{}"
    memo: str = "{}"
    notes: str = "{}"


_COLUMNS = ", ".join(Cursor._fields)


def find_cursor(db: Connection, path: bytes) -> Cursor | None:
    return _one(db.execute(f"SELECT {_COLUMNS} FROM cursor WHERE path = ?", (path,)).fetchone())


def find_by_inode(db: Connection, device: int, inode: int) -> list[Cursor]:
    rows = db.execute(f"SELECT {_COLUMNS} FROM cursor WHERE device = ? AND inode = ?", (device, inode))
    return [found for row in rows if (found := _one(row))]


def put_cursor(db: Connection, cursor: Cursor, now: str) -> None:
    values = [*cursor[:6], int(cursor.skipping), *cursor[7:], now]
    db.execute(f"INSERT OR REPLACE INTO cursor ({_COLUMNS}, read_at) VALUES ({marks(values)})", values)


def drop_cursor(db: Connection, path: bytes) -> None:
    db.execute("DELETE FROM cursor WHERE path = ?", (path,))


def all_notes(db: Connection) -> list[tuple[bytes, str, str]]:
    """Path, agent and notes of each log of which something is noted."""
    rows = db.execute("SELECT path, agent, notes FROM cursor WHERE notes != '{}' ORDER BY path")
    return [(bytes(row[0]), str(row[1]), str(row[2])) for row in rows]


def seen(db: Connection, keys: Sequence[int], *, used: bool) -> set[int]:
    """Which of these records were seen before; `used`: only those that were not passed over as past."""
    found: set[int] = set()
    for at in range(0, len(keys), _KEYS_AT_ONCE):
        some = keys[at : at + _KEYS_AT_ONCE]
        rows = db.execute(f"SELECT key FROM seen_record WHERE key IN ({marks(some)}) AND used >= ?", [*some, int(used)])
        found.update(row[0] for row in rows)
    return found


def put_seen(db: Connection, keys: Iterable[int], day: int, *, used: bool) -> None:
    db.executemany(
        "INSERT INTO seen_record VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET used = max(used, excluded.used)",
        ((key, day, int(used)) for key in keys),
    )


def put_found(db: Connection, found: Iterable[bytes], now: str) -> None:
    db.executemany("INSERT INTO outbox (found, at) VALUES (?, ?)", ((one, now) for one in found))


def waiting(db: Connection, limit: int) -> list[tuple[int, bytes]]:
    rows = db.execute("SELECT id, found FROM outbox ORDER BY id LIMIT ?", (limit,))
    return [(int(row[0]), bytes(row[1])) for row in rows]


def drop_found(db: Connection, ids: Iterable[int]) -> None:
    db.executemany("DELETE FROM outbox WHERE id = ?", ((one,) for one in ids))


def expire(db: Connection, today: int, before: str) -> None:
    """Forget records of more than a year ago, the oldest of too many, and logs that were not read for that long."""
    db.execute("DELETE FROM seen_record WHERE day < ?", (today - SEEN_DAYS,))
    (count,) = db.execute("SELECT count(*) FROM seen_record").fetchone() or (0,)
    if count > MAX_SEEN:
        db.execute(
            "DELETE FROM seen_record WHERE key IN (SELECT key FROM seen_record ORDER BY day LIMIT ?)",
            (count - MAX_SEEN,),
        )
    db.execute("DELETE FROM cursor WHERE read_at < ?", (before,))


def _one(row: tuple[Any, ...] | None) -> Cursor | None:
    return Cursor(*row)._replace(skipping=bool(row[6])) if row else None
