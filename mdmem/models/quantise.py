"""In: a vector as an embedder gives it. Out: its direction as signed bytes, or None where it is no vector."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

SAME_WEIGHTS = 0.98  # a server on a GPU differs from itself by under 0.001; other weights are far below 0.9


def quantise(vector: Sequence[float], *, dimension: int | None = None) -> bytes | None:
    """A vector's direction as one signed byte a number; compare such vectors by cosine.

    The largest number becomes 127 or -127, so the full range is used whatever the dimension (with one fixed scale,
    the numbers of a unit vector of 384 would fall on some twenty levels). Cosine takes no notice of a scale, so
    none is kept.
    Returns None for what is no direction: empty, NaN, infinite, all zero, not numbers, or not `dimension` long.
    """
    if not vector or (dimension is not None and len(vector) != dimension):
        return None
    try:
        if not all(map(math.isfinite, vector)):
            return None
        peak = max(map(abs, vector))
        if not peak:
            return None
        # Divided first: 127 / peak would overflow for a subnormal peak.
        return array("b", [round(x / peak * 127) for x in vector]).tobytes()
    except (TypeError, OverflowError):  # null or text between the numbers; an integer beyond floats
        return None


def cosine(one: bytes, other: bytes) -> float:
    """Cosine of two quantised vectors, in [-1, 1]; 0 where the lengths differ."""
    if len(one) != len(other) or not one:
        return 0.0
    a, b = memoryview(one).cast("b"), memoryview(other).cast("b")
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    scale = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return dot / scale if scale else 0.0


def same_weights(one: bytes, other: bytes) -> bool:
    """Whether two canary vectors come from the same weights, give or take a server's rounding."""
    return cosine(one, other) >= SAME_WEIGHTS
