"""OpenCode's database, of both versions: rows in, events out. Rows are rewritten in place while a tool runs."""

from __future__ import annotations

import re
from typing import Any

from mdmem.activity.events import Outcome
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
from mdmem.activity.store import columns, tables_of
from mdmem.db import Connection, scalar

MAX_ROWS = 500
# Two programs may write at once, and a row counts from when it was stamped: a minute is looked at again.
OVERLAP_MS = 60_000
_LAST_ID = "\U0010ffff"  # after every id
_EDITS = ("edit", "write", "patch", "multiedit", "apply_patch")
_SILENT = frozenset("synthetic system skill agent-switched model-switched location-switched".split())
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_PARTS = frozenset("step-start reasoning file snapshot patch agent retry subtask".split())

# A row of several MB holds a picture or a file: its data is not fetched. Bytes, since not all text is UTF-8.
_DATA = "iif(length(p.data) > 4000000, '{}', CAST(p.data AS BLOB))"
_V1 = """SELECT p.time_updated, p.id, p.session_id, {0}, CAST(m.data AS BLOB), {1}
 FROM part p LEFT JOIN message m ON m.id = p.message_id LEFT JOIN session s ON s.id = p.session_id
 WHERE (p.time_updated, p.id) > (?, ?) ORDER BY p.time_updated, p.id LIMIT ?"""
_V2 = """SELECT p.time_updated, p.id, p.session_id, {0}, p.type, {1}
 FROM session_message p LEFT JOIN session_v2 s ON s.id = p.session_id
 WHERE (p.time_updated, p.id) > (?, ?) ORDER BY p.time_updated, p.id LIMIT ?"""
_NEWEST = {"v1": "SELECT max(time_updated) FROM part", "v2": "SELECT max(time_updated) FROM session_message"}


def knows_tables(tables: set[str]) -> bool:
    return {"session", "message", "part"} <= tables or {"session_v2", "session_message"} <= tables


def poll(log: Log, db: Connection) -> None:
    tables = tables_of(db)
    newer: set[str] = set()
    log.state["more"] = False
    if {"session_v2", "session_message"} <= tables:
        newer = {str(row[0]) for row in db.execute("SELECT id FROM session_v2")}
        of_session = columns(db, "session_v2", "s", "directory parent_id fork_session_id time_created")
        log.each(_rows(log, db, "v2", _V2.format(_DATA, of_session)), _row_v2)
    if {"session", "message", "part"} <= tables:
        of_session = columns(db, "session", "s", "directory parent_id time_created")
        older = [row for row in _rows(log, db, "v1", _V1.format(_DATA, of_session)) if str(row[2]) not in newer]
        log.each(older, _row_v1)  # a session of both versions is read as the newer one


def poll_to_end(log: Log, db: Connection) -> None:
    tables = tables_of(db)
    for version, table in (("v1", "part"), ("v2", "session_message")):
        if table in tables:
            newest = scalar(db, _NEWEST[version]) or 0
            log.state[version] = {"at": newest, "id": "", "from": newest, "more": False}


def _rows(log: Log, db: Connection, version: str, sql: str) -> list[tuple[Any, ...]]:
    """The rows that were written since the last look, in order of that; never those from before the first one."""
    spot = log.state.setdefault(version, {"at": 0, "id": "", "from": 0, "more": False})
    after: tuple[int, str] = (spot["at"], spot["id"])
    if not spot["more"]:
        after = max((spot["at"] - OVERLAP_MS, ""), (spot["from"], _LAST_ID))
    rows = db.execute(sql, (*after, MAX_ROWS)).fetchall()
    spot["more"] = len(rows) == MAX_ROWS
    if rows:
        spot |= {"at": rows[-1][0], "id": rows[-1][1]}
    log.state["more"] = log.state["more"] or spot["more"]
    # A fork has copies, of the same time: what they are copies of comes first.
    return sorted(rows, key=lambda row: (row[0], row[-1] or 0))


# --- 1.x -----------------------------------------------------------------------------------------------------------


def _row_v1(log: Log, row: tuple[Any, ...]) -> None:
    updated, uid, session, data, about, directory, above, _ = row
    part, message = parsed(data), parsed(about)
    began = obj(message.get("time")).get("created")
    log.source = log.source._replace(row=f"part:{uid}")
    cwd = maybe(obj(message.get("path")).get("cwd")) or maybe(directory)
    log.now = _moment(session, updated, cwd, above)
    kind = part.get("type")
    if kind == "text":
        _text_v1(log, part, message, began)
    elif kind == "tool":
        _tool_v1(log, part)
    elif kind == "step-finish":
        if part.get("reason") == "stop":
            log.turn_ended(digest("end", began))
    elif kind == "compaction":
        log.compacted(digest("compaction", began))
    elif kind not in _PARTS:
        log.unknown(f"part {kind}")


def _text_v1(log: Log, part: Json, message: Json, began: object) -> None:
    """A fork copies under new ids: the words and when they were said stay."""
    said = text(part.get("text"))
    record = digest("text", began, said)
    if message.get("role") == "user":
        if not part.get("synthetic") and not part.get("ignored") and not log.now.parent:
            log.said("person", _as_typed(said), record)
    elif message.get("role") == "assistant" and ("time" not in part or "end" in obj(part.get("time"))):
        log.said("assistant", said, record)


def _as_typed(said: str) -> str:
    """`opencode run "a b"` stores the quotes with the words, and those inside of them escaped."""
    quoted = _QUOTED.fullmatch(said)
    return quoted[1].replace('\\"', '"') if quoted and " " in said else said


def _tool_v1(log: Log, part: Json) -> None:
    state, name = obj(part.get("state")), part.get("tool")
    given, more = obj(state.get("input")), obj(state.get("metadata"))
    record = f"{text(part.get('callID'))}:{obj(state.get('time')).get('start')}"
    if state.get("status") not in ("completed", "error"):
        return
    if name == "bash":
        outcome, code = _outcome(state, more)
        output = text(state.get("output")) or text(more.get("output")) or text(state.get("error"))
        log.now = log.now._replace(cwd=maybe(given.get("workdir")) or log.now.cwd)
        log.ran(text(given.get("command")), record, outcome, code, output)
    elif name in _EDITS and state.get("status") == "completed" and text(given.get("filePath")):
        log.edited(text(given.get("filePath")), record)


def _outcome(state: Json, more: Json) -> tuple[Outcome, int | None]:
    """Completed says only that the tool ended; the exit code decides."""
    code = number(more.get("exit"))
    if state.get("status") == "error":
        error = state.get("error")
        return ("declined" if refused(text(error) or text(obj(error).get("message"))) else "failed"), code
    if more.get("timeout") or more.get("signal") or more.get("status") == "running" or code is None:
        return "unknown", None
    return ("failed" if code else "ok"), code


# --- 2.x -----------------------------------------------------------------------------------------------------------


def _row_v2(log: Log, row: tuple[Any, ...]) -> None:
    updated, uid, session, data, kind, directory, above, forked, _ = row
    message = parsed(data)
    began = obj(message.get("time")).get("created")
    log.source = log.source._replace(row=f"session_message:{uid}")
    log.now = _moment(session, updated, maybe(directory), above)
    if forked and not above:
        log.now = log.now._replace(parent=str(forked))
    if kind == "user":
        if not above:
            log.said("person", text(message.get("text")), digest("text", began, text(message.get("text"))))
    elif kind == "assistant":
        _assistant_v2(log, message, began)
    elif kind == "shell":
        _shell_v2(log, message, began)
    elif kind == "idle":
        log.turn_ended(digest("idle", session, began))
    elif kind == "compaction":
        log.compacted(digest("compaction", session, began))
    elif kind not in _SILENT:
        log.unknown(f"message {kind}")


def _assistant_v2(log: Log, message: Json, began: object) -> None:
    if "completed" in obj(message.get("time")):
        said = "\n".join(texts(message.get("content"), "text"))
        log.said("assistant", said, digest("text", began, said))
    for item in map(obj, array(message.get("content"))):
        if item.get("type") == "tool":
            _tool_v2(log, item)


def _tool_v2(log: Log, item: Json) -> None:
    state = obj(item.get("state"))
    given, more = obj(state.get("input")), obj(state.get("metadata")) or obj(state.get("structured"))
    record = f"{text(item.get('id'))}:{obj(item.get('time')).get('created')}"
    if state.get("status") not in ("completed", "error"):
        return
    before = log.now
    if item.get("name") in ("shell", "bash"):
        outcome, code = _outcome(state, more)
        log.now = before._replace(cwd=maybe(given.get("workdir")) or before.cwd)
        log.ran(text(given.get("command")), record, outcome, code, "\n".join(texts(state.get("content"), "text")))
    elif item.get("name") in _EDITS and state.get("status") == "completed":
        path = text(given.get("path")) or text(given.get("filePath"))
        if path:
            log.edited(path, record)
    log.now = before


def _shell_v2(log: Log, message: Json, began: object) -> None:
    """A command of the person. It is read when it has ended."""
    if message.get("status") in ("running", "pending", "streaming"):
        return
    output = message.get("output")
    code = number(message.get("exit"))
    shown = text(output) or text(obj(output).get("output"))
    log.ran(text(message.get("command")), f"{text(message.get('shellID'))}:{began}", by_code(code), code, shown)


def _moment(session: object, updated: object, cwd: str | None, above: object) -> Moment:
    return Moment(
        session=str(session),
        at=utc(updated),
        cwd=cwd,
        subagent=str(session) if above else None,
        parent=maybe(above),
    )


STORE = Reader("opencode", "sqlite", poll, knows_tables, to_end=poll_to_end)
