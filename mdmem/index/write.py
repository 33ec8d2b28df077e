"""Rows in, the index changed. Only `reindex` may import this; every method but `folder` runs inside its transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mdmem.db import Connection, as_bytes, as_int, scalar
from mdmem.errors import Problem
from mdmem.index.edges import fold_target, in_a_ring
from mdmem.index.ids import FOLDER_BITS
from mdmem.index.read import LAST_GOOD, LAST_TEXT
from mdmem.index.row import Row, Stat, key_folded
from mdmem.index.vectors import Vectors
from mdmem.memory import SOURCES
from mdmem.scope import Scope

_COLUMNS = """
    id folder_id path path_raw key key_folded name description type confidence source domain topic status stability
    valid_from invalid_at expires superseded_by created updated created_found updated_found ended front size
    mtime_ns ctime_ns device inode looked_ns sha256 wide broken
""".split()
_INSERT = f"INSERT INTO memory_entry ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_PUT = f"{_INSERT} ON CONFLICT (id) DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in _COLUMNS[1:])}"


class _Gathered:
    """Rows of several memories, table by table."""

    __slots__ = ("edges", "links", "names", "pieces", "text")

    def __init__(self) -> None:
        self.text: list[tuple[object, ...]] = []
        self.links: list[tuple[int, int]] = []
        self.edges: list[tuple[int, str, str]] = []
        self.names: list[tuple[str, int]] = []
        self.pieces: list[tuple[int, int, bytes]] = []


class Writer:
    """The writing side of an open index."""

    def __init__(self, db: Connection, vectors: Vectors) -> None:
        self.db = db
        self.vectors = vectors
        self._entity_ids: dict[str, int] = {}
        self._next_ids: dict[int, int] = {}
        self._unlinked: set[int] = set()
        self._gathered = _Gathered()

    def forget_caches(self) -> None:
        """After a rolled back transaction: ids given out in it are void."""
        self._entity_ids.clear()
        self._next_ids.clear()
        self._unlinked.clear()
        self._gathered = _Gathered()

    def set_meta(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def folder(self, scope: Scope, path: str) -> int:
        """The id of a scope folder, made when new."""
        row = self.db.execute("SELECT id, scope, scope_ref FROM scope_folder WHERE path = ?", (path,)).fetchone()
        if row and (row[1], row[2]) == (scope.kind, scope.ref):
            return int(row[0])
        if row:
            self.db.execute(
                "UPDATE scope_folder SET scope = ?, scope_ref = ? WHERE id = ?", (scope.kind, scope.ref, row[0])
            )
            return int(row[0])
        return as_int(
            scalar(
                self.db,
                "INSERT INTO scope_folder (scope, scope_ref, path) VALUES (?, ?, ?) RETURNING id",
                (scope.kind, scope.ref, path),
            )
        )

    def set_away(self, folder_id: int, state: str, now: str) -> None:
        """The folder is not there or can't be read: its rows stay, out of recall."""
        self.db.execute(
            "UPDATE scope_folder SET state = ?1, last_scan = ?2 WHERE id = ?3 AND state <> ?1", (state, now, folder_id)
        )

    def set_present(self, folder_id: int, identity: tuple[int, int] | None, now: str, *, moved: bool) -> None:
        device, inode = identity or (None, None)
        self.db.execute(
            "UPDATE scope_folder SET device = ?, inode = ?, state = 'ok', last_change = iif(?, ?, last_change)"
            " WHERE id = ?",
            (device, inode, moved, now, folder_id),
        )

    def set_scanned(self, folder_id: int, now: str, drift: int) -> None:
        """A whole scan has been written: set last, so that half an index never counts as complete."""
        self.db.execute(
            "UPDATE scope_folder SET complete = 1, last_scan = ?, last_drift = ? WHERE id = ?", (now, drift, folder_id)
        )

    def set_head(self, folder_id: int, head: str | None) -> None:
        self.db.execute("UPDATE scope_folder SET head = ? WHERE id = ?", (head, folder_id))

    def put(self, folder_id: int, row: Row, entry_id: int | None) -> int:
        """Write one memory; `entry_id` is the row it replaces, None when it is new. Returns its id.

        What other tables hold of it is gathered, and written by `flush`.
        """
        new = entry_id is None
        if entry_id is None:
            entry_id = self._next_id(folder_id)
        else:
            self._clear(entry_id)
        self.db.execute(_PUT if not new else _INSERT, _values(entry_id, folder_id, row))
        self._gathered.text.append((entry_id, *row.texts))
        self._gathered.links += [(entry_id, self._entity_id(name)) for name in row.entities]
        self._gathered.edges += [(entry_id, *edge) for edge in row.edges]
        self._gathered.names += [(name, entry_id) for name in row.names]
        if new:
            self._gathered.pieces += [(entry_id, n, sha) for n, sha in enumerate(row.pieces)]
        else:
            self._put_pieces(entry_id, row.pieces)
        return entry_id

    def _clear(self, entry_id: int) -> None:
        self.db.execute("DELETE FROM memory_fts WHERE rowid = ?", (entry_id,))
        self._unlink_entities(entry_id)
        self.db.execute("DELETE FROM memory_edge WHERE entry_id = ?", (entry_id,))
        self.db.execute("DELETE FROM memory_name WHERE entry_id = ?", (entry_id,))

    def flush(self) -> None:
        """Write what `put` gathered: many rows by one statement cost half."""
        rows, self._gathered = self._gathered, _Gathered()
        many = self.db.executemany
        many("INSERT INTO memory_fts (rowid, name, description, body, labels) VALUES (?, ?, ?, ?, ?)", rows.text)
        many("INSERT OR IGNORE INTO memory_entity_link VALUES (?, ?)", rows.links)
        many("INSERT INTO memory_edge VALUES (?, ?, ?)", rows.edges)
        many("INSERT INTO memory_name VALUES (?, ?)", rows.names)
        many("INSERT INTO memory_piece (entry_id, n, sha256) VALUES (?, ?, ?)", rows.pieces)
        if rows.pieces:
            self.vectors.fill_from_cache()
        self._drop_orphans()

    def _put_pieces(self, entry_id: int, shas: Sequence[bytes]) -> None:
        """Keep the pieces whose text stayed, so that an edit embeds only what it changed."""
        rows = self.db.execute("SELECT id, sha256 FROM memory_piece WHERE entry_id = ? ORDER BY n", (entry_id,))
        old: list[tuple[int, bytes]] = [(as_int(r[0]), as_bytes(r[1])) for r in rows]
        if [sha for _, sha in old] == list(shas):
            return
        free: dict[bytes, list[int]] = {}
        for piece_id, sha in old:
            free.setdefault(sha, []).append(piece_id)
        for n, sha in enumerate(shas):
            if free.get(sha):
                self.db.execute("UPDATE memory_piece SET n = ? WHERE id = ?", (n, free[sha].pop(0)))
                continue
            self._gathered.pieces.append((entry_id, n, sha))
        self._drop_pieces(piece_id for ids in free.values() for piece_id in ids)

    def _drop_pieces(self, piece_ids: Iterable[int]) -> None:
        for piece_id in piece_ids:
            self.vectors.drop(piece_id)
            self.db.execute("DELETE FROM memory_piece WHERE id = ?", (piece_id,))

    def touch(self, entry_id: int, stat: Stat, time_found: str) -> None:
        """The file is the same, its times or inode are not. `time_found`: its mtime, as a date that holds till git
        says better.
        """
        self.db.execute(
            "UPDATE memory_entry SET size = ?1, mtime_ns = ?2, ctime_ns = ?3, device = ?4, inode = ?5, looked_ns = ?6,"
            " created_found = iif(mtime_ns = ?2, created_found, ?7), "
            " updated_found = iif(mtime_ns = ?2, updated_found, ?7)"
            " WHERE id = ?8",
            (*stat, time_found, entry_id),
        )

    def mark_broken(self, entry_id: int, stat: Stat, sha256: bytes, time_found: str) -> None:
        """The file can't be read as a memory now: its last good state stays, marked."""
        self.touch(entry_id, stat, time_found)
        self.db.execute("UPDATE memory_entry SET broken = ?, sha256 = ? WHERE id = ?", (LAST_GOOD, sha256, entry_id))

    def set_dates(self, entry_id: int, created: str, updated: str) -> None:
        self.db.execute(
            "UPDATE memory_entry SET created_found = ?, updated_found = ? WHERE id = ?", (created, updated, entry_id)
        )

    def drop(self, entry_id: int) -> None:
        """Take a memory out of every table."""
        pieces = [int(r[0]) for r in self.db.execute("SELECT id FROM memory_piece WHERE entry_id = ?", (entry_id,))]
        self._drop_pieces(pieces)
        self._unlink_entities(entry_id)
        self.db.execute("DELETE FROM memory_fts WHERE rowid = ?", (entry_id,))
        self.db.execute("DELETE FROM memory_entry WHERE id = ?", (entry_id,))

    def drop_folder(self, folder_id: int) -> int:
        """Take a whole scope folder out; how many memories it held."""
        ids = [int(r[0]) for r in self.db.execute("SELECT id FROM memory_entry WHERE folder_id = ?", (folder_id,))]
        for entry_id in ids:
            self.drop(entry_id)
        self.db.execute("DELETE FROM scope_folder WHERE id = ?", (folder_id,))
        self.flush()
        self._next_ids.pop(folder_id, None)
        return len(ids)

    def put_problems(self, folder_id: int, path: str | None, origin: str, problems: Iterable[Problem]) -> None:
        """Replace the problems of one path (None: of the whole folder) that have this origin."""
        where = "folder_id = ? AND origin = ?" + ("" if path is None else " AND path = ?")
        self.db.execute(
            f"DELETE FROM memory_problem WHERE {where}", (folder_id, origin, *([] if path is None else [path]))
        )
        self.db.executemany(
            "INSERT INTO memory_problem VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(folder_id, *problem, origin) for problem in problems],
        )

    def drop_stray_problems(self, folder_id: int) -> None:
        """Problems of files that are no memories any more."""
        self.db.execute(
            "DELETE FROM memory_problem WHERE folder_id = ?1 AND origin = 'file' AND path NOT IN"
            " (SELECT path FROM memory_entry WHERE folder_id = ?1)",
            (folder_id,),
        )

    def resolve(self, folder_id: int, keys: Iterable[str] | None = None) -> None:
        """What follows from the folder as a whole: who is replaced by whom, and keys that two files claim.

        `keys`: the folded keys that this sync touched; None looks at all.
        """
        self.flush()
        self._resolve_supersedes(folder_id)
        self._resolve_keys(folder_id, keys)

    def _unlink_entities(self, entry_id: int) -> None:
        links = self.db.execute("SELECT entity_id FROM memory_entity_link WHERE entry_id = ?", (entry_id,))
        self._unlinked.update(int(r[0]) for r in links)
        self.db.execute("DELETE FROM memory_entity_link WHERE entry_id = ?", (entry_id,))

    def _drop_orphans(self) -> None:
        """Entities that no memory is about any more."""
        self.db.executemany(
            "DELETE FROM memory_entity WHERE id = ?1"
            " AND NOT EXISTS (SELECT 1 FROM memory_entity_link WHERE entity_id = ?1)",
            [(entity_id,) for entity_id in self._unlinked],
        )
        if self._unlinked:
            self._entity_ids.clear()
            self._unlinked.clear()

    def _resolve_supersedes(self, folder_id: int) -> None:
        low, high = folder_id << FOLDER_BITS, (folder_id + 1) << FOLDER_BITS
        claims = self.db.execute(
            "SELECT d.target, e.key, e.id FROM memory_edge d JOIN memory_entry e ON e.id = d.entry_id"
            " WHERE d.kind = 'supersedes' AND d.entry_id > ? AND d.entry_id < ?"
            " AND coalesce(e.status, '') != 'archived' ORDER BY e.path DESC",
            (low, high),
        ).fetchall()
        replacers: dict[int, tuple[int, str]] = {}
        for target, key, claimant in claims:
            named = self._named(folder_id, str(target))
            replacers.update({i: (as_int(claimant), str(key)) for i in named if i != claimant})
        ring = in_a_ring({entry_id: claimant for entry_id, (claimant, _) in replacers.items()})
        self._put_ring_problems(folder_id, ring)
        wanted = {entry_id: key for entry_id, (_, key) in replacers.items() if entry_id not in ring}
        have = {
            int(r[0]): str(r[1])
            for r in self.db.execute(
                "SELECT id, replaced_by FROM memory_entry WHERE folder_id = ? AND replaced_by IS NOT NULL", (folder_id,)
            )
        }
        for entry_id in {i for i in wanted.keys() | have.keys() if wanted.get(i) != have.get(i)}:
            self.db.execute("UPDATE memory_entry SET replaced_by = ? WHERE id = ?", (wanted.get(entry_id), entry_id))

    def _put_ring_problems(self, folder_id: int, ring: set[int]) -> None:
        paths = sorted(str(scalar(self.db, "SELECT path FROM memory_entry WHERE id = ?", (i,))) for i in ring)
        message = "these memories supersede each other in a ring, so none of them counts as ended"
        hint = "take `supersedes` out of the one that holds"
        problems = [Problem(path, None, "supersedes-ring", message, hint) for path in paths]
        self.put_problems(folder_id, None, "ring", problems)

    def _named(self, folder_id: int, target: str) -> list[int]:
        """The memories of a folder that a folded link target means."""
        low, high = folder_id << FOLDER_BITS, (folder_id + 1) << FOLDER_BITS
        rows = self.db.execute(
            "SELECT id FROM memory_entry WHERE folder_id = ?1 AND key_folded = ?2 UNION"
            " SELECT entry_id FROM memory_name WHERE name = ?2 AND entry_id > ?3 AND entry_id < ?4",
            (folder_id, target, low, high),
        )
        return [int(str(row[0])) for row in rows]

    def _resolve_keys(self, folder_id: int, keys: Iterable[str] | None) -> None:
        """Two files that claim one key: the more reliable source, then the newer, then the more certain, then the
        first path wins. The others are problems; none is lost.
        """
        if keys is None:
            self.db.execute(
                "DELETE FROM memory_problem WHERE folder_id = ? AND origin >= 'key:' AND origin < 'key;'", (folder_id,)
            )
            rows = self.db.execute(
                "SELECT key_folded FROM memory_entry WHERE folder_id = ? GROUP BY key_folded HAVING count(*) > 1",
                (folder_id,),
            )
            keys = [str(row[0]) for row in rows.fetchall()]
        for key in sorted(set(keys)):
            self._resolve_key(folder_id, key)

    def _resolve_key(self, folder_id: int, key: str) -> None:
        claimants = self.db.execute(
            "SELECT path, source, coalesce(updated, updated_found), confidence FROM memory_entry"
            " WHERE folder_id = ? AND ended = 0 AND key_folded = ? ORDER BY path",
            (folder_id, key),
        ).fetchall()
        origin = f"key:{key}"
        self.db.execute("DELETE FROM memory_problem WHERE folder_id = ? AND origin = ?", (folder_id, origin))
        ranked = sorted(
            claimants, key=lambda c: (SOURCES.get(str(c[1]), 0.0), str(c[2]), float(str(c[3]))), reverse=True
        )
        self.db.executemany(
            "INSERT INTO memory_problem VALUES (?, ?, NULL, 'same-key', ?, ?, ?)",
            [
                (
                    folder_id,
                    row[0],
                    f"{ranked[0][0]} has the key {key!r} too, and wins it",
                    "give one of them another `key:`, or archive it",
                    origin,
                )
                for row in ranked[1:]
            ],
        )

    def _next_id(self, folder_id: int) -> int:
        base = folder_id << FOLDER_BITS
        known = self._next_ids.get(folder_id)
        if known is None:
            row = self.db.execute("SELECT max(id) FROM memory_entry WHERE folder_id = ?", (folder_id,)).fetchone()
            known = int(row[0]) if row and row[0] is not None else base
        self._next_ids[folder_id] = known + 1
        return known + 1

    def _entity_id(self, name: str) -> int:
        known = self._entity_ids.get(name)
        if known is None:
            found = scalar(self.db, "SELECT id FROM memory_entity WHERE name = ?", (name,))
            if found is None:
                found = scalar(self.db, "INSERT INTO memory_entity (name) VALUES (?) RETURNING id", (name,))
            known = self._entity_ids[name] = as_int(found)
        return known


def _values(entry_id: int, folder_id: int, row: Row) -> tuple[object, ...]:
    m = row.memory
    return (
        entry_id, folder_id, row.path, row.path_raw, m.key, key_folded(m), m.name, m.description, m.type, m.confidence,
        m.source, m.domain, m.topic, m.status, m.stability, m.valid_from, m.invalid_at, m.expires,
        fold_target(m.superseded_by) if m.superseded_by else None, m.created, m.updated, row.created_found,
        row.updated_found, int(row.ended), row.front, *row.stat, row.sha256, int(row.wide),
        LAST_TEXT if row.broken else 0,
    )  # fmt: skip
