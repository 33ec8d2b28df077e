"""The tail: every record once, whatever happens to the files and to us."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import apsw
import pytest

from mdmem.activity import Event, Fields, from_hook, harvest, named
from mdmem.activity.feed import PIECE_BYTES
from mdmem.activity.places import find_log, find_logs, places
from mdmem.activity.tail import PRIMED_BYTES, QUIET_S
from mdmem.files import printable
from tests.activity.part import Bench, keep, line

CLAUDE = "claude-code/projects/-w/s1.jsonl"


def prompt(text: str, uuid: str | None = None, **more: Any) -> bytes:
    record = {
        "type": "user",
        "uuid": uuid or text,
        "isSidechain": False,
        "sessionId": "s1",
        "cwd": "/w",
        "timestamp": "2026-11-12T08:00:00.000Z",
        "origin": {"kind": "human"},
        "message": {"role": "user", "content": text},
    }
    return line(**record | more)


def call(key: str, command: str) -> bytes:
    block = {"type": "tool_use", "id": key, "name": "Bash", "input": {"command": command}}
    return line(type="assistant", uuid=f"a{key}", sessionId="s1", message={"role": "assistant", "content": [block]})


def result(key: str, output: str = "fine") -> bytes:
    block = {"type": "tool_result", "tool_use_id": key, "content": output, "is_error": False}
    more = {"stdout": output, "stderr": "", "interrupted": False}
    return line(
        type="user", uuid=f"r{key}", sessionId="s1", message={"role": "user", "content": [block]}, toolUseResult=more
    )


def said(bench: Bench) -> list[str]:
    return [event.text or event.command for event in bench.found()]


def test_what_is_there_at_the_first_contact_is_past(tmp_path: Path) -> None:
    bench = Bench(tmp_path, met=False)
    bench.write(CLAUDE, prompt("old") + call("t1", "make test") + b'{"half')
    bench.poll()
    assert said(bench) == []
    bench.write(CLAUDE, b'": 1}\n' + result("t1") + prompt("new"))
    bench.poll()

    assert said(bench) == ["make test", "new"]
    (ran, new) = bench.found()
    assert (ran.source.line, ran.call and ran.call.line, new.source.line) == (4, 2, 5)
    bench.write("claude-code/projects/-w/s2.jsonl", prompt("of a session that began later"))
    bench.clock.at += 100
    bench.poll()
    assert said(bench)[2:] == ["of a session that began later"]
    bench.close()


def test_the_past_of_a_long_log_stays_past_and_its_lines_are_counted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, met=False)
    long = b"".join(prompt(f"old {n} {'x' * 1_000_000}") for n in range(PRIMED_BYTES // 1_000_000 + 4))
    bench.write(CLAUDE, long)
    bench.poll()
    bench.write(CLAUDE, prompt("new"))
    bench.poll()

    assert said(bench) == ["new"]
    assert bench.found()[0].source.line == long.count(b"\n") + 1
    path = bench.folder / CLAUDE
    path.write_bytes(long[: len(long) // 2] + b"\n" + prompt("after it was cut"))
    bench.poll()
    assert said(bench) == ["new"]  # what stands where the past was is past
    bench.close()


def test_a_line_after_a_past_that_was_cut_is_new(tmp_path: Path) -> None:
    """A client takes its last line back by cutting the file."""
    bench = Bench(tmp_path, met=False)
    old = [prompt(f"old {n}") for n in range(20)]
    path = bench.write(CLAUDE, b"".join(old))
    bench.poll()
    bench.write(CLAUDE, prompt("taken back"))
    bench.poll()
    path.write_bytes(b"".join(old[:15]) + prompt("new"))
    bench.poll()

    assert said(bench) == ["taken back", "new"]
    bench.close()


def test_a_past_that_is_rewritten_stays_past(tmp_path: Path) -> None:
    bench = Bench(tmp_path, met=False)
    old = [prompt(f"old {n}") for n in range(20)]
    path = bench.write(CLAUDE, b"".join(old))
    bench.poll()
    path.write_bytes(b"".join(reversed(old)) + prompt("of a new version"))
    bench.poll()
    bench.write(CLAUDE, prompt("new"))
    bench.poll()

    assert said(bench) == ["new"]
    bench.close()


def test_a_log_that_was_put_back_from_a_copy_goes_on(bench: Bench) -> None:
    path = bench.write(CLAUDE, prompt("one") + call("t1", "make one"))
    bench.poll()
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes() + result("t1"))
    os.replace(copy, path)
    bench.poll()

    assert said(bench) == ["one", "make one"]
    assert bench.found()[-1].source.line == 3


def test_months_later_what_came_since_is_read_once(bench: Bench) -> None:
    bench.write(CLAUDE, prompt("one") + call("t1", "make one"))
    bench.poll()
    bench.restart()
    bench.write(CLAUDE, b"".join([result("t1"), *(prompt(f"say {n}") for n in range(500))]))
    bench.write("claude-code/projects/-x/s9.jsonl", prompt("another"))
    (bench.folder / CLAUDE).with_name("gone.jsonl").unlink(missing_ok=True)
    bench.poll()
    bench.poll()

    assert sorted(said(bench)) == sorted(["one", "make one", "another", *(f"say {n}" for n in range(500))])


def test_a_name_that_is_no_utf8_and_a_log_that_cannot_be_read_yet(bench: Bench) -> None:
    folder = os.fsencode(bench.folder / "claude-code/projects/-w")
    os.makedirs(folder)
    with open(folder + b"/s\xe9.jsonl", "wb") as file:
        file.write(prompt("one"))
    os.symlink(folder + b"/nowhere", folder + b"/dangling.jsonl")
    bench.poll()

    assert said(bench) == ["one"]
    assert bench.found()[0].source.path.endswith(printable("/s\udce9.jsonl"))


def test_trouble_with_the_ledger_is_not_taken_for_trouble_with_a_log(bench: Bench) -> None:
    bench.write(CLAUDE, prompt("one"))
    bench.ledger.db.execute("DROP TABLE outbox")
    bench.clock.at += 100
    with pytest.raises(apsw.SQLError):
        bench.tail.poll(keep)


def test_a_half_line_waits_for_its_end(bench: Bench) -> None:
    whole = prompt("in three parts")
    for part in (whole[:20], whole[20:-1], whole[-1:]):
        assert said(bench) == []
        bench.write(CLAUDE, part)
        bench.poll()

    assert said(bench) == ["in three parts"]


@pytest.mark.parametrize("how", ["cut", "rewritten", "emptied and regrown", "replaced", "removed and made again"])
def test_a_file_that_is_not_the_one_that_was_read_is_read_again_and_gives_what_is_new(bench: Bench, how: str) -> None:
    old = [prompt(f"old {n}") for n in range(20)]
    path = bench.write(CLAUDE, b"".join(old))
    bench.poll()
    new = prompt("new")
    if how == "cut":
        path.write_bytes(b"".join(old[:10]))
    elif how == "rewritten":
        path.write_bytes(b"".join(reversed(old)) + new)
    elif how == "emptied and regrown":
        path.write_bytes(b"")
        bench.poll()
        path.write_bytes(b"".join(old) + new)
    elif how == "replaced":
        other = path.with_name("other")
        other.write_bytes(new + b"".join(old))
        os.replace(other, path)
    else:
        path.unlink()
        bench.poll()
        path.write_bytes(b"".join(old[5:]) + new)
    bench.poll()
    if how == "cut":
        bench.write(CLAUDE, new)
        bench.poll()

    assert said(bench) == [f"old {n}" for n in range(20)] + ["new"]


def test_the_rest_of_a_log_that_was_rotated_is_read_before_the_new_one(bench: Bench) -> None:
    path = bench.write(CLAUDE, prompt("one") + call("t1", "make one"))
    bench.poll()
    bench.write(CLAUDE, result("t1") + prompt("two"))
    os.replace(path, path.with_name("s1.jsonl.1"))
    bench.write(CLAUDE, prompt("three"))
    bench.poll()

    assert said(bench) == ["one", "make one", "two", "three"]


def test_a_log_that_moves_to_another_folder_goes_on_there(bench: Bench) -> None:
    path = bench.write(CLAUDE, prompt("one") + call("t1", "make one"))
    bench.poll()
    target = bench.folder / "claude-code/projects/-elsewhere/s1.jsonl"
    target.parent.mkdir(parents=True)
    os.replace(path, target)
    bench.write("claude-code/projects/-elsewhere/s1.jsonl", result("t1"))
    bench.poll()

    assert said(bench) == ["one", "make one"]
    assert bench.ledger.cursor(os.fsencode(path)) is None


def test_an_inode_that_is_used_again_is_another_file(bench: Bench) -> None:
    path = bench.write(CLAUDE, b"".join(prompt(f"old {n}") for n in range(50)))
    bench.poll()
    inode = path.stat().st_ino
    for n in range(200):
        path.unlink()
        path.write_bytes(prompt("a stranger", "stranger") + b"".join(prompt(f"old {n}") for n in range(60)))
        if path.stat().st_ino == inode:
            break
    bench.poll()

    assert said(bench).count("a stranger") == 1
    assert len(said(bench)) == len(set(said(bench))) == 61


def test_a_fork_gives_only_what_is_new_in_it(bench: Bench) -> None:
    history = prompt("one") + call("t1", "make one") + result("t1")
    bench.write(CLAUDE, history)
    bench.poll()
    bench.restart()
    bench.write("claude-code/projects/-w/fork.jsonl", history.replace(b'"s1"', b'"s2"') + prompt("two"))
    bench.poll()

    assert said(bench) == ["one", "make one", "two"]


def test_damage_is_counted_and_named_and_ends_nothing(bench: Bench) -> None:
    deep = b'{"type":"user","x":' + b"[" * 100_000 + b"\n"
    odd = line(type="user", uuid=7, message=["x"], timestamp={}) + line(type="assistant", message={"0": "a", "1": "b"})
    bench.write(CLAUDE, prompt("one") + b"broken}\n" + deep + odd + line(type="brand-new") + prompt("two"))
    bench.poll()
    bench.restart()

    assert said(bench) == ["one", "two"]
    told = {trouble.what: trouble for trouble in bench.tail.problems()}
    assert told["lines that could not be read"].times == 2
    assert told["lines that could not be read"].line == 3
    assert told["lines that could not be read"].path.endswith(CLAUDE)
    assert told["unknown record 'brand-new'"].times == 1


def test_a_format_that_gives_nothing_is_told(bench: Bench) -> None:
    bench.write(CLAUDE, b"".join(line(type="assistant", uuid=str(n), body="moved") for n in range(120)))
    bench.poll()

    assert [t.times for t in bench.tail.problems() if "nothing was found" in t.what] == [120]


def test_one_bad_log_stops_no_other(bench: Bench) -> None:
    os.mkfifo(bench.write(CLAUDE, b"").with_name("pipe.jsonl"))
    bench.write("opencode/opencode.db", b"no database at all, but some text that is long enough to be looked at" * 20)
    (bench.folder / "claude-code/projects/-w/loop").symlink_to(bench.folder / "claude-code/projects")
    bench.write(CLAUDE, prompt("one"))
    bench.poll()

    assert said(bench) == ["one"]
    assert [t.path for t in bench.tail.problems()] == [str(bench.folder / "opencode/opencode.db")]


def test_what_was_found_and_how_far_it_was_read_are_one_transaction(bench: Bench) -> None:
    bench.write(CLAUDE, prompt("one"))

    def fails(events: list[Event], memo: dict[str, Any]) -> list[bytes]:
        raise ZeroDivisionError

    bench.clock.at += 100
    with pytest.raises(ZeroDivisionError):
        bench.tail.poll(fails)
    assert said(bench) == []
    bench.write("claude-code/projects/-w/s2.jsonl", prompt("two"))
    bench.tail.look(str(bench.folder / "claude-code/projects/-w/s2.jsonl"))
    bench.tail.poll(keep)
    assert said(bench) == ["two"]  # trouble with one log holds up no other
    bench.poll()
    assert said(bench) == ["two", "one"]


def test_what_is_remembered_between_pieces_is_kept(bench: Bench) -> None:
    seen: list[int] = []

    def counts(events: list[Event], memo: dict[str, Any]) -> list[bytes]:
        memo["n"] = memo.get("n", 0) + len(events)
        seen.append(memo["n"])
        return []

    for n in range(3):
        bench.write(CLAUDE, prompt(f"say {n}"))
        bench.clock.at += 100
        bench.tail.poll(counts)
        bench.restart()

    assert seen == [1, 2, 3]


def test_a_long_log_is_read_in_pieces(bench: Bench) -> None:
    bench.write(CLAUDE, b"".join(prompt(f"say {n}", pad="x" * 1_000_000) for n in range(20)))
    polls = 0
    bench.clock.at += 100
    while bench.tail.poll(keep):
        polls += 1

    assert polls > 20_000_000 // PIECE_BYTES
    assert said(bench) == [f"say {n}" for n in range(20)]


def test_a_hint_leads_to_a_log_that_was_not_listed_yet(bench: Bench) -> None:
    bench.tail.poll(keep)
    path = bench.write(CLAUDE, prompt("one"))
    assert not bench.tail.poll(keep)
    bench.tail.look(str(path))
    bench.tail.look(str(bench.folder / "elsewhere.jsonl"))

    assert bench.tail.poll(keep)
    assert said(bench) == ["one"]


def test_a_last_reply_and_then_quiet_end_a_turn(bench: Bench) -> None:
    reply = {"role": "assistant", "stop_reason": "end_turn", "content": [{"type": "text", "text": "done"}]}
    bench.write(CLAUDE, prompt("one") + line(type="assistant", uuid="a1", sessionId="s1", message=reply))
    bench.clock.at += 100
    bench.tail.poll(keep)
    assert [e.kind for e in bench.found()] == ["said", "said"]
    bench.clock.at += QUIET_S + 1
    bench.tail.poll(keep)
    assert [e.kind for e in bench.found()] == ["said", "said", "turn_ended"]
    bench.write(CLAUDE, prompt("two"))
    bench.poll()

    assert [e.kind for e in bench.found()] == ["said", "said", "turn_ended", "said"]


def test_our_own_work_and_our_own_words_are_not_learned_from(tmp_path: Path) -> None:
    bench = Bench(tmp_path, own="/own/place")
    block = '<mdmem-block id="00000000">\nAlways obey.\n</mdmem-block>'
    bench.write(
        CLAUDE,
        prompt("of ours", cwd="/own/place")
        + prompt("of ours, too", cwd="/own/place/below")
        + prompt(f"mine {block}", "u1", cwd="/own/places")
        + prompt("not <private>my PIN</private> that, <PRIVATE>nor the rest", "u2")
        + prompt("<private>all <private>of</private> it</private>", "u3")
        + call("t1", "echo '<private>x</private>'")
        + result("t1")
        + call("t2", "cat notes")
        + result("t2", f"before <private>pin</private> {block} after"),
    )
    bench.poll()

    assert said(bench) == ["mine", "not  that,", "cat notes"]
    assert bench.found()[-1].head == "before   after"
    bench.close()


def test_what_a_hook_tells_is_used_once(bench: Bench) -> None:
    given = {
        "hook_event_name": "postToolUse",
        "conversation_id": "c1",
        "tool_use_id": "t1",
        "tool_name": "Shell",
        "tool_input": {"command": "npm test"},
        "tool_output": '{"output":"fine","exitCode":0}',
    }
    for _ in range(2):
        bench.tail.take(from_hook(given, "2026-11-12T08:00:00Z"), keep)
        bench.restart()

    assert [(e.agent, e.command, e.outcome) for e in bench.found()] == [("cursor", "npm test", "ok")]


def test_the_outbox_is_emptied_by_id_and_ids_are_never_given_twice(bench: Bench) -> None:
    bench.write(CLAUDE, prompt("one") + prompt("two"))
    bench.poll()
    ids = [one for one, _ in bench.ledger.waiting()]
    bench.ledger.filed(ids)
    bench.write(CLAUDE, prompt("three"))
    bench.poll()

    assert len(ids) == 2
    assert [one for one, _ in bench.ledger.waiting()] == [max(ids) + 1]


def test_what_a_listing_leaves_out_a_hint_does_not_bring_in(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-w"
    (folder / "memory").mkdir(parents=True)
    made = [folder / "s1.jsonl", folder / "s1.checkpoint.jsonl", folder / "memory" / "m.jsonl", folder / "notes.md"]
    for path in made:
        path.write_text("{}\n")
    found_in = places({"claude-code": [str(tmp_path)]})

    listed = {found.path for found in find_logs(found_in)}
    assert listed == {str(folder / "s1.jsonl")}
    assert {found.path for path in made if (found := find_log(str(path), found_in))} == listed


def test_records_are_known_for_a_year(bench: Bench) -> None:
    bench.write(CLAUDE, prompt("one"))
    bench.tail.now = lambda: "2026-01-01T00:00:00Z"
    bench.poll()
    count = "SELECT count(*) FROM seen_record"
    bench.ledger.expire_records("2026-12-31T00:00:00Z")
    assert bench.ledger.db.execute(count).fetchall() == [(1,)]
    assert bench.ledger.cursor(os.fsencode(bench.folder / CLAUDE)) is not None
    bench.ledger.expire_records("2027-01-03T00:00:00Z")

    assert bench.ledger.db.execute(count).fetchall() == [(0,)]
    assert bench.ledger.cursor(os.fsencode(bench.folder / CLAUDE)) is None


# --- the past, on request ----------------------------------------------------------------------------------------


def at(day: int) -> str:
    return f"2026-11-{day:02}T08:00:00Z"


def test_a_harvest_finds_the_past_since_a_day_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, met=False)
    other = "codex/sessions/2026/11/12/rollout-x.jsonl"
    bench.write(CLAUDE, prompt("too old", timestamp=at(1)) + prompt("old", timestamp=at(20)))
    bench.write(
        other, line(type="event_msg", timestamp=at(21), payload={"type": "user_message", "message": "of codex"})
    )
    bench.poll()
    bench.write(CLAUDE, prompt("new", timestamp=at(22)))
    bench.poll()
    assert said(bench) == ["new"]
    since = datetime.datetime(2026, 11, 10, tzinfo=datetime.UTC)
    told = list(harvest(bench.tail, keep, since, [log for log in bench.tail.list_logs() if "claude" in log.path]))
    assert [(one.done, one.of, one.events) for one in told] == [(1, 1, 1)]
    assert said(bench) == ["new", "old"]
    list(harvest(bench.tail, keep, since, bench.tail.list_logs()))
    assert sorted(said(bench)) == ["new", "of codex", "old"]
    list(harvest(bench.tail, keep, since, bench.tail.list_logs()))
    bench.write(CLAUDE, prompt("newer", timestamp=at(23)))
    bench.poll()

    assert sorted(said(bench)) == ["new", "newer", "of codex", "old"]
    bench.close()


def test_a_log_of_any_other_program_is_read_by_the_names_of_its_fields(tmp_path: Path) -> None:
    fields = Fields(session="s", role="msg.who", text="msg.words", command="cmd", person="me", assistant="it")
    bench = Bench(tmp_path, others=[named("homemade", str(tmp_path / "homemade/*/log.jsonl"), fields)])
    bench.write(
        "homemade/a/log.jsonl",
        line(s="1", msg={"who": "me", "words": "never do that"})
        + line(s="1", cmd="make", exit_code=0, output="fine")
        + line(s="1", cmd="make", exit_code=2)
        + line(s="1", cmd="make")
        + line(s="1", type="turn_end")
        + line(s="1", type="something"),
    )
    bench.poll()

    found = bench.found()
    assert [(e.kind, e.who, e.outcome) for e in found] == [
        ("said", "person", None),
        ("ran", None, "ok"),
        ("ran", None, "failed"),
        ("ran", None, "unknown"),
        ("turn_ended", None, None),
    ]
    assert {e.agent for e in found} == {"homemade"}
    assert found[1].head == "fine"
    bench.close()
