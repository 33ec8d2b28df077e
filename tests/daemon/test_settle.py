"""The pure core of the watch: hints and a clock in integers in, what is due out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mdmem.files.settle import MANY, Due, Settle

QUIET, MAX = 50, 500


def made() -> Settle:
    return Settle(quiet_ns=QUIET, max_ns=MAX)


def test_a_change_is_due_when_it_has_been_quiet_and_not_before() -> None:
    settle = made()
    settle.note("f", "a.md", 1_000)

    assert settle.take_due(1_000 + QUIET - 1) == []
    assert settle.next_ns() == 1_000 + QUIET
    assert settle.take_due(1_000 + QUIET) == [Due("f", frozenset({"a.md"}))]
    assert settle.next_ns() is None


def test_a8_a_busy_file_never_waits_longer_than_the_maximum() -> None:
    settle = made()
    waited = None
    for now in range(0, 3_000, QUIET // 2):
        if waited is None:
            waited = now
        settle.note("f", "a.md", now)
        if settle.take_due(now):
            assert now - waited <= MAX
            waited = None
    assert waited is None or 3_000 - waited <= MAX


@given(st.lists(st.tuples(st.integers(0, 200), st.sampled_from("fgh"), st.sampled_from("abc")), max_size=200))
def test_nothing_is_lost_and_nothing_waits_too_long_whatever_comes(steps: list[tuple[int, str, str]]) -> None:
    settle, now = made(), 0
    first: dict[str, int] = {}
    waiting: dict[str, set[str]] = {}

    def take(at: int) -> None:
        for due in settle.take_due(at):
            assert due.rels == waiting.pop(due.folder)
            del first[due.folder]

    for pause, folder, rel in steps:
        until = now + pause
        while (due_ns := settle.next_ns()) is not None and due_ns <= until:
            take(due_ns)
            assert settle.next_ns() is None or settle.next_ns() > due_ns
        now = until
        settle.note(folder, rel, now)
        waiting.setdefault(folder, set()).add(rel)
        first.setdefault(folder, now)
        assert all((settle.next_ns() or 0) <= since + MAX for since in first.values())
    take(now + MAX)
    assert not waiting


def test_more_hints_than_a_look_is_worth_become_one_scan() -> None:
    settle = made()
    for n in range(MANY):
        settle.note("f", f"{n}.md", n)
    assert settle.take("f") == Due("f", frozenset(f"{n}.md" for n in range(MANY)))
    for n in range(MANY + 1):
        settle.note("f", f"{n}.md", n)
    assert settle.take_due(10_000) == [Due("f", None)]


def test_a_hint_about_anywhere_is_a_scan_whatever_came_before_or_after() -> None:
    settle = made()
    settle.note("f", "a.md", 1)
    settle.note("f", None, 2)
    settle.note("f", "b.md", 3)

    assert settle.take("f") == Due("f", None)
    assert settle.take("f") is None


def test_folders_settle_apart_and_the_longest_waiting_comes_first() -> None:
    settle = made()
    settle.note("late", "a.md", 20)
    settle.note("early", "a.md", 10)

    assert [due.folder for due in settle.take_due(20 + QUIET)] == ["early", "late"]
