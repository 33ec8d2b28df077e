"""Hybrid recall on whole stores: what comes first, what comes along, and what never comes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from mdmem.index import read, seek
from mdmem.models.embedder import EmbedError
from mdmem.models.quantise import quantise
from mdmem.recall import MODES, Hit, Query, Recall
from mdmem.recall.find import MAX_TOPIC, TOPIC_SHARE, _Scored
from mdmem.recall.intent import VOICES
from mdmem.recall.offers import ABOUT, Used
from mdmem.scope import Scope
from tests.bed import NOW, Bed, memory
from tests.models.hash_embedder import HashEmbedder

FRESH = "2026-11-28"


class Translator(HashEmbedder):
    """A model of two languages: it knows the words that it is given, and embeds them as their English ones."""

    def __init__(self, words: Mapping[str, str]) -> None:
        super().__init__()
        self.words = words

    def _embed(self, text: str) -> bytes | EmbedError:
        for word, meaning in self.words.items():
            text = re.sub(word, f" {meaning} ", text)
        return super()._embed(text)


def put_all(bed: Bed, **texts: str) -> None:
    for name, text in texts.items():
        bed.put(f"{name}.md", text)
    bed.sync()


def hybrid(
    bed: Bed,
    text: str,
    embedder: HashEmbedder | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    used: Used | None = None,
    **more: object,
) -> dict[str, Hit]:
    """The hits by path, in their order."""
    folders = more.pop("folder_ids", None) or tuple(f.id for f in read.folders(bed.db))
    recall = Recall(bed.db, embed=embedder.query if embedder else None, weights=weights, used=used)
    query = Query(text, folders, **more)  # type: ignore[arg-type]
    return {hit.entry.path: hit for hit in recall.find(query, NOW).hits}


def fresh(body: str, **front: str) -> str:
    return memory(body, **({"updated": FRESH, "created": FRESH} | front))


@pytest.fixture(params=["vectors", "words alone"])
def model(request: pytest.FixtureRequest) -> HashEmbedder | None:
    return HashEmbedder(512) if request.param == "vectors" else None  # wide: few chance likenesses


def embed(bed: Bed, model: HashEmbedder | None) -> None:
    if model:
        bed.embed_all(model)


# --- the product -------------------------------------------------------------------------------------------


def test_fresh_and_relevant_beats_stale_certain_and_irrelevant_by_the_product(bed: Bed) -> None:
    put_all(bed, a="x")
    (found,) = read.candidates(bed.db, [bed.find("x")[0].entry.id])
    stale = _Scored(found._replace(confidence=0.99), 0.10, 0.30)
    good = _Scored(found._replace(confidence=0.62), 0.88, 0.85)

    assert stale.score == pytest.approx(0.0297)
    assert good.score == pytest.approx(0.46376)
    for tiny in ((1e-6, 1.0, 1.0), (1.0, 1e-6, 1.0), (1.0, 1.0, 1e-6)):
        assert _Scored(found._replace(confidence=tiny[2]), *tiny[:2]).score < stale.score


def test_a_stale_certain_irrelevant_memory_never_comes_before_a_fresh_relevant_one(
    bed: Bed, model: HashEmbedder | None
) -> None:
    put_all(
        bed,
        a_stale=memory("The old site was deployed by hand.", type="fact", updated="2026-08-01", confidence="0.99"),
        good=memory("Zebra site: run npm dist, then deploy zebra.", updated="2026-11-13", confidence="0.62"),
        **{f"z{n}": fresh(f"Tea is drunk at {n}.", name="N") for n in range(20)},
    )
    embed(bed, model)
    hits = hybrid(bed, "how do I deploy the zebra site with npm?", model)

    assert next(iter(hits)) == "good.md"
    assert hits["good.md"].why.recency == pytest.approx(0.85, abs=0.01)
    assert hits["good.md"].score > 3 * hits["a_stale.md"].score
    assert hits["a_stale.md"].why.recency == pytest.approx(0.30, abs=0.01)


def test_a_permanent_memory_unused_for_three_months_still_comes_back(bed: Bed, model: HashEmbedder | None) -> None:
    old = {"type": "experience", "created": "2026-08-29", "updated": "2026-08-29"}
    put_all(
        bed,
        kept=memory("The zebra alarm is reset with the red key.", stability="permanent", **old),
        faded=memory("The zebra alarm is reset with a blue key.", **old),
        **{f"new{n}": fresh(f"An alarm of gate {n} rang.") for n in range(8)},
    )
    embed(bed, model)
    hits = hybrid(bed, "how is the zebra alarm reset?", model, limit=5)

    assert next(iter(hits)) == "kept.md"
    assert hits["kept.md"].why.recency == 0.5
    assert "faded.md" not in hits or hits["faded.md"].why.recency < 0.1


# --- repetitions -------------------------------------------------------------------------------------------


def test_five_wordings_of_one_fact_do_not_crowd_out_four_others(bed: Bed, model: HashEmbedder | None) -> None:
    wordings = [
        "Coffee for Ann: flat white",
        "Ann: coffee flat white for",
        "For Ann coffee: flat white",
        "Coffee flat white: for Ann",
        "For coffee, Ann: flat white",
    ]
    others = ["Coffee for Ann: paper cups", "Coffee for Ann: three crowns",
              "Coffee for Ann: second floor", "Coffee for Ann: before dawn"]  # fmt: skip
    texts = {f"a{n}": text for n, text in enumerate(wordings)} | {f"b{n}": text for n, text in enumerate(others)}
    filler = {f"z{n}": fresh(f"Gate {n} was painted in colour {n}.", name="N") for n in range(30)}
    put_all(bed, **{name: fresh(text, name="N") for name, text in texts.items()}, **filler)
    embed(bed, model)
    hits = hybrid(bed, "coffee Ann", model, limit=5)

    assert next(iter(hits)) == "a0.md"
    assert sorted(hits)[1:] == ["b0.md", "b1.md", "b2.md", "b3.md"]
    assert max(hits["b0.md"].score, hits["b3.md"].score) <= hits["a0.md"].score


def test_memories_are_alike_by_how_they_begin(bed: Bed, embedder: HashEmbedder) -> None:
    put_all(bed, a="zebra " * 150 + "\n\n" + "quay " * 150, b="zebra " * 150 + "\n\n" + "bench " * 150, c="locker")
    bed.embed_all(embedder)
    ids = {e.path: e.id for e in read.list_entries(bed.db, (1,))}
    a, b, c = (ids[f"{name}.md"] for name in "abc")
    alike = seek.likenesses(bed.db, [b, c, a])

    assert set(alike) == {(min(x, y), max(x, y)) for x, y in ((a, b), (a, c), (b, c))}
    assert alike[min(a, b), max(a, b)] > 0.9 > alike[min(a, c), max(a, c)]
    assert seek.likenesses(bed.db, []) == {}
    for word, best in (("quay", a), ("bench", b), ("locker", c)):
        nearest = seek.nearest(bed.db, 1, embedder.query(word), 3)
        assert (nearest[0][0], len(nearest)) == (best, 3), "but near to a question by their best piece"
        assert nearest[0][1] > 0.9


# --- what hangs on what ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("join", ["links", "entities"])
def test_a_fact_two_hops_away_that_shares_no_word_is_found_by_hybrid_alone(
    bed: Bed, model: HashEmbedder | None, join: str
) -> None:
    fronts = {
        "links": ("See [[second]].", {}, "Goes on in [[third]].", {}, {}),
        "entities": ("", {"entities": "[pylon]"}, "", {"entities": "[pylon, quay]"}, {"entities": "[quay]"}),
    }[join]
    put_all(
        bed,
        first=fresh(f"Zebras are fed at noon. {fronts[0]}", name="One", **fronts[1]),
        second=fresh(f"Bert holds the keys. {fronts[2]}", name="Two", **fronts[3]),
        third=fresh("A blue locker, code 4711.", name="Three", **fronts[4]),
        **{f"z{n}": fresh(f"Zebrano wood, {n}.", name="N") for n in range(30)},  # near, and no hop away
    )
    embed(bed, model)
    hits = hybrid(bed, "when are zebras fed", model)

    assert bed.found("when are zebras fed") == ["first.md"]
    assert (hits["first.md"].rank, hits["first.md"].why.graph) == (1, None)
    assert "second.md" in hits
    assert hits["third.md"].why.graph is not None
    assert hits["third.md"].why.lexical is None
    assert hits["first.md"].score > 2 * hits["third.md"].score
    alone = hybrid(bed, "when are zebras fed")
    assert list(alone) == ["first.md", "second.md", "third.md"]
    assert [hit.why.graph for hit in alone.values()] == [None, 1, 2]


def test_the_rest_of_a_topic_comes_behind_the_hits_marked_and_never_over_the_limit(bed: Bed) -> None:
    direct = {f"a{n}": fresh("zebra " * (5 - n) + "in a herd", name="N") for n in range(3)}
    put_all(
        bed,
        **direct,
        d=fresh("among many other words of no meaning at all, a zebra", name="N", entities="[quagga]"),
        **{f"t{n}": fresh(f"Nothing alike, {n}.", name="N", entities="[quagga]") for n in range(5)},
    )
    hits = hybrid(bed, "zebra")
    marked = [path for path, hit in hits.items() if hit.why.via]

    assert list(hits)[:4] == [*(f"a{n}.md" for n in range(3)), "d.md"]
    assert marked == list(hits)[4:] == ["t0.md", "t1.md", "t2.md"]
    assert len(marked) == MAX_TOPIC
    for path in marked:
        why = hits[path].why
        assert (why.via, [getattr(why, voice) for voice in VOICES]) == ("quagga", [None] * 4)
        assert why.relevance == pytest.approx(TOPIC_SHARE * hits["d.md"].why.relevance)
    assert list(hybrid(bed, "zebra", limit=5)) == list(hits)[:5]
    assert list(hybrid(bed, "zebra", limit=4)) == list(hits)[:4]
    assert list(hybrid(bed, "zebra", limit=2)) == list(hits)[:2]
    assert not any(hit.why.via for hit in bed.find("zebra", "semantic"))


def test_what_does_not_hold_or_is_of_another_type_is_no_topic(bed: Bed) -> None:
    direct = {f"a{n}": fresh("zebra " * (5 - n), name="N", type="fact") for n in range(3)}
    put_all(
        bed,
        **direct,
        d=fresh("among other words a zebra", name="N", type="fact", entities="[quagga]"),
        gone=fresh("Nothing alike.", name="N", type="fact", status="archived", entities="[quagga]"),
        rule=fresh("Nothing alike.", name="N", type="rule", entities="[quagga]"),
        kept=fresh("Nothing alike.", name="N", type="fact", entities="[quagga]"),
    )
    hits = hybrid(bed, "zebra", types=frozenset({"fact"}))

    assert [path for path, hit in hits.items() if hit.why.via] == ["kept.md"]


def test_a_link_alone_makes_no_topic(bed: Bed) -> None:
    direct = {f"a{n}": fresh("zebra " * (5 - n) + "in a herd", name="N") for n in range(3)}
    put_all(
        bed,
        **direct,
        d=fresh("among many other words of no meaning at all, a zebra [[far]]", name="N", entities="[quagga]"),
        far=fresh("Locker", name="N"),
        near=fresh("Bench", name="N", entities="[quagga]"),
    )

    assert list(hybrid(bed, "zebra"))[4:] == ["near.md"]


def test_links_lead_to_what_names_a_hit_as_well(bed: Bed) -> None:
    put_all(bed, a=fresh("zebra"), b=fresh("Bench, see [[a]]"), c=fresh("Locker, see [[b]]"))
    hits = hybrid(bed, "zebra")

    assert [(path, hit.why.graph) for path, hit in hits.items()] == [("a.md", None), ("b.md", 1), ("c.md", 2)]
    shares = [hit.why.relevance for hit in hits.values()]
    assert shares[2] == pytest.approx(0.7 * shares[1]), "each hop carries its share"


def test_what_is_no_nearer_than_the_ordinary_is_not_offered(bed: Bed) -> None:
    model = HashEmbedder(512)
    put_all(bed, a=fresh("zebra", name="N"), **{f"z{n}": fresh(f"Nothing{n} wood{n}", name="N") for n in range(60)})
    bed.embed_all(model)
    hits = hybrid(bed, "zebra", model, limit=50)

    assert (next(iter(hits)), hits["a.md"].why.semantic) == ("a.md", 1)
    assert len(hits) < 50
    assert all(hit.score > 0 for hit in hits.values())


# --- a week later --------------------------------------------------------------------------------------------------


def test_a_week_later_the_preference_still_comes_first_and_no_other_projects(
    bed: Bed, tmp_path: Path, model: HashEmbedder | None
) -> None:
    projects = {}
    for name, text in (("acme", "Tabs are preferred for indentation here."), ("rival", "Spaces for indentation!")):
        scope = Scope("project", name, str(tmp_path / name))
        bed.put("style.md", fresh(text, type="preference", key="style:indentation"), Path(scope.folder))
        bed.put("other.md", fresh("Indentation was discussed, tabs or not.", confidence="0.5"), Path(scope.folder))
        bed.sync(None, scope)
        projects[name] = scope
    put_all(bed, mine=fresh("I prefer dark screens.", type="preference"))
    embed(bed, model)
    own = tuple(f.id for f in read.folders(bed.db) if f.scope_ref != "rival")
    recall = Recall(bed.db, embed=model.query if model else None)
    for query in ("do we indent with tabs or spaces? which indentation", "style:indentation", "spaces"):
        for days in (0, 7):
            now = NOW + datetime.timedelta(days=days)
            hits = recall.find(Query(query, own), now).hits
            assert all(hit.entry.scope_ref != "rival" for hit in hits)
            assert query == "spaces" or (hits[0].entry.scope_ref, hits[0].entry.path) == ("acme", "style.md")


# --- other scopes ----------------------------------------------------------------------------------------------------


def test_other_scopes_never_change_which_hits_are_found(bed: Bed, model: HashEmbedder | None) -> None:
    put_all(
        bed,
        a=fresh("zebra food, see [[c]]", entities="[quay]"),
        b=memory("A zebra was seen.", updated="2026-05-03"),
        c=memory("Bert", updated="2026-01-01"),
        d=memory("Locker", updated="2026-01-01", entities="[quay]"),
    )
    embed(bed, model)
    own = tuple(f.id for f in read.folders(bed.db) if f.scope == "user")
    asked = ("zebra", "zebra on 2026-05-03", "why zebra quay", "[[a]]", "last week")
    before = {text: list(hybrid(bed, text, model, folder_ids=own)) for text in asked}
    folder = Path(bed.app.agents_folder) / "bob"
    for n in range(100):
        bed.put(f"m{n}.md", memory("zebra zebra [[a]] [[b]]", updated="2026-05-03", entities="[quay]"), folder)
    bed.sync(None, bed.app.agent_scope("bob"))
    embed(bed, model)
    theirs = [e.id for e in read.list_entries(bed.db, [f.id for f in read.folders(bed.db) if f.scope == "agent"])]
    mine = [e.id for e in read.list_entries(bed.db, own) if e.path == "c.md"]

    assert len(theirs) == 100
    assert {text: list(hybrid(bed, text, model, folder_ids=own)) for text in asked} == before
    used = hybrid(bed, "3 days ago", folder_ids=own, used=lambda first, last: theirs + mine)
    assert [(path, hit.why.temporal) for path, hit in used.items() if hit.why.temporal] == [("c.md", 1)]


@pytest.mark.parametrize("mode", MODES)
def test_hidden_domains_enter_nowhere(bed: Bed, mode: str) -> None:
    embedder = HashEmbedder(512)
    put_all(
        bed,
        a=fresh("A zebra and a gnu.", name="N"),
        **{f"s{n}": fresh("zebra zebra [[far]]", name="N", domain="Secret", entities="[quay]") for n in range(80)},
        far=fresh("Locker", name="N"),
        near=fresh("Bench", name="N", entities="[quay]"),
        k=fresh("zebra", domain="Secret", key="secret:key"),
        **{f"z{n}": fresh(f"Nothing, {n}", name="N") for n in range(40)},
    )
    bed.embed_all(embedder)
    hidden = frozenset({"secret"})
    for query in ("zebra", "zebra secret:key", "zebra yesterday"):
        hits = bed.find(query, mode, embedder=embedder, hidden_domains=hidden, limit=50)
        a = next(hit for hit in hits if hit.entry.path == "a.md")
        assert a.why.lexical == 1
        assert query != "zebra" or (a.rank, a.why.semantic) in ((1, 1), (1, None))
        assert max(hit.why.relevance for hit in hits) == 1.0
        assert not any(hit.entry.domain for hit in hits)
        assert not any(hit.why.graph or hit.why.via for hit in hits)
        days = sorted(hit.why.temporal for hit in hits if hit.why.temporal)
        assert days == (list(range(1, 44)) if "yesterday" in query and mode == "hybrid" else [])
    seen = bed.find("zebra", mode, embedder=embedder, limit=5)
    assert seen[0].entry.domain == "Secret"


def test_what_hangs_on_a_hidden_memory_alone_is_not_found(bed: Bed) -> None:
    put_all(
        bed,
        s=fresh("zebra [[far]]", domain="secret", entities="[quay]"),
        far="Locker",
        near=fresh("Bench", entities="[quay]"),
    )

    assert hybrid(bed, "zebra", hidden_domains=frozenset({"secret"})) == {}
    assert set(hybrid(bed, "zebra")) == {"s.md", "far.md", "near.md"}


# --- conflicts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_the_loser_of_a_conflict_is_left_out_and_marked_when_asked_for(
    bed: Bed, embedder: HashEmbedder, mode: str
) -> None:
    put_all(bed, won=fresh("zebra at four", key="won:key"), lost=fresh("zebra at five", key="lost:key"))
    bed.embed_all(embedder)
    ids = {e.path: e.id for e in read.list_entries(bed.db, (1,))}
    assert sorted(bed.found("zebra", mode, embedder=embedder)) == ["lost.md", "won.md"]

    bed.db.execute("INSERT INTO memory_conflict VALUES (?, ?, 'x', 0)", (ids["won.md"], ids["lost.md"]))
    assert bed.found("zebra", mode, embedder=embedder) == ["won.md"]
    assert bed.found("lost:key", mode, embedder=embedder) in ([], ["won.md"])
    hits = {h.entry.path: h.invalid for h in bed.find("zebra", mode, embedder=embedder, include_invalid=True)}
    assert hits == {"won.md": None, "lost.md": "in conflict with won:key, which holds"}

    bed.db.execute("UPDATE memory_conflict SET waits = 1")
    hits = {h.entry.path: h.invalid for h in bed.find("zebra", mode, embedder=embedder)}
    assert hits == {"won.md": None, "lost.md": None}


# --- weights and names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("voice", VOICES)
def test_a_weight_of_nothing_leaves_a_voice_out(bed: Bed, embedder: HashEmbedder, voice: str) -> None:
    put_all(
        bed,
        a=fresh("zebra food on 2026-05-03, [[b]]"),
        b=fresh("Bert"),
        **{f"z{n}": f"Nothing, {n}" for n in range(30)},
    )
    bed.embed_all(embedder)
    query = "zebra food on 2026-05-03"
    usual = hybrid(bed, query, embedder, limit=50)
    without = hybrid(bed, query, embedder, weights={voice: 0.0}, limit=50)

    assert any(getattr(hit.why, voice) for hit in usual.values())
    assert without
    assert not any(getattr(hit.why, voice) for hit in without.values())
    for other in set(VOICES) - {voice, "graph"}:
        assert any(getattr(hit.why, other) for hit in without.values())
    assert hybrid(bed, query, embedder, weights=dict.fromkeys(VOICES, 0.0)) == {}


def test_an_exact_key_is_found_where_no_voice_offers_it(bed: Bed) -> None:
    put_all(bed, a=fresh("x", key="deploy:blyck"), b=fresh("deploy blyck"))
    hits = hybrid(bed, "run deploy:blyck", weights={"lexical": 0.0})

    assert [(path, hit.why.exact_key, hit.why.relevance) for path, hit in hits.items()] == [("a.md", True, 1.0)]


def test_a_memory_about_what_the_question_names_counts_more(bed: Bed) -> None:
    put_all(
        bed,
        by_her=fresh("Ann (10:56 am): I take tea.", name="N"),
        of_her=fresh("Ann takes tea.", name="N"),
        **{f"z{n}": fresh("Nothing of note.", name="N") for n in range(20)},
    )
    usual = hybrid(bed, "what does Ann's tea cost", weights={"graph": 0.0})
    plain = hybrid(bed, "what does tea cost", weights={"graph": 0.0})

    assert list(plain) == ["of_her.md", "by_her.md"]
    shares = [hit.why.relevance for hit in usual.values()]
    assert list(usual) == ["by_her.md", "of_her.md"]
    assert shares[1] > 1.0 / ABOUT, "it would be the better one without"


def test_a_memory_that_only_shares_a_number_does_not_beat_the_one_that_vectors_point_to(bed: Bed) -> None:
    model = Translator({"端口": "port", "监听": "listen", "服务器": "server", "预算": "budget", "去年": "year"})
    put_all(
        bed,
        number=fresh("预算是 8080 元。", name="预算"),
        meant=fresh("服务器监听端口由 nginx 决定，服务器端口。", name="服务器"),
        **{f"z{n}": fresh(f"第{n}条：今天天气很好，没有什么事。", name=f"天气{n}") for n in range(20)},
    )
    bed.embed_all(model)
    hits = hybrid(bed, "on which port does the server listen, is it 8080?", model)

    assert next(iter(hits)) == "meant.md"
    assert hits["number.md"].why.lexical == 1
    assert hits["meant.md"].why.lexical is None


def test_meaning_offers_nothing_where_all_is_far_and_no_word_is_shared(bed: Bed, embedder: HashEmbedder) -> None:
    for n in range(12):
        bed.put(f"m{n}.md", memory("kumquats and rivers", created=f"2026-01-{n + 1:02}"))
    bed.sync()
    bed.embed_all(embedder)

    def found(text: str, nearness: float) -> int:
        """How many are found by a question whose vector is so near to all of them, and far from anything else."""
        theirs, canary = (_numbers(v) for v in (embedder.query("kumquats and rivers"), embedder.canary()))
        other = _without(_without(_numbers(embedder.query("zebra")), canary), _without(theirs, canary))
        vector = [nearness * t + (1 - nearness**2) ** 0.5 * o for t, o in zip(_unit(theirs), _unit(other), strict=True)]
        asked = quantise(vector)
        assert asked is not None
        recall = Recall(bed.db, embed=lambda _: asked)
        return len(recall.find(Query(text, tuple(f.id for f in read.folders(bed.db))), NOW).hits)

    assert found("something else entirely", 0.06) == 0
    assert found("something else entirely", 0.40) == 10
    assert found("rivers", 0.06) == 10


def _numbers(vector: bytes) -> list[float]:
    return [float(value) for value in memoryview(vector).cast("b")]


def _unit(vector: list[float]) -> list[float]:
    length = sum(value * value for value in vector) ** 0.5
    return [value / length for value in vector]


def _without(vector: list[float], direction: list[float]) -> list[float]:
    """The part of a vector that is at a right angle to a direction."""
    along = _unit(direction)
    share = sum(a * b for a, b in zip(vector, along, strict=True))
    return [value - share * part for value, part in zip(vector, along, strict=True)]
