"""What the index keeps of a memory: entities, edges, names, pieces; and the writer that keeps them in step."""

from __future__ import annotations

import apsw
import pytest

from mdmem.db import as_bytes, as_int
from mdmem.document import memory_of, parse
from mdmem.index import digest, pieces_of, read
from mdmem.index.edges import edges_of, fold_target, names_of
from mdmem.index.entities import MAX_BYTES, MAX_ENTITIES, entities_of, normalise
from mdmem.index.pieces import MAX_PIECES, PIECE_WEIGHT
from mdmem.memory import Memory
from tests.bed import Bed, memory


def made(text: str, path: str = "a.md") -> Memory:
    return memory_of(parse(text.encode(), path), path=path, scope="user")[0]


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("Arco Design", "arco"),
        ("@arco-design/web-react", "arco"),
        ("react.js", "react"),
        ("aws-cli", "aws"),
        ("`AWS`", "aws"),
        ("ＡＷＳ", "aws"),
        ("  a \n b ", "a b"),
        ("k8s", "kubernetes"),
        ("K8S-cli", "kubernetes"),
        ("js", "js"),
        ("", ""),
        ("部署", "部署"),
        ("é" * 100, "é" * (MAX_BYTES // 2)),
    ],
)
def test_entities_are_folded_to_one_name(name: str, normal: str) -> None:
    assert normalise(name, {"k8s": "kubernetes"}) == normal


def test_entities_come_from_frontmatter_then_links_then_code_and_are_bounded() -> None:
    found = entities_of(made("---\nentities: [B, a]\n---\nsee [[c]] and `d_e`, `a`"), {})
    assert found[:4] == ["b", "a", "c", "d_e"]

    many = " ".join(f"[[e{n}]]" for n in range(200))
    assert len(entities_of(made(many), {})) == MAX_ENTITIES


def test_an_alias_keeps_the_word_as_written_findable(bed: Bed) -> None:
    bed.put("a.md", memory("x", entities="['@arco-design/web-react']"))
    bed.sync()

    assert bed.found("web-react") == ["a.md"]
    assert bed.found("arco") == ["a.md"]


@pytest.mark.parametrize(
    ("target", "folded"),
    [("[[B]]", "b"), ("[[B|label]]", "b"), ("B#part", "b"), ("sub/B.md", "sub/b"), ("  ", ""), ("[[]]", "")],
)
def test_targets_are_folded_like_keys(target: str, folded: str) -> None:
    assert fold_target(target) == folded


def test_edges_are_links_supersedes_origins_and_turns() -> None:
    text = "---\nsupersedes: [old, '[[Older]]']\nderived_from: [claude:s1#3, plan]\n---\n[[b]] [[b]]"

    assert edges_of(made(text)) == [
        ("derived_from", "plan"),
        ("link", "b"),
        ("supersedes", "old"),
        ("supersedes", "older"),
        ("turn", "claude:s1#3"),
    ]


def test_a_memory_answers_to_its_path_file_name_name_and_aliases() -> None:
    assert names_of("key:x", "sub/File.md", "Name", ("Alias", "")) == {"sub/file", "file", "name", "alias"}
    assert "file" not in names_of("File", "File.md", "Name", ())


# --- pieces ------------------------------------------------------------------------------------------


def test_a_short_memory_is_one_piece_that_begins_with_its_name() -> None:
    assert pieces_of(made("---\nname: Deploy\n---\nRun it.")) == ["Deploy\nRun it."]
    assert pieces_of(made("---\nname: Deploy\n---\nDeploy it.")) == ["Deploy it."]
    assert pieces_of(made("---\nname: Deploy\ndescription: How to\n---\n")) == ["Deploy\nHow to"]


@pytest.mark.parametrize(
    "body",
    [
        "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(30)),
        "A sentence of some words. " * 400,
        "x" * 20_000,
        "部署的步骤。" * 600,
        "部" * 5_000,
    ],
)
def test_a_long_memory_is_cut_into_bounded_pieces_and_nothing_is_lost_before_the_cap(body: str) -> None:
    pieces = pieces_of(made(body))

    assert 1 < len(pieces) <= MAX_PIECES
    assert all(len(p) + 2 * sum(c >= "\u3000" for c in p) <= PIECE_WEIGHT + 3 * 170 + 100 for p in pieces)
    first = "".join(pieces[0].split())
    assert "".join(body.split())[:100] in first
    if len(pieces) < MAX_PIECES:
        kept = sum(p.count(body[0]) for p in pieces)
        assert kept >= body.count(body[0])


def test_a_book_has_at_most_48_pieces() -> None:
    assert len(pieces_of(made("A sentence of words.\n\n" * 20_000))) == MAX_PIECES


def test_an_edit_keeps_the_vectors_of_what_it_did_not_change(bed: Bed, embedder: object) -> None:
    from tests.models.hash_embedder import HashEmbedder

    counting = HashEmbedder()
    paragraphs = [f"Paragraph {n}. " + f"word{n} " * 120 for n in range(10)]
    bed.put("a.md", memory("\n\n".join(paragraphs), name="N", description="D"))
    bed.sync()
    assert bed.embed_all(counting) == 10

    paragraphs[4] = "Another. " + "thing " * 130
    bed.put("a.md", memory("\n\n".join([paragraphs[9], *paragraphs[:9]]), name="N", description="D"))
    bed.sync()
    assert bed.embed_all(counting) == 1
    ids = bed.db.execute("SELECT n FROM memory_piece ORDER BY n").fetchall()
    assert ids == [(n,) for n in range(10)]
    assert bed.db.execute("SELECT count(*) FROM memory_vec").fetchone() == (10,)


def test_the_digest_takes_any_text() -> None:
    assert len(digest("x\ud800")) == 32


# --- questions -------------------------------------------------------------------------------------------


def test_what_nobody_is_about_any_more_leaves_the_index(bed: Bed) -> None:
    bed.put("a.md", memory("x", entities="[one, two]"))
    bed.put("b.md", memory("x", entities="[two, three]"))
    bed.sync()
    bed.put("a.md", memory("x", entities="[four]"))
    bed.sync(["a.md"])
    (bed.folder / "b.md").unlink()
    bed.sync(["b.md"])

    assert bed.db.execute("SELECT name FROM memory_entity").fetchall() == [("four",)]


def test_questions_with_nothing_in_them_have_no_answer(bed: Bed) -> None:
    bed.put("a.md", "x")
    bed.sync()

    assert read.by_keys(bed.db, [1], ["", " "]) == []
    assert read.like_key(bed.db, [1], "  ") == []
    assert read.by_path(bed.db, 1, "nowhere.md") is None
    assert read.key_of(bed.db, 999) is None
    assert read.find_folder(bed.db, "/nowhere") is None
    assert read.entries(bed.db, []) == {}
    assert read.meta(bed.db, "nothing") is None
    assert [e.path for e in read.like_key(bed.db, [1], "A")] == ["a.md"]


def test_more_entries_than_one_statement_holds_are_read(bed: Bed) -> None:
    for n in range(1_200):
        bed.put(f"m{n}.md", "x")
    bed.sync()
    ids = [e.id for e in read.list_entries(bed.db, [1])]

    assert len(read.entries(bed.db, ids)) == 1_200


def test_a_column_of_another_kind_is_damage() -> None:
    with pytest.raises(apsw.CorruptError):
        as_int("x")
    with pytest.raises(apsw.CorruptError):
        as_bytes("x")
    assert (as_int(3), as_bytes(b"x")) == (3, b"x")


def test_front_that_is_no_map_is_read_as_nothing(bed: Bed) -> None:
    bed.put("a.md", "x")
    bed.sync()
    bed.db.execute("UPDATE memory_entry SET front = '[]'")
    entry = bed.entry("a.md")

    assert entry is not None
    assert entry.more == {}
