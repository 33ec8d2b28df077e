"""Memories in, what they are joined to out: by what they name, by what names them, by a turn, by what they are about.

Links are resolved here, when they are asked for. A row outside the caller's folders is never read, and counts nowhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from mdmem.db import Connection, as_int, marks
from mdmem.index.ids import FOLDER_BITS
from mdmem.index.tokens import fold

KINDS = ("supersedes", "link", "derived_from", "turn", "entity")  # strongest first
MAX_OF_ONE = 50  # neighbours of one memory
MAX_OF_ALL = 500
MAX_HELD = 25  # an entity that more memories are about tells none of them from the others

_NAMING = ("supersedes", "link", "derived_from")  # kinds whose target names a memory
_READ_OF_ONE = 500  # edges of one memory and folder that are looked at: what thousands name is cut here
_PART = 400  # values in one statement


class Neighbour(NamedTuple):
    """Two memories and what joins them. `via`: the folded target, the turn, or the entity.

    A `link`, `supersedes` or `derived_from` goes from the memory whose file says so to the one it names; a `turn` or
    `entity` has no direction, and goes from the memory asked for.
    """

    from_id: int
    to_id: int
    kind: str
    via: str


class _Name(NamedTuple):
    """What order and grants need of a memory."""

    key: str
    scope: str
    scope_ref: str
    path: str
    domain: str


class _Found(NamedTuple):
    """A neighbour of one of the memories asked for, as lists of them are sorted: by kind, then by how many memories
    share the entity (0: no entity).
    """

    kind: int
    held: int
    other: int
    edge: Neighbour


def neighbours(
    db: Connection,
    ids: Iterable[int],
    folder_ids: Collection[int],
    *,
    hidden_domains: frozenset[str] = frozenset(),
) -> list[Neighbour]:
    """What these memories are joined to, inside these folders: strongest kind first, then rarer entities, then by key
    and path of the other end.

    At most MAX_OF_ONE for each id and MAX_OF_ALL together. A target means the memories of that key or name in the
    folder it stands in, else those in the others. `hidden_domains` (folded): memories that are not to be seen.
    """
    folders = sorted(set(folder_ids))
    asked = sorted({i for i in ids if i >> FOLDER_BITS in folders})
    if not asked:
        return []
    found: dict[int, list[_Found]] = {i: [] for i in asked}
    for entry_id, row in _by_edges(db, asked, folders):
        found[entry_id].append(row)
    # What is hidden makes room for others, so that nothing may be cut before it is known.
    enough = MAX_OF_ALL * MAX_HELD if hidden_domains else MAX_OF_ONE
    for entry_id, row in _sharing_an_entity(db, found, folders, enough):
        found[entry_id].append(row)
    names = _names(db, {*asked, *(row.other for rows in found.values() for row in rows)})
    hidden = {i for i, name in names.items() if name.domain in hidden_domains} if hidden_domains else set()
    kept: dict[Neighbour, tuple[object, ...]] = {}
    for entry_id, rows in found.items():
        for row in _first([row for row in rows if row.other in names and row.other not in hidden], names):
            edge = row.edge
            if edge.kind not in _NAMING and row.other in found and names[row.other] < names[entry_id]:
                edge = edge._replace(from_id=row.other, to_id=entry_id)  # two that were asked for: said once
            place = (row.kind, row.held, names[row.other], edge.via, names[entry_id])
            kept[edge] = min(kept.get(edge, place), place)
    return sorted(kept, key=lambda edge: kept[edge])[:MAX_OF_ALL]


def _first(rows: list[_Found], names: dict[int, _Name]) -> Iterator[_Found]:
    """The neighbours of one memory, best first, until there are enough. Row ids decide nothing: they differ from one
    build of the index to the next.
    """
    seen: set[int] = set()

    def place(row: _Found) -> tuple[object, ...]:
        return row.kind, row.held, names[row.other], row.edge.via, row.edge.from_id == row.other

    for row in sorted(rows, key=place):
        if row.other not in seen and len(seen) == MAX_OF_ONE:
            return
        seen.add(row.other)
        yield row


def missing(db: Connection, ids: Iterable[int], folder_ids: Collection[int]) -> list[tuple[int, str, str]]:
    """(id, kind, target) of what these memories link to or supersede and no memory of these folders answers to.

    In the order of the ids, then by kind and target; at most MAX_OF_ONE for each id.
    """
    folders = sorted(set(folder_ids))
    places = {i: n for n, i in enumerate(i for i in ids if i >> FOLDER_BITS in folders)}
    edges = [e for e in _said_by(db, list(places)) if e[1] in ("link", "supersedes")]
    edges.sort(key=lambda e: (places[e[0]], KINDS.index(e[1]), e[2]))
    meant = _meant(db, {target for _, _, target in edges}, folders)
    left: dict[int, int] = defaultdict(int)
    found = []
    for entry_id, kind, target in edges:
        if not meant.get(target) and left[entry_id] < MAX_OF_ONE:
            left[entry_id] += 1
            found.append((entry_id, kind, target))
    return found


# --- by edges ---------------------------------------------------------------------------------------------


def _by_edges(db: Connection, asked: list[int], folders: list[int]) -> Iterator[tuple[int, _Found]]:
    """What these memories name, what names them, and what comes of the same turn."""
    answers_to = _answers_to(db, asked)
    said = _said_by(db, asked)
    turns: dict[int, set[str]] = defaultdict(set)
    for entry_id, kind, target in said:
        if kind == "turn":
            turns[entry_id].add(target)
    naming = [edge for edge in said if edge[1] in _NAMING]
    for entry_id, names in answers_to.items():
        for other, kind, target in _pointing(db, [*names, *turns[entry_id]], folders):
            if kind in _NAMING:
                naming.append((other, kind, target))
            elif other != entry_id and target in turns[entry_id]:
                yield entry_id, _Found(KINDS.index(kind), 0, other, Neighbour(entry_id, other, kind, target))
    yield from _by_name(db, naming, set(asked), folders)


def _by_name(
    db: Connection, naming: list[tuple[int, str, str]], asked: set[int], folders: list[int]
) -> Iterator[tuple[int, _Found]]:
    meant = _meant(db, {target for _, _, target in naming}, folders)
    for source, kind, target in dict.fromkeys(naming):
        for to in _nearest(meant.get(target, []), source >> FOLDER_BITS):
            edge, rank = Neighbour(source, to, kind, target), KINDS.index(kind)
            if source in asked and to != source:
                yield source, _Found(rank, 0, to, edge)
            if to in asked and to != source:
                yield to, _Found(rank, 0, source, edge)


def _said_by(db: Connection, ids: Sequence[int]) -> list[tuple[int, str, str]]:
    """(id, kind, target) of the edges of these memories."""
    found = []
    for part in _parts(ids):
        sql = (
            "SELECT entry_id, kind, target FROM (SELECT *,"
            " row_number() OVER (PARTITION BY entry_id, kind ORDER BY target) AS n"
            f" FROM memory_edge WHERE entry_id IN ({marks(part)})) WHERE n <= {_READ_OF_ONE}"
        )
        found += [(as_int(row[0]), str(row[1]), str(row[2])) for row in db.execute(sql, part)]
    return found


def _answers_to(db: Connection, ids: list[int]) -> dict[int, list[str]]:
    """Id -> its folded key, and its names."""
    found: dict[int, list[str]] = defaultdict(list)
    for part in _parts(ids):
        these = marks(part)
        sql = (
            f"SELECT id, key_folded FROM memory_entry WHERE id IN ({these}) UNION ALL"
            f" SELECT entry_id, name FROM memory_name WHERE entry_id IN ({these})"
        )
        for entry_id, name in db.execute(sql, (*part, *part)):
            found[as_int(entry_id)].append(str(name))
    return found


def _pointing(db: Connection, targets: Sequence[str], folders: list[int]) -> Iterator[tuple[int, str, str]]:
    """(id, kind, target) of the edges whose target is one of these."""
    kinds = KINDS[:-1]
    sql = (
        f"SELECT entry_id, kind, target FROM memory_edge WHERE kind IN ({marks(kinds)})"
        f" AND target IN ({marks(targets)}) AND entry_id > ? AND entry_id < ? ORDER BY kind DESC LIMIT {_READ_OF_ONE}"
    )
    for folder_id in folders:
        for row in db.execute(sql, (*kinds, *targets, *_range(folder_id))):
            yield as_int(row[0]), str(row[1]), str(row[2])


def _meant(db: Connection, targets: set[str], folders: list[int]) -> dict[str, list[int]]:
    """Target -> every memory of these folders that answers to it, by id."""
    found: dict[str, set[int]] = defaultdict(set)
    for part in _parts(sorted(targets)):
        these, inside = marks(part), marks(folders)
        keys = f"SELECT key_folded, id FROM memory_entry WHERE folder_id IN ({inside}) AND key_folded IN ({these})"
        for name, entry_id in db.execute(keys, (*folders, *part)):
            found[str(name)].add(as_int(entry_id))
        names = f"SELECT name, entry_id FROM memory_name WHERE name IN ({these}) AND entry_id > ? AND entry_id < ?"
        for folder_id in folders:
            for name, entry_id in db.execute(names, (*part, *_range(folder_id))):
                found[str(name)].add(as_int(entry_id))
    return {target: sorted(ids) for target, ids in found.items()}


def _nearest(meant: list[int], folder_id: int) -> list[int]:
    """Of the memories that a target may mean, those of the folder it stands in, else those of the others."""
    return [i for i in meant if i >> FOLDER_BITS == folder_id] or meant


# --- by what they are about --------------------------------------------------------------------------------


def _sharing_an_entity(
    db: Connection, found: dict[int, list[_Found]], folders: list[int], enough: int
) -> Iterator[tuple[int, _Found]]:
    """The rarest entities first, and of each memory no more of them than make it have enough neighbours."""
    holders = _Holders(db, folders)
    for entry_id, entities in holders.of(list(found)).items():
        others = {row.other for row in found[entry_id]}
        before = 0
        for held, name, entity_id in sorted(entities):
            if len(others) >= enough and held > before:
                break  # those that are as rare are all asked: their order follows from the memories
            before = held
            for other in holders.held_by(entity_id):
                if other != entry_id:
                    others.add(other)
                    edge = Neighbour(entry_id, other, "entity", name)
                    yield entry_id, _Found(KINDS.index("entity"), held, other, edge)


class _Holders:
    """Which memories of some folders are about an entity; those that more than MAX_HELD hold are left out."""

    def __init__(self, db: Connection, folders: list[int]) -> None:
        self.db = db
        # Each folder is a range of its own, and the limit ends the reading: what thousands share costs no more than 26.
        one = "SELECT entry_id FROM memory_entity_link WHERE entity_id = {} AND entry_id > ? AND entry_id < ?"
        self._all = " UNION ALL ".join([one] * len(folders)) + f" LIMIT {MAX_HELD + 1}"
        self._ranges = [bound for folder_id in folders for bound in _range(folder_id)]
        self._known: dict[int, list[int]] = {}

    def of(self, ids: list[int]) -> dict[int, list[tuple[int, str, int]]]:
        """Id -> (how many memories hold it, name, id) of each entity that the memory shares with others."""
        entities: dict[int, list[tuple[int, str, int]]] = defaultdict(list)
        for part in _parts(ids):
            sql = (
                "SELECT l.entry_id, n.name, n.id,"
                f" (SELECT count(*) FROM ({self._all.replace('{}', 'n.id')})) AS held"
                " FROM memory_entity_link l JOIN memory_entity n ON n.id = l.entity_id"
                f" WHERE l.entry_id IN ({marks(part)})"  # a condition on `held` would count a second time
            )
            for entry_id, name, entity_id, held in self.db.execute(sql, (*self._ranges, *part)):
                if 1 < as_int(held) <= MAX_HELD:
                    entities[as_int(entry_id)].append((as_int(held), str(name), as_int(entity_id)))
        return entities

    def held_by(self, entity_id: int) -> list[int]:
        if entity_id not in self._known:
            rows = self.db.execute(self._all.replace("{}", "?1"), (entity_id, *self._ranges))
            self._known[entity_id] = [as_int(row[0]) for row in rows]
        return self._known[entity_id]


# --- rows -------------------------------------------------------------------------------------------------


def _names(db: Connection, ids: set[int]) -> dict[int, _Name]:
    rows = db.execute("SELECT id, scope, scope_ref FROM scope_folder")
    scopes = {as_int(row[0]): (str(row[1]), str(row[2] or "")) for row in rows}
    found: dict[int, _Name] = {}
    for part in _parts(sorted(ids)):
        sql = f"SELECT id, key, path, domain FROM memory_entry WHERE id IN ({marks(part)})"
        for entry_id, key, path, domain in db.execute(sql, part):
            number = as_int(entry_id)
            found[number] = _Name(str(key), *scopes[number >> FOLDER_BITS], str(path), fold(str(domain or "")))
    return found


def _range(folder_id: int) -> tuple[int, int]:
    return folder_id << FOLDER_BITS, (folder_id + 1) << FOLDER_BITS


def _parts(values: Sequence[int] | Sequence[str]) -> Iterator[Sequence[int] | Sequence[str]]:
    yield from (values[at : at + _PART] for at in range(0, len(values), _PART))
