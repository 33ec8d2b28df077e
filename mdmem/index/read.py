"""Questions to the index in, rows out. Any connection may ask, a read-only one too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from mdmem.db import Connection, as_int, marks, scalar
from mdmem.index.ids import FOLDER_BITS
from mdmem.index.tokens import fold

# What a row holds of a file that can't be read as a memory now: its last good state; or, where it never had one, its
# text.
LAST_GOOD, LAST_TEXT = 1, 2


class Folder(NamedTuple):
    """A scope folder as the index knows it."""

    id: int
    scope: str
    scope_ref: str | None
    path: str
    device: int | None
    inode: int | None
    state: str
    complete: bool
    head: str | None
    last_scan: str | None
    last_change: str | None
    last_drift: int


class Known(NamedTuple):
    """What the index knows of one file: enough to tell whether it changed."""

    id: int
    path: str
    path_raw: bytes | None
    size: int
    mtime_ns: int
    ctime_ns: int
    device: int
    inode: int
    looked_ns: int
    sha256: bytes
    broken: int


class Entry(NamedTuple):
    """One memory as recall and the doors need it; the body stays in its file."""

    id: int
    folder_id: int
    scope: str
    scope_ref: str | None
    folder: str
    path: str
    path_raw: bytes | None
    key: str
    name: str
    description: str
    type: str
    confidence: float
    source: str
    domain: str | None
    topic: str | None
    status: str | None
    stability: str | None
    valid_from: str | None
    invalid_at: str | None
    expires: str | None
    superseded_by: str | None
    created: str
    updated: str
    front: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    broken: int
    folder_state: str

    @property
    def more(self) -> dict[str, Any]:
        """The rest of its frontmatter: entities, tags, aliases, derived_from, proof, probe, roles, id, extra."""
        found = json.loads(self.front)
        return found if isinstance(found, dict) else {}


class Candidate(NamedTuple):
    """What decides whether and where a memory stands in a list; the rest is read for those that do."""

    id: int
    folder_id: int
    type: str
    confidence: float
    domain: str | None
    status: str | None
    stability: str | None
    valid_from: str | None
    invalid_at: str | None
    expires: str | None
    superseded_by: str | None
    created: str
    updated: str
    key: str
    scope: str
    scope_ref: str | None
    path: str

    @property
    def place(self) -> tuple[str, str, str, str]:
        """What settles ties: row ids differ from one build to the next."""
        return self.key, self.scope, self.scope_ref or "", self.path


class Standing(NamedTuple):
    """What is needed to order memories that nothing but a date can end, and to tell whether they hold."""

    id: int
    valid_from: str | None
    invalid_at: str | None
    expires: str | None
    updated: str
    key: str
    path: str


# The index memory_entry_standing has all of it, in this order.
_STANDING = (
    " FROM memory_entry WHERE folder_id = ? AND type = ? AND broken = 0 AND superseded_by IS NULL"
    " AND replaced_by IS NULL AND coalesce(status, '') NOT IN ('archived', 'retired')"
)
_LOST = " AND id NOT IN (SELECT loser_id FROM memory_conflict WHERE waits = 0)"
_STANDING_COLUMNS = "SELECT id, valid_from, invalid_at, expires, coalesce(updated, updated_found), key, path"
_NEWEST = " ORDER BY coalesce(updated, updated_found) DESC, key, path LIMIT ?"
_DATED = "(valid_from IS NOT NULL OR invalid_at IS NOT NULL OR expires IS NOT NULL)"
_CANDIDATE = (
    "SELECT e.id, e.folder_id, e.type, e.confidence, e.domain, e.status, e.stability, e.valid_from, e.invalid_at,"
    " e.expires, coalesce(e.superseded_by, e.replaced_by), coalesce(e.created, e.created_found),"
    " coalesce(e.updated, e.updated_found), e.key, f.scope, f.scope_ref, e.path"
    " FROM memory_entry e JOIN scope_folder f ON f.id = e.folder_id AND f.state = 'ok'"
)
_FOLDER = (
    "SELECT id, scope, scope_ref, path, device, inode, state, complete, head, last_scan, last_change, last_drift"
    " FROM scope_folder"
)
_KNOWN = (
    "SELECT id, path, path_raw, size, mtime_ns, ctime_ns, device, inode, looked_ns, sha256, broken FROM memory_entry"
)
_ENTRY = (
    "SELECT e.id, e.folder_id, f.scope, f.scope_ref, f.path, e.path, e.path_raw, e.key, e.name, e.description, e.type,"
    " e.confidence, e.source, e.domain, e.topic, e.status, e.stability, e.valid_from, e.invalid_at, e.expires,"
    " coalesce(e.superseded_by, e.replaced_by), coalesce(e.created, e.created_found),"
    " coalesce(e.updated, e.updated_found), e.front, e.size, e.mtime_ns, e.ctime_ns, e.inode, e.broken, f.state"
    " FROM memory_entry e JOIN scope_folder f ON f.id = e.folder_id"
)


def is_whole(db: Connection) -> bool:
    """Whether every memory has its full text and every full text its memory. Looks at ids, not at what they hold."""
    counts = (
        "SELECT (SELECT count(*) FROM memory_entry), (SELECT count(*) FROM memory_fts_docsize),"
        " (SELECT count(*) FROM memory_entry e JOIN memory_fts_docsize d ON d.id = e.id)"
    )
    ((entries_held, texts, both),) = db.execute(counts).fetchall()
    return entries_held == texts == both


def meta(db: Connection, key: str) -> Any:  # noqa: ANN401  # an SQLite value
    """A fact about the index itself; None when it isn't known."""
    return scalar(db, "SELECT value FROM meta WHERE key = ?", (key,))


def folders(db: Connection) -> list[Folder]:
    return [Folder(*row) for row in db.execute(f"{_FOLDER} ORDER BY scope, scope_ref, path")]


def find_folder(db: Connection, path: str) -> Folder | None:
    row = db.execute(f"{_FOLDER} WHERE path = ?", (path,)).fetchone()
    return Folder(*row) if row else None


def known(db: Connection, folder_id: int, paths: Iterable[str] | None = None) -> dict[str, Known]:
    """Path -> what is known of it: of these paths and whatever lies below them, or of the whole folder."""
    if paths is None:
        rows: Iterator[Any] = iter(db.execute(f"{_KNOWN} WHERE folder_id = ?", (folder_id,)))
        return {row[1]: Known(*row) for row in rows}
    found: dict[str, Known] = {}
    for path in paths:
        rows = iter(
            db.execute(
                f"{_KNOWN} WHERE folder_id = ?1 AND (path = ?2 OR (path > ?2 || '/' AND path < ?2 || '0'))",
                (folder_id, path),
            )
        )
        found.update({row[1]: Known(*row) for row in rows})
    return found


def candidates(db: Connection, ids: Iterable[int]) -> list[Candidate]:
    wanted = list(ids)
    found: list[Candidate] = []
    for at in range(0, len(wanted), 500):
        part = wanted[at : at + 500]
        found += map(Candidate._make, db.execute(f"{_CANDIDATE} WHERE e.id IN ({marks(part)})", part))
    return found


def entries(db: Connection, ids: Iterable[int]) -> dict[int, Entry]:
    wanted = list(ids)
    found: dict[int, Entry] = {}
    for at in range(0, len(wanted), 500):
        part = wanted[at : at + 500]
        for row in db.execute(f"{_ENTRY} WHERE e.id IN ({marks(part)})", part):
            found[row[0]] = Entry(*row)
    return found


def standing(db: Connection, folder_id: int, type_name: str, limit: int) -> list[Standing]:
    """The newest `limit` memories of a folder and type that nothing but a date can end, by `updated` as written.

    Never one whose file is broken, nor one that lost a conflict. Of thousands only those asked for are read.
    """
    sql = f"{_STANDING_COLUMNS}{_STANDING}{_lost(db)}{_NEWEST}"
    return [Standing(*row) for row in db.execute(sql, (folder_id, type_name, limit))]


def count_standing(db: Connection, folder_id: int, type_name: str) -> tuple[int, list[Standing]]:
    """How many of these there are without any date, and those with one."""
    lost = _lost(db)
    count = scalar(db, f"SELECT count(*){_STANDING}{lost} AND NOT {_DATED}", (folder_id, type_name))
    rows = db.execute(f"{_STANDING_COLUMNS}{_STANDING}{lost} AND {_DATED}", (folder_id, type_name))
    return as_int(count), [Standing(*row) for row in rows]


def _lost(db: Connection) -> str:
    """The condition that keeps losers out; "" where there are none, for asking it of thousands is felt."""
    return _LOST if scalar(db, "SELECT 1 FROM memory_conflict WHERE waits = 0 LIMIT 1") else ""


def losers(db: Connection) -> dict[int, str]:
    """Id -> key of the memory that won, of every memory that lost a conflict."""
    sql = (
        "SELECT c.loser_id, e.key FROM memory_conflict c JOIN memory_entry e ON e.id = c.winner_id WHERE c.waits = 0"
        " ORDER BY e.key DESC"
    )
    return {as_int(row[0]): str(row[1]) for row in db.execute(sql)}


def conflicts(db: Connection) -> list[tuple[int, int, str, bool]]:
    """(winner's id, loser's id, reason, whether it waits for a person), in the order in which they were indexed."""
    rows = db.execute("SELECT winner_id, loser_id, reason, waits FROM memory_conflict ORDER BY winner_id, loser_id")
    return [(as_int(row[0]), as_int(row[1]), str(row[2]), bool(row[3])) for row in rows]


def stamps(db: Connection, ids: Sequence[int]) -> dict[int, bytes]:
    """Id -> sha256 of the file, of these memories."""
    found: dict[int, bytes] = {}
    for at in range(0, len(ids), 500):
        part = ids[at : at + 500]
        found.update(db.execute(f"SELECT id, sha256 FROM memory_entry WHERE id IN ({marks(part)})", part))
    return found


def list_entries(db: Connection, folder_ids: Sequence[int]) -> list[Entry]:
    """All memories of these folders, by scope, scope_ref, path."""
    sql = f"{_ENTRY} WHERE e.folder_id IN ({marks(folder_ids)}) ORDER BY f.scope, f.scope_ref, e.path"
    return [Entry(*row) for row in db.execute(sql, folder_ids)]


def by_path(db: Connection, folder_id: int, path: str) -> Entry | None:
    row = db.execute(f"{_ENTRY} WHERE e.folder_id = ? AND e.path = ?", (folder_id, path)).fetchone()
    return Entry(*row) if row else None


def by_keys(db: Connection, folder_ids: Sequence[int], keys: Iterable[str]) -> list[Entry]:
    """Memories whose key is one of these (compared folded). Raises nothing; no keys give []."""
    folded = sorted({fold(key) for key in keys} - {""})[:200]
    sql = f"{_ENTRY} WHERE e.folder_id IN ({marks(folder_ids)}) AND e.key_folded IN ({marks(folded)})"
    return [Entry(*row) for row in db.execute(sql, [*folder_ids, *folded])] if folded else []


def ids_about(db: Connection, folder_ids: Sequence[int], entity: str) -> set[int]:
    """The memories of these folders that are about an entity, by its normalised name."""
    sql = (
        "SELECT l.entry_id FROM memory_entity n JOIN memory_entity_link l ON l.entity_id = n.id"
        " WHERE n.name = ? AND l.entry_id > ? AND l.entry_id < ?"
    )
    ranges = [(entity, f << FOLDER_BITS, (f + 1) << FOLDER_BITS) for f in folder_ids]
    return {as_int(row[0]) for bounds in ranges for row in db.execute(sql, bounds)}


def replaced_by_hidden(db: Connection, folder_ids: Sequence[int], domains: frozenset[str]) -> set[int]:
    """The memories of these folders that a memory of one of these domains (folded) says it supersedes."""
    hidden = ids_of_domains(db, folder_ids, domains)
    if not hidden:
        return set()
    keys = {(entry_id >> FOLDER_BITS, key_of(db, entry_id)) for entry_id in hidden}
    sql = (
        "SELECT id, folder_id, replaced_by FROM memory_entry"
        f" WHERE folder_id IN ({marks(folder_ids)}) AND superseded_by IS NULL AND replaced_by IS NOT NULL"
    )
    return {as_int(row[0]) for row in db.execute(sql, folder_ids) if (as_int(row[1]), fold(str(row[2]))) in keys}


def ids_of_domains(db: Connection, folder_ids: Sequence[int], domains: frozenset[str]) -> set[int]:
    """The memories of these folders whose domain is one of these (folded)."""
    sql = f"SELECT id, domain FROM memory_entry WHERE folder_id IN ({marks(folder_ids)}) AND domain IS NOT NULL"
    rows = db.execute(sql, folder_ids) if domains else ()
    return {as_int(row[0]) for row in rows if fold(str(row[1])) in domains}


def like_key(db: Connection, folder_ids: Sequence[int], text: str) -> list[Entry]:
    """Memories whose key or path holds this text (compared folded), by scope and path."""
    part = fold(text)
    sql = (
        f"{_ENTRY} WHERE e.folder_id IN ({marks(folder_ids)})"
        " AND (instr(e.key_folded, ?) > 0 OR instr(lower(e.path), ?) > 0) ORDER BY f.scope, f.scope_ref, e.path"
    )
    return [Entry(*row) for row in db.execute(sql, [*folder_ids, part, part])] if part else []


def manifest_counts(db: Connection, folder_id: int) -> dict[str, int]:
    """Type -> how many memories the manifest lists."""
    rows = db.execute(
        "SELECT type, count(*) FROM memory_entry WHERE folder_id = ? AND ended = 0 AND replaced_by IS NULL"
        " GROUP BY type",
        (folder_id,),
    )
    return {str(row[0]): as_int(row[1]) for row in rows}


def manifest_entries(db: Connection, folder_id: int, type_name: str) -> list[tuple[str, bytes | None, str, str]]:
    """(path, raw path, name, description) of the memories of one type that the manifest lists, by path."""
    sql = (
        "SELECT path, path_raw, name, description FROM memory_entry"
        " WHERE folder_id = ? AND ended = 0 AND replaced_by IS NULL AND type = ? ORDER BY path"
    )
    rows = db.execute(sql, (folder_id, type_name))
    return [(str(r[0]), r[1] if isinstance(r[1], bytes) else None, str(r[2]), str(r[3])) for r in rows]


def problems(db: Connection, folder_ids: Sequence[int] | None = None) -> list[tuple[str, Any]]:
    """(folder path, (path, line, code, message, hint)) of every problem."""
    where = "" if folder_ids is None else f" WHERE p.folder_id IN ({marks(folder_ids)})"
    sql = (
        "SELECT f.path, p.path, p.line, p.code, p.message, p.hint FROM memory_problem p"
        f" JOIN scope_folder f ON f.id = p.folder_id{where} ORDER BY f.path, p.path, p.line, p.code"
    )
    return [(str(row[0]), row[1:]) for row in db.execute(sql, folder_ids or ())]


def count_entries(db: Connection, folder_id: int) -> int:
    return as_int(scalar(db, "SELECT count(*) FROM memory_entry WHERE folder_id = ?", (folder_id,)))


def count_of_source(db: Connection, folder_id: int, sources: Sequence[str]) -> int:
    rows = f"SELECT count(*) FROM memory_entry WHERE folder_id = ? AND source IN ({marks(sources)})"
    return as_int(scalar(db, rows, (folder_id, *sources)))


def count_problems(db: Connection, folder_id: int) -> int:
    return as_int(scalar(db, "SELECT count(*) FROM memory_problem WHERE folder_id = ?", (folder_id,)))


def problem_codes(db: Connection, folder_id: int, origin: str) -> set[str]:
    sql = "SELECT code FROM memory_problem WHERE folder_id = ? AND origin = ?"
    return {str(row[0]) for row in db.execute(sql, (folder_id, origin))}


def key_of(db: Connection, entry_id: int) -> str | None:
    """The folded key of a memory; None when it isn't there."""
    found = scalar(db, "SELECT key_folded FROM memory_entry WHERE id = ?", (entry_id,))
    return None if found is None else str(found)


def ids_by_own_id(db: Connection, folder_id: int, own_id: str) -> set[int]:
    """The memories whose frontmatter has this `id`."""
    sql = "SELECT id FROM memory_entry WHERE folder_id = ? AND json_extract(front, '$.id') = ?"
    return {as_int(row[0]) for row in db.execute(sql, (folder_id, own_id))}


def dates_found(db: Connection, folder_id: int) -> list[tuple[int, str, int, str, str]]:
    """(id, path, mtime in ns, created_found, updated_found) of every memory of a folder."""
    sql = "SELECT id, path, mtime_ns, created_found, updated_found FROM memory_entry WHERE folder_id = ?"
    rows = db.execute(sql, (folder_id,))
    return [(as_int(r[0]), str(r[1]), as_int(r[2]), str(r[3]), str(r[4])) for r in rows]


def is_waiting(db: Connection) -> bool:
    """Whether any piece waits for its vector."""
    return scalar(db, "SELECT 1 FROM memory_piece WHERE state = 0 AND state != 1 LIMIT 1") is not None


def vector_counts(db: Connection) -> tuple[int, int, int]:
    """(waiting, done, parked) pieces."""
    rows = db.execute("SELECT state, count(*) FROM memory_piece GROUP BY state")
    counts = {as_int(row[0]): as_int(row[1]) for row in rows}
    return counts.get(0, 0), counts.get(1, 0), counts.get(2, 0)


def folder_vectors(db: Connection, folder_id: int) -> tuple[int, int]:
    """(done, all) pieces of one folder."""
    low, high = folder_id << FOLDER_BITS, (folder_id + 1) << FOLDER_BITS
    sql = "SELECT coalesce(sum(state = 1), 0), count(*) FROM memory_piece WHERE entry_id > ? AND entry_id < ?"
    ((done, pieces),) = db.execute(sql, (low, high)).fetchall()
    return as_int(done), as_int(pieces)


def waiting_pieces(db: Connection, limit: int) -> list[tuple[Any, ...]]:
    """(id, entry_id, n, sha256, tries) of pieces that wait for a vector, newest file first."""
    sql = (
        "SELECT p.id, p.entry_id, p.n, p.sha256, p.tries FROM memory_piece p JOIN memory_entry e ON e.id = p.entry_id"
        " JOIN scope_folder f ON f.id = e.folder_id AND f.state = 'ok'"
        " WHERE p.state = 0 ORDER BY e.mtime_ns DESC, p.entry_id, p.n LIMIT ?"
    )
    return [tuple(row) for row in db.execute(sql, (limit,))]


def dump(db: Connection) -> dict[str, list[Any]]:
    """The whole content of the index, without row ids and the times of our own looking: two indexes of the same
    files dump the same.
    """
    entry = (
        "SELECT f.scope, f.scope_ref, f.path, e.path, e.key, e.name, e.description, e.type, e.confidence, e.source,"
        " e.domain, e.topic, e.status, e.stability, e.valid_from, e.invalid_at, e.expires, e.superseded_by, e.created,"
        " e.updated, e.created_found, e.updated_found, e.ended, e.replaced_by, e.front, e.size, hex(e.sha256), e.wide,"
        " e.broken FROM memory_entry e JOIN scope_folder f ON f.id = e.folder_id WHERE f.state = 'ok'"
        " ORDER BY f.path, e.path"
    )
    owner = " JOIN memory_entry e ON e.id = {} JOIN scope_folder f ON f.id = e.folder_id WHERE f.state = 'ok'"
    queries = {
        "memory_entry": entry,
        "memory_fts": f"SELECT f.path, e.path, t.term, t.col, t.offset FROM memory_term t{owner.format('t.doc')}",
        "memory_piece": f"SELECT f.path, e.path, p.n, hex(p.sha256) FROM memory_piece p{owner.format('p.entry_id')}",
        "memory_entity": "SELECT f.path, e.path, n.name FROM memory_entity n LEFT JOIN memory_entity_link l"
        " ON l.entity_id = n.id LEFT JOIN memory_entry e ON e.id = l.entry_id LEFT JOIN scope_folder f"
        " ON f.id = e.folder_id WHERE f.state IS NULL OR f.state = 'ok'",
        "memory_edge": f"SELECT f.path, e.path, d.kind, d.target FROM memory_edge d{owner.format('d.entry_id')}",
        "memory_problem": "SELECT f.path, p.path, p.line, p.code FROM memory_problem p JOIN scope_folder f"
        " ON f.id = p.folder_id WHERE f.state = 'ok'",
    }
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.memory_term USING fts5vocab(main, memory_fts, instance)")
    return {table: sorted((list(r) for r in db.execute(sql)), key=repr) for table, sql in queries.items()}
