"""Bytes to lines and values: whatever the damage, the rest is read."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.activity.lines import CHUNK_BYTES, Line, Lines, Spot, values


def take(
    data: bytes, spot: Spot | None = None, *, budget: int = 1 << 30, most: int = 64 << 20
) -> tuple[list[Line], Spot]:
    lines = Lines(io.BytesIO(data), spot or Spot(), most)
    return list(lines.take(budget)), lines.spot


def test_only_lines_that_are_complete_are_taken() -> None:
    lines, spot = take(b"one\n\ntwo\nthr")

    assert [(line.data, line.offset, line.number) for line in lines] == [(b"one", 0, 1), (b"", 4, 2), (b"two", 5, 3)]
    assert spot == Spot(9, 3)


@given(st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"\n", b"")), max_size=8), st.data())
def test_cut_anywhere_the_lines_are_the_same(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(part + b"\n" for part in parts)
    wanted, end = take(whole)
    found: list[Line] = []
    spot = Spot()
    for cut in sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5))):
        more, spot = take(whole[:cut], spot)
        found += more
    more, spot = take(whole, spot)

    assert found + more == wanted
    assert spot == end


def test_lines_go_over_the_border_of_what_is_read_at_once() -> None:
    parts = [b"x" * n for n in (CHUNK_BYTES - 1, CHUNK_BYTES, 3 * CHUNK_BYTES, 5, CHUNK_BYTES + 1)]
    lines, _ = take(b"\n".join(parts) + b"\n")

    assert [line.data for line in lines] == parts
    assert [line.offset for line in lines] == [sum(len(p) + 1 for p in parts[:n]) for n in range(len(parts))]


def test_a_line_that_is_too_long_is_passed_over_and_counted_and_not_kept() -> None:
    data = b"good\n" + b"x" * (3 * CHUNK_BYTES) + b"\nfine\n"
    lines, _ = take(data, most=CHUNK_BYTES)
    assert [line.data for line in lines] == [b"good", None, b"fine"]

    unfinished = b"good\n" + b"x" * (2 * CHUNK_BYTES)
    first, spot = take(unfinished, most=CHUNK_BYTES)
    assert spot.skipping
    assert spot.offset == len(unfinished)
    more, _ = take(unfinished + b"yy\nfine\n", spot, most=CHUNK_BYTES)
    assert [line.data for line in first + more] == [b"good", None, b"fine"]


def test_a_budget_stops_between_lines() -> None:
    data = b"".join(b"%d" % n * 1_000 + b"\n" for n in range(5_000))
    found, spot = take(data, budget=1)
    assert 0 < len(found) < 5_000
    while more := take(data, spot, budget=1):
        found += more[0]
        if more[1] == spot:
            break
        spot = more[1]

    assert len(found) == 5_000


ONE, TWO = {"a": {"b": [1, "x"]}}, {"c": "ü"}
TEXT = json.dumps(ONE).encode()


@pytest.mark.parametrize(
    ("line", "found", "damaged"),
    [
        (TEXT, [ONE], False),
        (b"\xef\xbb\xbf" + TEXT + b"\r", [ONE], False),
        (b"\0" * 500 + TEXT, [ONE], False),
        (TEXT + json.dumps(TWO).encode(), [ONE, TWO], False),
        (TEXT + b"  " + TEXT, [ONE, ONE], False),
        (b'{"a":{"b":[1' + TEXT, [ONE], True),
        (b'{"a":{"inside":"of what was cut"},"b":"' + TEXT, [ONE], True),
        (TEXT + b'{"half', [ONE], True),
        (b'{"a":{"inside":1},', [], True),
        (b"", [], False),
        (b"no json at all", [], True),
        (b'{"a":"\xff\xfe"}', [{"a": "��"}], False),
        (b'{"a":' + b"[" * 100_000 + b"}", [], True),
        (b'{"a":' + b"9" * 5_000 + b"}", [], True),
        (b'{"a":1,"a":2}', [{"a": 2}], False),
    ],
)
def test_values_are_had_from_damaged_lines(line: bytes, found: list[object], damaged: bool) -> None:
    assert values(line) == (found, damaged)


@given(st.binary(max_size=200))
def test_no_bytes_raise(line: bytes) -> None:
    values(line)


@given(st.integers(1, 200), st.dictionaries(st.text(max_size=5), st.text(max_size=20), min_size=1, max_size=4))
def test_a_record_after_one_that_was_cut_is_found(cut: int, record: dict[str, str]) -> None:
    broken = json.dumps({"type": "user", "message": {"content": [{"type": "text", "text": "hello"}]}, "uuid": "u1"})
    whole = json.dumps(record)
    found, damaged = values((broken[: min(cut, len(broken) - 1)] + whole).encode())

    assert found[-1:] == [record] or damaged
