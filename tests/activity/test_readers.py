"""Shapes that the example logs do not hold: other words, other orders, keys and records that nobody knows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from mdmem.activity import Event, Notes, detect, from_hook, read_log
from mdmem.activity.places import READERS
from tests.activity.part import line

Told = tuple[str, str | None, str]


def read(path: Path, *records: Any, name: str | None = None) -> list[Event]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(one if isinstance(one, bytes) else line(**one) for one in records))
    reader = detect(str(path)) if name is None else next(r for r in READERS if r.agent == name and r.form == "jsonl")
    assert reader is not None
    return list(read_log(str(path), reader))


def told(events: Sequence[Event]) -> list[Told]:
    """Each event as (kind, who or how it ended, the words)."""
    return [(e.kind, e.who or e.outcome, e.text or e.command or e.path) for e in events]


# --- Claude Code -------------------------------------------------------------------------------------------------


def claude(kind: str, uuid: str, content: Any, **more: Any) -> dict[str, Any]:
    role = "assistant" if kind == "assistant" else "user"
    base = {"type": kind, "uuid": uuid, "isSidechain": False, "sessionId": "s", "cwd": "/w", "neverSeen": {"x": [1]}}
    message = {"role": role, "content": content}
    if "stop_reason" in more:
        message["stop_reason"] = more.pop("stop_reason")
    return base | {"message": message} | more


def bash(key: str, command: str, name: str = "Bash") -> dict[str, Any]:
    return claude(
        "assistant", f"a-{key}", [{"type": "tool_use", "id": key, "name": name, "input": {"command": command}}]
    )


def ended(key: str, content: str, result: Any, *, error: bool | None = False, **more: Any) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": key, "content": content}
    if error is not None:
        block["is_error"] = error
    return claude("user", f"r-{key}", [block], toolUseResult=result, **more)


OK = {"stdout": "fine", "stderr": "", "interrupted": False}


@pytest.mark.parametrize(
    ("content", "result", "error", "more", "outcome", "code"),
    [
        ("fine", OK, None, {}, "ok", 0),
        ("fine", OK, False, {}, "ok", 0),
        ("Exit code 3\nbad", "Error: Exit code 3\nbad", True, {}, "failed", 3),
        ("Exit code 3\nbad", OK, None, {}, "failed", 3),
        ("all is fine, exit code 0", "Error: something broke", True, {}, "failed", None),
        ("fine", OK | {"interrupted": True}, False, {}, "unknown", None),
        ("running", OK | {"backgroundTaskId": "b1"}, False, {}, "unknown", None),
        ("running", OK | {"timedOutAfterMs": 120_000}, False, {}, "unknown", None),
        ("no", "User rejected tool use", True, {"toolDenialKind": "user-rejected"}, "declined", None),
        ("no", "Error: denied", True, {"toolDenialKind": "permission-rule"}, "declined", None),
        ("The user doesn't want to proceed with this tool use.", "Error: no", True, {}, "declined", None),
        ("The user doesn't want to proceed with this tool use.", "User rejected tool use", True, {}, "declined", None),
        ("fine", "fine", False, {}, "unknown", None),
        ("fine", None, False, {}, "unknown", None),
        ("Command timed out after 2m", "Error: Command timed out after 2m", True, {}, "unknown", None),
        (
            "Exit code 143\nCommand timed out after 1s",
            "Error: Exit code 143\nCommand timed out after 1s",
            True,
            {},
            "unknown",
            None,
        ),
        ("Command timed out after 1s", OK, False, {}, "ok", 0),
        ("nothing", OK | {"returnCodeInterpretation": "No matches found"}, False, {}, "ok", None),
    ],
)
def test_claude_how_a_command_ended(
    tmp_path: Path, content: str, result: Any, error: bool | None, more: dict[str, Any], outcome: str, code: int | None
) -> None:
    events = read(tmp_path / "x.jsonl", bash("t1", "make it"), ended("t1", content, result, error=error, **more))

    assert [(e.command, e.outcome, e.exit_code) for e in events] == [("make it", outcome, code)]


def test_claude_results_come_late_in_another_order_or_never(tmp_path: Path) -> None:
    events = read(
        tmp_path / "x.jsonl",
        bash("t1", "one"),
        bash("t2", "two"),
        bash("t3", "three"),
        ended("t2", "fine", OK),
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        ended("t1", "fine", OK),
        claude("system", "s1", None, subtype="turn_duration"),
        ended("t3", "fine", OK),
    )

    assert told(events) == [
        ("ran", "ok", "two"),
        ("ran", "ok", "one"),
        ("ran", "unknown", "three"),
        ("turn_ended", None, ""),
    ]


@pytest.mark.parametrize(
    "record",
    [
        claude("user", "1", "always obey", isMeta=True, origin={"kind": "human"}),
        claude("user", "1", "always obey", isCompactSummary=True),
        claude("user", "1", "always obey", isVisibleInTranscriptOnly=True),
        claude("user", "1", "always obey", isSidechain=True, agentId="a1", origin={"kind": "human"}),
        claude("user", "1", "always obey", origin={"kind": "channel"}),
        claude("user", "1", "<system-reminder>always obey</system-reminder>", origin={"kind": "human"}),
        claude("user", "1", "<command-name>/x</command-name><command-args>always obey</command-args>"),
        claude("user", "1", "<local-command-stdout>always obey</local-command-stdout>"),
        claude("user", "1", "<teammate-message from='x'>always obey</teammate-message>"),
        claude("user", "1", "<some-new-wrapper>always obey</some-new-wrapper>"),
        claude("user", "1", "Caveat: The messages below were generated by the user. always obey"),
        claude("user", "1", "Stop hook feedback: always obey"),
        claude("user", "1", "This session is being continued from a previous conversation: always obey"),
        claude("user", "1", [{"type": "text", "text": "[Request interrupted by user]"}]),
        claude("user", "1", "always obey", promptSource="system"),
        claude("user", "1", "always obey", toolUseResult={"x": 1}),
        claude("attachment", "1", None, attachment={"type": "hook_additional_context", "content": ["always obey"]}),
        claude(
            "attachment",
            "1",
            None,
            attachment={"type": "queued_command", "prompt": "always obey", "commandMode": "task-notification"},
        ),
        {"type": "queue-operation", "operation": "enqueue", "content": "always obey", "sessionId": "s"},
    ],
)
def test_claude_what_no_person_said(tmp_path: Path, record: dict[str, Any]) -> None:
    events = read(tmp_path / "x.jsonl", record, claude("user", "2", "hello", origin={"kind": "human"}))

    assert told(events) == [("said", "person", "hello")]


def test_claude_a_client_that_tells_who_speaks_is_believed_when_it_does_not(tmp_path: Path) -> None:
    old = read(tmp_path / "old.jsonl", claude("user", "1", "never do that"))
    new = read(
        tmp_path / "new.jsonl",
        claude("user", "1", "hello", origin={"kind": "human"}),
        claude("user", "2", "always obey"),
    )

    assert told(old) == [("said", "person", "never do that")]
    assert told(new) == [("said", "person", "hello")]


def test_claude_the_end_of_a_command_in_the_background(tmp_path: Path) -> None:
    def notice(task: str, status: str, words: str, **more: Any) -> dict[str, Any]:
        body = f"<task-notification>\n<task-id>{task}</task-id>\n<status>{status}</status>\n<summary>{words}</summary>"
        return claude("user", f"n-{task}", f"{body}\n</task-notification>", **more)

    records: list[dict[str, Any]] = []
    for n in range(4):
        records += [bash(f"t{n}", f"run {n}"), ended(f"t{n}", "started", OK | {"backgroundTaskId": f"b{n}"})]
    records += [
        notice("b0", "completed", "done with exit code 0", origin={"kind": "task-notification"}),
        notice("b1", "completed", "done", origin={"kind": "task-notification"}),
        notice("b2", "failed", "ended with exit code 2"),
        notice("b3", "completed", "done with exit code 0", origin={"kind": "human"}),  # pasted by a person
    ]
    events = read(tmp_path / "x.jsonl", *records)

    assert [(e.command, e.outcome) for e in events if e.outcome != "unknown"] == [("run 0", "ok"), ("run 2", "failed")]


def test_claude_the_end_of_a_command_in_the_background_while_the_agent_works(tmp_path: Path) -> None:
    def notice(task: str, words: str, mode: str = "task-notification", **more: Any) -> dict[str, Any]:
        body = f"<task-notification>\n<task-id>{task}</task-id>\n<status>completed</status>\n<summary>{words}</summary>"
        queued = {"type": "queued_command", "prompt": f"{body}\n</task-notification>", "commandMode": mode} | more
        return {"type": "attachment", "uuid": f"n-{task}", "isSidechain": False, "sessionId": "s", "attachment": queued}

    records: list[dict[str, Any]] = []
    for n in range(3):
        records += [bash(f"t{n}", f"run {n}"), ended(f"t{n}", "started", OK | {"backgroundTaskId": f"b{n}"})]
    records += [
        notice("b0", "done (exit code 0)", origin={"kind": "task-notification", "producer": "session-task"}),
        notice("b1", "done (exit code 0)", mode="prompt", origin={"kind": "human"}),  # pasted by a person
        notice("b2", "done (exit code 1)"),
    ]
    events = read(tmp_path / "x.jsonl", *records)

    assert [(e.command, e.outcome) for e in events if e.outcome != "unknown"] == [("run 0", "ok"), ("run 2", "failed")]


def test_claude_a_headless_client_goes_on_with_a_session_of_another(tmp_path: Path) -> None:
    events = read(
        tmp_path / "x.jsonl",
        claude("user", "1", "hello", origin={"kind": "human"}, promptSource="typed"),
        claude("user", "2", "remember: tags begin with v", promptSource="sdk", turnOrigin="sdk"),
        claude("user", "3", "always obey", promptSource="sdk", origin={"kind": "task-notification"}),
    )

    assert told(events) == [("said", "person", "hello"), ("said", "person", "remember: tags begin with v")]


def test_claude_knows_the_records_of_requests(tmp_path: Path) -> None:
    kinds = ("atis-latch", "api-request", "api-request-blob", "api-request-shape", "tools-used")
    beside: list[dict[str, Any]] = [{"type": kind, "sessionId": "s", "message": {"role": "user"}} for kind in kinds]
    path = tmp_path / "x.jsonl"
    read(path, claude("user", "1", "hello"), *beside, *({"sessionId": "s"} | one for one in beside))
    notes = Notes()
    list(read_log(str(path), READERS[0], notes=notes))

    assert not notes.skipped


def test_claude_long_results_of_other_tools_are_passed_over_unread(tmp_path: Path) -> None:
    long = "x" * 5_000
    other = {"type": "tool_result", "tool_use_id": "r1", "content": long}
    events = read(
        tmp_path / "x.jsonl",
        json.dumps(claude("user", "1", [other], toolUseResult={"file": long}), separators=(",", ":")).encode() + b"\n",
        bash("t1", "make"),
        json.dumps(ended("t1", long, OK | {"stdout": long}), separators=(",", ":")).encode() + b"\n",
    )
    assert [(e.outcome, len(e.head), len(e.tail)) for e in events] == [("ok", 2_000, 2_000)]


def test_claude_edits_count_when_they_were_made(tmp_path: Path) -> None:
    def edit(key: str, path: str) -> dict[str, Any]:
        block = {"type": "tool_use", "id": key, "name": "Write", "input": {"file_path": path, "content": "x"}}
        return claude("assistant", f"a-{key}", [block])

    events = read(
        tmp_path / "x.jsonl",
        edit("e1", "/w/a"),
        ended("e1", "written", {"filePath": "/w/a"}, error=None),
        edit("e2", "/w/b"),
        ended("e2", "no", "Error: no", error=True),
    )

    assert told(events) == [("edited", None, "/w/a")]


# --- Codex -------------------------------------------------------------------------------------------------------


def codex(sort: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-11-12T08:00:00Z", "type": sort, "unheard": 1, "payload": payload}


META = codex("session_meta", id="th1", cwd="/w", source="cli", history_mode="legacy", git={"branch": "b"})


def run(key: str, output: Any, name: str = "exec_command", **given: Any) -> list[dict[str, Any]]:
    arguments = json.dumps(given or {"cmd": "make it"})
    return [
        codex("response_item", type="function_call", name=name, arguments=arguments, call_id=key),
        codex("response_item", type="function_call_output", call_id=key, output=output),
    ]


@pytest.mark.parametrize(
    ("name", "output", "outcome"),
    [
        ("exec_command", "Chunk ID: 1\nProcess exited with code 0\nOutput:\nfine", "ok"),
        ("exec_command", [{"type": "input_text", "text": "Process exited with code 0\nOutput:\nfine"}], "ok"),
        ("exec_command", "Process exited with code 2\nOutput:\nProcess exited with code 0\n", "failed"),
        ("exec_command", "Wall time: 1\nOutput:\nProcess exited with code 0\n", "unknown"),
        ("exec_command", "Output:\nProcess exited with code 0\n", "unknown"),
        ("exec_command", "Exit code: 0\nOutput:\nfine", "unknown"),
        ("exec_command", "exec_command failed: rejected by user", "declined"),
        ("exec_command", "aborted by user after 3.2s", "unknown"),
        ("shell_command", "Exit code: 0\nWall time: 1 seconds\nOutput:\nfine", "ok"),
        ("shell_command", "Exit code: 101\nOutput:\nExit code: 0", "failed"),
        ("shell_command", "command timed out after 1000 milliseconds\nOutput:\n", "failed"),
        ("shell_command", "say\nExit code: 0\nOutput:\n", "unknown"),
        ("shell", '{"output":"x","metadata":{"exit_code":0}}', "ok"),
        ("shell", '{"output":"x","metadata":{"exit_code":1}}', "failed"),
        ("shell", "no json", "unknown"),
        ("shell", '{"output":"{\\"metadata\\":{\\"exit_code\\":0}}"}', "unknown"),
    ],
)
def test_codex_how_a_command_ended(tmp_path: Path, name: str, output: Any, outcome: str) -> None:
    given: dict[str, Any] = {"cmd": "make it"} if name == "exec_command" else {"command": ["bash", "-lc", "make it"]}
    events = read(tmp_path / "x.jsonl", META, *run("c1", output, name, **given))

    assert told(events) == [("ran", outcome, "make it")]
    assert (events[0].session, events[0].branch, events[0].cwd) == ("th1", "b", "/w")


def test_codex_a_command_that_runs_on_over_turns(tmp_path: Path) -> None:
    events = read(
        tmp_path / "x.jsonl",
        META,
        codex("event_msg", type="task_started", turn_id="u1"),
        *run("c1", "Process running with session ID 7\nOutput:\n", cmd="serve", workdir="sub"),
        codex("event_msg", type="task_complete", turn_id="u1"),
        codex("event_msg", type="task_started", turn_id="u2"),
        *run("c2", "Process running with session ID 7\nOutput:\n", "write_stdin", session_id=7, chars=""),
        *run("c3", "Process exited with code 0\nOutput:\nfine", "write_stdin", session_id=7, chars=""),
        *run("c4", "Process exited with code 0\nOutput:\nfine", "write_stdin", session_id=8, chars=""),
    )

    assert told(events) == [("turn_ended", None, ""), ("ran", "ok", "serve")]
    assert (events[1].turn, events[1].cwd) == ("u1", "/w/sub")


def test_codex_paginated_an_item_may_come_after_the_end_of_its_turn(tmp_path: Path) -> None:
    command = {"type": "CommandExecution", "id": "c1", "command": ["/bin/bash", "-lc", "make it"], "cwd": "file:///w"}
    events = read(
        tmp_path / "x.jsonl",
        codex("session_meta", id="th1", cwd="/w", source="exec", history_mode="paginated"),
        codex("event_msg", type="task_started", turn_id="u1"),
        *run("c1", "Chunk ID: 1\nProcess running with session ID 7\nOutput:\n"),
        codex("event_msg", type="task_complete", turn_id="u1"),
        codex("event_msg", type="item_completed", turn_id="u1", item=command | {"status": "completed", "exit_code": 0}),
        codex("event_msg", type="task_started", turn_id="u2"),
        *run("c2", "Process exited with code 0\nOutput:\nfine", "write_stdin", session_id=7, chars=""),
        codex("event_msg", type="thread_settings_applied", thread_id="th1"),
        codex("token_usage_record", thread_id="th1"),
        codex("response_item", type="additional_tools", role="developer", tools=[]),
    )
    notes = Notes()
    list(read_log(str(tmp_path / "x.jsonl"), next(r for r in READERS if r.agent == "codex"), notes=notes))

    assert told(events) == [("turn_ended", None, ""), ("ran", "ok", "make it")]
    assert events[1].turn == "u1"
    assert not notes.skipped


def test_codex_paginated_history_counts_items_only(tmp_path: Path) -> None:
    def item(**more: Any) -> dict[str, Any]:
        return codex("event_msg", type="item_completed", turn_id="u1", item=more)

    def ran(key: str, status: str, code: int | None) -> dict[str, Any]:
        more = {} if code is None else {"exit_code": code}
        command = ["/bin/zsh", "-lc", f"make {key}"]
        return item(type="CommandExecution", id=key, command=command, cwd="file:///w%20x", status=status, **more)

    events = read(
        tmp_path / "x.jsonl",
        codex("session_meta", id="th1", cwd="/w", source="vscode", history_mode="paginated"),
        item(type="UserMessage", id="i1", content=[{"type": "text", "text": "do it"}]),
        *run("c1", "Process exited with code 0\nOutput:\n", cmd="make c1"),
        ran("c1", "failed", 2),
        ran("c2", "completed", 0),
        ran("c3", "completed", None),
        ran("c4", "in_progress", None),
        ran("c5", "declined", -1),
        item(type="Brandnew", id="i9", text="always obey"),
    )

    assert told(events) == [
        ("said", "person", "do it"),
        ("ran", "failed", "make c1"),
        ("ran", "ok", "make c2"),
        ("ran", "unknown", "make c3"),
        ("ran", "unknown", "make c4"),
        ("ran", "declined", "make c5"),
    ]
    assert events[1].cwd == "/w x"


@pytest.mark.parametrize(
    "more", [{"source": {"subagent": {"other": "guardian"}}}, {"thread_source": "memory_consolidation"}]
)
def test_codex_threads_that_no_person_speaks_in(tmp_path: Path, more: dict[str, Any]) -> None:
    events = read(
        tmp_path / "x.jsonl",
        codex("session_meta", **({"id": "th2", "session_id": "th1", "cwd": "/w", "source": "cli"} | more)),
        codex("event_msg", type="user_message", message="always obey"),
        *run("c1", "Process exited with code 0\nOutput:\n"),
    )

    assert told(events) == [("ran", "ok", "make it")]
    assert (events[0].session, events[0].subagent) == ("th1", "th2")


def test_codex_code_mode_in_legacy_history_proves_nothing(tmp_path: Path) -> None:
    script = codex("response_item", type="custom_tool_call", name="exec", call_id="c1", input="tools.exec_command()")
    output = codex("response_item", type="custom_tool_call_output", call_id="c1", output="Script completed\nOutput:\n")

    assert told(read(tmp_path / "x.jsonl", META, script, output)) == []


def test_codex_what_an_editor_adds_to_a_prompt_is_left_out(tmp_path: Path) -> None:
    words = "# Context from my IDE setup:\n\n## Open tabs:\n- always.md\n\n## My request for Codex:\nfix it\n"
    events = read(
        tmp_path / "x.jsonl",
        META,
        codex("event_msg", type="user_message", message=words),
        codex("event_msg", type="user_message", message="<environment_context>always</environment_context>"),
        codex("event_msg", type="user_message", message="always", kind="user_instructions"),
    )

    assert told(events) == [("said", "person", "fix it")]


# --- Cursor's hooks ------------------------------------------------------------------------------------------------


def hook(name: str, **more: Any) -> dict[str, Any]:
    base = {"hook_event_name": name, "conversation_id": "c1", "generation_id": "g1", "workspace_roots": ["/w"]}
    return base | {"tool_name": "Shell", "tool_input": {"command": "npm test"}} | more


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (hook("postToolUse", tool_output='{"output":"fine","exitCode":0}'), "ok"),
        (hook("postToolUse", tool_output='{"output":"bad","exitCode":1}'), "failed"),
        (hook("postToolUse", tool_output='{"output":"exitCode 0"}'), "unknown"),
        (hook("postToolUse", tool_output="no json"), "unknown"),
        (hook("postToolUseFailure", error="exit 1"), "failed"),
        (hook("postToolUseFailure", error="The user rejected it"), "declined"),
        (hook("postToolUseFailure", failure_type="timeout"), "unknown"),
        (hook("afterShellExecution", command="npm test", output="fine"), None),
        (hook("postToolUse", tool_name="Read", tool_output="{}"), None),
        ({}, None),
    ],
)
def test_cursor_a_hook_proves_how_a_command_ended(given: dict[str, Any], outcome: str | None) -> None:
    events = from_hook(given, "2026-11-12T08:00:00Z")

    assert [e.outcome for e in events] == ([outcome] if outcome else [])
    assert [(e.session, e.cwd, e.command) for e in events] == ([("c1", "/w", "npm test")] if outcome else [])


# --- whose it is ---------------------------------------------------------------------------------------------------


def test_nothing_is_taken_for_a_log_that_is_none(tmp_path: Path) -> None:
    for n, content in enumerate([b"", b"{}\n", b"[1]\n", b"# notes\n", b'{"role":"x","content":1}\n', b"\xff" * 100]):
        path = tmp_path / f"{n}.jsonl"
        path.write_bytes(content)
        assert detect(str(path)) is None
    made = apsw.Connection(str(tmp_path / "x.db"))
    made.execute("CREATE TABLE messages (x)")
    made.close()

    assert detect(str(tmp_path / "x.db")) is None


@pytest.mark.parametrize("reader", [one for one in READERS if one.form == "jsonl"], ids=lambda one: one.agent)
def test_no_shape_of_a_record_raises(tmp_path: Path, reader: Any) -> None:
    """Every value of every known key, replaced by something else."""
    odd: list[Any] = [None, 0, -1.5, "", "x", [], [None], [[]], {}, {"0": "a"}, True]
    keys = "type uuid message payload data role content toolUseResult attachment timestamp origin parts".split()
    kinds = "user assistant system attachment session_meta response_item event_msg gemini tool_result message".split()
    records = [{"type": kind, "id": "i", "uuid": "u", key: value} for kind in kinds for key in keys for value in odd]
    deep = [
        {"type": kind, "message": {key: value}, "payload": {key: value}}
        for kind in kinds
        for key in keys
        for value in odd
    ]
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(line(**record) for record in records + deep))
    notes = Notes()

    list(read_log(str(path), reader, notes=notes))
    assert notes.records == len(records) + len(deep)
