"""Questions that name days, on whole stores; and any question at all."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdmem.index import read
from mdmem.recall import MODES, Hit, Query, Recall
from mdmem.recall.voices import DEPTH
from tests.bed import NOW, Bed, memory
from tests.models.hash_embedder import HashEmbedder

OLD = {"created": "2020-01-01", "updated": "2020-01-01"}


def ask(bed: Bed, text: str, *, used: Callable[[str, str], list[int]] | None = None, limit: int = 10) -> dict[str, Hit]:
    """Hybrid, without an embedder; the hits by path, in their order."""
    hits = Recall(bed.db, used=used).find(Query(text, (1,), limit=limit), NOW).hits
    return {hit.entry.path: hit for hit in hits}


def on_days(hits: dict[str, Hit]) -> list[str]:
    return [path for path, hit in hits.items() if hit.why.temporal]


# --- by the day a memory names ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("5月3号做了什么？", "The bridge was opened on May 3, 2026."),
        ("5月3号做了什么？", "The bridge was opened (10:02 am on 3 May, 2026)."),
        ("what happened on May 3?", "2026年5月3日：大桥通车。"),
        ("May 3rd", "Opened 2026-05-03."),
        ("what happened on 2026-05-03", "大桥于2026年5月3号通车。"),
        ("what happened on 2026-05-03", "The bridge, 3rd of May 2026."),
        ("in May 2026", "大桥，2026年5月3日"),
        ("2026年5月发生了什么", "Bridge: May 3, 2026"),
        ("what happened last week", "大桥于2026年11月18日通车。"),
        ("上周发生了什么", "The bridge was opened on 18 November 2026."),
        ("yesterday", "大桥于2026年11月28日通车。"),
        ("三天前", "Opened Nov 26, 2026."),
    ],
)
def test_a_question_finds_the_day_in_another_form_and_language(bed: Bed, question: str, said: str) -> None:
    bed.put("a.md", memory(said, name="N", **OLD))
    for n, other in enumerate(("4 June 2026", "2025-06-03", "6月3日", "2026-11-10", "no day")):
        bed.put(f"z{n}.md", memory(f"The road, {other}", name="N", **OLD))
    bed.sync()
    hits = ask(bed, question)

    assert on_days(hits) == ["a.md"]
    assert next(iter(hits)) == "a.md"
    assert hits["a.md"].why.temporal == 1


@pytest.mark.parametrize("question", ["what happened to the bridge?", "why 4711", "2026-13-40", "bridge v1.5.3"])
def test_where_the_question_names_no_day_time_says_nothing(bed: Bed, question: str) -> None:
    bed.put("a.md", "The bridge was opened on May 3, 2026, code 4711 v1.5.3.")
    bed.sync()

    assert on_days(ask(bed, question, used=lambda first, last: [1 << 32 | 1])) == []


# --- by what happened to it --------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["last week", "上周", "2 weeks ago", "2026-11-18", "on 18 Nov", "11月18日"])
def test_what_changed_in_those_days_is_found(bed: Bed, question: str) -> None:
    bed.put("changed.md", memory("x", name="N", created="2020-01-01", updated="2026-11-18T23:30:00Z"))
    bed.put("made.md", memory("x", name="N", created="2026-11-18", updated="2026-11-28"))
    bed.put("after.md", memory("x", name="N", created="2026-11-23", updated="2026-11-23"))
    bed.put("before.md", memory("x", name="N", created="2026-11-10", updated="2026-11-10"))
    bed.sync()

    assert sorted(on_days(ask(bed, question))) == ["changed.md", "made.md"]


def test_what_was_used_in_those_days_is_found(bed: Bed) -> None:
    for name in ("a", "b", "c"):
        bed.put(f"{name}.md", memory("x", name="N", **OLD))
    bed.sync()
    ids = {e.path: e.id for e in read.list_entries(bed.db, (1,))}
    asked: list[tuple[str, str]] = []

    def used(first: str, last: str) -> list[int]:
        asked.append((first, last))
        return [ids["b.md"], 99 << 32 | 1, ids["a.md"], ids["b.md"], 1 << 32 | 999]

    assert sorted(on_days(ask(bed, "last week", used=used))) == ["a.md", "b.md"]
    assert asked == [("2026-11-16", "2026-11-22")]


@pytest.mark.parametrize(("count", "alone"), [(DEPTH - 1, True), (DEPTH, False), (3 * DEPTH, False)])
def test_where_a_great_many_fall_in_the_days_they_only_confirm_what_others_offer(
    bed: Bed, count: int, alone: bool
) -> None:
    for n in range(count):
        bed.put(f"z{n}.md", memory("Nothing of note.", name="N", created="2020-01-01", updated="2026-05-03"))
    bed.put("a.md", memory("A garden.", name="N", created="2020-01-01", updated="2026-05-03"))
    bed.put("b.md", memory("A garden.", name="N", created="2020-01-01", updated="2026-05-04"))
    bed.sync()
    hits = ask(bed, "garden 2026-05-03", limit=30)

    assert "a.md" in on_days(hits)
    assert "b.md" not in on_days(hits)
    assert (len(on_days(hits)) > 1) == alone
    assert len(hits) == (30 if alone else 2)


def test_ranks_of_days_are_the_same_after_a_rebuild(bed: Bed) -> None:
    for n in (3, 1, 4, 0, 2):
        bed.put(f"m{n}.md", memory("The road, 3 May 2026", name="N", **OLD))
        bed.sync()
    before = [(path, hit.why) for path, hit in ask(bed, "May 3").items()]
    bed.store.rebuild("to compare")
    bed.sync()

    assert [(path, why.temporal) for path, why in before] == [(f"m{n}.md", n + 1) for n in range(5)]
    assert [(path, hit.why) for path, hit in ask(bed, "May 3").items()] == before


# --- any question ------------------------------------------------------------------------------------------------


TEXTS = [
    "Zebra food, see [[m1]] and [[k:2]]. 2026-05-03", "部署博客用 nginx，5月3日", "getUserById by `blyck`",
    "[10:02] Ann: tea at four", "Ann (1:56 pm on 8 May, 2023): why not", "C++ and o'brien",
    "deploy:blyck v1.2", "zebra zebra zebra", "刘琳：喝茶", "zebra food is hay",
]  # fmt: skip
WORDS = ["zebra", "food", "部署", "博客", "Ann", "'s", "why", "5月3号", "May 3", "last week", "上周", "k:2", "\"",
         "C++", "tea", "2026-05-03", "为什么", "刘琳", "ſix days ago",
         "\0", "\ud800", "NOT", "*", "getUserById", "2 weeks ago"]  # fmt: skip
ANY_QUERY = st.text(max_size=60) | st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@pytest.fixture
def full(bed: Bed, embedder: HashEmbedder) -> Bed:
    fill(bed, embedder, range(40))
    return bed


def fill(bed: Bed, embedder: HashEmbedder, order: range) -> None:
    """Forty memories, alike and different, some of them ended or of a domain; written in this order."""
    for n in order:
        front = {"key": f"k:{n}", "entities": f"[quay{n % 7}, ann]", "updated": f"2026-{n % 11 + 1:02}-03"}
        front |= {"domain": "secret"} if n % 9 == 4 else {}
        front |= {"status": "archived"} if n % 8 == 5 else {}
        bed.put(f"m{n}.md", memory(TEXTS[n % len(TEXTS)], name=f"N{n % 3}", created="2026-01-01", **front))
        bed.sync([f"m{n}.md"])
    bed.embed_all(embedder)


def answer(bed: Bed, embedder: HashEmbedder, text: str, mode: str, limit: int) -> list[Hit]:
    hidden = frozenset({"secret"}) if limit % 2 else frozenset()
    return bed.find(text, mode, embedder=embedder, limit=limit, hidden_domains=hidden)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(ANY_QUERY, st.sampled_from(MODES), st.integers(1, 50))
def test_any_question_gets_a_sound_answer_twice_the_same(
    full: Bed, embedder: HashEmbedder, text: str, mode: str, limit: int
) -> None:
    hits = answer(full, embedder, text, mode, limit)

    assert len(hits) <= limit
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert len({hit.entry.id for hit in hits}) == len(hits)
    for hit in hits:
        assert 0.0 <= hit.score <= 1.0
        assert 0.0 <= hit.why.relevance <= 1.0
        assert hit.entry.status != "archived"
        assert limit % 2 == 0 or hit.entry.domain is None
        voices = (hit.why.lexical, hit.why.semantic, hit.why.temporal, hit.why.graph)
        assert hit.why.exact_key or any(voices) != bool(hit.why.via)
    assert answer(full, embedder, text, mode, limit) == hits


def test_any_question_gets_the_same_answer_after_a_rebuild(full: Bed, embedder: HashEmbedder) -> None:
    queries = [" ".join(WORDS[n : n + size]) for size in (1, 2, 5) for n in range(len(WORDS))]

    def answers() -> list[tuple[str, str, str, object]]:
        return [
            (query, mode, hit.entry.path, (round(hit.score, 12), hit.why[:4], hit.why.via))
            for query in queries
            for mode in MODES
            for hit in answer(full, embedder, query, mode, 7)
        ]

    before = answers()
    for n in range(40):
        (full.folder / f"m{n}.md").unlink()
    full.sync()
    fill(full, embedder, range(39, -1, -1))
    assert len(before) > 500
    assert answers() == before


def test_any_moment_gets_an_answer(full: Bed, embedder: HashEmbedder) -> None:
    for year in (2, 1970, 2024, 9998):
        for text in ("last week", "2 weeks ago", "5月", "on 29 feb"):
            now = datetime.datetime(year, 2, 28, tzinfo=datetime.UTC)
            assert isinstance(full.find(text, "hybrid", now=now, embedder=embedder), list)
