"""Scores and how they are put together: pure functions, by tables and by any values."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.recall.diverse import LAMBDA, diversify, word_likeness
from mdmem.recall.fusion import FULL_MARK, RELEVANT, SPREAD, WORD_SHARE, Ordinary, ordinary, word_shares
from mdmem.recall.intent import LIFT, USUAL, WEAKER, weights_of

COSINE = st.floats(-1.0, 1.0)

# --- what is ordinary ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(RELEVANT + 3))
def test_a_few_cosines_say_nothing_of_the_ordinary(count: int) -> None:
    usual = ordinary([0.9] * count, count, 0.2)

    assert usual == (0.2, SPREAD * 0.8)
    assert usual.height(0.2) == usual.height(-1.0) == 0.0
    assert usual.height(0.2 + FULL_MARK * SPREAD * 0.8) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_many_cosines_tell_their_mean_and_spread(seed: int) -> None:
    chance = random.Random(seed)
    cosines = sorted((chance.gauss(0.7, 0.03) for _ in range(1_000)), reverse=True)
    usual = ordinary(cosines[:100], 1_000, 0.1)

    assert usual.mean == pytest.approx(0.7, abs=0.15)
    whole = ordinary(cosines, 1_000, 0.1)
    assert whole.mean == pytest.approx(0.7, abs=0.02)
    assert whole.spread == pytest.approx(0.03, abs=0.01)
    assert ordinary(sorted([*cosines, 0.99], reverse=True)[:100], 1_001, 0.1).height(0.99) > 0.5


def test_the_nearest_few_may_be_relevant_and_do_not_count() -> None:
    rest = [NormalDist(0.5, 0.05).inv_cdf(1 - (n + 0.5) / 100) for n in range(RELEVANT, 100)]

    assert ordinary([0.99] * RELEVANT + rest, 100, 0.1) == ordinary(rest[:1] * RELEVANT + rest, 100, 0.1)


@pytest.mark.parametrize("held", [1, 100, 10**6, 10**12, 10**18, 10**30])
def test_constant_cosines_and_any_number_of_memories_are_no_error(held: int) -> None:
    usual = ordinary([0.6] * 100, held, 0.1)

    assert math.isfinite(usual.mean)
    assert usual.spread >= 1e-3
    assert usual.mean == pytest.approx(100 / 116 * 0.6, abs=0.05)


def test_equal_texts_do_not_divide_by_nothing() -> None:
    assert ordinary([], 0, 1.0).spread == 1e-3
    assert ordinary([1.0] * 50, 50, 1.0).height(1.0) >= 0.0


@given(st.lists(COSINE, max_size=60), st.integers(0, 10**20), COSINE, COSINE, COSINE)
def test_a_nearer_memory_never_stands_out_less(
    cosines: list[float], held: int, unrelated: float, one: float, other: float
) -> None:
    usual = ordinary(sorted(cosines, reverse=True), held, unrelated)
    low, high = sorted((usual.height(min(one, other)), usual.height(max(one, other))))

    assert usual.height(min(one, other)) == low
    assert 0.0 <= low <= high < math.inf
    assert usual.height(usual.mean) == 0.0


# --- words ------------------------------------------------------------------------------------------------------


def test_words_are_a_share_of_the_best_or_of_what_the_whole_question_weighs() -> None:
    every = 3 * math.log(100 + 1)

    assert word_shares([(1, 50.0), (2, 25.0)], 3, 100) == pytest.approx({1: 1.0, 2: 0.5})
    assert word_shares([(1, 1.0)], 3, 100) == pytest.approx({1: 1.0 / (WORD_SHARE * every)})
    assert word_shares([(1, 5.0), (2, 5.0)], 3, 100, {2}) == pytest.approx({1: 1.0, 2: 5.0 / every})
    assert word_shares([(1, 0.0), (2, -1.0)], 3, 100) == {}
    assert word_shares([], 0, 0) == {}
    assert word_shares([(1, 1e-6)], 0, 0) == {1: 1.0}


SCORES = st.lists(st.floats(-10, 100), max_size=20).map(lambda found: list(enumerate(found)))


@given(SCORES, st.integers(0, 64), st.integers(0, 10**9), st.sets(st.integers(0, 20)))
def test_shares_of_words_are_shares_and_a_stranger_never_gains(
    scores: list[tuple[int, float]], words: int, held: int, strangers: set[int]
) -> None:
    shares = word_shares(scores, words, held, strangers)
    plain = word_shares(scores, words, held)

    assert all(0.0 <= share <= 1.0 for share in shares.values())
    assert all(share <= plain[i] for i, share in shares.items())
    assert shares.keys() == plain.keys()


# --- repetitions -----------------------------------------------------------------------------------------------


def nothing_alike(_: Sequence[int]) -> dict[tuple[int, int], float]:
    return {}


def test_a_repetition_goes_behind_what_is_nearly_as_relevant() -> None:
    ranked = [(1, 1.0), (2, 0.99), (3, 0.97), (4, 0.5)]
    alike = {(1, 2): 1.0, (1, 3): 0.1, (2, 3): 0.1, (1, 4): 0.1, (2, 4): 0.1, (3, 4): 0.1}

    assert diversify(ranked, nothing_alike, 4) == [1, 2, 3, 4]
    assert diversify(ranked, lambda ids: alike, 4) == [1, 3, 2, 4], "relevance still counts for more"
    assert diversify(ranked, lambda ids: alike, 2) == [1, 3]
    assert diversify(ranked[:2], lambda ids: alike, 2) == [1, 2], "of two there is nothing to choose"


def test_what_every_pair_has_in_common_is_no_repetition() -> None:
    ranked = [(n, 1.0 - n / 100) for n in range(6)]
    same = {(a, b): 0.9 for a in range(6) for b in range(a + 1, 6)}

    assert diversify(ranked, lambda ids: same, 6) == list(range(6))
    assert diversify(ranked, lambda ids: dict.fromkeys(same, 1.0), 6) == list(range(6))


def test_likeness_costs_no_more_than_its_share() -> None:
    ranked = [(1, 1.0), (2, 1.0), (3, 1.0 - (1 - LAMBDA) / LAMBDA - 0.01)]
    alike = {(1, 2): 1.0, (1, 3): 0.0, (2, 3): 0.0}

    assert diversify(ranked, lambda ids: alike, 3) == [1, 2, 3]


@st.composite
def ranked_and_alike(draw: st.DrawFn) -> tuple[list[tuple[int, float]], dict[tuple[int, int], float]]:
    scores = sorted(draw(st.lists(st.floats(0.0, 1.0), max_size=30)), reverse=True)
    ids = draw(st.permutations(range(len(scores))))
    pairs = [(a, b) for a in range(len(ids)) for b in range(a + 1, len(ids))]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=40)) if pairs else []
    return list(zip(ids, scores, strict=True)), {pair: draw(st.floats(-1.0, 1.0)) for pair in chosen}


@given(ranked_and_alike(), st.integers(0, 40))
def test_diversifying_loses_nothing_doubles_nothing_and_keeps_the_best(
    given_: tuple[list[tuple[int, float]], dict[tuple[int, int], float]], limit: int
) -> None:
    ranked, alike = given_
    found = diversify(ranked, lambda ids: alike, limit)

    assert len(found) == len(set(found)) == min(limit, len(ranked))
    assert set(found) <= {i for i, _ in ranked[: 2 * limit]}
    assert found[:1] == [i for i, _ in ranked[:1]][:limit]


@given(ranked_and_alike(), st.integers(0, 40))
def test_without_repetitions_the_order_stays_equal_scores_too(
    given_: tuple[list[tuple[int, float]], object], limit: int
) -> None:
    ranked = [(i, round(score, 1)) for i, score in given_[0]]

    assert diversify(ranked, nothing_alike, limit) == [i for i, _ in ranked[:limit]]


def test_words_in_common_are_a_likeness() -> None:
    texts = {3: {"a", "b"}, 1: {"b", "c"}, 2: set(), 4: {"a", "b"}}

    assert word_likeness(texts, [4, 3, 2, 1, 9]) == pytest.approx({(1, 3): 1 / 3, (1, 4): 1 / 3, (3, 4): 1.0})
    assert word_likeness({}, []) == {}


# --- weights ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "lifted"),
    [
        ("how do I deploy the site", []),
        ("deploy:blyck", ["lexical"]),
        ("what is user_id", ["lexical"]),
        ("getUserById", ["lexical"]),
        ('the "blue" one', ["lexical"]),
        ("「部署」是什么", ["lexical"]),
        ("v1.2 of it", ["lexical"]),
        ("run with --force", ["lexical"]),
        ("ABC-12", ["lexical"]),
        ("why does it fail", ["graph"]),
        ("what is related to tea", ["graph"]),
        ("为什么失败", ["graph"]),
        ("why does deploy:blyck fail", ["lexical", "graph"]),
        ("a well-known thing", []),
        ("whyever", []),
    ],
)
def test_a_question_lifts_the_voice_that_answers_its_kind(query: str, lifted: list[str]) -> None:
    assert weights_of(query, {}) == pytest.approx({v: w * (LIFT if v in lifted else 1) for v, w in USUAL.items()})


def test_a_person_sets_shares_and_a_weaker_model_speaks_lower() -> None:
    chosen = weights_of("tea", {"graph": 0.0, "lexical": 2.0, "unknown": 3.0})

    assert chosen == pytest.approx(USUAL | {"graph": 0.0, "lexical": 2 * USUAL["lexical"]})
    assert weights_of("tea", {}, "use:1/512")["semantic"] == WEAKER["use"] * USUAL["semantic"]
    assert weights_of("tea", {}, "reuse")["semantic"] == USUAL["semantic"]
    assert weights_of("why", {"graph": 0.0})["graph"] == 0.0


@pytest.mark.parametrize(
    ("greatest", "held", "is_chance"),
    [(0.80, 1_000, True), (0.86, 1_000, True), (0.88, 1_000, False), (0.81, 30, True), (0.84, 30, False),
     (0.80, 1, False), (0.76, 1, True), (0.80, 0, False)],
)  # fmt: skip
def test_the_nearest_of_many_is_to_be_nearer_than_that_of_few(greatest: float, held: int, is_chance: bool) -> None:
    assert Ordinary(0.8, 0.03).could_be_chance(greatest, held) is is_chance
