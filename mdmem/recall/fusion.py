"""Ranked lists in, one score per memory out."""

from __future__ import annotations

from collections.abc import Sequence


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


def scaled(scores: dict[int, float]) -> dict[int, float]:
    """Scores as shares of the best one: in (0, 1]. Scores that are not positive give 0."""
    best = max(scores.values(), default=0.0)
    return {entry_id: max(score, 0.0) / best if best > 0 else 0.0 for entry_id, score in scores.items()}
