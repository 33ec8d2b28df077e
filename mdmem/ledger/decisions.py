"""What was decided about proposed memories: rows in, the newest of a mark out. Each is part of a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mdmem.db import Connection
from mdmem.errors import UsageError

DECISIONS = ("approve", "edit", "reject", "never")


class Decided(NamedTuple):
    """One decision. `mark`: the hash of what was decided about; `evidence`: the kind of evidence that it had."""

    mark: str
    decision: str
    evidence: str
    at: str


def decided_of(rows: object) -> list[Decided]:
    """Decisions as they cross the socket, checked. Raises UsageError."""
    rows = rows or []
    if not (isinstance(rows, list) and all(_is_decision(row) for row in rows)):
        raise UsageError("this is no list of decisions", hint="each is [mark, decision, evidence, at]")
    return [Decided(*row) for row in rows]


def _is_decision(row: object) -> bool:
    return (
        isinstance(row, list) and len(row) == 4 and all(isinstance(word, str) for word in row) and row[1] in DECISIONS
    )


def find_decision(db: Connection, mark: str) -> Decided | None:
    """The newest decision about a mark."""
    row = db.execute(
        "SELECT mark, decision, evidence, at FROM decision WHERE mark = ? ORDER BY id DESC LIMIT 1", (mark,)
    ).fetchone()
    return Decided(*map(str, row)) if row else None


def put(db: Connection, decided: Sequence[Decided]) -> None:
    db.executemany("INSERT INTO decision (mark, decision, evidence, at) VALUES (?, ?, ?, ?)", decided)


def take_back(db: Connection, decided: Sequence[Decided]) -> None:
    """Forget decisions as if they had never been made; those that were never noted are no error."""
    db.executemany(
        "DELETE FROM decision WHERE id = (SELECT max(id) FROM decision"
        " WHERE mark = ? AND decision = ? AND evidence = ? AND at = ?)",
        decided,
    )
