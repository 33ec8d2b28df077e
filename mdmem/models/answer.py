"""In: the bytes or headers of an embedding server's answer. Out: vectors in the order asked, or what is wrong."""

from __future__ import annotations

import json
import math
from typing import NamedTuple

from mdmem.models.quantise import quantise

MAX_DIMENSION = 8_192  # what the index can hold in one vector

Row = bytes | None  # a quantised vector; None where the server gave none for that text


class Vectors(NamedTuple):
    """One row a text, in the order asked, all of `dimension` numbers (None: not one row is a vector)."""

    rows: list[Row]
    dimension: int | None


def parse_vectors(body: bytes, count: int) -> Vectors | str:
    """Read `{"data": [{"index": 0, "embedding": [...]}]}`; a str says in words why the whole answer is no good.

    One null, NaN, infinite or all-zero vector spoils only its own row. A wrong count, an index that is missing or
    double, or vectors of different lengths make it unclear which text got what: then nothing is believed.
    """
    try:
        data = json.loads(body)["data"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return "its answer is not a list of embeddings"
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        return "its answer is not a list of embeddings"
    if len(data) != count:
        return f"it answered {len(data)} vectors for {count} texts"
    ordered = _ordered(data)
    if ordered is None:
        return "the indexes in its answer do not match the texts"
    raw = [entry.get("embedding") for entry in ordered]
    lengths = {len(vector) for vector in raw if isinstance(vector, list)}
    if len(lengths) > 1:
        return "it answered vectors of different lengths"
    dimension = next(iter(lengths), None)
    if dimension is not None and not 0 < dimension <= MAX_DIMENSION:
        return f"it answered vectors of {dimension} numbers"
    return Vectors([quantise(vector) if isinstance(vector, list) else None for vector in raw], dimension)


def _ordered(data: list[dict[str, object]]) -> list[dict[str, object]] | None:
    """Entries by their index; as they come where none has one (some servers leave it out); None when unclear."""
    places = [entry.get("index") for entry in data]
    if all(place is None for place in places):
        return data
    by_place = {place: entry for place, entry in zip(places, data, strict=True) if type(place) is int}
    if sorted(by_place) != list(range(len(data))):
        return None
    return [by_place[place] for place in range(len(data))]


def retry_after_s(header: str | None, date: str | None, now_s: float) -> float | None:
    """Seconds that a Retry-After header asks for (a number, or an HTTP date); None where it says nothing readable.

    A date is measured against the answer's own Date, so that two clocks need not agree; else against `now_s`
    (Unix time).
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        until_s = _unix_s(header)
        if until_s is None:
            return None
        seconds = until_s - (_unix_s(date) or now_s)
    return max(seconds, 0.0) if math.isfinite(seconds) else None  # float() reads "nan" and "inf" too


def _unix_s(http_date: str | None) -> float | None:
    if http_date is None:
        return None
    from email.utils import parsedate_to_datetime  # slow to import, seldom needed

    try:
        return parsedate_to_datetime(http_date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
