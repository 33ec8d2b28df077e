"""Cursor's transcripts, and what its hooks tell: records or a hook's input in, events out.

A transcript says what was asked for and never how it ended, so that only a hook proves a command.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mdmem.activity.events import Event, Outcome, Source
from mdmem.activity.log import (
    Json,
    Log,
    Moment,
    Reader,
    array,
    by_code,
    digest,
    maybe,
    number,
    obj,
    parsed,
    refused,
    text,
    texts,
    utc,
)

_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
_SHELLS = ("Shell", "run_terminal_cmd", "Bash")


def knows(record: Json) -> bool:
    if record.get("type") == "turn_ended" and "status" in record:
        return True
    return set(record) <= {"role", "message"} and "role" in record and "message" in record


def begin(log: Log) -> None:
    """Records carry no session: the name of the file is it, and the folder above a sub-agent's is its parent's."""
    log.state["session"] = log.path.rpartition("/")[2].removesuffix(".jsonl")
    above, _, _ = log.path.rpartition("/subagents/")
    if above:
        log.state["parent"] = above.rpartition("/")[2]


def read(log: Log, record: Json) -> None:
    session, above = text(log.state.get("session")), maybe(log.state.get("parent"))
    log.now = Moment(session=session, subagent=session if above else None, parent=above)
    nth = log.state["nth"] = (number(log.state.get("nth")) or 0) + 1
    uid = digest(session, nth)
    if record.get("type") == "turn_ended":
        log.turn_ended(uid)
    elif record.get("role") == "user":
        _user(log, "\n".join(texts(obj(record.get("message")).get("content"), "text")), uid)
    elif record.get("role") == "assistant":
        _assistant(log, obj(record.get("message")), uid)
    else:
        log.unknown(record.get("type") or record.get("role"))


def _user(log: Log, whole: str, uid: str) -> None:
    if not log.now.parent:
        log.said("person", "\n".join(_QUERY.findall(whole)), uid)


def _assistant(log: Log, message: Json, uid: str) -> None:
    log.said("assistant", "\n".join(texts(message.get("content"), "text")), uid)
    for at, block in enumerate(map(obj, array(message.get("content")))):
        if block.get("type") == "tool_use" and block.get("name") in _SHELLS:
            given = obj(block.get("input"))
            log.now = log.now._replace(cwd=maybe(given.get("working_directory")))
            log.ran(text(given.get("command")), f"{uid}:{at}", "unknown")


def from_hook(given: Json, at: str, clean: Callable[[str], str] = str) -> list[Event]:
    """What a call of one of Cursor's hooks proves: how a command ended. Two events tell of one that failed: only that
    of the tool counts.
    """
    name = given.get("hook_event_name")
    if name not in ("postToolUse", "postToolUseFailure") or given.get("tool_name") not in _SHELLS:
        return []
    asked, session = parsed(given.get("tool_input")), text(given.get("conversation_id"))
    roots = [one for one in array(given.get("workspace_roots")) if isinstance(one, str)]
    cwd = (
        maybe(asked.get("working_directory"))
        or maybe(asked.get("cwd"))
        or maybe(given.get("cwd"))
        or next(iter(roots), None)
    )
    outcome, code, output = _of_hook(given)
    log = Log("cursor", f"hook {name}", clean=clean)
    log.source = Source(f"hook:{name}", row=maybe(given.get("generation_id")))
    log.now = Moment(session=session, at=utc(at), cwd=cwd, turn=maybe(given.get("generation_id")))
    command = text(asked.get("command"))
    uid = maybe(given.get("tool_use_id")) or digest(session, given.get("generation_id"), command, output, at)
    log.ran(command, f"hook:{uid}", outcome, code, output)
    return log.events


def _of_hook(given: Json) -> tuple[Outcome, int | None, str]:
    if given.get("hook_event_name") == "postToolUseFailure":
        error = text(given.get("error")) or text(given.get("error_message"))
        kind = text(given.get("failure_type"))
        if refused(f"{kind} {error}") or kind == "permission_denied":
            return "declined", None, error
        return ("unknown" if kind == "timeout" or given.get("is_interrupt") is True else "failed"), None, error
    told = parsed(given.get("tool_output"))
    code = number(told.get("exitCode"))
    return by_code(code), code, text(told.get("output")) or text(told.get("stdout"))


READER = Reader("cursor", "jsonl", read, knows, begin=begin)
