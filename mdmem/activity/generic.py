"""Any other log of JSON lines: records and the names of their fields in, events out."""

from __future__ import annotations

from typing import NamedTuple

from mdmem.activity.log import Json, Log, Moment, Reader, by_code, digest, maybe, number, obj, text, texts, utc


class Fields(NamedTuple):
    """Where a record keeps what; dots lead into objects, "" is nowhere. A record with a command is a command that ran:
    it is ok with the exit code 0, failed with another, unknown without one.
    """

    id: str = "id"
    session: str = "session"
    time: str = "timestamp"
    cwd: str = "cwd"
    role: str = "role"
    text: str = "text"
    command: str = "command"
    exit_code: str = "exit_code"
    output: str = "output"
    kind: str = "type"
    person: str = "user"  # the value of `role` that is the person
    assistant: str = "assistant"
    turn_end: str = "turn_end"  # the value of `kind` that ends a turn


def reader(agent: str, fields: Fields) -> Reader:
    def read(log: Log, record: Json) -> None:
        _read(log, record, fields)

    return Reader(agent, "jsonl", read, lambda record: False, begin=_begin)


def _begin(log: Log) -> None:
    log.state["session"] = log.path.rpartition("/")[2].rpartition(".")[0]


def _at(record: Json, path: str) -> object:
    found: object = record
    for name in path.split(".") if path else ():
        found = obj(found).get(name)
    return found if path else None


def _read(log: Log, record: Json, fields: Fields) -> None:
    nth = log.state["nth"] = (number(log.state.get("nth")) or 0) + 1
    session = maybe(_at(record, fields.session)) or text(log.state.get("session"))
    uid = _at(record, fields.id)
    record_id = str(uid) if isinstance(uid, str | int) else digest(session, nth)
    log.now = Moment(session=session, at=utc(_at(record, fields.time)), cwd=maybe(_at(record, fields.cwd)))
    role, command = _at(record, fields.role), text(_at(record, fields.command))
    if command:
        code = number(_at(record, fields.exit_code))
        log.ran(command, record_id, by_code(code), code, "\n".join(texts(_at(record, fields.output))))
    elif _at(record, fields.kind) == fields.turn_end:
        log.turn_ended(record_id)
    elif role in (fields.person, fields.assistant):
        said = "\n".join(texts(_at(record, fields.text)))
        log.said("person" if role == fields.person else "assistant", said, record_id)
    else:
        log.unknown(_at(record, fields.kind) or role)
