"""What memories are joined to: by name, by turn, by entity; inside the caller's folders, bounded, and without scans."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mdmem.index import graph, read
from mdmem.index.graph import MAX_HELD, MAX_OF_ALL, MAX_OF_ONE
from mdmem.scope import Scope
from tests.bed import Bed, memory


class Net:
    """A bed with a second folder, and its neighbours by path."""

    def __init__(self, bed: Bed) -> None:
        self.bed = bed
        self.other = Scope("agent", "bob", str(Path(bed.app.agents_folder) / "bob"))
        Path(self.other.folder).mkdir(parents=True)

    def put(self, rel: str, text: str) -> None:
        """`bob/...` goes to the other folder."""
        if rel.startswith("bob/"):
            self.bed.put(rel.removeprefix("bob/"), text, Path(self.other.folder))
        else:
            self.bed.put(rel, text)

    def sync(self) -> None:
        self.bed.sync()
        self.bed.sync(scope=self.other)

    @property
    def folders(self) -> tuple[int, int]:
        both = (str(self.bed.folder), self.other.folder)
        found = {f.path: f.id for f in read.folders(self.bed.db)}
        return found[both[0]], found[both[1]]

    def names(self) -> dict[int, str]:
        mine, _ = self.folders
        return {
            e.id: e.path if e.folder_id == mine else f"bob/{e.path}"
            for e in read.list_entries(self.bed.db, self.folders)
        }

    def ids(self, *paths: str) -> list[int]:
        by_path = {path: i for i, path in self.names().items()}
        return [by_path[path] for path in paths]

    def around(self, *paths: str, folders: tuple[int, ...] | None = None, hidden: str = "") -> list[tuple[str, ...]]:
        """(from, to, kind, via) of every neighbour."""
        names = self.names()
        found = graph.neighbours(
            self.bed.db,
            self.ids(*paths),
            self.folders if folders is None else folders,
            hidden_domains=frozenset({hidden} if hidden else ()),
        )
        return [(names[n.from_id], names[n.to_id], n.kind, n.via) for n in found]


@pytest.fixture
def net(bed: Bed) -> Net:
    return Net(bed)


def test_links_are_followed_both_ways_by_key_path_name_and_alias(net: Net) -> None:
    net.put("a.md", memory("see [[key:b]] and [[Cee|c]] and [[sub/d.md#part]] and [[dee]]"))
    net.put("b.md", memory("b", key="Key:B"))
    net.put("c.md", memory("c", name="Cee"))
    net.put("sub/d.md", memory("d", aliases="[Dee]"))
    net.sync()

    assert net.around("a.md") == [
        ("a.md", "b.md", "link", "key:b"),
        ("a.md", "c.md", "link", "cee"),
        ("a.md", "sub/d.md", "link", "dee"),
        ("a.md", "sub/d.md", "link", "sub/d"),
    ]
    for path in ("b.md", "c.md", "sub/d.md"):
        assert {edge[:2] for edge in net.around(path)} == {("a.md", path)}, path


def test_the_strongest_kind_comes_first_then_the_rarer_entity_then_the_key(net: Net) -> None:
    turn = "claude:s1#3"
    net.put("a.md", memory("[[z]]", supersedes="y", derived_from=f"[x, '{turn}']", entities="[rare, common]"))
    for name in ("z", "y", "x"):
        net.put(f"{name}.md", name)
    net.put("t.md", memory("t", derived_from=turn))
    net.put("m.md", memory("m", entities="[rare]"))
    for name in ("l", "k"):
        net.put(f"{name}.md", memory(name, entities="[common]"))
    net.sync()

    assert net.around("a.md") == [
        ("a.md", "y.md", "supersedes", "y"),
        ("a.md", "z.md", "link", "z"),
        ("a.md", "x.md", "derived_from", "x"),
        ("a.md", "t.md", "turn", turn),
        ("a.md", "m.md", "entity", "rare"),
        ("a.md", "k.md", "entity", "common"),
        ("a.md", "l.md", "entity", "common"),
    ]
    assert net.around("y.md") == [("a.md", "y.md", "supersedes", "y")]
    assert net.around("t.md") == [("t.md", "a.md", "turn", turn)]


def test_what_two_of_the_memories_asked_for_share_is_said_once(net: Net) -> None:
    net.put("b.md", memory("[[a]]", entities="[e]"))
    net.put("a.md", memory("[[b]]", entities="[e]"))
    net.sync()

    assert net.around("b.md", "a.md", "a.md") == [
        ("b.md", "a.md", "link", "a"),
        ("a.md", "b.md", "link", "b"),
        ("a.md", "b.md", "entity", "e"),
    ]


def test_a_target_means_its_own_folder_first_and_the_others_only_where_that_has_none(net: Net) -> None:
    net.put("from.md", "[[both]] [[theirs]] [[deep]]")
    net.put("both.md", "mine")
    net.put("sub/deep.md", "by its file name")
    net.put("bob/both.md", "theirs")
    net.put("bob/theirs.md", "theirs [[both]]")
    net.put("bob/deep.md", "by its key")
    net.sync()

    assert {edge[1] for edge in net.around("from.md")} == {"both.md", "bob/theirs.md", "sub/deep.md"}
    assert net.around("bob/both.md") == [("bob/theirs.md", "bob/both.md", "link", "both")]
    assert net.around("both.md") == [("from.md", "both.md", "link", "both")]
    assert ("from.md", "bob/theirs.md", "link", "theirs") in net.around("bob/theirs.md")


def test_rows_outside_the_callers_folders_count_nowhere(net: Net) -> None:
    mine = "[[theirs]]\n"
    net.put("a.md", memory(mine, entities="[e]", derived_from="claude:s#1"))
    net.put("b.md", memory("b", entities="[e]"))
    net.sync()
    alone = (net.folders[0],)
    before = net.around("a.md", "b.md", folders=alone)
    lost = graph.missing(net.bed.db, net.ids("a.md"), alone)
    for n in range(MAX_HELD + 5):
        net.put(f"bob/{n}.md", memory("[[a]] [[b]]", entities="[e]", derived_from="claude:s#1", supersedes="a"))
    net.put("bob/theirs.md", "x")
    net.sync()

    assert before == [("a.md", "b.md", "entity", "e")]
    assert net.around("a.md", "b.md", folders=alone) == before
    assert graph.missing(net.bed.db, net.ids("a.md"), alone) == lost == [(*net.ids("a.md"), "link", "theirs")]
    assert net.around("bob/1.md", folders=alone) == [], "asked for, but not the caller's"
    assert ("a.md", "b.md", "entity", "e") not in net.around("a.md"), "with both folders, thirty are about it"
    assert graph.missing(net.bed.db, net.ids("a.md"), net.folders) == []


def test_an_entity_of_more_than_25_memories_joins_nothing(net: Net) -> None:
    for n in range(MAX_HELD):
        net.put(f"m{n:02}.md", memory("x", entities="[e]"))
    net.sync()
    assert len(net.around("m00.md")) == MAX_HELD - 1

    net.put("one-more.md", memory("x", entities="[e]"))
    net.sync()
    assert net.around("m00.md") == []


def test_one_memory_has_at_most_50_neighbours_and_all_together_500(net: Net) -> None:
    for n in range(120):
        links = "[[hub]] " + " ".join(f"[[m{(n + step) % 120}]]" for step in range(1, 61))
        net.put(f"m{n}.md", links)
    net.put("hub.md", memory("hub", supersedes="m77", entities="[e]"))
    net.put("e.md", memory("e", entities="[e]"))
    net.sync()
    around = net.around("hub.md")

    assert len(around) == MAX_OF_ONE
    assert around[0] == ("hub.md", "m77.md", "supersedes", "m77")
    assert [edge[0] for edge in around[1:]] == sorted(edge[0] for edge in around[1:])
    assert len(net.around(*(f"m{n}.md" for n in range(120)))) == MAX_OF_ALL


def test_among_entities_that_are_as_rare_the_order_of_the_memories_decides(net: Net) -> None:
    net.put("a.md", memory("a", entities=f"[{', '.join(f'e{n:02}' for n in range(60))}]"))
    for n in range(60):
        net.put(f"{n:02}.md", memory("x", entities=f"[e{59 - n:02}]"))
    net.sync()

    assert [edge[1] for edge in net.around("a.md")] == [f"{n:02}.md" for n in range(MAX_OF_ONE)]


def test_hidden_domains_are_not_seen_and_make_room_for_others(net: Net) -> None:
    net.put("a.md", memory("[[b]] [[c]]", entities=f"[wide, {', '.join(f'e{n}' for n in range(55))}]"))
    net.put("b.md", memory("b", domain="Secret"))
    net.put("c.md", "c")
    for n in range(55):
        net.put(f"{n:02}.md", memory("x", entities=f"[e{n}]", domain="secret"))
    for name in ("d", "e"):
        net.put(f"{name}.md", memory("x", entities="[wide]", domain="open"))
    net.sync()

    assert [edge[1] for edge in net.around("a.md", hidden="secret")] == ["c.md", "d.md", "e.md"]
    assert {"b.md", "00.md"} < {edge[1] for edge in net.around("a.md")}


def test_a_rebuild_gives_the_same_neighbours_in_the_same_order(net: Net) -> None:
    chance = random.Random(7)
    texts = {}
    for n in range(60):
        links = " ".join(f"[[m{chance.randrange(60)}]]" for _ in range(4))
        entities = ", ".join(f"e{chance.randrange(8)}" for _ in range(3))
        texts[f"m{n}.md"] = memory(links, entities=f"[{entities}]", derived_from=f"claude:s#{n % 5}")
    order = sorted(texts)
    asked = order[::6]
    for path in order:
        net.put(path, texts[path])
        net.bed.sync([path])
    net.sync()
    before = net.around(*asked)
    for path in order:
        (net.bed.folder / path).unlink()
    net.sync()
    for path in reversed(order):
        net.put(path, texts[path])
        net.bed.sync([path])

    assert len(before) > 100
    assert net.around(*asked) == before


def test_nothing_asked_and_no_folder_have_no_neighbours(net: Net) -> None:
    net.put("a.md", "[[a]] [[nowhere]]")
    net.sync()
    (entry,) = net.ids("a.md")

    assert graph.neighbours(net.bed.db, [], net.folders) == []
    assert graph.neighbours(net.bed.db, [entry], ()) == []
    assert graph.neighbours(net.bed.db, [entry], net.folders) == [], "itself is no neighbour"
    assert graph.missing(net.bed.db, [entry], ()) == []
    assert graph.missing(net.bed.db, [entry], net.folders) == [(entry, "link", "nowhere")]


def test_no_table_is_read_through(net: Net) -> None:
    net.put("a.md", memory("[[b]]", supersedes="c", derived_from="claude:s#1", entities="[e]"))
    net.put("b.md", memory("[[a]]", entities="[e]"))
    net.sync()
    db = net.bed.db
    said: set[tuple[str, int]] = set()
    ids = net.ids("a.md", "b.md")

    def note(_: object, sql: str, bound: tuple[object, ...] | None) -> bool:
        said.add((sql, len(bound or ())))
        return True

    db.exec_trace = note
    try:
        graph.neighbours(db, ids, net.folders)
        graph.missing(db, ids, net.folders)
    finally:
        db.exec_trace = None
    plans = [
        str(row[3])
        for sql, bound in said
        if "scope_folder" not in sql
        for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", (1,) * bound)
    ]

    assert len(said) >= 6
    assert [step for step in plans if "SCAN memory" in step or step in ("SCAN e", "SCAN l", "SCAN n")] == []
    assert any("memory_edge_target" in step for step in plans)
