"""`mdmem review` by pipe: listed, decided by key, and never asking where nobody can answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mdmem.candidates import inbox
from mdmem.candidates.inbox import Candidate, Evidence, Verdict, Waiting
from mdmem.db import LEDGER, open_reader
from tests.conftest import Daemon, Done, Home, wait_until

WHEN = "2026-11-30T10:00:00Z"
Call = Callable[..., Done]


def put(home: Home, name: str = "Release", body: str = "", **more: object) -> Waiting:
    fields = {"name": name, "type": "procedure", "source": "inferred", **more.pop("fields", {})}  # type: ignore[dict-item]
    gates = more.pop("gates", {})
    evidence = (Evidence("$ make dist", "codex", "s1", "/logs/a.jsonl", 12),)
    made = Candidate("user", None, fields, body or f"How to {name}.\n", WHEN, evidence=evidence)._replace(**more)
    return inbox.put(f"{home.mdmem}/inbox", made, gates)[0]  # type: ignore[arg-type]


def waiting(home: Home) -> list[str]:
    return sorted(one.key for one in inbox.list_candidates(f"{home.mdmem}/inbox").waiting)


def noted(home: Home) -> list[str]:
    path = home.mdmem / "state" / "ledger.db"
    if not path.exists():
        return []
    db = open_reader(LEDGER, str(path))
    try:
        return [str(row[0]) for row in db.execute("SELECT decision FROM decision ORDER BY id")]
    finally:
        db.close()


def test_nothing_waits_and_that_is_said_kindly(call: Call) -> None:
    assert call("review") == Done(0, "Nothing waits for you.\n", "")
    assert call("review", "--list") == Done(0, "", "nothing waits\n")
    assert call("review", "--list", "--json") == Done(0, "[]\n", "")
    assert call("review", "--json").json == []


def test_the_list_says_what_where_to_and_why(home: Home, call: Call) -> None:
    one = put(home, gates={"secret": Verdict(True, ""), "duplicate": Verdict(False, "like x")}, target="x")
    (listed,) = call("review", "--list", "--json").json

    assert listed == {
        "key": one.key, "action": "ADD", "target": "x", "scope": "user", "scope_ref": None, "type": "procedure",
        "name": "Release", "body": "How to Release.\n", "confidence": 0.7, "source": "inferred", "proposed": WHEN,
        "path": one.path, "weak": False,
        "evidence": [{"agent": "codex", "session": "s1", "path": "/logs/a.jsonl", "offset": 12, "text": "$ make dist"}],
        "gates": {"secret": {"passed": True, "reason": ""}, "duplicate": {"passed": False, "reason": "like x"}},
    }  # fmt: skip
    text = call("review", "--list").out
    assert one.key in text
    assert "[not passed: duplicate]" in text


def test_weak_ones_are_shown_where_they_are_asked_for(home: Home, call: Call) -> None:
    one = put(home, gates={"confidence": Verdict(False, "0.4 is under 0.6")})
    hidden = call("review", "--list", "--json")

    assert hidden.json == []
    assert "1 weak one is not shown" in hidden.err
    assert [found["key"] for found in call("review", "--list", "--weak", "--json").json] == [one.key]
    assert call("review").out == "Nothing waits for you.\n"


def test_approved_by_key_it_is_found_and_rejected_it_is_remembered(home: Home, call: Call) -> None:
    one = put(home, fields={"key": "make:release"})
    two = put(home, "Style")
    done = call("review", "--approve", "make:release", "--reject", "style", "--json")

    assert done.code == 0
    path = f"{home.user}/release.md"
    assert done.json == [
        {"key": one.key, "decision": "approve", "memory": {"key": "make:release", "path": path}, "error": None},
        {"key": two.key, "decision": "reject", "memory": None, "error": None},
    ]
    assert waiting(home) == []
    assert noted(home) == ["approve", "reject"]
    (memory,) = call("list", "--json").json
    assert (memory["key"], memory["path"]) == ("make:release", path)
    assert "verified:\n  - { by: human:" in Path(path).read_text()


def test_many_keys_go_with_one_option(home: Home, call: Call) -> None:
    keys = [put(home, name).key for name in ("One", "Two", "Three")]
    done = call("review", "--reject", *keys)

    assert done.code == 0
    assert sorted(done.out.split("\n")[:-1]) == sorted(f"reject: {key}" for key in keys)
    assert waiting(home) == []


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("--approve", "deploy"), 2, "fits 2 candidates"),
        (("--approve", "nothing"), 3, "no candidate 'nothing' waits"),
        (("--approve", ""), 2, "which candidate?"),
        (("--approve", "../../deploy-a"), 3, "no candidate"),
        (("deploy-a",), 2, "approve or reject?"),
        (("--approve", "deploy-a", "--reject", "deploy-b", "x"), 2, "approve or reject?"),
        (("--approve", "deploy-a", "--reject", "deploy:a"), 2, "named twice"),
    ],
)
def test_a_key_that_is_not_clear_decides_nothing(home: Home, call: Call, args: tuple[str, ...], code: int, said: str):
    for name in "ab":
        put(home, f"Deploy {name}", fields={"key": f"deploy:{name}"})
    before = waiting(home)
    done = call("review", *args)

    assert done.code == code
    assert said in done.err
    assert waiting(home) == before
    assert not list(home.folder.rglob("deploy-?.md"))


def test_one_that_cannot_be_approved_does_not_keep_the_others(home: Home, call: Call) -> None:
    good = put(home)
    bad = put(home, "Elsewhere", scope="project", scope_ref="unknown")
    done = call("review", "--approve", good.key, bad.key, "--json")

    assert done.code == 3
    assert {row["key"]: row["error"] for row in done.json} == {
        good.key: None,
        bad.key: "no project 'unknown' is known here",
    }
    assert "try:   run mdmem init" in done.err
    assert waiting(home) == [bad.key]


def test_k8_a_project_that_is_not_trusted_gets_no_memory(home: Home, call: Call, project: Path) -> None:
    one = put(home, scope="project", scope_ref="work")
    assert call("untrust", ".").code == 0
    done = call("review", "--approve", one.key)

    assert done.code == 4
    assert "mdmem trust" in done.err
    assert waiting(home) == [one.key]
    call("trust", ".")
    assert call("review", "--approve", one.key).code == 0
    assert (project / "release.md").exists()


def test_the_key_of_another_memory_is_not_taken(home: Home, call: Call) -> None:
    home.put("mine.md", "---\nkey: make:release\n---\nMine.\n")
    one = put(home, fields={"key": "make:release"})
    done = call("review", "--approve", one.key)

    assert done.code == 4
    assert "is taken" in done.err
    assert waiting(home) == [one.key]


def test_an_update_finds_its_memory_by_key(home: Home, call: Call) -> None:
    path = home.put("ops/mine.md", "---\nkey: make:release # k\ntype: procedure\n---\nOld.\n")
    one = put(home, body="New.\n", action="UPDATE", target="make:release")
    done = call("review", "--approve", one.key)

    assert done.code == 0, done.err
    assert path.read_text().startswith("---\nkey: make:release # k\n")
    assert path.read_text().endswith("\n---\nNew.\n")
    assert call("show", "make:release", "--json").json["body"] == "New.\n"


def test_lines_answer_where_there_is_no_terminal_and_their_end_is_quitting(home: Home, call: Call) -> None:
    put(home)
    put(home, "Style")
    done = call("review", stdin="?\nyes\na\n")

    assert done.code == 0, done.err
    assert "That is none of these keys." in done.out
    assert "1 approved, 1 waits" in done.out
    assert len(waiting(home)) == 1
    assert call("review").code == 0  # no input at all
    assert len(waiting(home)) == 1


def test_what_lies_in_the_inbox_and_is_no_candidate_is_said(home: Home, call: Call) -> None:
    one = put(home)
    Path(one.path).with_name("mine.md").write_text("A note of mine.\n")
    done = call("review", "--list", "--json")

    assert [found["key"] for found in done.json] == [one.key]
    assert "mine.md" in done.err


def test_status_counts_what_waits(home: Home, call: Call) -> None:
    put(home)
    put(home, "Style")

    assert call("status", "--json").json["candidates"] == 2


# --- moved by hand ------------------------------------------------------------------------------------


def test_moved_into_a_scope_folder_by_hand_it_is_a_memory_and_its_candidate_map_no_part_of_it(
    home: Home, call: Call
) -> None:
    one = put(home, body="The walrus is fed at noon.\n", fields={"own": "kept"})
    home.user.mkdir(parents=True, exist_ok=True)
    os.rename(one.path, home.user / "walrus.md")
    before = (home.user / "walrus.md").read_bytes()
    (hit,) = call("search", "walrus", "--json").json
    shown = call("show", "walrus", "--json").json

    assert hit["key"] == "walrus"
    assert (home.user / "walrus.md").read_bytes() == before
    assert shown["extra"] == {"own": "kept"}
    assert "codex" not in json.dumps(shown)
    assert call("search", "codex", "--json", "--mode", "keyword").json == []
    assert "codex" not in call("inject", "walrus", "--json").out
    assert call("check").code == 0
    assert call("review").out == "Nothing waits for you.\n"


def test_a_map_of_a_persons_own_that_is_called_candidate_stays_theirs(home: Home, call: Call) -> None:
    home.put("hiring.md", "---\ncandidate: {name: ann, scope: backend}\n---\nWe hire.\n")

    assert call("show", "hiring", "--json").json["extra"] == {"candidate": {"name": "ann", "scope": "backend"}}


# --- beside a daemon ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_j6_approved_by_many_commands_at_once_beside_a_daemon_it_is_one_memory(home: Home, daemon: Daemon) -> None:
    from concurrent.futures import ThreadPoolExecutor

    one = put(home)
    with ThreadPoolExecutor(4) as pool:
        ends = [done.code for done in pool.map(lambda _: home.run("review", "--approve", one.key), range(8))]

    assert ends.count(0) >= 1
    assert set(ends) <= {0, 3}
    assert [path.name for path in home.user.glob("release*.md")] == ["release.md"]
    assert [m["key"] for m in daemon.ask("list")["memories"]] == ["release"]
    wait_until(lambda: noted(home) == ["approve"], "the decision is noted once")
