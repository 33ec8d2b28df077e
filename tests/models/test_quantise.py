from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.models import cosine, quantise, same_weights

number = st.floats(allow_nan=False, allow_infinity=False)


def exact_cosine(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))


@given(st.lists(number, min_size=1, max_size=50).filter(any))
def test_every_finite_vector_becomes_as_many_bytes_with_its_peak_at_full_scale(vector: list[float]) -> None:
    found = quantise(vector)

    assert found is not None
    assert len(found) == len(vector)
    assert max(map(abs, memoryview(found).cast("b"))) == 127


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=50).filter(lambda v: max(map(abs, v)) > 1e-100))
def test_a_vector_and_its_multiples_are_the_same_direction(vector: list[float]) -> None:
    assert quantise(vector) == quantise([x * 4.0 for x in vector])


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=64, max_size=64))
def test_quantising_hardly_moves_a_cosine(pairs: list[tuple[float, float]]) -> None:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    if sum(a * a for a in one) < 1 or sum(b * b for b in other) < 1:
        return
    found = cosine(quantise(one) or b"", quantise(other) or b"")

    # Half a step of 1/127 in each of 64 places, against vectors of length 1 or more.
    assert found == pytest.approx(exact_cosine(one, other), abs=0.07)


@pytest.mark.parametrize(
    "vector",
    [
        [],
        [0.0, -0.0],
        [math.nan, 1.0],
        [1.0, math.inf],
        [-math.inf, 1.0],
        [None, 1.0],
        ["1", 1.0],
        [[1.0], 1.0],
        [10**400, 1],
    ],
)
def test_g9_what_has_no_direction_is_no_vector(vector: list[float]) -> None:
    assert quantise(vector) is None


def test_g9_a_wrong_length_is_no_vector() -> None:
    assert quantise([1.0, 2.0], dimension=3) is None
    assert quantise([1.0, 2.0], dimension=2) == bytes([64, 127])


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300, 1.7e308])
def test_tiny_and_huge_numbers_keep_their_direction(scale: float) -> None:
    assert quantise([scale, -scale, 0.0]) == bytes([127, 129, 0])


def test_cosine_of_the_same_opposite_and_unlike() -> None:
    one = quantise([1.0, 0.0])
    assert one is not None

    assert cosine(one, one) == pytest.approx(1.0)
    assert cosine(one, quantise([-1.0, 0.0]) or b"") == pytest.approx(-1.0)
    assert cosine(one, quantise([0.0, 1.0]) or b"") == 0.0
    assert cosine(one, b"") == 0.0
    assert cosine(b"\0\0", one) == 0.0


def test_h10_a_trembling_server_has_the_same_weights_and_another_dimension_has_not() -> None:
    one, other = quantise([1.0, 0.5, 0.25]), quantise([1.0, 0.51, 0.24])
    assert one is not None
    assert other is not None

    assert same_weights(one, other)
    assert not same_weights(one, one[:2])
