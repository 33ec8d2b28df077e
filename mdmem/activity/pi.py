"""Pi's sessions and OpenClaw's, which writes the same records, to files or to a database: records in, events out."""

from __future__ import annotations

import re
from typing import Any

from mdmem.activity.events import Outcome
from mdmem.activity.log import Json, Log, Moment, Reader, array, digest, maybe, number, obj, parsed, text, texts, utc
from mdmem.db import Connection

_SHELLS = ("bash", "exec")
_EDITS = ("edit", "write")
_KNOWN = frozenset(
    "branch_summary custom custom_message label session_info model_change thinking_level_change leaf".split()
)
_EXITED = re.compile(r"Command exited with code (-?\d+)\s*\Z")
_STOPPED = re.compile(r"Command (aborted|cancelled|timed out)[^\n]*\s*\Z")
_ENVELOPE = re.compile(r"\s*\[[^\]\n]{3,200}\]\s*")  # who wrote, where and when, on a channel
_NOT_A_PERSON = re.compile(r"\s*(Read HEARTBEAT\.md|\[cron:|System:|<system|A new session was started)")
MAX_ROWS = 500


def knows(record: Json) -> bool:
    if record.get("type") == "session":
        return "cwd" in record and "id" in record
    return record.get("type") == "message" and "parentId" in record and isinstance(record.get("message"), dict)


def read(log: Log, record: Json) -> None:
    kind, state = record.get("type"), log.state
    if kind == "session":
        state["session"] = state.get("session") or text(record.get("id"))
        state["cwd"] = maybe(record.get("cwd")) or state.get("cwd")
        state["parent"] = maybe(record.get("parentSession"))
        return
    log.now = Moment(
        session=text(state.get("session")),
        at=utc(record.get("timestamp")),
        cwd=maybe(state.get("cwd")),
        parent=maybe(state.get("parent")),
    )
    if kind == "message":
        _message(log, obj(record.get("message")), text(record.get("id")))
    elif kind == "compaction":
        log.compacted(f"{text(record.get('id'))}:{record.get('timestamp')}")
    elif kind not in _KNOWN:
        log.unknown(kind)


def _message(log: Log, message: Json, entry: str) -> None:
    """Ids of entries are short: what they say belongs to the id, too. A fork copies both."""
    role, said = message.get("role"), "\n".join(texts(message.get("content"), "text"))
    record = f"{entry}:{digest(role, said, message.get('timestamp'))}"
    if role == "user":
        _user(log, said, record)
    elif role == "assistant":
        _assistant(log, message, said, record)
    elif role == "toolResult":
        _result(log, message, said, record)
    elif role == "bashExecution":
        _by_person(log, message, record)
    elif role not in ("custom", "branchSummary", "compactionSummary", "hookMessage"):
        log.unknown(f"message {role}")


def _user(log: Log, said: str, record: str) -> None:
    if log.agent == "openclaw":
        if _NOT_A_PERSON.match(said):
            return
        said = _ENVELOPE.sub("", said, count=1) if _ENVELOPE.match(said) else said
    log.said("person", said, record)


def _assistant(log: Log, message: Json, said: str, record: str) -> None:
    log.said("assistant", said, record)
    for block in map(obj, array(message.get("content"))):
        given, key = obj(block.get("arguments")), text(block.get("id"))
        if block.get("type") != "toolCall":
            continue
        if block.get("name") in _SHELLS:
            log.call(key, command=text(given.get("command")), cwd=maybe(given.get("workdir")), record=f"{record}:{key}")
        elif block.get("name") in _EDITS:
            log.call(key, path=text(given.get("path")) or text(given.get("file_path")), record=f"{record}:{key}")
    if message.get("stopReason") in ("stop", "length", "error", "aborted"):
        log.turn_ended(f"{record}:end")


def _result(log: Log, message: Json, output: str, record: str) -> None:
    code = _EXITED.search(output)
    outcome: Outcome = "ok"
    if message.get("isError") is not False and _STOPPED.search(output):
        outcome = "unknown"
    elif message.get("isError") is not False or (code and int(code[1])):
        outcome = "failed" if message.get("isError") is True or code else "unknown"
    key = text(message.get("toolCallId"))
    exit_code = int(code[1]) if code else (0 if outcome == "ok" else None)
    log.result(key, f"{record}:{key}", outcome, exit_code, output)


def _by_person(log: Log, message: Json, record: str) -> None:
    code = number(message.get("exitCode"))
    outcome: Outcome = "unknown"
    if message.get("cancelled") is not True and code is not None:
        outcome = "failed" if code else "ok"
    log.ran(text(message.get("command")), record, outcome, code, text(message.get("output")))


# --- OpenClaw's database -----------------------------------------------------------------------------------------


def knows_tables(tables: set[str]) -> bool:
    return "transcript_events" in tables


def poll(log: Log, db: Connection) -> None:
    """The events of each session from the last that was read on. Nothing else in this database is looked at."""
    spots: Json = log.state.setdefault("spots", {})
    rows = db.execute("SELECT session_id, max(seq) FROM transcript_events GROUP BY session_id").fetchall()
    log.state["more"] = False
    for session, newest in rows:
        spot = spots.setdefault(str(session), {"seq": -1, "state": {}})
        if isinstance(newest, int) and newest > spot["seq"]:
            _session(log, db, str(session), spot)
        elif isinstance(newest, int) and newest < spot["seq"]:
            spot["seq"] = newest  # its rows were taken away
    for gone in set(spots) - {str(row[0]) for row in rows}:
        del spots[gone]


def _session(log: Log, db: Connection, session: str, spot: Json) -> None:
    whole, log.state = log.state, spot["state"]
    log.state.setdefault("session", session)
    rows = db.execute(
        "SELECT seq, CAST(event_json AS BLOB) FROM transcript_events"
        " WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (session, spot["seq"], MAX_ROWS),
    ).fetchall()
    log.each(rows, _event)
    spot["seq"] = rows[-1][0] if rows else spot["seq"]
    log.state = whole
    log.state["more"] = log.state["more"] or len(rows) == MAX_ROWS


def _event(log: Log, row: tuple[Any, ...]) -> None:
    log.source = log.source._replace(row=f"transcript_events:{log.state['session']}:{row[0]}")
    read(log, parsed(row[1]))


def poll_to_end(log: Log, db: Connection) -> None:
    rows = db.execute("SELECT session_id, max(seq) FROM transcript_events GROUP BY session_id")
    log.state["spots"] = {str(session): {"seq": newest, "state": {}} for session, newest in rows}


READER = Reader("pi", "jsonl", read, knows)
OPENCLAW = READER._replace(agent="openclaw")
OPENCLAW_STORE = Reader("openclaw", "sqlite", poll, knows_tables, to_end=poll_to_end)
