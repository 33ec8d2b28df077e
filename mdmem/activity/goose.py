"""Goose's sessions, in its database or in the files before it: rows or records in, events out."""

from __future__ import annotations

import json
import re
from typing import Any

from mdmem.activity.events import Outcome
from mdmem.activity.log import (
    Json,
    Log,
    Moment,
    Reader,
    array,
    decoded,
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
from mdmem.activity.store import columns
from mdmem.db import Connection, scalar

_EDITORS = ("text_editor", "edit", "write")
_EXITED = re.compile(r"Command exited with code (-?\d+)\s*\Z")
_ELEMENTS = re.compile(r"<(info-msg|system-reminder)\b[^>]*>.*?(?:</\1>|\Z)", re.DOTALL)
MAX_ROWS = 500


def _read_content(log: Log, role: object, content: object, record: str, *, visible: bool, person: bool) -> None:
    """One message, of which calls and results are parts; a response has the role of the user."""
    blocks = [obj(block) for block in array(content)]
    said = "\n".join(texts(blocks, "text")).strip()
    if role == "user" and visible and person:
        log.said("person", _ELEMENTS.sub("", said), record)
    elif role == "assistant":
        log.said("assistant", said, record)
    for block in blocks:
        if block.get("type") == "toolRequest":
            _request(log, block, record)
        elif block.get("type") == "toolResponse":
            _response(log, block, record)
    if role == "assistant" and said and not any(block.get("type") == "toolRequest" for block in blocks):
        log.turn_ended(f"{record}:end")


def _request(log: Log, block: Json, record: str) -> None:
    value = obj(obj(block.get("toolCall")).get("value"))
    name, given, key = text(value.get("name")).rpartition("__")[2], obj(value.get("arguments")), _key(log, block)
    if name == "shell":
        log.call(key, command=text(given.get("command")), record=f"{record}:{key}")
    elif name in _EDITORS and given.get("command") not in ("view", "undo_edit"):
        log.call(key, path=text(given.get("path")) or text(given.get("file_path")), record=f"{record}:{key}")


def _response(log: Log, block: Json, record: str) -> None:
    told, key = obj(block.get("toolResult")), _key(log, block)
    value = told.get("value")
    outcome, code = _outcome(told, obj(value))
    if log.calls.get(key, {}).get("path"):
        wrong = told.get("status") != "success" or obj(value).get("isError") is True
        outcome, code = ("failed" if wrong else "ok"), None
    output = "\n".join(texts(obj(value).get("content") if isinstance(value, dict) else value, "text"))
    exited = _EXITED.search(output)
    if outcome == "unknown" and exited and int(exited[1]):
        outcome, code = "failed", int(exited[1])
    log.result(key, f"{record}:{key}", outcome, code, output)


def _outcome(told: Json, value: Json) -> tuple[Outcome, int | None]:
    """The status says only whether the tool ran; without a code nothing is proved."""
    shown = obj(value.get("structuredContent"))
    code = number(shown.get("exit_code"))
    if told.get("status") != "success":
        return ("declined" if refused(text(told.get("error"))) else "unknown"), None
    if shown.get("timed_out"):
        return "unknown", None
    if value.get("isError") is True or code:
        return "failed", code
    return ("unknown" if code is None else "ok"), code


def _key(log: Log, block: Json) -> str:
    return f"{log.now.session}:{text(block.get('id'))}"


# --- files ---------------------------------------------------------------------------------------------------------


def knows(record: Json) -> bool:
    if "working_dir" in record and "message_count" in record:
        return True
    return (
        record.get("role") in ("user", "assistant") and "created" in record and isinstance(record.get("content"), list)
    )


def begin(log: Log) -> None:
    log.state["session"] = log.path.rpartition("/")[2].removesuffix(".jsonl")


def read(log: Log, record: Json) -> None:
    state = log.state
    if "working_dir" in record:
        state["session"] = maybe(record.get("id")) or state["session"]
        state["cwd"] = maybe(record.get("working_dir"))
    elif "role" in record:
        content, session = record.get("content"), text(state.get("session"))
        log.now = Moment(session=session, at=utc(record.get("created")), cwd=maybe(state.get("cwd")))
        uid = maybe(record.get("id")) or digest(session, record.get("created"), record.get("role"), json.dumps(content))
        shown = obj(record.get("metadata")).get("userVisible") is not False
        _read_content(log, record.get("role"), content, uid, visible=shown, person=True)
    else:
        log.unknown(next(iter(record), "{}"))


# --- the database ------------------------------------------------------------------------------------------------

_ROWS = """SELECT m.id, m.session_id, m.role, CAST(m.content_json AS BLOB), {0}, CAST({1} AS BLOB), {2}
 FROM messages m LEFT JOIN sessions s ON s.id = m.session_id WHERE m.id > ? ORDER BY m.id LIMIT ?"""


def knows_tables(tables: set[str]) -> bool:
    return {"sessions", "messages"} <= tables and "session" not in tables


def poll(log: Log, db: Connection) -> None:
    """The rows after the last that was read. A compaction puts old rows in again, under new numbers: the ids of the
    messages tell, and for what was there before the first look, the times.
    """
    newest = db.execute("SELECT max(id) FROM messages").fetchone()
    last = log.state.get("row", 0)
    last = min(last, newest[0] or 0) if newest else 0
    names = (
        columns(db, "messages", "m", "message_id created_timestamp"),
        columns(db, "messages", "m", "metadata_json"),
        columns(db, "sessions", "s", "session_type working_dir parent_session_id"),
    )
    rows = db.execute(_ROWS.format(*names), (last, MAX_ROWS)).fetchall()
    log.each(rows, _row)
    log.state |= {"row": rows[-1][0] if rows else last, "more": len(rows) == MAX_ROWS}


def poll_to_end(log: Log, db: Connection) -> None:
    newest = scalar(db, "SELECT max(created_timestamp) FROM messages")
    last = db.execute("SELECT message_id FROM messages WHERE created_timestamp = ?", (newest,))
    log.state |= {"row": scalar(db, "SELECT max(id) FROM messages") or 0, "since": _ms(newest)}
    log.state["last"] = [str(row[0]) for row in last]


def _ms(created: object) -> int:
    """Older versions count seconds."""
    found = number(created) or 0
    return found if found > 10**11 else found * 1_000


def _row(log: Log, row: tuple[Any, ...]) -> None:
    uid, session, role, content, message, created, metadata, kind, cwd, parent = row
    log.source = log.source._replace(row=f"messages:{message or uid}")
    ours = kind in (None, "user")
    log.now = Moment(
        session=str(session),
        at=utc(created),
        cwd=maybe(cwd),
        subagent=str(session) if kind == "sub_agent" else None,
        parent=maybe(parent),
    )
    since = log.state.get("since", 0)
    if _ms(created) < since or (_ms(created) == since and str(message) in log.state.get("last", ())):
        return
    blocks = decoded(content)
    visible = parsed(metadata).get("userVisible") is not False
    record = maybe(message) or digest(session, created, role, content)
    _read_content(log, role, blocks, record, visible=visible, person=ours)


READER = Reader("goose", "jsonl", read, knows, begin=begin)
STORE = Reader("goose", "sqlite", poll, knows_tables, to_end=poll_to_end)
