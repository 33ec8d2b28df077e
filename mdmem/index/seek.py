"""What a voice of recall asks in, the memories that answer out. Inside folders that the caller names, and no others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mdmem.db import Connection, as_int, marks, scalar
from mdmem.index.ids import FOLDER_BITS

_MAX_NEAREST = 4_096  # sqlite-vec takes no greater k

# Weights of name, description, body, labels. Said in the query: `ORDER BY rank` costs a third more. Greater ones cost
# recall: a common word in a name would outweigh two rare ones in the text (docs/benchmarks.md).
BM25 = "bm25(memory_fts, 2.0, 1.2, 1.0, 2.0)"


def lexical(
    db: Connection, folder_id: int, expression: str, limit: int, types: Collection[str] = ()
) -> list[tuple[int, float]]:
    """(entry id, score) of the best full-text matches in one folder, best first; a higher score is better. Of these
    types alone, where some are named.

    The bounds on rowid are kept inside FTS5: other folders' rows are never ranked. So are other types': the plus keeps
    SQLite from asking FTS5 once for each of them.
    """
    low, high = folder_id << FOLDER_BITS, (folder_id + 1) << FOLDER_BITS
    named = f" AND +rowid IN (SELECT id FROM memory_entry WHERE folder_id = ? AND type IN ({marks(types)}))"
    rows = db.execute(
        f"SELECT rowid, {BM25} AS score FROM memory_fts WHERE memory_fts MATCH ? AND rowid > ? AND rowid < ?"
        f"{named if types else ''} ORDER BY score LIMIT ?",
        (expression, low, high, *((folder_id, *types) if types else ()), limit),
    )
    return [(int(row[0]), -float(row[1])) for row in rows]


def nearest(db: Connection, folder_id: int, vector: bytes, limit: int) -> list[tuple[int, float]]:
    """(entry id, cosine similarity) of the nearest memories in one folder, best first; a memory's best piece counts.

    Fewer than `limit` only where there are no more. Raises apsw.SQLError when memory_vec is not there.
    """
    pieces = min(limit, _MAX_NEAREST)
    while True:
        best, offered = _nearest_pieces(db, folder_id, vector, pieces)
        if len(best) >= limit or offered < pieces or pieces == _MAX_NEAREST:
            return list(best.items())[:limit]
        pieces = min(4 * pieces, _MAX_NEAREST)  # long memories have many


def _nearest_pieces(db: Connection, folder_id: int, vector: bytes, limit: int) -> tuple[dict[int, float], int]:
    rows = db.execute(
        "SELECT p.entry_id, v.distance FROM (SELECT piece_id, distance FROM memory_vec"
        " WHERE embedding MATCH vec_int8(?) AND k = ? AND folder_id = ?) v JOIN memory_piece p ON p.id = v.piece_id"
        " WHERE p.state = 1 ORDER BY v.distance, p.entry_id",
        (vector, limit, folder_id),
    ).fetchall()
    best: dict[int, float] = {}
    for entry_id, distance in rows:
        if distance is not None:
            best.setdefault(as_int(entry_id), 1.0 - float(str(distance)))
    return best, len(rows)


def unrelated(db: Connection, vector: bytes) -> float:
    """Cosine similarity of a vector with that of a text that no memory holds (the model's canary)."""
    sql = "SELECT vec_distance_cosine(vec_int8(value), vec_int8(?)) FROM meta WHERE key = 'vec_canary'"
    found = scalar(db, sql, (vector,))
    return 1.0 - float(found) if found is not None else 0.0


def cosines(db: Connection, ids: Sequence[int], vector: bytes) -> dict[int, float]:
    """Cosine similarity of these memories with a vector, by the best piece of each; those without one are left out."""
    if not ids:
        return {}
    rows = db.execute(
        "SELECT p.entry_id, min(vec_distance_cosine(vec_int8(v.embedding), vec_int8(?))) FROM memory_piece p"
        f" JOIN memory_vec v ON v.piece_id = p.id WHERE p.entry_id IN ({marks(ids)}) AND p.state = 1"
        " GROUP BY p.entry_id",
        (vector, *ids),
    )
    return {as_int(row[0]): 1.0 - float(str(row[1])) for row in rows if row[1] is not None}


def likenesses(db: Connection, ids: Sequence[int]) -> dict[tuple[int, int], float]:
    """(smaller id, greater id) -> cosine similarity of the first pieces of these memories."""
    if not ids:
        return {}
    rows = db.execute(
        "WITH held (id, vector) AS MATERIALIZED (SELECT p.entry_id, v.embedding FROM memory_piece p"
        f" JOIN memory_vec v ON v.piece_id = p.id WHERE p.entry_id IN ({marks(ids)}) AND p.n = 0 AND p.state = 1)"
        " SELECT a.id, b.id, vec_distance_cosine(vec_int8(a.vector), vec_int8(b.vector)) FROM held a"
        " JOIN held b ON a.id < b.id",
        ids,
    )
    return {(as_int(row[0]), as_int(row[1])): 1.0 - float(str(row[2])) for row in rows if row[2] is not None}


def ids_at(db: Connection, places: Iterable[tuple[str, str, str]]) -> list[int]:
    """The memories at these places (scope, scope_ref or "", path), in every folder of that scope."""
    sql = (
        "SELECT e.id FROM memory_entry e JOIN scope_folder f ON f.id = e.folder_id"
        " WHERE f.scope = ? AND coalesce(f.scope_ref, '') = ? AND e.path = ? ORDER BY f.path"
    )
    return [as_int(row[0]) for place in places for row in db.execute(sql, place)]


def wide(db: Connection, ids: Sequence[int]) -> set[int]:
    """Those of these memories that are Chinese, Japanese or Korean for the most part."""
    return {as_int(r[0]) for r in db.execute(f"SELECT id FROM memory_entry WHERE wide AND id IN ({marks(ids)})", ids)}


def about(db: Connection, ids: Sequence[int], names: Sequence[str]) -> set[int]:
    """Those of these memories that are about an entity of one of these names."""
    known = [as_int(r[0]) for r in db.execute(f"SELECT id FROM memory_entity WHERE name IN ({marks(names)})", names)]
    sql = (
        f"SELECT DISTINCT entry_id FROM memory_entity_link WHERE entry_id IN ({marks(ids)})"
        f" AND entity_id IN ({marks(known)})"
    )
    return {as_int(row[0]) for row in db.execute(sql, (*ids, *known))} if known else set()


def naming(db: Connection, folder_ids: Sequence[int], words: Sequence[str], limit: int) -> list[int]:
    """The memories with one of these words among their labels, by id; `words` hold letters and digits alone."""
    found: list[int] = []
    expression = "labels : (" + " OR ".join(f'"{word}"' for word in words) + ")"
    for folder_id in folder_ids if words else ():
        low, high = folder_id << FOLDER_BITS, (folder_id + 1) << FOLDER_BITS
        sql = "SELECT rowid FROM memory_fts WHERE memory_fts MATCH ? AND rowid > ? AND rowid < ? LIMIT ?"
        found += [as_int(row[0]) for row in db.execute(sql, (expression, low, high, limit))]
    return found


def changed_between(db: Connection, folder_ids: Sequence[int], first: str, last: str, limit: int) -> list[int]:
    """The memories whose `updated` or `created` lies in the days from `first` to `last`, newest first."""
    updated, created = (f"coalesce({name}, {name}_found)" for name in ("updated", "created"))
    sql = (
        f"SELECT id FROM memory_entry WHERE folder_id IN ({marks(folder_ids)})"
        f" AND (substr({updated}, 1, 10) BETWEEN ? AND ? OR substr({created}, 1, 10) BETWEEN ? AND ?)"
        f" ORDER BY {updated} DESC, key, path LIMIT ?"
    )
    return [as_int(row[0]) for row in db.execute(sql, (*folder_ids, first, last, first, last, limit))]
