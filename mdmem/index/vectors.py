"""The table of vectors: made for one model and dimension, kept in step with memory_piece."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import NamedTuple

from mdmem.db import Connection, as_bytes, as_int, load_vectors, scalar, transaction

DONE = 1  # memory_piece.state: it has its vector
CHUNK = 512  # vectors a chunk: a small scope takes 200 KB, not 400; with smaller ones a search costs more


class Piece(NamedTuple):
    """A piece that waits for its vector."""

    id: int
    entry_id: int
    n: int
    sha256: bytes
    tries: int


class Vectors:
    """The vector side of an open writing connection.

    `missing` says why there is none (sqlite-vec can't be loaded), or is None. `model` and `dimension` are those of
    the table, None before the first vector.
    """

    def __init__(self, db: Connection) -> None:
        self.db = db
        self.missing = load_vectors(db)
        self.model, self.dimension = vector_model(db)

    def use(self, model: str, dimension: int) -> None:
        """Make the table fit a model: on a change it is dropped and every piece waits again."""
        if self.missing or (model, dimension) == (self.model, self.dimension):
            return
        with transaction(self.db):
            self.db.execute("DROP TABLE IF EXISTS memory_vec")
            self.db.execute(
                "CREATE VIRTUAL TABLE memory_vec USING vec0 (piece_id integer primary key,"
                " folder_id integer partition key,"
                f" embedding int8[{int(dimension)}] distance_metric=cosine, chunk_size={CHUNK})"
            )
            self.db.execute("UPDATE memory_piece SET state = 0, tries = 0, retry_ns = 0")
            self.db.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", [("vec_model", model), ("vec_dimension", dimension)]
            )
            self.model, self.dimension = model, dimension
            self.fill_from_cache()

    def fill_from_cache(self) -> None:
        """Inside a transaction: whatever was embedded with this model before has its vector at once."""
        if self.model is None or self.missing:
            return
        rows = self.db.execute(
            "SELECT p.id, c.vector FROM memory_piece p JOIN embedding_cache c ON c.model = ? AND c.sha256 = p.sha256"
            " WHERE p.state = 0",
            (self.model,),
        ).fetchall()
        for piece_id, vector in rows:
            self._insert(as_int(piece_id), as_bytes(vector))

    def _insert(self, piece_id: int, vector: bytes) -> None:
        folder_id = scalar(self.db, "SELECT entry_id >> 32 FROM memory_piece WHERE id = ?", (piece_id,))
        self.drop(piece_id)  # vec0 has no upsert; its UPDATE forgets that a parameter is int8 (0.1.9)
        self.db.execute(
            "INSERT INTO memory_vec (piece_id, folder_id, embedding) VALUES (?, ?, vec_int8(?))",
            (piece_id, folder_id, vector),
        )
        self.db.execute("UPDATE memory_piece SET state = 1, tries = 0 WHERE id = ?", (piece_id,))

    def drop(self, piece_id: int) -> None:
        """Inside a transaction: the vector of a piece that goes or changes."""
        if self.model is not None and not self.missing:
            self.db.execute("DELETE FROM memory_vec WHERE piece_id = ?", (piece_id,))

    def canary(self) -> bytes | None:
        """The model's vector of a fixed text, as it was when the table was made."""
        value = scalar(self.db, "SELECT value FROM meta WHERE key = 'vec_canary'")
        return value if isinstance(value, bytes) else None

    def set_canary(self, vector: bytes) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES ('vec_canary', ?)", (vector,))

    def put(self, vectors: Sequence[tuple[Piece, bytes]]) -> int:
        """Keep vectors of pieces whose text is still current; how many were. One transaction."""
        if self.missing or self.model is None:
            return 0
        kept = 0
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        with transaction(self.db):
            for piece, vector in vectors:
                if len(vector) != self.dimension:
                    continue
                self.db.execute(
                    "INSERT OR REPLACE INTO embedding_cache VALUES (?, ?, ?, ?)",
                    (self.model, piece.sha256, vector, today),
                )
                if scalar(self.db, "SELECT sha256 FROM memory_piece WHERE id = ?", (piece.id,)) == piece.sha256:
                    self._insert(piece.id, vector)
                    kept += 1
        return kept

    def park(self, pieces: Sequence[tuple[Piece, int]]) -> None:
        """Set failed pieces aside until a time (wall clock, ns)."""
        with transaction(self.db):
            self.db.executemany(
                "UPDATE memory_piece SET state = 2, tries = tries + 1, retry_ns = ? WHERE id = ? AND sha256 = ?",
                [(until_ns, piece.id, piece.sha256) for piece, until_ns in pieces],
            )

    def unpark(self, now_ns: int) -> None:
        """Let parked pieces whose time has come wait again."""
        if self.db.execute(
            "SELECT 1 FROM memory_piece WHERE state = 2 AND retry_ns <= ? LIMIT 1", (now_ns,)
        ).fetchone():
            with transaction(self.db):
                self.db.execute("UPDATE memory_piece SET state = 0 WHERE state = 2 AND retry_ns <= ?", (now_ns,))

    def heal(self) -> int:
        """Make memory_vec and memory_piece agree, whatever happened in between; how many rows differed."""
        if self.missing or self.model is None:
            return 0
        with transaction(self.db):
            strays = [
                row[0]
                for row in self.db.execute(
                    "SELECT v.rowid FROM memory_vec_rowids v LEFT JOIN memory_piece p ON p.id = v.rowid AND p.state = 1"
                    " WHERE p.id IS NULL"
                ).fetchall()
            ]
            self.db.executemany("DELETE FROM memory_vec WHERE piece_id = ?", [(s,) for s in strays])
            self.db.execute(
                "UPDATE memory_piece SET state = 0 WHERE state = 1 AND id NOT IN (SELECT rowid FROM memory_vec_rowids)"
            )
            return len(strays) + self.db.changes()

    def forget(self) -> None:
        """Let go of all vectors and of the cache: each is to be made anew."""
        if self.missing:
            return
        with transaction(self.db):
            self.db.execute("DROP TABLE IF EXISTS memory_vec")
            self.db.execute("DELETE FROM embedding_cache")
            self.db.execute("DELETE FROM meta WHERE key IN ('vec_model', 'vec_dimension', 'vec_canary')")
            self.db.execute("UPDATE memory_piece SET state = 0, tries = 0, retry_ns = 0")
        self.model, self.dimension = None, None

    def compact(self) -> bool:
        """Write the vectors anew when more than half of their slots are holes: vec0 never fills a hole again."""
        if self.missing or self.model is None:
            return False
        slots = as_int(scalar(self.db, "SELECT coalesce(sum(size), 0) FROM memory_vec_chunks"))
        partitions = as_int(scalar(self.db, "SELECT count(DISTINCT partition00) FROM memory_vec_chunks"))
        live = as_int(scalar(self.db, "SELECT count(*) FROM memory_vec_rowids"))
        if slots <= 2 * live + 2 * CHUNK * max(partitions, 1):
            return False
        with transaction(self.db):
            rows = self.db.execute("SELECT piece_id, folder_id, embedding FROM memory_vec").fetchall()
            self.db.execute("DELETE FROM memory_vec")
            self.db.executemany(
                "INSERT INTO memory_vec (piece_id, folder_id, embedding) VALUES (?, ?, vec_int8(?))", rows
            )
        return True


def vector_model(db: Connection) -> tuple[str | None, int | None]:
    """The model and dimension that memory_vec was made for."""
    model = scalar(db, "SELECT value FROM meta WHERE key = 'vec_model'")
    dimension = scalar(db, "SELECT value FROM meta WHERE key = 'vec_dimension'")
    return model, dimension


def expire_cache(db: Connection, today: str, before: str) -> None:
    """Inside a transaction: note today's use of cached vectors, and let go of those unused since a day."""
    db.execute(
        "UPDATE embedding_cache SET used = ?1 WHERE used < ?1 AND sha256 IN (SELECT sha256 FROM memory_piece)", (today,)
    )
    db.execute("DELETE FROM embedding_cache WHERE used < ?", (before,))


def read_cache(db: Connection) -> list[tuple[object, ...]]:
    """Every cached vector, to be carried over into another index. Raises what damage raises."""
    return [tuple(row) for row in db.execute("SELECT model, sha256, vector, used FROM embedding_cache")]


def put_cache(db: Connection, rows: list[tuple[object, ...]]) -> None:
    """Inside a transaction."""
    db.executemany("INSERT OR IGNORE INTO embedding_cache (model, sha256, vector, used) VALUES (?, ?, ?, ?)", rows)
