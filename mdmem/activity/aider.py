"""Aider's chat history, Markdown: lines in, events out.

How a command ended is never written. The person's lines begin with `#### `, the program's with `> `; all else is the
model's, and may hold either inside a code fence.
"""

from __future__ import annotations

import datetime
import os
import re

from mdmem.activity.events import Source
from mdmem.activity.log import Log, Moment, Reader, digest, maybe, text, utc

MAX_REPLY_CHARS = 4_000
_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})(.*)$")
_RUNNING = re.compile(r"> Running (\S.*?)\s*$")
_ADDED = re.compile(r"> Added \d+ lines? of output to the chat\.\s*$")
_APPLIED = re.compile(r"> Applied edit to (\S.*?)\s*$")


def knows(line: str) -> bool:
    return bool(_START.match(line))


def begin(log: Log) -> None:
    log.state |= {"cwd": os.path.dirname(log.path), "run": "", "nth": 0}


def read(log: Log, line: str) -> None:
    line = line.rstrip("\r\n")
    started = _START.match(line)
    if started:
        _start(log, started[1])
    elif _in_fence(log, line):
        _reply(log, line)
    elif line.startswith("#### ") and line.endswith("  "):  # the model's own headings have no spaces behind them
        _person(log, line[5:].rstrip())
    else:
        _flush_person(log)
        if line.startswith(">"):
            _program(log, line)
        else:
            _reply(log, line)
    if line.strip():
        log.state["last"] = log.source


def _start(log: Log, when: str) -> None:
    """A run of the program: the end of whatever was open in the one before."""
    _flush_person(log)
    _end_turn(log)
    log.state |= {"run": when, "nth": 0, "fence": ""}


def _in_fence(log: Log, line: str) -> bool:
    """Whether a line is part of a code fence, the lines of the fence itself included."""
    fence, found = text(log.state.get("fence")), _FENCE.match(line)
    if not fence:
        if found and not line.startswith((">", "#")):
            log.state["fence"] = found[1]
            return True
        return False
    if found and found[1].startswith(fence) and not found[2].strip():
        log.state["fence"] = ""
    return True


def _person(log: Log, said: str) -> None:
    """Lines that follow each other are one message; it ends with the next line that is none."""
    if "said" not in log.state:
        _end_turn(log)
        log.state |= {"said": [], "begun": log.source}
    log.state["said"].append(said)


def _flush_person(log: Log) -> None:
    said = "\n".join(log.state.pop("said", []))
    if not said:
        return
    with_source = log.source
    log.source = Source(*log.state.pop("begun"))
    uid = _next(log)
    word, _, rest = said.partition(" ")
    if said[0] == "!" or word == "/run":
        log.ran(rest if word == "/run" else said[1:], uid, "unknown")
    elif word == "/test":
        log.state["test"] = {"command": rest.strip(), "record": uid, "source": log.source}
    elif said[0] != "/":
        log.said("person", said, uid)
        log.state["turn"] = uid
    log.source = with_source


def _program(log: Log, line: str) -> None:
    _flush_reply(log)
    running, applied = _RUNNING.match(line), _APPLIED.match(line)
    if running:
        log.ran(running[1], _next(log), "unknown")
    elif applied:
        _moment(log)
        log.edited(os.path.join(text(log.state.get("cwd")), applied[1]), _next(log))
    elif _ADDED.match(line):
        _test_ended(log, failed=True)


def _test_ended(log: Log, *, failed: bool) -> None:
    """Output is added to the chat after `/test` only when the command failed."""
    test = log.state.pop("test", None)
    if test:
        _moment(log)
        begun, here = Source(*test["source"]), log.source
        if failed:
            log.ran(test["command"], test["record"], "failed", call=begun)
        else:
            log.source = begun
            log.ran(test["command"], test["record"], "unknown")
        log.source = here


def _reply(log: Log, line: str) -> None:
    so_far = text(log.state.get("reply"))
    if len(so_far) < MAX_REPLY_CHARS and (so_far or line.strip()):
        log.state["reply"] = f"{so_far}{line}\n"[:MAX_REPLY_CHARS]


def _flush_reply(log: Log) -> None:
    said = text(log.state.pop("reply", ""))
    if said.strip():
        log.said("assistant", said, _next(log))


def _end_turn(log: Log) -> None:
    """The person's next line, or another run, is all that says that a turn has ended."""
    here = log.source
    log.source = Source(*(log.state.get("last") or here))
    _flush_reply(log)
    _test_ended(log, failed=False)
    turn = maybe(log.state.pop("turn", None))
    if turn:
        _moment(log)
        log.turn_ended(f"{turn}:end")
    log.source = here


def _next(log: Log) -> str:
    """An id: the run and how manieth in it. Also says whose moment it is."""
    log.state["nth"] += 1
    _moment(log)
    return digest("aider", log.state["run"], log.state["nth"], log.state["cwd"])


def _moment(log: Log) -> None:
    run = text(log.state.get("run"))
    session = f"{log.state['cwd']}:{run}"
    log.now = Moment(session=session, at=_utc(run), cwd=maybe(log.state.get("cwd")))


def _utc(local: str) -> str | None:
    """When the run began: written in local time, without a zone."""
    try:
        return utc(datetime.datetime.strptime(local, "%Y-%m-%d %H:%M:%S").astimezone().isoformat())
    except (ValueError, OverflowError):
        return None


READER = Reader("aider", "text", read, knows, begin=begin)
