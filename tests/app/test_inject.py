"""The op `inject`: what a turn is told, by budget, window, prompt and session; and what it is never told."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mdmem.app import Answers, Local
from mdmem.app.inject import Turn, recall_count, says_something
from mdmem.db import WriterLock
from mdmem.ledger import Injection, Ledger
from tests.bed import Bed, memory

PROMPT = "how do we deploy the shop to production"


@pytest.fixture
def here(bed: Bed, home: object) -> Iterator[Answers]:
    """Answers as a command gives them that finds no daemon. No embedder: words alone decide."""
    bed.close()
    with Local(bed.app) as local:
        yield Answers(local)
    bed.store = type(bed.store)(bed.app)


def ask(here: Answers, op: str = "inject", **request: Any) -> dict[str, Any]:
    answer = here.answer({"op": op, "cwd": "/", **request})
    assert answer["ok"], answer
    return answer


def given(answer: dict[str, Any]) -> list[str]:
    return [Path(one["path"]).name for one in answer["memories"]]


def agents(bed: Bed, name: str = "bob") -> Path:
    return Path(bed.app.agents_folder) / name


def put_many(bed: Bed, type_name: str, count: int, text: str = "deploy the shop") -> None:
    for n in range(count):
        bed.put(f"{type_name}{n}.md", memory(f"{text} {n}", type=type_name, updated=f"2026-10-{n + 1:02d}"))


def test_notes_feedback_and_rules_are_always_told_and_the_rest_by_the_prompt(bed: Bed, here: Answers) -> None:
    bed.put("f.md", memory("Answer first.", type="feedback", updated="2026-10-01"))
    bed.put("r.md", memory("Never push on Fridays.", type="rule", updated="2026-10-02"))
    bed.put("deploy.md", memory("Deploy the shop with make.", type="fact"))
    bed.put("cats.md", memory("Cats sleep all day long.", type="fact"))
    bed.put("n.md", memory("first line\n\nlast <line>", type="notes"), agents(bed))
    bed.put("n.md", memory("another's", type="notes"), agents(bed, "eve"))
    bed.put("mine.md", memory("my notes of the user scope", type="notes"))
    ask(here, "sync")
    answer = ask(here, agent="bob", query=PROMPT)

    assert given(answer) == ["r.md", "f.md", "deploy.md", "n.md"]
    assert [one["reason"] for one in answer["memories"]] == ["always", "always", "recalled", "notes"]
    assert "  first line\n\n  last &#x3C;line&#x3E;\n</agent-memory>" in answer["text"]
    assert answer["memories"][3] == {
        "key": "n", "scope": "agent", "scope_ref": "bob", "path": str(agents(bed) / "n.md"), "reason": "notes"
    }  # fmt: skip
    assert answer["left_out"] == 0
    assert ask(here, agent="bob", query=PROMPT)["text"] == answer["text"]
    assert "n.md" not in given(ask(here, query=PROMPT))


def test_nothing_known_is_an_empty_text(here: Answers) -> None:
    ask(here, "sync")
    answer = ask(here, query=PROMPT)

    assert (answer["text"], answer["tokens"], answer["memories"], answer["left_out"]) == ("", 0, [], 0)


@pytest.mark.parametrize(
    ("front", "is_told"),
    [
        ({}, True),
        ({"status": "active"}, True),
        ({"status": "stale"}, True),
        ({"status": "archived"}, False),
        ({"status": "retired"}, False),
        ({"superseded_by": "other"}, False),
        ({"valid_from": "2100-01-01"}, False),
        ({"valid_from": "2020-01-01", "invalid_at": "2100-01-01", "expires": "9999-12-31"}, True),
        ({"invalid_at": "2021-01-01"}, False),
        ({"expires": "2021-01-01"}, False),
    ],
)
@pytest.mark.parametrize("type_name", ["rule", "fact", "notes"])
def test_only_what_holds_now_is_told(
    bed: Bed, here: Answers, type_name: str, front: dict[str, str], is_told: bool
) -> None:
    bed.put("a.md", memory("Deploy the shop.", type=type_name, **front), agents(bed))
    ask(here, "sync")

    for query in (PROMPT, None):
        answer = ask(here, agent="bob", query=query)
        assert given(answer) == (["a.md"] if is_told else [])
        assert answer["left_out"] == 0


def test_what_another_memory_supersedes_lost_a_conflict_or_cannot_be_read_is_not_told(bed: Bed, here: Answers) -> None:
    bed.put("old.md", memory("Deploy the shop by hand.", type="rule"))
    bed.put("new.md", memory("Deploy the shop with make.", type="rule", supersedes="[old]"))
    bed.put("loser.md", memory("Deploy the shop at night.", type="rule"))
    torn = bed.put("torn.md", memory("Deploy the shop slowly.", type="rule"))
    fact = bed.put("fact.md", memory("Deploy the shop quickly.", type="fact"))
    ask(here, "sync")
    for path in (torn, fact):
        path.write_text("---\ntype: [rule\n---\nDeploy the shop.\n")
    ask(here, "sync")
    local = here.backend
    assert isinstance(local, Local)
    assert local.store is not None
    local.store.db.execute(
        "INSERT INTO memory_conflict SELECT a.id, b.id, 'x', 0 FROM memory_entry a, memory_entry b"
        " WHERE a.path = 'new.md' AND b.path = 'loser.md'"
    )

    assert given(ask(here, query=PROMPT)) == ["new.md"]
    assert given(ask(here)) == ["new.md"]


def test_files_that_moved_are_looked_at_first_and_those_gone_never_told(bed: Bed, here: Answers) -> None:
    kept = bed.put("kept.md", memory("Old words.", type="rule"))
    gone = bed.put("gone.md", memory("Gone words.", type="rule"))
    recalled = bed.put("deploy.md", memory("Deploy the shop.", type="fact"))
    ask(here, "sync")
    kept.write_text(memory("New words.", type="rule"))
    gone.unlink()
    recalled.unlink()
    answer = ask(here, query=PROMPT)

    assert given(answer) == ["kept.md"]
    assert "New words." in answer["text"]


# --- how much ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("used", "count"), [(None, 5), (0, 5), (49.9, 5), (50, 2), (80, 2), (80.1, 0), (100, 0)])
def test_the_fuller_the_window_the_less_is_recalled(bed: Bed, here: Answers, used: float | None, count: int) -> None:
    put_many(bed, "fact", 9)
    bed.put("r.md", memory("A rule.", type="rule"))
    ask(here, "sync")
    answer = ask(here, query=PROMPT, window_used=used)

    assert [one["reason"] for one in answer["memories"]] == ["always"] + ["recalled"] * count
    assert recall_count(Turn(PROMPT, window_used=used)) == count


@pytest.mark.parametrize(
    "prompt",
    ["deploy the shop", "continue", "  Continue!!!!!!!!!!!!!!!!!!!!! ", "yes, please go ahead...........",
     "go on", "ok", "1", "please continue from where you left off", "继续", "好的，请继续。。。。。。。。。。",
     "部署商店", "はい", "계속해줘"],
)  # fmt: skip
def test_a_prompt_that_says_nothing_recalls_nothing(bed: Bed, here: Answers, prompt: str) -> None:
    bed.put("f.md", memory("Deploy the shop: continue, yes, ok, 继续 部署商店.", type="fact"))
    bed.put("r.md", memory("A rule.", type="rule"))
    ask(here, "sync")

    assert not says_something(prompt)
    assert given(ask(here, query=prompt, agent="bob")) == ["r.md"]


@pytest.mark.parametrize("prompt", ["x" * 20, "部署商店到生产服务器去", "continue with the deployment of the shop"])
def test_a_prompt_that_says_enough_recalls(prompt: str) -> None:
    assert says_something(prompt)


def test_without_a_hit_the_agent_then_the_folder_then_the_type_decide(bed: Bed, here: Answers, tmp_path: Path) -> None:
    bed.put("bobs.md", memory("About bobcats and bob.", type="fact"))
    bed.put("shops.md", memory("The shopfolder is here.", type="fact"))
    bed.put("exp.md", memory("Something lived through.", type="experience"))
    bed.put("user.md", memory("Who it is.", type="user"))
    (tmp_path / "shopfolder").mkdir()
    ask(here, "sync")
    cwd = str(tmp_path / "shopfolder")

    for prompt in (None, "", "   ", "zebras quagga okapi giraffes"):
        assert given(ask(here, query=prompt, agent="bob", cwd=cwd)) == ["bobs.md"], prompt
        assert given(ask(here, query=prompt, agent="alice", cwd=cwd)) == ["shops.md"], prompt
        answer = ask(here, query=prompt)
        assert given(answer) == ["user.md", "bobs.md", "shops.md", "exp.md"], prompt
        assert {one["reason"] for one in answer["memories"]} == {"priority"}


def test_the_budget_holds_and_what_has_no_room_is_counted(bed: Bed, here: Answers) -> None:
    put_many(bed, "rule", 28, "a rule of some length " * 5)
    put_many(bed, "fact", 3)
    ask(here, "sync")
    seen = set()
    for budget in (1, 50, 150, 300, 1_000, 5_000):
        answer = ask(here, query=PROMPT, budget=budget)
        assert answer["tokens"] <= budget
        if answer["text"]:
            assert len(answer["memories"]) + answer["left_out"] == 31
        rules = [name for name in given(answer) if name.startswith("rule")]
        assert rules == [f"rule{n}.md" for n in range(27, 27 - len(rules), -1)]
        seen.add(len(answer["memories"]))
    assert len(seen) > 3
    assert ask(here, query=PROMPT)["tokens"] <= bed.app.settings.inject.max_inject_tokens


def test_wrong_words_are_told(here: Answers) -> None:
    wrong: list[dict[str, Any]] = [
        {"budget": 0},
        {"budget": "x"},
        {"window_used": 101},
        {"window_used": True},
        {"query": 3},
    ]
    for request in wrong:
        assert here.answer({"op": "inject", **request})["error"]["exit_code"] == 2, request
    for event in ({"event": "compaction"}, {"event": "nap", "session": "s"}, {"session": "s"}):
        assert here.answer({"op": "event", **event})["error"]["exit_code"] == 2, event


# --- sessions ------------------------------------------------------------------------------------------


def test_what_a_session_has_before_it_is_not_told_again_until_it_changes_or_is_lost(bed: Bed, here: Answers) -> None:
    rule = bed.put("r.md", memory("A rule.", type="rule"))
    bed.put("f.md", memory("Deploy the shop.", type="fact"))
    bed.put("n.md", memory("notes", type="notes"), agents(bed))
    ask(here, "sync")
    turn = {"query": PROMPT, "agent": "bob", "session": "s1"}
    first = ask(here, **turn)

    assert given(first) == ["r.md", "f.md", "n.md"]
    assert ask(here, **turn)["text"] == ""
    assert given(ask(here, **turn | {"session": "s2"})) == given(ask(here, query=PROMPT, agent="bob")) == given(first)
    rule.write_text(memory("A rule, changed.", type="rule"))
    assert given(ask(here, **turn)) == ["r.md"]
    assert ask(here, **turn)["text"] == ""
    ask(here, "event", event="compaction", agent="bob", session="other")
    assert ask(here, **turn)["text"] == ""
    ask(here, "event", event="compaction", agent="bob", session="s1")
    assert given(ask(here, **turn)) == given(first)


def test_a_long_list_does_not_drip_into_a_session_turn_by_turn(bed: Bed, here: Answers) -> None:
    put_many(bed, "rule", 28, "a rule of some length " * 5)
    bed.put("f.md", memory("Deploy the shop.", type="fact"))
    ask(here, "sync")
    turn = {"session": "s1", "budget": 600}
    first = ask(here, **turn)

    assert 0 < len(first["memories"]) < 28
    assert ask(here, **turn | {"window_used": 90})["memories"] == []
    assert given(ask(here, **turn | {"query": PROMPT})) == ["f.md"]


def test_what_was_told_and_opened_is_in_the_ledger_and_no_prompt_is(bed: Bed, here: Answers) -> None:
    bed.put("r.md", memory("A rule.", type="rule"))
    ask(here, "sync")
    ask(here, query=PROMPT, agent="bob", session="s1")
    ask(here, "show", key="r")
    with contextlib.closing(Ledger(bed.app.paths.ledger_db)) as ledger:
        ((agent, session, path, reason, opened),) = ledger.db.execute(
            "SELECT agent, session, path, reason, opened_at FROM injection"
        ).fetchall()

    assert (agent, session, path, reason) == ("bob", "s1", "r.md", "always")
    assert opened
    assert b"production" not in Path(bed.app.paths.ledger_db).read_bytes()


def test_where_another_writes_the_index_it_is_read_and_still_nothing_gone_is_told(bed: Bed) -> None:
    for name in ("kept.md", "gone.md"):
        bed.put(name, memory("A rule.", type="rule"))
    bed.sync()
    told = [
        Injection("user", None, "kept.md", hashlib.sha256((bed.folder / "kept.md").read_bytes()).digest(), "always")
    ]
    bed.store.ledger.injected("bob", "s1", told, "2026-11-29T10:00:00Z")
    (bed.folder / "gone.md").unlink()
    lock = WriterLock(bed.app.paths.lock)
    lock.take("a test")
    try:
        with Local(bed.app, wait_s=0) as local:
            assert local.store is None
            assert given(ask(Answers(local))) == ["kept.md"]
            assert given(ask(Answers(local), agent="bob", session="s1")) == []
    finally:
        lock.release()
