"""Which come first, belong together, give way, rise, and need no question."""

from __future__ import annotations

import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.candidates import inbox
from mdmem.candidates.inbox import Candidate, Evidence, Verdict, Waiting
from mdmem.config.settings import AutoApprove, check
from mdmem.errors import ConfigError
from mdmem.memory import TYPES
from mdmem.review.order import MAX_WAITING, groups, is_weak, lets_pass, met_again, ordered, room_for
from tests.review.conftest import candidate

WEAK = {"confidence": Verdict(False, "0.4 is under 0.6")}
PASSED = {"secret": Verdict(True, ""), "transient": Verdict(True, "")}


def waiting(key: str, confidence: str = "0.8", proposed: str = "2026-11-30T10:00:00Z", **more: object) -> Waiting:
    gates = more.pop("gates", {})
    fields = {"type": "capability", "confidence": confidence, "source": "tool", **more.pop("fields", {})}  # type: ignore[dict-item]
    return Waiting(key, f"/inbox/{key}.md", candidate(fields=fields, proposed=proposed, **more), gates)  # type: ignore[arg-type]


def keys(found: list[Waiting]) -> list[str]:
    return [one.key for one in found]


def test_the_strongest_come_first_then_the_newest_and_the_weak_last() -> None:
    found = [
        waiting("weak", "0.9", gates=WEAK),
        waiting("old", proposed="2026-11-01T00:00:00Z"),
        waiting("new", proposed="2026-11-29T00:00:00Z"),
        waiting("sure", "1.0", proposed="2020-01-01T00:00:00Z"),
        waiting("nan", "nan"),
        waiting("odd", "very"),  # a tool's usual 0.5
    ]

    assert keys(ordered(found)) == ["sure", "new", "old", "odd", "nan", "weak"]


def test_ten_deploys_are_one_question_and_other_scopes_and_types_are_others() -> None:
    deploys = [waiting(f"d{n}", fields={"key": f"deploy:{n}"}) for n in range(10)]
    others = [
        waiting("user", fields={"key": "deploy:x"}, scope="user", scope_ref=None),
        waiting("rule", fields={"key": "deploy:x", "type": "rule"}),
        waiting("none"),
        waiting("none-2"),
        waiting("u1", action="UPDATE", target="style"),
        waiting("u2", action="SUPERSEDE", target="style"),
    ]
    found = groups([*deploys, *others])

    assert sorted(map(len, found)) == [1, 1, 1, 1, 2, 10]
    assert sorted(one.key for group in found for one in group) == sorted(one.key for one in [*deploys, *others])


def test_twenty_wait_per_scope_and_the_weakest_give_way() -> None:
    there = [waiting(f"k{n:02}", f"0.{n + 10}") for n in range(MAX_WAITING)]
    elsewhere = [waiting(f"e{n}", scope="user", scope_ref=None) for n in range(30)]

    assert room_for(there[:-1], there[-1]) == []
    assert keys(room_for([*there, *elsewhere], waiting("new", "0.9"))) == ["k00"]
    assert keys(room_for(there, waiting("new", "0.01"))) == ["new"]
    assert keys(room_for(there, waiting("new", "0.99", gates=WEAK))) == ["new"]
    assert room_for(there, there[3]) == []


@given(st.lists(st.tuples(st.integers(0, 100), st.booleans(), st.integers(1, 28)), max_size=40), st.integers(0, 100))
def test_j4_however_many_come_no_more_than_twenty_are_kept_and_they_are_the_strongest(
    given_: list[tuple[int, bool, int]], last: int
) -> None:
    kept: list[Waiting] = []
    every: list[Waiting] = []
    for n, (percent, weak, day) in enumerate([*given_, (last, False, 1)]):
        new = waiting(f"k{n}", str(percent / 100), f"2026-11-{day:02}T00:00:00Z", gates=WEAK if weak else {})
        every.append(new)
        gone = keys(room_for(kept, new))
        kept = [one for one in [*kept, new] if one.key not in gone]

    assert keys(ordered(kept)) == keys(ordered(every))[:MAX_WAITING]


def test_a_weak_one_rises_when_another_session_says_it_too() -> None:
    one = waiting("w", gates=WEAK)
    same = met_again(one, [Evidence("again", "codex", "s1")])
    nowhere = met_again(one, [Evidence("again")])
    other = met_again(one, [Evidence("again", "claude", "s1")])

    assert met_again(one, one.candidate.evidence) is None
    assert same is not None
    assert is_weak(same)
    assert nowhere is not None
    assert is_weak(nowhere)
    assert other is not None
    assert not is_weak(other)
    assert [e.text for e in other.candidate.evidence] == ["ran: make dist", "again"]


def test_what_rose_is_written_down_unless_a_person_worked_on_it(tmp_path) -> None:
    folder = str(tmp_path)
    first, _ = inbox.put(folder, candidate(), WEAK)
    risen = met_again(first, [Evidence("again", "codex", "s2")])
    assert risen is not None

    assert inbox.renew(folder, first, risen)
    assert inbox.read(folder, first.key) == risen
    assert not inbox.renew(folder, first, risen)
    (tmp_path / f"{first.key}.md").write_text((tmp_path / f"{first.key}.md").read_text() + "Mine.\n")
    assert not inbox.renew(folder, risen, first)
    (tmp_path / f"{first.key}.md").unlink()
    assert not inbox.renew(folder, risen, first)


# --- let pass -----------------------------------------------------------------------------------------


def proved(kind: str = "capability", **fields: str) -> Candidate:
    return candidate(fields={"type": kind, "source": "tool", "confidence": "1.0", **fields})


TOOLS = AutoApprove(source="tool")


@pytest.mark.parametrize(
    ("one", "rule", "passes"),
    [
        (proved(), TOOLS, True),
        (proved(), AutoApprove(type="capability", scope="project"), True),
        (proved(), AutoApprove(type="capability", scope="user"), False),
        (proved(source="inferred"), TOOLS, False),
        (proved(confidence="0.89"), TOOLS, False),
        (proved(confidence="0.5"), AutoApprove(source="tool", min_confidence=0.5), True),
        (proved("rule"), TOOLS, False),
        (proved("feedback"), TOOLS, False),
        (proved("policy"), TOOLS, False),
        (proved("rule"), AutoApprove(type="rule"), True),
        (proved("policy"), AutoApprove(type="rule"), True),
    ],
)
def test_only_what_a_rule_names_needs_no_question(one: Candidate, rule: AutoApprove, passes: bool) -> None:
    assert (lets_pass(one, PASSED, [rule]) is rule) is passes


def test_nothing_passes_without_rules_without_gates_or_against_a_gate() -> None:
    assert lets_pass(proved(), PASSED, []) is None
    assert lets_pass(proved(), {}, [TOOLS]) is None
    assert lets_pass(proved(), {**PASSED, "duplicate": Verdict(False, "like x")}, [TOOLS]) is None


def test_the_settings_say_what_may_pass_and_what_is_wrong_with_it() -> None:
    rule = {"source": "tool", "type": "capability", "min_confidence": 0.95}
    assert check({"review": {"auto_approve": [rule]}}, where="c").review.auto_approve == (AutoApprove(**rule),)

    for wrong in ({"scope": "user"}, {"type": "wish"}, {"source": "tool", "min_confidence": 2}, {"typ": "rule"}):
        with pytest.raises(ConfigError) as told:
            check({"review": {"auto_approve": [wrong]}}, where="c")
        assert told.value.hint


def test_the_types_of_the_settings_are_the_types_there_are() -> None:
    hints = typing.get_type_hints(AutoApprove, {**vars(typing), "Ge": float, "Le": float, "ClassVar": typing.ClassVar})
    named = {name for part in typing.get_args(hints["type"]) for name in typing.get_args(part)}

    assert named == set(TYPES)
