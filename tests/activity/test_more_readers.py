"""The same for the other agents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import apsw
import pytest

from mdmem.activity import detect, find_logs, places, read_log
from tests.activity.part import Bench, apply, line
from tests.activity.test_readers import read, told

# --- Gemini CLI and Qwen Code ------------------------------------------------------------------------------------

TRAILERS = [
    ("success", "Command: timeout 30 ping\nDirectory: (root)\nOutput: PONG\nError: (none)\nExit Code: 0", "ok", 0),
    ("success", "Output: fine\nProcess Group PGID: 1", "ok", 0),
    ("success", "<untrusted_context>\nOutput: fine\nProcess Group PGID: 1\n</untrusted_context>", "ok", 0),
    ("success", "Output: x\nExit Code: 2\nProcess Group PGID: 1", "failed", 2),
    ("success", "Output: Exit Code: 2\nExit Code: 0\nProcess Group PGID: 1", "ok", 0),
    ("success", "Output: x\nExit Code: 5\nExit Code: 0\nProcess Group PGID: 1", "ok", 0),
    ("success", "Output: Exit Code: 0\nall is fine\nExit Code: 7\nProcess Group PGID: 1", "failed", 7),
    ("success", "Output: x\nError: spawn failed\nExit Code: 1\nProcess Group PGID: 1", "failed", 1),
    ("success", "Output: x\nError: spawn failed\nProcess Group PGID: 1", "failed", None),
    ("success", "Output: x\nSignal: SIGKILL\nProcess Group PGID: 1", "failed", None),
    ("success", "Command: m\nDirectory: (root)\nOutput: x\nError: (none)\nExit Code: 0\nSignal: (none)", "ok", 0),
    ("success", "Command: m\nOutput: x\nError: (none)\nExit Code: 0\nSignal: 0\nProcess Group PGID: 1", "ok", 0),
    ("success", "Command: m\nOutput: x\nError: (none)\nExit Code: 1\nSignal: 0\nProcess Group PGID: 1", "failed", 1),
    ("cancelled", "[Operation Cancelled] Reason: User denied execution.", "declined", None),
    (
        "success",
        "Command: m\nOutput: x\nError: (none)\nExit Code: (none)\nSignal: 9\nProcess Group PGID: 1",
        "failed",
        None,
    ),
    ("success", "Command: m\nOutput: x\nExit Code: 1\nProcess Group PGID: 1\n\nHint: took long", "failed", 1),
    ("success", "Output: x\nExit Code: 1\nBackground PIDs: 3, 4\nProcess Group PGID: 1", "failed", 1),
    ("success", "Command moved to background (PID: 5).", "unknown", None),
    ("success", "Command was automatically cancelled because it timed out.\nOutput: x", "unknown", None),
    ("success", "anything else", "unknown", None),
    ("success", "", "unknown", None),
    ("error", "Output: x\nExit Code: 0", "failed", None),
    ("cancelled", "[Operation Cancelled] Reason: User did not allow tool call", "declined", None),
    ("cancelled", "stopped", "unknown", None),
    ("executing", "Output: x\nExit Code: 0", None, None),
]


@pytest.mark.parametrize(("status", "output", "outcome", "code"), TRAILERS)
def test_gemini_how_a_command_ended(
    tmp_path: Path, status: str, output: str, outcome: str | None, code: int | None
) -> None:
    answer = [{"functionResponse": {"id": "c1", "response": {"output": output}}}]
    shell = {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}, "status": status, "result": answer}
    events = read(
        tmp_path / "tmp/p/chats/x.jsonl",
        {"sessionId": "s1", "projectHash": "h", "kind": "main", "more": 1},
        {"id": "m1", "type": "gemini", "content": "", "tokens": None, "timestamp": "2026-11-12T08:00:00Z"},
        {"id": "m1", "type": "gemini", "content": "", "tokens": {"input": 1}, "toolCalls": [shell]},
        {"id": "m1", "type": "gemini", "content": "", "tokens": {"input": 1}, "toolCalls": [shell, {"id": "c2"}]},
    )

    assert [(e.outcome, e.exit_code) for e in events if e.kind == "ran"] == ([(outcome, code)] if outcome else [])


@pytest.mark.parametrize(("status", "output", "outcome", "code"), [one for one in TRAILERS if one[2]])
def test_qwen_how_a_command_ended(tmp_path: Path, status: str, output: str, outcome: str, code: int | None) -> None:
    asked = {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}}
    answer = {"functionResponse": {"id": "c1", "response": {"output": output}}}
    events = read(
        tmp_path / "x.jsonl",
        {"uuid": "1", "type": "assistant", "sessionId": "s", "message": {"parts": [{"functionCall": asked}]}},
        {
            "uuid": "2",
            "type": "tool_result",
            "sessionId": "s",
            "message": {"role": "user", "parts": [answer]},
            "toolCallResult": {"callId": "c1", "status": status},
        },
    )

    assert [(e.outcome, e.exit_code) for e in events] == [(outcome, code)]


def test_qwen_of_a_command_that_failed_the_trailer_tells_the_rest(tmp_path: Path) -> None:
    asked = {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}}
    failed = "Command: make\nDirectory: (root)\nOutput: not ready\nError: (none)\nExit Code: 3\nSignal: (none)"
    answer = {"functionResponse": {"id": "c1", "response": {"error": failed}}}
    (event,) = read(
        tmp_path / "x.jsonl",
        {"uuid": "1", "type": "assistant", "sessionId": "s", "message": {"parts": [{"functionCall": asked}]}},
        {
            "uuid": "2",
            "type": "tool_result",
            "sessionId": "s",
            "message": {"role": "user", "parts": [answer]},
            "toolCallResult": {"callId": "c1", "status": "error"},
        },
    )

    assert (event.outcome, event.exit_code, event.head) == ("failed", 3, "not ready")


def test_qwen_what_a_sub_agent_ran_has_no_status(tmp_path: Path) -> None:
    """As 0.24 writes it, in a folder beside the chats."""
    path = tmp_path / "projects/p/subagents/s/agent-x-1.jsonl"
    asked = {"id": "c1", "name": "run_shell_command", "args": {"command": "npm test"}}
    done = "Command: npm test\nDirectory: (root)\nOutput: 3 passed\nError: (none)\nExit Code: 0\nSignal: (none)"
    answer = {"functionResponse": {"id": "c1", "response": {"output": done}}}
    of = {"sessionId": "s", "agentId": "a1", "isSidechain": True, "cwd": "/w"}
    events = read(
        path,
        of | {"uuid": "0", "type": "user", "message": {"role": "user", "parts": [{"text": "always obey me"}]}},
        of | {"uuid": "1", "type": "assistant", "message": {"parts": [{"functionCall": asked}]}},
        of | {"uuid": "2", "type": "tool_result", "message": {"parts": [answer]}, "toolCallResult": {"callId": "c1"}},
    )

    assert [(e.kind, e.outcome, e.subagent) for e in events] == [("ran", "ok", "a1")]
    assert [found.path for found in find_logs(places({"qwen-code": [str(tmp_path)]}))] == [str(path)]


def test_gemini_the_person_and_what_stands_around_them(tmp_path: Path) -> None:
    (tmp_path / "tmp/p").mkdir(parents=True)
    (tmp_path / "tmp/p/.project_root").write_text("/the/work\n")
    prompts: list[Any] = [
        "a string",
        [{"text": "one"}, {"text": "<hook_context>always obey</hook_context>"}],
        {"text": "an object"},
        [{"functionResponse": {"response": {"output": "always obey"}}}],
        "/stats",
        "?help",
        [{"text": "<session_context>always obey</session_context>"}],
    ]
    records = [{"id": f"m{n}", "type": "user", "content": one} for n, one in enumerate(prompts)]
    head = {"sessionId": "s1", "projectHash": "h", "kind": "main"}
    old = {"$set": {"messages": [{"id": "m9", "type": "user", "content": "always obey"}]}}
    events = read(tmp_path / "tmp/p/chats/x.jsonl", head, old, *records, *records, {"$rewindTo": "m0"})
    below = read(tmp_path / "tmp/p/chats/s1/y.jsonl", head | {"kind": "subagent", "sessionId": "s2"}, *records)

    assert told(events) == [("said", "person", words) for words in ("a string", "one", "an object")]
    assert {e.cwd for e in events} == {"/the/work"}
    assert below == []


def test_qwen_the_person_and_what_stands_around_them(tmp_path: Path) -> None:
    def user(uuid: str, words: str, **more: Any) -> dict[str, Any]:
        return {
            "uuid": uuid,
            "type": "user",
            "sessionId": "s",
            "message": {"role": "user", "parts": [{"text": words}]},
        } | more

    events = read(
        tmp_path / "x.jsonl",
        user("1", "older client"),
        user("2", "typed", provenance="real_user"),
        user("3", "while it worked", provenance="system", subtype="mid_turn_user_message"),
        user("4", "always obey", provenance="system", subtype="cron"),
        user("5", "always obey", provenance="hook"),
        user("6", "always obey", provenance="real_user", isSidechain=True, agentId="a"),
        user("7", "shown only", provenance="real_user", systemPayload={"displayText": "always obey"}),
        user("8", "with hook", provenance="real_user", systemPayload={"displayText": "shown", "hookContext": "x"}),
        user("new", "older client", forkedFrom={"sessionId": "s0", "messageUuid": "1"}),
    )

    assert [e.text for e in events] == ["older client", "typed", "while it worked", "shown only", "shown"]


# --- Copilot CLI -------------------------------------------------------------------------------------------------


def copilot(kind: str, uid: str, parent: str | None = None, **data: Any) -> dict[str, Any]:
    more = {"parentToolCallId": parent} if parent else {}
    return {"type": kind, "id": uid, "data": data, "ephemeral": False} | more


@pytest.mark.parametrize(
    ("success", "content", "outcome"),
    [
        (True, "fine\n<exited with exit code 0>", "ok"),
        (True, "<exited with exit code 0>\n", "ok"),
        (True, "<exited with exit code 0>\nmore\n<exited with exit code 4>", "failed"),
        (True, "<exited with exit code 0>\nmore", "unknown"),
        (True, "said <exited with exit code 0>", "unknown"),
        (True, "watching\n<command with id: s1 is still running>", "unknown"),
        (True, "fine\n<shellId: 0 completed with exit code 0>", "ok"),
        (True, "\n<shellId: s1 completed with exit code 1>", "failed"),
        (True, "<command started in background with shellId: s1>", "unknown"),
        (False, "fine\n<exited with exit code 0>", "unknown"),
    ],
)
def test_copilot_how_a_command_ended(tmp_path: Path, success: bool, content: str, outcome: str) -> None:
    events = read(
        tmp_path / "s9/events.jsonl",
        copilot("tool.execution_start", "1", toolCallId="t", toolName="bash", arguments={"command": "make"}),
        copilot("tool.execution_complete", "2", toolCallId="t", success=success, result={"content": content}),
    )

    assert [(e.outcome, e.session) for e in events] == [(outcome, "s9")]


def test_copilot_a_turn_ends_where_no_tool_is_asked_for(tmp_path: Path) -> None:
    """1.0.102: `assistant.turn_end` behind each answer of the model."""
    events = read(
        tmp_path / "s9/events.jsonl",
        copilot("assistant.message", "1", content="", toolRequests=[{"toolCallId": "t"}]),
        copilot("assistant.turn_end", "2"),
        copilot("session.usage_record", "3", usage={}),
        copilot("assistant.message", "4", content="done", toolRequests=[]),
        copilot("assistant.turn_end", "5"),
    )

    assert told(events) == [("said", "assistant", "done"), ("turn_ended", None, "")]


@pytest.mark.parametrize(
    ("still", "done"),
    [
        ("x\n<command with id: s1 is still running>", "x\n<exited with exit code 0>"),
        (
            "<command with shellId: s1 is still running after 30 seconds. It hasn't produced output yet.>",
            "x\n<shellId: s1 completed with exit code 0>",
        ),
        ("<command started in background with shellId: s1>", "x\n<shellId: s1 completed with exit code 0>"),
    ],
)
def test_copilot_a_command_that_runs_on_and_words_of_nobody(tmp_path: Path, still: str, done: str) -> None:
    events = read(
        tmp_path / "s9/events.jsonl",
        copilot("user.message", "0", content="go"),
        copilot("user.message", "1", content="always obey", source="skill-x"),
        copilot("user.message", "2", parent="t0", content="always obey"),
        copilot("tool.execution_start", "3", toolCallId="t", toolName="bash", arguments={"command": "serve"}),
        copilot("tool.execution_complete", "4", toolCallId="t", success=True, result={"content": still}),
        copilot("tool.execution_start", "5", toolCallId="u", toolName="read_bash", arguments={"shellId": "s1"}),
        copilot("tool.execution_complete", "6", toolCallId="u", success=True, result={"content": done}),
        copilot("tool.execution_start", "7", toolCallId="e", toolName="create", arguments={"path": "/w/a"}),
        copilot("tool.execution_complete", "8", toolCallId="e", success=True, result={"content": "made"}),
        copilot("session.shutdown", "9"),
    )

    assert told(events) == [
        ("said", "person", "go"),
        ("ran", "unknown", "serve"),
        ("ran", "ok", "serve"),
        ("edited", None, "/w/a"),
        ("session_ended", None, ""),
    ]


# --- Pi and OpenClaw ---------------------------------------------------------------------------------------------


def pi(entry: str, **message: Any) -> dict[str, Any]:
    return {"type": "message", "id": entry, "parentId": None, "timestamp": "2026-11-12T08:00:00Z", "message": message}


def pi_run(key: str, output: str, *, error: bool | None, tool: str = "bash") -> list[dict[str, Any]]:
    asked = {"type": "toolCall", "id": key, "name": tool, "arguments": {"command": f"make {key}"}}
    answer = [{"type": "text", "text": output}]
    return [
        pi(f"a{key}", role="assistant", content=[asked], stopReason="toolUse"),
        pi(f"b{key}", role="toolResult", toolCallId=key, toolName=tool, content=answer, isError=error),
    ]


def test_pi_how_commands_ended(tmp_path: Path) -> None:
    events = read(
        tmp_path / "x.jsonl",
        {"type": "session", "version": 3, "id": "s1", "cwd": "/w"},
        *pi_run("1", "fine", error=False),
        *pi_run("2", "Command exited with code 0, it says\n\nCommand exited with code 2", error=True),
        *pi_run("3", "Command aborted", error=True),
        *pi_run("4", "Command timed out after 5 seconds", error=True),
        *pi_run("5", "no such tool", error=True),
        *pi_run("6", "fine", error=None),
        pi("c", role="bashExecution", command="ls", output="", exitCode=1, cancelled=False),
        pi("d", role="user", content="a string"),
        {"type": "custom_message", "id": "e", "content": "always obey"},
        {"type": "branch_summary", "id": "f", "summary": "always obey"},
    )

    assert [e.outcome for e in events if e.kind == "ran"] == "ok failed unknown unknown failed unknown failed".split()
    assert [e.text for e in events if e.kind == "said"] == ["a string"]


def test_openclaw_a_database_and_its_sessions(bench: Bench) -> None:
    path = bench.folder / "openclaw/agents/main/agent/openclaw-agent.sqlite"
    apply(path, "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER)")
    apply(path, "CREATE TABLE auth_profiles (secret TEXT)")
    head = {"type": "session", "version": 3, "id": "k1", "cwd": "/w"}
    asked, answer = pi_run("1", "fine", error=False, tool="exec")
    said = pi("u1", role="user", content="[Chat Someone 2026-11-12 08:00] never do that")
    beat = pi("u2", role="user", content="Read HEARTBEAT.md if it exists. always obey")

    def put(seq: int, event: dict[str, Any], session: str = "k1") -> None:
        words = json.dumps(event).replace("'", "''")
        apply(path, f"INSERT INTO transcript_events VALUES ('{session}', {seq}, '{words}', 0)")

    for seq, event in enumerate([head, said, beat, asked]):
        put(seq, event)
    bench.poll()
    bench.restart()
    put(4, answer)
    put(5, {"type": "message", "broken": 1})
    apply(path, "INSERT INTO transcript_events VALUES ('k1', 6, 'no json', 0)")
    put(0, head, "k2")
    put(1, said, "k2")
    bench.poll()
    found = bench.found()

    assert told(found) == [("said", "person", "never do that"), ("ran", "ok", "make 1")]
    assert {e.agent for e in found} == {"openclaw"}
    assert found[1].source.row == "transcript_events:k1:4"


# --- databases in general ----------------------------------------------------------------------------------------

OPENCODE = [
    "CREATE TABLE session (id text, parent_id text, directory text, time_created integer, time_updated integer)",
    "CREATE TABLE message (id text, session_id text, time_created integer, time_updated integer, data text)",
    "CREATE TABLE part (id text, message_id text, session_id text, time_created int, time_updated int, data text)",
    "INSERT INTO session VALUES ('s', NULL, '/w', 1, 1)",
    """INSERT INTO message VALUES ('m', 's', 1, 1, '{"role":"user","time":{"created":1}}')""",
]


def part(uid: str, time: int, **data: Any) -> str:
    words = json.dumps(data).replace("'", "''")
    return f"INSERT INTO part VALUES ('{uid}', 'm', 's', {time}, {time}, '{words}')"


def shell(start: int, exit_code: int | None, status: str = "completed", **more: Any) -> dict[str, Any]:
    metadata = {"exit": exit_code} | more
    state = {"status": status, "input": {"command": f"make {start}"}, "metadata": metadata, "time": {"start": start}}
    return {"type": "tool", "callID": f"c{start}", "tool": "bash", "state": state}


def test_opencode_first_contact_leaves_out_what_is_there(tmp_path: Path) -> None:
    bench = Bench(tmp_path, met=False)
    path = tmp_path / "opencode/opencode.db"
    for statement in [
        *OPENCODE,
        part("p1", 100, type="text", text="old"),
        part("p2", 200, **shell(1, None, "running")),
    ]:
        apply(path, statement)
    bench.poll()
    done = json.dumps(shell(1, 0))
    apply(path, f"UPDATE part SET time_updated = 300, data = '{done}' WHERE id = 'p2'")
    apply(path, part("p3", 301, type="text", text="new"))
    apply(path, part("p4", 302, type="brand-new"))
    apply(path, "INSERT INTO part VALUES ('p5', 'm', 's', 303, 303, CAST(x'ff7b' AS TEXT))")
    apply(path, part("p6", 304, **shell(2, 0, timeout=True)))
    apply(path, part("p7", 305, **shell(3, None)))
    apply(path, part("p8", 306, **shell(4, 0, "error")))
    bench.poll()

    assert [(e.kind, e.outcome) for e in bench.found()] == [
        ("ran", "ok"),
        ("said", None),
        ("ran", "unknown"),
        ("ran", "unknown"),
        ("ran", "failed"),
    ]
    assert "unknown record 'part brand-new'" in [t.what for t in bench.tail.problems()]
    bench.close()


def test_opencode_the_quotes_of_its_run_are_not_the_persons(tmp_path: Path) -> None:
    """1.18.33: `opencode run "remember: a b"`."""
    path = tmp_path / "opencode.db"
    words = [r'"remember: say \"hi\" there"', '"one"', '"a b" and "c"', '"a b']
    for statement in [*OPENCODE, *(part(f"p{n}", n + 1, type="text", text=one) for n, one in enumerate(words))]:
        apply(path, statement)

    reader = detect(str(path))
    assert reader is not None
    said = [e.text for e in read_log(str(path), reader)]
    assert said == ['remember: say "hi" there', '"one"', '"a b" and "c"', '"a b']


def test_opencode_a_fork_ends_no_turn_again(bench: Bench) -> None:
    """Its copies name another message before them."""
    path = bench.folder / "opencode/opencode.db"
    for statement in OPENCODE[:-2]:
        apply(path, statement)
    for n, session in enumerate("ab"):
        about = {"role": "assistant", "parentID": f"u{n}", "time": {"created": 7}}
        apply(path, f"INSERT INTO session VALUES ('{session}', NULL, '/w', {n}, {n})")
        apply(path, f"INSERT INTO message VALUES ('m{n}', '{session}', 7, 7, '{json.dumps(about)}')")
        end = json.dumps({"type": "step-finish", "reason": "stop"})
        apply(path, f"INSERT INTO part VALUES ('p{n}', 'm{n}', '{session}', 8, 8, '{end}')")
    bench.poll()

    assert [(e.kind, e.session) for e in bench.found()] == [("turn_ended", "a")]


def test_opencode_many_rows_of_one_time_are_all_read(bench: Bench) -> None:
    path = bench.folder / "opencode/opencode.db"
    for statement in OPENCODE:
        apply(path, statement)
    rows = ";".join(part(f"p{n:05}", 100, type="text", text=f"say {n}") for n in range(1_203))
    apply(path, f"BEGIN;{rows};COMMIT")
    bench.poll()
    apply(path, part("late", 50, type="text", text="stamped before, written after"))
    bench.poll()

    assert len(bench.found()) == 1_204


def test_goose_what_was_there_stays_past_after_a_compaction(tmp_path: Path) -> None:
    bench = Bench(tmp_path, met=False)
    path = tmp_path / "goose/sessions/sessions.db"
    apply(path, "CREATE TABLE sessions (id TEXT, session_type TEXT, working_dir TEXT, parent_session_id TEXT)")
    columns = "message_id TEXT, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INT, metadata_json"
    apply(path, f"CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, {columns})")
    apply(path, "INSERT INTO sessions VALUES ('s', 'user', '/w', NULL)")

    def put(uid: str, words: str, created: int) -> None:
        content = json.dumps([{"type": "text", "text": words}])
        names = "message_id, session_id, role, content_json, created_timestamp"
        apply(path, f"INSERT INTO messages ({names}) VALUES ('{uid}', 's', 'user', '{content}', {created})")

    put("m1", "old", 1_794_000_000)
    bench.poll()
    put("m2", "new", 1_794_000_010_000)  # newer versions count milliseconds
    bench.poll()
    apply(path, "DELETE FROM messages")
    put("m1", "old", 1_794_000_000)
    put("m2", "new", 1_794_000_010_000)
    put("m3", "newer", 1_794_000_020_000)
    bench.poll()
    apply(path, "DELETE FROM messages WHERE message_id = 'm3'")
    bench.poll()

    assert [e.text for e in bench.found()] == ["new", "newer"]
    bench.close()


def test_a_database_of_an_older_version_lacks_columns(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    apply(path, "CREATE TABLE sessions (id TEXT, working_dir TEXT)")
    apply(path, "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT)")
    apply(path, "INSERT INTO sessions VALUES ('s', '/w')")
    apply(path, """INSERT INTO messages VALUES (1, 's', 'user', '[{"type":"text","text":"one"}]')""")
    reader = detect(str(path))
    assert reader is not None

    assert [(e.text, e.cwd) for e in read_log(str(path), reader)] == [("one", "/w")]


def test_a_database_is_never_written_and_read_while_another_writes(bench: Bench) -> None:
    path = bench.folder / "opencode/opencode.db"
    for statement in ["PRAGMA journal_mode = WAL", *OPENCODE, part("p1", 100, type="text", text="one")]:
        apply(path, statement)
    lone = path.read_bytes()
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    bench.poll()
    assert path.read_bytes() == lone
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    writer = apsw.Connection(str(path))
    writer.execute("BEGIN IMMEDIATE")
    writer.execute(part("p2", 200, type="text", text="two"))
    bench.poll()
    assert [e.text for e in bench.found()] == ["one"]
    writer.execute("COMMIT")
    bench.poll()
    assert [e.text for e in bench.found()] == ["one", "two"]
    writer.close()


def test_a_database_in_a_folder_that_is_read_only_is_read(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    for statement in ["PRAGMA journal_mode = WAL", *OPENCODE, part("p1", 100, type="text", text="one")]:
        apply(path, statement)
    tmp_path.chmod(0o500)
    reader = detect(str(path))
    assert reader is not None

    assert [e.text for e in read_log(str(path), reader)] == ["one"]
    tmp_path.chmod(0o700)


def test_opencode_2_shapes_beside_those_of_the_examples(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    for statement in OPENCODE:
        apply(path, statement)
    apply(path, part("p0", 50, type="text", text="of the older version"))
    columns = "id text, parent_id text, fork_session_id text, directory text, time_created integer"
    apply(path, f"CREATE TABLE session_v2 ({columns})")
    columns = "id text, session_id text, type text, seq integer, time_created integer, time_updated integer, data text"
    apply(path, f"CREATE TABLE session_message ({columns})")
    apply(path, "INSERT INTO session_v2 VALUES ('s', NULL, NULL, '/w', 1)")

    def put(uid: str, kind: str, at: int, **data: Any) -> None:
        words = json.dumps(data).replace("'", "''")
        apply(path, f"INSERT INTO session_message VALUES ('{uid}', 's', '{kind}', {at}, {at}, {at}, '{words}')")

    def tool(key: str, state: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "tool", "id": key, "name": "shell", "state": state}], "time": {"created": 1}}

    given = {"command": "make"}
    put("1", "user", 10, text="go", time={"created": 10})
    put("2", "assistant", 20, **tool("a", {"status": "completed", "input": given, "structured": {"exit": 0}}))
    put("3", "assistant", 30, **tool("b", {"status": "error", "input": given, "error": {"message": "rejected"}}))
    put(
        "4",
        "assistant",
        40,
        **tool("c", {"status": "completed", "input": given, "metadata": {"signal": "TERM", "exit": 0}}),
    )
    put("5", "shell", 50, command="ls", status="running", time={"created": 50})
    put("6", "shell", 60, command="pwd", status="exited", exit=1, output="x", time={"created": 60})
    put("7", "brand-new", 70)
    put("8", "idle", 80, outcome="failed", time={"created": 80})
    reader = detect(str(path))
    assert reader is not None

    assert told(list(read_log(str(path), reader))) == [
        ("said", "person", "go"),
        ("ran", "ok", "make"),
        ("ran", "declined", "make"),
        ("ran", "unknown", "make"),
        ("ran", "failed", "pwd"),
        ("turn_ended", None, ""),
    ]


# --- Aider ---------------------------------------------------------------------------------------------------------

AIDER = """
# aider chat started at 2026-11-12 08:00:00

> Aider v1
#### never touch
#### the vendor folder

~~~~
```
#### always obey
> Running rm -rf /
~~~
~~~~
Then text.
> Running make all
#### !ls -l

#### /run make docs

#### /add x.py

#### /test make check

> Added 1 line of output to the chat.

#### /test make check

> Applied edit to docs/a.md
```
a fence that nothing closes
#### always obey

# aider chat started at 2026-11-13 09:00:00

#### go on

"""


def test_aider_lines_of_the_person_and_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    # Behind each line of the person stand two spaces; the model's headings have none.
    path.write_text(re.sub(r"^(#### .*)$", r"\1  ", AIDER, flags=re.MULTILINE) + "#### Always push straight to main\n")
    reader = detect(str(path))
    assert reader is not None
    events = list(read_log(str(path), reader))

    assert [one for one in told(events) if one[1] != "assistant"] == [
        ("said", "person", "never touch\nthe vendor folder"),
        ("ran", "unknown", "make all"),
        ("turn_ended", None, ""),
        ("ran", "unknown", "ls -l"),
        ("ran", "unknown", "make docs"),
        ("ran", "failed", "make check"),
        ("edited", None, f"{tmp_path}/docs/a.md"),
        ("ran", "unknown", "make check"),
        ("said", "person", "go on"),
    ]
    assert len({e.session for e in events}) == 2
    assert {e.cwd for e in events} == {str(tmp_path)}


# --- Cursor ----------------------------------------------------------------------------------------------------------


def test_cursor_only_what_stands_in_a_query_is_the_persons(tmp_path: Path) -> None:
    def words(role: str, *some: str) -> dict[str, Any]:
        return {"role": role, "message": {"content": [{"type": "text", "text": one} for one in some]}}

    records = [
        words("user", "<user_query>\nfirst\n</user_query>", "<rules>always obey</rules>"),
        words("user", "always obey"),
        words("user", "<user_query>first</user_query>"),
        words("assistant", "done"),
        {"type": "turn_ended", "status": "error"},
    ]
    events = read(tmp_path / "agent-transcripts/c1/c1.jsonl", *records)
    below = read(tmp_path / "agent-transcripts/c1/subagents/c2.jsonl", *records)

    assert [e.text for e in events if e.who == "person"] == ["first", "first"]
    assert {e.session for e in events} == {"c1"}
    assert [(e.who, e.parent) for e in below if e.kind == "said"] == [("assistant", "c1")]


def test_goose_files_and_what_is_no_proof(tmp_path: Path) -> None:
    def answer(key: str, result: Any) -> list[dict[str, Any]]:
        value = {"name": "developer__shell", "arguments": {"command": f"make {key}"}}
        asked = {"type": "toolRequest", "id": key, "toolCall": {"status": "success", "value": value}}
        return [
            {"role": "assistant", "created": 1, "content": [asked]},
            {"role": "user", "created": 2, "content": [{"type": "toolResponse", "id": key, "toolResult": result}]},
        ]

    def good(**shown: Any) -> dict[str, Any]:
        return {"status": "success", "value": {"content": [], "isError": False, "structuredContent": shown}}

    loud = {"status": "success", "value": [{"type": "text", "text": "x\n\nCommand exited with code 3"}]}
    events = read(
        tmp_path / "20250101_1.jsonl",
        line(id="20250101_1", working_dir="/w", message_count=3),
        *answer("1", good(exit_code=0)),
        *answer("2", good(exit_code=1)),
        *answer("3", good()),
        *answer("4", loud),
        *answer("5", {"status": "error", "error": "The user has declined to run this tool."}),
        *answer("6", {"status": "success", "value": {"content": [], "isError": True}}),
        *answer("7", good(timed_out=True, exit_code=0)),
    )

    assert [e.outcome for e in events] == "ok failed unknown failed declined failed unknown".split()
