from __future__ import annotations

import pytest

from mdmem.models.gate import Gate


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(clock: Clock) -> Gate:
    return Gate(threshold=3, clock=clock, spread=lambda: 1.0)


def test_it_stays_open_until_failures_in_a_row_reach_the_threshold(gate: Gate) -> None:
    for _ in range(2):
        gate.failed()
    assert gate.enter() is None
    gate.succeeded()
    for _ in range(2):
        gate.failed()

    assert gate.enter() is None
    gate.failed()
    assert gate.enter() is not None


def test_each_failure_asks_for_twice_the_rest_up_to_a_cap(gate: Gate) -> None:
    assert [gate.failed() for _ in range(10)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_thousands_of_failures_do_not_overflow(gate: Gate) -> None:
    for _ in range(5_000):
        gate.failed()

    assert gate.failed() == 60


def test_the_rest_is_spread_so_that_callers_do_not_come_back_together(clock: Clock) -> None:
    spreads = iter([0.0, 1.0])
    gate = Gate(clock=clock, spread=lambda: next(spreads))

    assert [gate.failed(), gate.failed()] == [0.25, 1.0]


def test_after_the_rest_one_caller_at_a_time_may_try(gate: Gate, clock: Clock) -> None:
    for _ in range(3):
        gate.failed()
    assert gate.enter() == pytest.approx(2.0)
    clock.now += 2.0

    assert gate.enter() is None
    assert gate.enter() == pytest.approx(0.5)
    gate.failed()
    assert gate.enter() == pytest.approx(4.0)
    clock.now += 4.0
    assert gate.enter() is None
    gate.succeeded()
    assert [gate.enter(), gate.enter()] == [None, None]


def test_a_trial_that_was_withdrawn_is_free_for_the_next(gate: Gate, clock: Clock) -> None:
    for _ in range(3):
        gate.failed()
    clock.now += 2.0
    gate.enter()
    gate.withdrew()

    assert gate.enter() is None


def test_a_trial_that_never_reports_does_not_lock_the_others_out(gate: Gate, clock: Clock) -> None:
    for _ in range(3):
        gate.failed()
    clock.now += 2.0
    gate.enter()
    clock.now += 60.0

    assert gate.enter() is None


def test_h4_the_servers_own_time_counts_from_the_first_failure_and_has_a_cap(gate: Gate, clock: Clock) -> None:
    assert gate.failed(retry_after_s=90.0) == 90.0
    assert gate.enter() == pytest.approx(90.0)
    clock.now += 89.0
    gate.succeeded()  # a call that was under way already
    assert gate.enter() == pytest.approx(1.0)

    assert gate.failed(retry_after_s=10.0**9) == 3_600.0


def test_a_fault_of_the_settings_shuts_it_at_once(gate: Gate) -> None:
    gate.failed(at_once=True)

    assert gate.enter() == pytest.approx(2.0)
