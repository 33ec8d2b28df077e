"""Gemini CLI's chats, a log of states: records (or an old chat as one document) in, events out."""

from __future__ import annotations

import os
import re

from mdmem.activity import trailer
from mdmem.activity.log import Json, Log, Moment, Reader, array, maybe, obj, parsed, text, texts, utc

_NOT_A_PERSON = re.compile(
    r"<(session_context|hook_context|environment_context|state_snapshot)\b[^>]*>.*?(?:</\1>|\Z)", re.DOTALL
)
_EDITS = ("replace", "write_file", "edit", "save_file")
MAX_PROJECTS_CHARS = 4 << 20
_FINAL = ("success", "error", "cancelled")
_NOTICES = ("info", "warning", "error")
_COMPRESSED = re.compile(r"(Context|Chat history) compressed from \d")


def knows(record: Json) -> bool:
    if "projectHash" in record and "sessionId" in record:
        return True
    return "$set" in record or (
        "type" in record and record["type"] == "gemini" and "id" in record and "content" in record
    )


def knows_document(document: Json) -> bool:
    return "sessionId" in document and isinstance(document.get("messages"), list)


def begin(log: Log) -> None:
    """What the place of a chat says: the folder of its project, and for a sub-agent's whose it is."""
    chats, _, rest = log.path.rpartition("/chats/")
    log.state["cwd"] = _first_line(f"{chats}/.project_root") or _folder_of(chats)
    above = rest.split("/")[:-1]
    if above:
        log.state["parent"] = above[0]


def _first_line(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(4_096).strip() or None
    except OSError:
        return None


def _folder_of(chats: str) -> str | None:
    """The folder that `projects.json` gives the short name of these chats."""
    above, _, name = chats.rpartition("/tmp/")  # noqa: S108  # Gemini's own, not the system's
    try:
        with open(f"{above}/projects.json", encoding="utf-8", errors="replace") as file:
            known = obj(parsed(file.read(MAX_PROJECTS_CHARS)).get("projects"))
    except OSError:
        return None
    return next((folder for folder, short in known.items() if short == name), None)


def read(log: Log, record: Json) -> None:
    if "sessionId" in record and "type" not in record:
        _header(log, record)
    elif "id" in record and "type" in record:
        _message(log, record)
    elif "$set" in record:
        _header(log, obj(record["$set"]))
    elif "$rewindTo" not in record:
        log.unknown(record.get("type") or next(iter(record), "{}"))


def read_document(log: Log, document: Json) -> None:
    _header(log, document)
    for message in array(document.get("messages")):
        _message(log, obj(message))


def _header(log: Log, header: Json) -> None:
    """Messages that stand in it are old ones: they were seen, or were left out."""
    state = log.state
    state["session"] = maybe(header.get("sessionId")) or state.get("session")
    state["subagent"] = state.get("subagent") or header.get("kind") == "subagent"
    folders = [one for one in array(header.get("directories")) if isinstance(one, str) and os.path.isabs(one)]
    if folders and not state.get("cwd"):
        state["cwd"] = folders[0]


def _message(log: Log, message: Json) -> None:
    state, kind, record = log.state, message.get("type"), text(message.get("id"))
    session = text(state.get("session"))
    log.locate(record)
    log.now = Moment(
        session=session,
        at=utc(message.get("timestamp")),
        cwd=maybe(state.get("cwd")),
        subagent=session if state.get("subagent") else None,
        parent=maybe(state.get("parent")),
    )
    if kind == "user":
        _user(log, message, record)
    elif kind == "gemini":
        _model(log, message, record)
    elif kind == "info" and _COMPRESSED.match(text(message.get("content"))):
        log.compacted(record)
    elif kind not in _NOTICES:
        log.unknown(kind)


def _user(log: Log, message: Json, record: str) -> None:
    if log.state.get("subagent"):
        return
    shown = message.get("displayContent")
    said = "\n".join(_parts(shown if shown else message.get("content")))
    log.locate(said)
    said = _NOT_A_PERSON.sub("", said).strip()
    if said and said[0] not in "/?!":
        log.said("person", said, record)


def _parts(content: object) -> list[str]:
    if isinstance(content, dict):
        return texts([content])
    shown = content if isinstance(content, str) else [p for p in array(content) if not obj(p).get("thought")]
    return [one for one in texts(shown) if one]


def _model(log: Log, message: Json, record: str) -> None:
    """A message is written again with the same id as it grows; what is not finished has no count of tokens yet."""
    calls = [obj(call) for call in array(message.get("toolCalls"))]
    said = "".join(_parts(message.get("content")))
    if not calls and "tokens" in message and message["tokens"] is None:
        return
    log.said("assistant", said, record)
    for call in calls:
        if call.get("status") in _FINAL:
            _call(log, call, f"{record}:{text(call.get('id'))}")
    if said.strip() and not calls:
        log.turn_ended(f"{record}:end")


def _call(log: Log, call: Json, record: str) -> None:
    given = obj(call.get("args"))
    log.now = log.now._replace(at=utc(call.get("timestamp")) or log.now.at)
    if call.get("name") in _EDITS and call.get("status") == "success":
        log.edited(text(given.get("file_path")), record)
    elif call.get("name") == "run_shell_command":
        told = response(call.get("result"))
        log.locate(told)
        outcome, code, output = trailer.outcome(call.get("status"), told)
        if outcome in ("ok", "failed") and given.get("is_background") is True:
            outcome, code = "unknown", None
        log.now = log.now._replace(cwd=_folder(log, given))
        log.ran(text(given.get("command")), record, outcome, code, output)


def _folder(log: Log, given: Json) -> str | None:
    folder, cwd = text(given.get("dir_path")) or text(given.get("directory")), log.now.cwd
    if not folder or (not os.path.isabs(folder) and not cwd):
        return cwd
    return os.path.normpath(os.path.join(cwd or "/", folder))


def response(result: object) -> str:
    """The text of a tool's result, as it was given to the model."""
    if isinstance(result, str):
        return result
    for part in [obj(part) for part in array(result)]:
        given = obj(obj(part.get("functionResponse")).get("response"))
        found = text(given.get("output")) or text(given.get("error")) or text(given.get("content"))
        if found:
            return found
    return ""


READER = Reader("gemini-cli", "jsonl", read, knows, begin=begin)
DOCUMENT = Reader("gemini-cli", "json", read_document, knows_document, begin=begin)
