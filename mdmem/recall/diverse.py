"""A ranked list in, the same list with its repetitions further down out (maximal marginal relevance)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Likeness = Callable[[Sequence[int]], dict[tuple[int, int], float]]  # ids -> (smaller id, greater id) -> likeness

LAMBDA = 0.92  # the share of relevance; measured: costs nothing on the quality sets down to 0.85 (docs/benchmarks.md)
LOOKED_AT, MOST_LOOKED_AT = 2, 60  # times the limit; what is further down the list stays in its order


def diversify(ranked: Sequence[tuple[int, float]], likeness: Likeness, limit: int) -> list[int]:
    """The first `limit` ids, each chosen for its score less its likeness to those before it.

    `ranked`: (id, score), best first, scores not negative. Likenesses are taken from the median pair upwards: in every
    model unrelated texts are alike to some degree.
    Source: Carbonell and Goldstein, SIGIR 1998.
    """
    head = ranked[: LOOKED_AT * limit] if len(ranked) > 2 else []
    best = head[0][1] if head else 0.0
    if best <= 0:
        return [i for i, _ in ranked[:limit]]
    alike = _above_usual(likeness([i for i, _ in head[:MOST_LOOKED_AT]]))
    left = {i: LAMBDA * score / best for i, score in head}  # in the order of scores: the first of equals is taken
    repeats = dict.fromkeys(left, 0.0)
    chosen: list[int] = []
    while left and len(chosen) < limit:
        taken = max(left, key=lambda i: left[i] - (1 - LAMBDA) * repeats[i])
        chosen.append(taken)
        del left[taken]
        for i in left:
            repeats[i] = max(repeats[i], alike.get((min(i, taken), max(i, taken)), 0.0))
    return chosen


def word_likeness(texts: dict[int, set[str]], ids: Sequence[int]) -> dict[tuple[int, int], float]:
    """The share of words that two texts have in common (Jaccard), where there are no vectors to compare."""
    held = sorted(i for i in ids if texts.get(i))
    return {
        (a, b): len(texts[a] & texts[b]) / len(texts[a] | texts[b]) for n, a in enumerate(held) for b in held[n + 1 :]
    }


def _above_usual(alike: dict[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    import statistics  # imports decimal and fractions

    usual = statistics.median(alike.values()) if alike else 0.0
    return {pair: (found - usual) / (1.0 - usual) for pair, found in alike.items() if found > usual < 1.0}
