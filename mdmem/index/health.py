"""An open index in, where its parts disagree with each other out. Reads all of them."""

from __future__ import annotations

from typing import NamedTuple

from mdmem.db import Connection, quick_check
from mdmem.index.vectors import DONE, Vectors


class Health(NamedTuple):
    """What was found. `sound`: SQLite finds no damage. The counts should be equal two by two."""

    sound: bool
    memories: int
    full_texts: int
    vectors_due: int  # pieces that are said to have a vector
    vectors: int
    incomplete: list[str]  # folders that were never read to their end
    canary: bytes | None

    @property
    def whole(self) -> bool:
        return self.sound and self.memories == self.full_texts and self.vectors_due == self.vectors


def examine(db: Connection) -> Health:
    """Look at everything, at one moment. Raises DAMAGE where the file is worse than `sound` can say."""
    vectors = Vectors(db)
    db.execute("BEGIN")
    try:
        return _counted(db, vectors)
    finally:
        db.execute("COMMIT")


def _counted(db: Connection, vectors: Vectors) -> Health:
    made = vectors.model is not None and vectors.missing is None
    due = _count(db, f"SELECT count(*) FROM memory_piece WHERE state = {DONE}")
    return Health(
        quick_check(db),
        _count(db, "SELECT count(*) FROM memory_entry"),
        _count(db, "SELECT count(*) FROM memory_fts_docsize"),
        due,
        _count(db, "SELECT count(*) FROM memory_vec") if made else due,
        [str(row[0]) for row in db.execute("SELECT path FROM scope_folder WHERE state = 'ok' AND complete = 0")],
        vectors.canary(),
    )


def _count(db: Connection, sql: str) -> int:
    return int(str(next(iter(db.execute(sql)))[0]))
