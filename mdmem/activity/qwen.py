"""Qwen Code's chats: records in, events out. The envelope is like Claude's, the messages are like Gemini's."""

from __future__ import annotations

import re

from mdmem.activity import gemini, trailer
from mdmem.activity.log import Json, Log, Moment, Reader, array, maybe, obj, text, utc

_TAGGED = re.compile(r"<(qwen:[\w-]+|system-reminder|hook_context|session_context)\b[^>]*>.*?(?:</\1>|\Z)", re.DOTALL)
_EDITS = ("edit", "replace", "write_file")
_SYSTEM = frozenset(
    "slash_command notification cron turn_result rewind custom_title ui_telemetry at_command"
    " attribution_snapshot file_history_snapshot".split()
)


def knows(record: Json) -> bool:
    message = obj(record.get("message"))
    return "uuid" in record and ("provenance" in record or isinstance(message.get("parts"), list))


def read(log: Log, record: Json) -> None:
    kind = record.get("type")
    uuid = text(obj(record.get("forkedFrom")).get("messageUuid")) or text(record.get("uuid"))
    aside = record.get("isSidechain") is True or bool(record.get("agentId"))
    log.now = Moment(
        session=text(record.get("sessionId")),
        at=utc(record.get("timestamp")),
        cwd=maybe(record.get("cwd")),
        branch=maybe(record.get("gitBranch")),
        subagent=(maybe(record.get("agentId")) or maybe(record.get("agentName")) or "sidechain") if aside else None,
        parent=maybe(obj(record.get("forkedFrom")).get("sessionId")),
    )
    if kind == "user":
        if not aside and _is_person(record):
            log.said("person", _said(record), uuid)
    elif kind == "assistant":
        _assistant(log, record, uuid)
    elif kind == "tool_result":
        _result(log, record, uuid)
    elif kind == "system":
        _system(log, record, uuid)
    else:
        log.unknown(kind)


def _is_person(record: Json) -> bool:
    kind = record.get("subtype")
    if kind == "mid_turn_user_message":
        return True
    return kind is None and record.get("provenance") in (None, "real_user")


def _said(record: Json) -> str:
    payload = obj(record.get("systemPayload"))
    if isinstance(payload.get("hookContext"), str) and isinstance(payload.get("displayText"), str):
        said = payload["displayText"]
    else:
        said = "\n".join(_texts(record))
    said = _TAGGED.sub("", said).strip()
    return "" if said.startswith(("/", "?", "!")) and "\n" not in said else said


def _texts(record: Json) -> list[str]:
    parts = [obj(part) for part in array(obj(record.get("message")).get("parts"))]
    return [text(part.get("text")) for part in parts if part.get("thought") is not True and part.get("text")]


def _assistant(log: Log, record: Json, uuid: str) -> None:
    said = "\n".join(_texts(record))
    log.said("assistant", said, uuid)
    parts = [obj(obj(part).get("functionCall")) for part in array(obj(record.get("message")).get("parts"))]
    calls = [part for part in parts if part]
    for call in calls:
        given, key = obj(call.get("args")), text(call.get("id"))
        if call.get("name") == "run_shell_command":
            cwd, behind = maybe(given.get("directory")), given.get("is_background") is True
            log.call(key, command=text(given.get("command")), cwd=cwd, record=f"{uuid}:{key}", background=behind)
        elif call.get("name") in _EDITS:
            log.call(key, path=text(given.get("file_path")), record=f"{uuid}:{key}")
    if said.strip() and not calls and log.now.subagent is None:
        log.turn_ended(f"{uuid}:end")


def _result(log: Log, record: Json, uuid: str) -> None:
    told = obj(record.get("toolCallResult"))
    parts = array(obj(record.get("message")).get("parts"))
    answered = [text(obj(obj(part).get("functionResponse")).get("id")) for part in parts]
    key = text(told.get("callId")) or next(iter(answered), "")
    call = log.calls.get(key, {})
    # A sub-agent's results have no status: all that is known of them stands in the text.
    status = told.get("status", "success" if log.now.subagent else None)
    outcome, code, output = trailer.outcome(status, gemini.response(parts))
    if call.get("path"):
        outcome, code = ("ok" if told.get("status") == "success" else "failed"), None
    elif call.get("background") and outcome in ("ok", "failed"):
        outcome, code = "unknown", None
    log.result(key, f"{uuid}:{key}", outcome, code, output)


def _system(log: Log, record: Json, uuid: str) -> None:
    kind = record.get("subtype")
    if kind == "chat_compression":
        log.compacted(uuid)
    elif kind not in _SYSTEM:
        log.unknown(f"system {kind}")


READER = Reader("qwen-code", "jsonl", read, knows)
