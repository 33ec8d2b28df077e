import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.hooks.payload import read_call
from mdmem.hooks.table import AGENTS
from tests.hooks.payloads import JUNK, ODD, PAYLOADS


def test_of_a_long_message_its_two_ends_are_looked_at() -> None:
    message = "The key is missing. " + "All is well here. " * 200_000 + "I can't deploy it."
    raw = json.dumps({"last_assistant_message": message}).encode()
    read = read_call("claude-code", "Stop", raw).message
    assert len(read) < 30_000
    assert read.startswith("The key is missing.")
    assert read.endswith("I can't deploy it.")


@pytest.mark.parametrize(("agent", "event", "payload", "understood"), PAYLOADS)
def test_payloads_of_agents_are_understood(
    agent: str, event: str, payload: dict[str, Any], understood: dict[str, Any]
) -> None:
    call = read_call(agent, event, json.dumps(payload).encode())
    assert {name: getattr(call, name) for name in understood} == understood


def test_every_event_of_every_agent_has_a_payload_here() -> None:
    shown = {(agent, event) for agent, event, _, _ in PAYLOADS}
    # These are of the same shape as another of the same agent.
    alike = {
        "PreCompact",
        "PostCompact",
        "SessionEnd",
        "sessionEnd",
        "preCompact",
        "postToolUseFailure",
        "SessionStart",
    }
    known = {(agent, event) for agent, entry in AGENTS.items() for event in entry.events if event not in alike}
    assert known <= shown


@pytest.mark.parametrize("raw", JUNK)
def test_junk_is_told_of_without_its_content(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"^the payload is not (JSON|an object)$"):
        read_call("claude-code", "Stop", raw)


@pytest.mark.parametrize("payload", ODD)
@pytest.mark.parametrize(
    ("agent", "event"), [("claude-code", "UserPromptSubmit"), ("cursor", "stop"), ("copilot", "agentStop")]
)
def test_odd_shapes_are_read_as_far_as_they_go(agent: str, event: str, payload: dict[str, Any]) -> None:
    call = read_call(agent, event, json.dumps(payload).encode())
    assert call.cwd is None or (os.path.isabs(call.cwd) and "\0" not in call.cwd)
    assert call.looping in (None, True, False)


@pytest.mark.parametrize(
    ("agent", "event"), [("nobody", "Stop"), ("claude-code", "NoSuchEvent"), ("", ""), ("cursor", "Stop")]
)
def test_unknown_agents_and_events_are_told_of(agent: str, event: str) -> None:
    with pytest.raises(ValueError, match=r"^unknown (agent|event)$"):
        read_call(agent, event, b"{}")


def test_a_byte_order_mark_and_broken_text_are_read() -> None:
    assert read_call("codex", "UserPromptSubmit", b'\xef\xbb\xbf{"prompt": "a \xff b"}').prompt == "a \ufffd b"


json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    ["session_id", "conversation_id", "sessionId", "cwd", "workspace_roots", "prompt", "text", "stop_hook_active",
     "loop_count", "transcriptPath", "last_assistant_message", "source", "agent_id"]
)  # fmt: skip


@given(payload=st.dictionaries(names, json_values), agent=st.sampled_from(sorted(AGENTS)))
def test_no_object_is_an_error(payload: dict[str, Any], agent: str) -> None:
    for event in AGENTS[agent].events:
        read_call(agent, event, json.dumps(payload).encode())


def test_the_last_reply_is_found_in_the_transcript_of_an_agent_that_does_not_send_it(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    said = [
        {"type": "assistant.message", "data": {"content": text, "toolRequests": []}} for text in ("first", "我没有权限")
    ]
    others = [
        {"type": "tool.execution_complete", "data": {"result": {"content": '"assistant.message"'}}},
        {"type": "assistant.turn_end", "data": {}},
    ]
    log.write_text(
        "".join(json.dumps(record) + "\n" for record in [said[0], {"x": "y" * 300_000}, said[1], *others])
        + '{"type": "assis'
    )
    payload = {"sessionId": "s", "cwd": "/w", "transcriptPath": str(log)}
    assert read_call("copilot", "agentStop", json.dumps(payload).encode()).message == "我没有权限"


def test_the_transcript_is_waited_for_until_the_call_itself_stands_in_it(tmp_path: Path) -> None:
    """Copilot 1.0.102 writes it 0.1 s after it started the hook."""
    log = tmp_path / "events.jsonl"
    log.write_text('{"type":"assistant.message","data":{"content":"of the turn before"}}\n')
    payload = {"sessionId": "s", "cwd": "/w", "transcriptPath": str(log), "timestamp": 1796028638105}

    def write() -> None:
        with log.open("a") as file:
            file.write('{"type":"assistant.message","data":{"content":"of this turn"}}\n')
            file.write('{"type":"hook.start","data":{"input":{"timestamp":1796028638105}}}\n')

    later = threading.Timer(0.05, write)
    later.start()
    assert read_call("copilot", "agentStop", json.dumps(payload).encode()).message == "of this turn"
    later.join()


@pytest.mark.parametrize("name", ["events.txt", "missing.jsonl", "folder.jsonl", "pipe.jsonl"])
def test_a_transcript_that_is_none_says_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "events.txt").write_text('{"type": "assistant.message", "data": {"content": "secret"}}\n')
    payload = {"sessionId": "s", "transcriptPath": str(tmp_path / name)}
    assert read_call("copilot", "agentStop", json.dumps(payload).encode()).message == ""
