"""What an agent sent on its hook's stdin in, a call out: who, where, what was said. Read generously."""

from __future__ import annotations

import json
import os
import stat
import time
from typing import Any, NamedTuple

from mdmem.hooks.table import AGENTS, Agent, Means
from mdmem.recall.encode import MARKER
from mdmem.scope import can_be_path

END_CHARS = 10_000  # of a message that is longer than two of them
WRITTEN_S = 0.13  # that a transcript may take to be written: it took 0.1 s
TAIL_BYTES = 256 * 1024  # of a transcript: its last reply is in there, or is too long to be looked at

# Text in the place of a prompt that no person wrote: notices of background work, the agent's commands, reminders.
_NO_PROMPT = (
    "<task-notification",
    "<system-reminder",
    "<system_reminder",
    "<local-command",
    "<command-",
    "<bash-",
    "<agent-message",
    "[Request interrupted",
)
_CONTEXT_END = "</hook_context>"
_FRESH_STARTS = ("clear", "compact")  # the session's context is gone, though its name may stay


class Call(NamedTuple):
    """One call of a hook. `looping`: the turn goes on because a hook asked for it; None when the agent doesn't say."""

    agent: str
    event: str
    means: Means
    session: str | None
    cwd: str | None
    prompt: str
    message: str
    looping: bool | None
    afresh: bool
    transcript: str | None
    payload: dict[str, Any]


def read_call(agent: str, event: str, raw: bytes) -> Call:
    """The call that a payload tells of. Raises ValueError, in words without content, when it tells of none."""
    entry = AGENTS.get(agent)
    means = entry.events.get(event) if entry else None
    if entry is None or means is None:
        raise ValueError("unknown event" if entry else "unknown agent")
    try:
        payload = json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise ValueError("the payload is not JSON") from error
    if not isinstance(payload, dict):
        raise ValueError("the payload is not an object")  # noqa: TRY004  # one kind of error for all bad payloads
    return Call(
        agent,
        event,
        "seen" if _is_idle(entry, means, payload) else means,
        _session(entry, payload),
        _cwd(entry, payload),
        _prompt(entry, payload),
        _ends(_first(payload, entry.message) or _from_transcript(entry, payload, means)),
        _looping(entry, payload),
        payload.get("source") in _FRESH_STARTS,
        _first(payload, entry.transcript) or None,
        payload,
    )


def _first(payload: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := payload.get(name), str) and value), "")


def _ends(message: str) -> str:
    """A message, or the two ends of a long one: it gives up at one of them, and reading all of it takes seconds."""
    if len(message) <= 2 * END_CHARS:
        return message
    return f"{message[:END_CHARS]}\n\n{message[-END_CHARS:]}"


def _session(entry: Agent, payload: dict[str, Any]) -> str | None:
    session = _first(payload, entry.session)
    subagent = _first(payload, ("agent_id",))  # its context is its own
    return f"{session}/{subagent}" if session and subagent else session or None


def _cwd(entry: Agent, payload: dict[str, Any]) -> str | None:
    for name in entry.cwd:
        value = payload.get(name)
        path = value[0] if isinstance(value, list) and value else value
        if isinstance(path, str) and os.path.isabs(path) and can_be_path(path):
            return path
    return None


def _prompt(entry: Agent, payload: dict[str, Any]) -> str:
    prompt = _first(payload, entry.prompt)
    # Gemini puts what was given at the start of a session before the first prompt, with its brackets escaped.
    while (begin := prompt.lstrip()).startswith("<hook_context>") and _CONTEXT_END in begin:
        prompt = begin.partition(_CONTEXT_END)[2].lstrip()
    return "" if prompt.lstrip().startswith(_NO_PROMPT) else prompt


def _is_idle(entry: Agent, means: Means, payload: dict[str, Any]) -> bool:
    if means == "compaction":
        return payload.get("trigger") in entry.idle
    return means == "prompt" and _goes_on(entry, payload)


def _goes_on(entry: Agent, payload: dict[str, Any]) -> bool:
    """Whether what comes as a prompt begins no turn: it is what the guard said, which must not be said a second time,
    or the result of a tool, for which Qwen sends an empty one.
    """
    prompt = _first(payload, entry.prompt).lstrip()
    return not prompt or prompt.startswith(f"<{MARKER}")


def _looping(entry: Agent, payload: dict[str, Any]) -> bool | None:
    if isinstance(active := payload.get("stop_hook_active"), bool):
        return active if entry.tells_looping or not active else None
    if isinstance(count := payload.get("loop_count"), int):
        return count > 0
    return None


def _from_transcript(entry: Agent, payload: dict[str, Any], means: Means) -> str:
    """The last reply of an agent that does not send it: it stands near the end of the transcript that it names."""
    path = _first(payload, entry.transcript)
    if means != "turn_end" or not path.endswith(".jsonl") or not os.path.isabs(path):
        return ""
    # Copilot writes it a moment later, this very call too: what stands there until then is of the turn before.
    stamp, until = payload.get("timestamp"), time.monotonic() + WRITTEN_S
    called = b'"timestamp":%d' % stamp if isinstance(stamp, int) else b""
    while called not in (tail := _tail(path)) and time.monotonic() < until:
        time.sleep(0.01)
    return next((text for line in reversed(tail.split(b"\n")) if (text := _reply(line))), "")


def _tail(path: str) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe of that name must not hold us
    except (OSError, ValueError):
        return b""
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            return b""
        return os.pread(handle, TAIL_BYTES, max(state.st_size - TAIL_BYTES, 0))
    except OSError:
        return b""
    finally:
        os.close(handle)


def _reply(line: bytes) -> str:
    """The words of an `assistant.message` of Copilot's events; "" for any other line."""
    if b'"assistant.message"' not in line:
        return ""
    try:
        record = json.loads(line)
        said = record["data"]["content"] if record["type"] == "assistant.message" else ""
    except (ValueError, RecursionError, LookupError, TypeError):
        return ""
    return said if isinstance(said, str) else ""
