"""Ranked lists in, one score per memory out."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

# The constants of this page are measured: see docs/benchmarks.md for what was tried, and on which half.
RELEVANT = 5  # of the nearest vectors may be near because they are relevant, and say nothing of the ordinary
TRUST = 16  # vectors: so many count as much as what is assumed of any model
SPREAD = 0.12  # of the way from unrelated to equal: the spread of cosines in every model that was looked at
FULL_MARK = 4.0  # spreads above the ordinary that are worth as much as holding every word
DOUBT = 0.9  # spreads below what chance makes of ordinary memories: answers are not so low, much of what is none is
WORD_SHARE = 0.3  # of ln(memories): what a word of a question is taken to weigh, found or not


def reciprocal_ranks(ranked: Sequence[Sequence[int]], *, k: int = 60) -> dict[int, float]:
    """Merge ranked lists into one score per memory (reciprocal rank fusion).

    Shape: n lists of ids, best first, any lengths; an id may be in several. Scores are in (0, n/(k+1)]; higher is
    better. No lists give {}.
    Source: Cormack, Clarke and Buettcher, SIGIR 2009; k = 60 is its value, not tuned here.
    """
    scores: dict[int, float] = {}
    for ids in ranked:
        for rank, entry_id in enumerate(ids, 1):
            scores[entry_id] = scores.get(entry_id, 0.0) + 1.0 / (k + rank)
    return scores


def scaled(scores: Mapping[int, float]) -> dict[int, float]:
    """Scores as shares of the best one: in (0, 1]. Scores that are not positive give 0."""
    best = max(scores.values(), default=0.0)
    return {entry_id: max(score, 0.0) / best if best > 0 else 0.0 for entry_id, score in scores.items()}


class Ordinary(NamedTuple):
    """How near to a query memories are that have nothing to do with it: the mean and spread of their cosines."""

    mean: float
    spread: float

    def could_be_chance(self, greatest: float, held: int) -> bool:
        """Whether the greatest cosine of so many memories is less than chance makes of as many ordinary ones."""
        from statistics import NormalDist  # imports decimal and fractions: only where there are vectors

        expected = NormalDist().inv_cdf(1 - 0.5 / held) if held > 1 else 0.0
        return greatest < self.mean + (expected - DOUBT) * self.spread

    def height(self, cosine: float) -> float:
        """How far a cosine stands out: 0 at the ordinary or below, 1 at FULL_MARK spreads above it."""
        return max(0.0, (cosine - self.mean) / (FULL_MARK * self.spread))


def ordinary(nearest: Sequence[float], held: int, unrelated: float) -> Ordinary:
    """What is ordinary for one query, so that cosines of any model and any query can be added to other scores.

    `nearest`: the greatest cosines of the memories, best first; `held`: how many memories there are; `unrelated`: the
    cosine of the query and a text that has nothing to do with any.
    Formula: cosines of one query are close to a normal distribution, so the line through (normal quantile of rank r of
    `held`, r-th greatest cosine) has the mean and the spread as intercept and slope (the Q-Q plot). Few vectors say
    little: they are averaged with the guess (unrelated, SPREAD * (1 - unrelated)), which counts as TRUST vectors.
    """
    guess = Ordinary(unrelated, max(SPREAD * (1.0 - unrelated), 1e-3))
    cosines = nearest[RELEVANT:]
    if len(cosines) < 3:
        return guess
    quantiles = _quantiles(max(held, len(nearest)), len(nearest))[RELEVANT:]
    middle, mean = sum(quantiles) / len(quantiles), sum(cosines) / len(cosines)
    slope = sum((q - middle) * c for q, c in zip(quantiles, cosines, strict=True)) / sum(
        (q - middle) ** 2 for q in quantiles
    )
    weight = len(cosines) / (len(cosines) + TRUST)
    return Ordinary(
        weight * (mean - slope * middle) + (1 - weight) * guess.mean,
        max(weight * slope + (1 - weight) * guess.spread, 1e-3),
    )


@functools.lru_cache(16)
def _quantiles(held: int, count: int) -> list[float]:
    from statistics import NormalDist

    normal = NormalDist()
    return [-normal.inv_cdf((rank + 0.5) / held) for rank in range(count)]


def word_shares(
    scores: Sequence[tuple[int, float]], words: int, held: int, strangers: Collection[int] = ()
) -> dict[int, float]:
    """BM25 scores as shares, in (0, 1]: of the best one, or of what a memory with every word of the question would
    weigh where that is more. Where no memory holds much of the question, the best of them is no answer, and must not
    count as one.

    `strangers`: memories in another script than the question. What they share with it are numbers and names: that is
    held against all of the question.
    """
    best = max((score for _, score in scores), default=0.0)
    every_word = words * math.log(held + 1)
    full = {True: max(best, every_word), False: max(best, WORD_SHARE * every_word)}
    return {i: max(score, 0.0) / full[i in strangers] for i, score in scores} if best > 0 else {}
