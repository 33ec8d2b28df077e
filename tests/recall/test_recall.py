"""Recall: what comes first, what never comes, and why each hit is there."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdmem.db import DAMAGE, INDEX, open_reader
from mdmem.errors import SilentError
from mdmem.index import read
from mdmem.index.read import Entry
from mdmem.recall import MODES, Query, Recall
from mdmem.recall.fusion import reciprocal_ranks, scaled
from mdmem.recall.validity import moment
from tests.bed import NOW, Bed, memory
from tests.models.hash_embedder import HashEmbedder

DAY = datetime.timedelta(days=1)


def put_all(bed: Bed, **texts: str) -> None:
    for name, text in texts.items():
        bed.put(f"{name}.md", text)
    bed.sync()


# --- order -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "query", ["deploy:blyck", "  Deploy:BLYCK ", "how do I run deploy:blyck?", '"deploy:blyck", please']
)
def test_an_exact_key_in_the_query_comes_first_in_every_mode(bed: Bed, mode: str, query: str) -> None:
    put_all(
        bed,
        a=memory("Something else altogether.", key="deploy:blyck", confidence="0.1", updated="2001-01-01"),
        b=memory("deploy blyck deploy blyck please run how", name="deploy blyck"),
        c="run deploy blyck",
    )
    hits = bed.find(query, mode, embedder=HashEmbedder())

    assert hits[0].entry.path == "a.md"
    assert hits[0].why.exact_key
    assert not any(hit.why.exact_key for hit in hits[1:])


def test_a_key_that_has_ended_is_not_recalled_by_its_name(bed: Bed) -> None:
    put_all(bed, a=memory("x", key="deploy:blyck", status="archived"))

    assert bed.found("deploy:blyck") == []
    (hit,) = bed.find("deploy:blyck", include_invalid=True)
    assert (hit.why.exact_key, hit.invalid) == (True, "archived")


def test_name_and_key_weigh_more_than_description_and_description_more_than_body(bed: Bed) -> None:
    same = {"updated": "2026-11-29"}
    put_all(
        bed,
        body=memory("The zebra stands here, in a text of some words.", name="One", description="nothing", **same),
        description=memory("Some text of some words here.", name="Two", description="about a zebra", **same),
        name=memory("Some text of some words here.", name="Zebra", description="nothing", **same),
    )

    assert bed.found("zebra") == ["name.md", "description.md", "body.md"]
    shares = [hit.why.relevance for hit in bed.find("zebra")]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True)


def test_score_is_the_product_of_relevance_recency_and_confidence(bed: Bed) -> None:
    put_all(
        bed,
        old=memory("same words", name="N", type="fact", updated="2026-08-21"),
        sure=memory("same words", name="N", type="fact", updated="2026-11-29T12:00:00Z"),
        unsure=memory("same words", name="N", type="fact", updated="2026-11-29T12:00:00Z", confidence="0.25"),
        rule=memory("same words", name="N", type="rule", updated="2001-01-01"),
    )
    hits = {hit.entry.path: hit for hit in bed.find("words")}

    for hit in hits.values():
        assert hit.score == pytest.approx(hit.why.relevance * hit.why.recency * hit.why.confidence)
    assert hits["old.md"].why.recency == pytest.approx(math.exp(-1.005), rel=1e-3)
    assert hits["unsure.md"].score == pytest.approx(0.25 * hits["sure.md"].score, rel=1e-2)
    assert hits["rule.md"].why.recency == 1.0
    assert list(hits) == ["rule.md", "sure.md", "old.md", "unsure.md"] or hits["old.md"].score > hits["unsure.md"].score


def test_rrf_sums_one_over_sixty_plus_rank() -> None:
    scores = reciprocal_ranks([[1, 2], [2, 3], []])

    assert scores == pytest.approx({1: 1 / 61, 2: 1 / 62 + 1 / 61, 3: 1 / 62})
    assert reciprocal_ranks([]) == {}
    assert scaled({}) == {}
    assert scaled({1: 2.0, 2: 1.0, 3: -1.0}) == {1: 1.0, 2: 0.5, 3: 0.0}
    assert scaled({1: 0.0}) == {1: 0.0}


def test_semantic_finds_what_shares_no_whole_word_and_says_the_rank_of_each_voice(
    bed: Bed, embedder: HashEmbedder
) -> None:
    put_all(bed, a=memory("deployments", name="N"), b=memory("unrelated matter", name="N"), c=memory("gardening"))
    bed.embed_all(embedder)
    hits = bed.find("deploying", "semantic", embedder=embedder)

    assert bed.found("deploymentxyz") == []
    assert hits[0].entry.path == "a.md"
    assert (hits[0].why.semantic, hits[0].why.temporal, hits[0].why.graph) == (1, None, None)
    assert [hit.rank for hit in hits] == [1, 2, 3]


def test_a_hit_of_both_voices_comes_before_a_hit_of_one(bed: Bed, embedder: HashEmbedder) -> None:
    put_all(bed, both="deploy with npm", words="npm " + "other things entirely " * 30, near="npx deployed withal")
    bed.embed_all(embedder)
    hits = bed.find("deploy with npm", "hybrid", embedder=embedder)

    assert hits[0].entry.path == "both.md"
    assert (hits[0].why.lexical, hits[0].why.semantic) == (1, 1)


def test_ties_break_by_key_and_path_and_stay_over_a_rebuild_in_every_mode(bed: Bed, embedder: HashEmbedder) -> None:
    agent = Path(bed.app.agents_folder) / "bob"
    for n in (3, 1, 2, 5, 4):
        bed.put(f"m{n}.md", memory("equal words", name="N", description="d", key=f"k{n % 3}", updated="2026-11-01"))
        bed.sync()
        text = memory("equal words", name="N", description="d", type="user", key=f"k{n % 3}", updated="2026-11-01")
        bed.put(f"m{n}.md", text, agent)
        bed.sync(None, bed.app.agent_scope("bob"))
    bed.embed_all(embedder)
    first = {m: [(h.entry.scope, h.entry.path) for h in bed.find("equal", m, embedder=embedder)] for m in MODES}
    bed.store.rebuild("to compare")
    bed.sync(None, bed.app.agent_scope("bob"))
    bed.sync()
    bed.embed_all(embedder)
    again = {m: [(h.entry.scope, h.entry.path) for h in bed.find("equal", m, embedder=embedder)] for m in MODES}

    assert first == again
    assert first["keyword"][:2] == [("agent", "m3.md"), ("user", "m3.md")]


def test_limit_cuts_and_ranks_count_from_one(bed: Bed) -> None:
    put_all(bed, **{f"m{n}": f"words {n}" for n in range(30)})

    assert len(bed.find("words", limit=7)) == 7
    assert [hit.rank for hit in bed.find("words", limit=7)] == list(range(1, 8))
    assert len(bed.find("words", limit=1_000)) == 30


# --- validity ------------------------------------------------------------------------------------


VALIDITY = [
    ({"status": "archived"}, "archived"),
    ({"status": "retired"}, "retired"),
    ({"status": "stale"}, None),
    ({"status": "active"}, None),
    ({"superseded_by": "other"}, "superseded by other"),
    ({"valid_from": "2026-11-30"}, "not valid before 2026-11-30"),
    ({"valid_from": "2026-11-29"}, None),
    ({"valid_from": "2026-11-29T12:00:01Z"}, "not valid before 2026-11-29T12:00:01Z"),
    ({"invalid_at": "2026-11-29"}, "ended 2026-11-29"),
    ({"invalid_at": "2026-11-30"}, None),
    ({"invalid_at": "2026-11-29T12:00:00Z"}, "ended 2026-11-29T12:00:00Z"),
    ({"expires": "2026-11-28"}, "expired 2026-11-28"),
    ({"expires": "2026-11-29"}, None),
    ({"expires": "2026-11-29T12:00:00Z"}, "expired 2026-11-29T12:00:00Z"),
    ({"expires": "2026-11-29T13:30:00+01:00"}, None),
]


@pytest.mark.parametrize(("front", "why"), VALIDITY)
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_what_does_not_hold_now_is_left_out_and_marked_when_asked_for(
    bed: Bed, embedder: HashEmbedder, front: dict[str, str], why: str | None, mode: str
) -> None:
    put_all(bed, a=memory("words", **front))
    bed.embed_all(embedder)

    assert bed.found("words", mode, embedder=embedder) == ([] if why else ["a.md"])
    (hit,) = bed.find("words", mode, embedder=embedder, include_invalid=True)
    assert hit.invalid == why


def test_a_memory_superseded_by_anothers_word_is_left_out_and_says_by_whom(bed: Bed) -> None:
    put_all(bed, old=memory("words", key="old:key"), new=memory("words", key="new:key", supersedes="'[[old]]'"))

    assert bed.found("words") == ["new.md"]
    hits = {h.entry.path: h.invalid for h in bed.find("words", include_invalid=True)}
    assert hits == {"new.md": None, "old.md": "superseded by new:key"}
    (bed.folder / "new.md").unlink()
    bed.sync(["new.md"])
    assert bed.found("words") == ["old.md"]


def test_as_of_asks_what_held_on_that_day(bed: Bed) -> None:
    put_all(
        bed,
        old=memory("words", created="2026-01-01", invalid_at="2026-06-01"),
        new=memory("words", created="2026-06-01"),
        later=memory("words", created="2026-01-01", valid_from="2026-09-01"),
    )

    def at(day: str) -> list[str]:
        return sorted(bed.found("words", as_of=moment(day)))

    assert at("2025-01-01") == []
    assert at("2026-03-01") == ["old.md"]
    assert at("2026-06-02") == ["new.md"]
    assert at("2026-10-01") == ["later.md", "new.md"]
    assert len(bed.find("words", as_of=moment("2025-01-01"), include_invalid=True)) == 3


def test_one_of_a_type_among_many_is_found_by_one_question(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a narrow type asks deeper and deeper: what the guard waits for would grow with the number of memories."""
    for n in range(200):
        bed.put(f"m{n}.md", memory("deploy the shop " * 3, name=f"deploy shop {n}"))
    bed.put("it.md", memory("The shop can be reached: deploy.", type="capability"))
    bed.sync()
    asked: list[int] = []
    ranked = Recall._ranked
    monkeypatch.setattr(Recall, "_ranked", lambda self, *args: asked.append(args[-1]) or ranked(self, *args))

    (hit,) = bed.find("deploy the shop", "keyword", types=frozenset(["capability"]))
    assert (hit.entry.path, len(asked)) == ("it.md", 1)


def test_types_and_domain_narrow(bed: Bed) -> None:
    put_all(
        bed,
        a=memory("words", type="fact", domain="Ops"),
        b=memory("words", type="rule"),
        c=memory("words", type="fact"),
    )

    assert bed.found("words", types=frozenset({"rule"})) == ["b.md"]
    assert bed.found("words", domain="ops") == ["a.md"]
    assert sorted(bed.found("words", types=frozenset({"rule", "fact"}))) == ["a.md", "b.md", "c.md"]


@pytest.mark.parametrize("mode", MODES)
def test_what_has_ended_does_not_crowd_out_what_holds(bed: Bed, embedder: HashEmbedder, mode: str) -> None:
    for n in range(300):
        bed.put(f"old{n}.md", memory("zebra zebra zebra", name="zebra", status="archived"))
    bed.put("one.md", "A zebra is named here, among a good many other words that have nothing to do with it at all.")
    bed.put("two.md", "Here too there stands, at the end of a long line of other words that mean little, a zebra.")
    bed.sync()
    bed.embed_all(embedder)

    assert sorted(bed.found("zebra", mode, embedder=embedder)) == ["one.md", "two.md"]


def test_long_memories_of_many_pieces_do_not_crowd_out_the_others(bed: Bed, embedder: HashEmbedder) -> None:
    for n in range(5):
        bed.put(f"long{n}.md", "\n\n".join(f"zebra paragraph {i} " + "zebra word " * 60 for i in range(40)))
    bed.put("short.md", "an unrelated text")
    bed.sync()
    bed.embed_all(embedder)

    assert "short.md" in bed.found("zebra", "semantic", embedder=embedder)


# --- other scopes ----------------------------------------------------------------------------------


def test_k10_other_scopes_never_enter_by_words_keys_paths_or_counts(bed: Bed, embedder: HashEmbedder) -> None:
    for agent in ("bob", "eve"):
        folder = Path(bed.app.agents_folder) / agent
        for n in range(150):
            text = memory("zebra zebra", key=f"secret:{n}", type="rule", scope="user", supersedes="mine")
            bed.put(f"{agent}{n}.md", text, folder)
        bed.sync(None, bed.app.agent_scope(agent))
    put_all(bed, mine=memory("A zebra of my own, and some more.", key="mine"))
    bed.embed_all(embedder)
    own = tuple(f.id for f in read.folders(bed.db) if f.scope == "user")

    for mode in MODES:
        for query in ("zebra", "secret:1", "bob1", "secret:1 zebra"):
            assert bed.found(query, mode, embedder=embedder, folder_ids=own) in (["mine.md"], [])
        (hit,) = bed.find("zebra", mode, embedder=embedder, folder_ids=own)
        assert hit.why.lexical == 1
        assert hit.invalid is None, "a key is superseded inside its own scope alone"
        assert bed.find("zebra", mode, embedder=embedder, folder_ids=()) == []


def test_a_folder_that_is_away_is_out_of_recall_even_when_asked(bed: Bed, tmp_path: Path) -> None:
    put_all(bed, a="words")
    bed.folder.rename(tmp_path / "aside")
    bed.sync()

    assert bed.found("words", folder_ids=(1,)) == []


# --- degrading ---------------------------------------------------------------------------------------


def degraded(bed: Bed, recall: Recall, text: str = "words") -> list[str]:
    return recall.find(Query(text, (1,), mode="hybrid"), NOW).degraded


def test_whatever_is_missing_is_said_and_words_still_find(bed: Bed, embedder: HashEmbedder) -> None:
    put_all(bed, a="words", b="other words")

    def silent(text: str) -> bytes:
        raise SilentError("no answer within 1 s")

    assert degraded(bed, Recall(bed.db)) == ["no vectors: no embedder is set; see `mdmem config show`"]
    assert degraded(bed, Recall(bed.db, embed=silent)) == ["no vectors: no answer within 1 s"]
    assert "no vectors yet" in degraded(bed, Recall(bed.db, embed=embedder.query))[0]
    bed.embed_all(embedder)
    assert degraded(bed, Recall(bed.db, embed=embedder.query)) == []
    put_all(bed, c="more words")
    assert "2 of 3" in degraded(bed, Recall(bed.db, embed=embedder.query))[0]
    assert degraded(bed, Recall(bed.db), "  ") == []
    assert Recall(bed.db).find(Query("words", (1,), mode="keyword"), NOW).degraded == []


def test_the_query_is_embedded_once_however_deep_recall_has_to_look(bed: Bed, embedder: HashEmbedder) -> None:
    for n in range(200):
        bed.put(f"m{n}.md", memory(f"zebra {n}", status="archived"))
    bed.sync()
    bed.embed_all(embedder)
    asked: list[str] = []

    def embed(text: str) -> bytes:
        asked.append(text)
        return embedder.query(text)

    Recall(bed.db, embed=embed).find(Query("zebra", (1,), mode="semantic"), NOW)
    assert asked == ["zebra"]


def test_damage_is_not_taken_for_missing_vectors(bed: Bed, embedder: HashEmbedder) -> None:
    put_all(bed, a="words")
    bed.embed_all(embedder)
    bed.db.execute("UPDATE memory_fts_data SET block = X'FFFFFFFFFFFFFFFF' WHERE id >= 10")
    reader = open_reader(INDEX, bed.app.paths.index_db)
    with pytest.raises(DAMAGE):
        Recall(reader, embed=embedder.query).find(Query("words", (1,)), NOW)
    reader.close()


# --- freshness ---------------------------------------------------------------------------------------


def test_g12_every_hit_is_looked_at_and_what_takes_its_place_as_well(bed: Bed) -> None:
    paths = [bed.put(f"m{n:02}.md", f"words {n}") for n in range(30)]
    bed.sync()
    for path in paths[:25]:
        path.unlink()
    rounds = 0

    def freshen(entries: Sequence[Entry]) -> bool:
        nonlocal rounds
        rounds += 1
        gone = [e.path for e in entries if not (bed.folder / e.path).exists()]
        if gone:
            bed.sync(gone)
        return bool(gone)

    recall = Recall(bed.db, freshen=freshen)
    found = [hit.entry.path for hit in recall.find(Query("words", (1,), mode="keyword", limit=5), NOW).hits]

    assert sorted(found) == [f"m{n}.md" for n in range(25, 30)]
    assert rounds == 6


def test_a_file_that_cannot_be_made_fresh_is_looked_at_once(bed: Bed) -> None:
    put_all(bed, a="words")
    rounds = 0

    def freshen(entries: Sequence[Entry]) -> bool:
        nonlocal rounds
        rounds += 1
        return True

    assert len(Recall(bed.db, freshen=freshen).find(Query("words", (1,), mode="keyword"), NOW).hits) == 1
    assert rounds == 1


# --- any text ------------------------------------------------------------------------------------------


ODD = ["C++", "o'brien", "-x", "a AND b", "NOT", "NEAR(a b)", "name:x", '"', "(", "*", "^a", "{a}", "a\0b", "", " ",
       "\udce9", "\ud800\udfff", "的", "的了", "AND OR NOT", "a" * 100_000, "部" * 5_000, "x:y " * 500]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_g10_odd_texts_are_never_an_error(bed: Bed, embedder: HashEmbedder, mode: str) -> None:
    put_all(bed, a="C++ by o'brien, 部署的步骤 x:y", b=memory("x", key="name:x"))
    bed.embed_all(embedder)
    for text in ODD:
        bed.find(text, mode, embedder=embedder)

    assert "a.md" in bed.found("C++", mode, embedder=embedder)
    assert "a.md" in bed.found("o'brien", mode, embedder=embedder)
    assert bed.found("name:x", mode, embedder=embedder)[0] == "b.md"


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(st.characters(), max_size=80), st.sampled_from(MODES))
def test_g10_any_text_in_any_mode_is_never_an_error(bed: Bed, embedder: HashEmbedder, text: str, mode: str) -> None:
    if not bed.paths():
        put_all(bed, a="words and 部署 and getUserById", b="other")
        bed.embed_all(embedder)

    bed.find(text, mode, embedder=embedder)


@pytest.mark.parametrize("mode", MODES)
def test_of_a_very_long_question_the_beginning_and_the_end_are_asked(bed: Bed, mode: str) -> None:
    put_all(bed, a="An aardvark.", b="A badger.", c="A coyote.")
    asked: list[str] = []

    def embed(text: str) -> bytes:
        asked.append(text)
        raise SilentError("none")

    text = f"aardvark {'x' * 500_000} badger {'x' * 500_000} coyote"
    hits = Recall(bed.db, embed=embed).find(Query(text, (bed.entry("a.md").folder_id,), mode=mode), NOW).hits  # type: ignore[union-attr]

    assert sorted(hit.entry.path for hit in hits) == ["a.md", "c.md"]
    assert all(len(text) < 21_000 for text in asked)
