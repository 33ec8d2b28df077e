"""Copilot CLI's session events: records in, events out."""

from __future__ import annotations

import re

from mdmem.activity.events import Outcome
from mdmem.activity.log import Json, Log, Moment, Reader, maybe, obj, refused, text, utc

_SHELLS = ("bash", "powershell", "shell")
_FOLLOWING = ("read_bash", "write_bash", "stop_bash", "read_powershell", "write_powershell")
_EDITS = ("edit", "create", "str_replace_editor", "write")
_KNOWN = frozenset(
    "assistant.turn_start assistant.message_delta assistant.reasoning assistant.intent assistant.usage session.info"
    " session.warning session.error session.model_change session.mode_changed session.truncation session.idle"
    " session.compaction_start session.title_changed session.context_changed session.plan_changed"
    " session.import_legacy session.handoff session.usage_info session.usage_record session.task_complete"
    " system.message system.notification skill.invoked hook.start hook.end permission.requested permission.completed"
    " subagent.started subagent.completed subagent.failed subagent.selected tool.user_requested"
    " tool.execution_progress tool.execution_partial_result abort".split()
)
_NOT_A_PERSON = ("skill", "hook", "system", "agent", "subagent", "plugin", "mcp", "notification", "schedule")
_EXITED = re.compile(r"<(?:exited|shellId: \S+ completed) with exit code (-?\d+)>")
_RUNNING = re.compile(
    r"<command (?:with (?:id|shellId): (\S+) is still running\b.*|started in background with shellId: (\S+))>"
)
_ELEMENTS = re.compile(r"<(system_notification|reminder|current_datetime)\b[^>]*>.*?</\1>", re.DOTALL)


def knows(record: Json) -> bool:
    kind = record.get("type")
    return isinstance(kind, str) and "." in kind and isinstance(record.get("data"), dict) and "id" in record


def begin(log: Log) -> None:
    """A log that is read from its middle on knows its session by its place."""
    parts = log.path.split("/")
    log.state["session"] = (
        parts[-2] if parts[-1] == "events.jsonl" and len(parts) > 1 else parts[-1].removesuffix(".jsonl")
    )


def read(log: Log, record: Json) -> None:
    kind, data, uid = text(record.get("type")), obj(record.get("data")), text(record.get("id"))
    if kind in ("session.start", "session.resume", "session.context_changed"):
        _session(log.state, data)
    above = maybe(record.get("parentToolCallId")) or maybe(data.get("parentToolCallId")) or maybe(record.get("agentId"))
    log.now = Moment(
        session=text(log.state.get("session")),
        at=utc(record.get("timestamp")),
        cwd=maybe(log.state.get("cwd")),
        branch=maybe(log.state.get("branch")),
        subagent=above,
    )
    if kind == "user.message":
        _user(log, data, uid)
    elif kind == "assistant.message":
        log.state["asks"] = bool(data.get("toolRequests"))
        log.said("assistant", text(data.get("content")), uid)
    elif kind == "tool.execution_start":
        _start(log, data, uid)
    elif kind == "tool.execution_complete":
        _complete(log, data, uid)
    else:
        _mark(log, kind, uid)


def _mark(log: Log, kind: str, uid: str) -> None:
    if kind == "assistant.turn_end":
        # It stands behind each of the model's answers; what asked for a tool goes on.
        if not log.now.subagent and not log.state.get("asks"):
            log.turn_ended(uid)
    elif kind == "session.shutdown":
        log.session_ended(uid)
    elif kind == "session.compaction_complete":
        log.compacted(uid)
    elif kind not in _KNOWN and kind not in ("session.start", "session.resume"):
        log.unknown(kind)


def _session(state: Json, data: Json) -> None:
    context = obj(data.get("context"))
    state["session"] = maybe(data.get("sessionId")) or state.get("session")
    state["cwd"] = maybe(context.get("cwd")) or state.get("cwd")
    state["branch"] = maybe(context.get("branch")) or state.get("branch")


def _user(log: Log, data: Json, uid: str) -> None:
    source = text(data.get("source")).lower()
    if not log.now.subagent and not source.startswith(_NOT_A_PERSON):
        log.said("person", _ELEMENTS.sub("", text(data.get("content"))), uid)


def _start(log: Log, data: Json, uid: str) -> None:
    key, name, given = text(data.get("toolCallId")), data.get("toolName"), obj(data.get("arguments"))
    if name in _SHELLS:
        log.call(key, command=text(given.get("command")), record=uid)
    elif name in _FOLLOWING:
        running = text(given.get("shellId")) or text(given.get("sessionId"))
        call = log.state.get("running", {}).get(running)
        if call is not None:
            log.calls[key] = {**call, "follows": running}
    elif name in _EDITS and given.get("command") != "view":
        log.call(key, path=text(given.get("path")), record=uid)


def _complete(log: Log, data: Json, uid: str) -> None:
    key = text(data.get("toolCallId"))
    call = log.calls.pop(key, None)
    if call is None:
        return
    if data.get("success") is not True:
        error = obj(data.get("error"))
        no = refused(f"{text(error.get('code'))} {text(error.get('message'))}")
        log.finish(call, uid, "declined" if no else "unknown", None, "")
    elif call["path"]:
        log.finish(call, uid, "ok", None, "")
    else:
        _ran(log, call, text(obj(data.get("result")).get("content")), uid)


def _ran(log: Log, call: Json, content: str, uid: str) -> None:
    """How it ended stands in the last line, and only there."""
    above, _, last = content.rstrip().rpartition("\n")
    still, exited = _RUNNING.fullmatch(last), _EXITED.fullmatch(last)
    running: dict[str, Json] = log.state.setdefault("running", {})
    if still:
        log.park("running", still[1] or still[2], {key: value for key, value in call.items() if key != "follows"}, 16)
    if not exited and "follows" in call:
        return
    running.pop(call.get("follows", ""), None)
    outcome: Outcome = "unknown"
    if exited:
        outcome = "failed" if int(exited[1]) else "ok"
    log.finish(call, uid, outcome, int(exited[1]) if exited else None, above if exited or still else content)


READER = Reader("copilot-cli", "jsonl", read, knows, begin=begin)
