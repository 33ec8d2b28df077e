"""A piece of a log, handed to its reader: bytes or an open database in, events in the log and notes on trouble out."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from mdmem.activity.events import Event
from mdmem.activity.lines import MAX_LINE_BYTES, Line, Lines, Spot, values
from mdmem.activity.log import ODD, Json, Log, Reader, array, number, obj
from mdmem.db import Connection, DatabaseError, open_foreign

PIECE_BYTES = 4 << 20
MAX_KINDS = 20
_ENOUGH_RECORDS = 100


class Trouble(NamedTuple):
    """What could not be read in one log: in words, how often, and where last."""

    path: str
    agent: str
    what: str
    times: int
    offset: int | None = None
    line: int | None = None


class UnreadableError(OSError):
    """Another program's database that cannot be read now: locked, damaged, of another shape."""


class Notes:
    """Counts of what a log holds and of what could not be read in it. Kept with the log's cursor, as JSON."""

    def __init__(self, kept: str = "{}") -> None:
        found = obj(json.loads(kept))
        self.records = number(found.get("records")) or 0
        self.events = number(found.get("events")) or 0
        self.bad = number(found.get("bad")) or 0
        self.at: list[int] = array(found.get("at"))  # offset and line of the last bad one
        self.skipped: Counter[str] = Counter(obj(found.get("skipped")))

    def to_json(self) -> str:
        kinds = dict(self.skipped.most_common(MAX_KINDS))
        return json.dumps(
            {"records": self.records, "events": self.events, "bad": self.bad, "at": self.at, "skipped": kinds}
        )

    def bad_one(self, offset: int | None, line: int | None) -> None:
        self.bad += 1
        self.at = [offset or 0, line or 0]

    def troubles(self, path: str, agent: str) -> Iterator[Trouble]:
        if self.bad:
            yield Trouble(path, agent, "lines that could not be read", self.bad, *self.at)
        for kind, count in sorted(self.skipped.items()):
            yield Trouble(path, agent, f"unknown record '{kind}'", count)
        if self.records >= _ENOUGH_RECORDS and not self.events:
            yield Trouble(path, agent, "nothing was found in it: its format may have changed", self.records)


def open_log(path: str) -> BinaryIO:
    """A regular file, opened to be read. A pipe of that name does not hold us up. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"not a regular file: {path!r}")
    return os.fdopen(fd, "rb", buffering=0)


def new_log(reader: Reader, path: str, state: Json | None = None, clean: Callable[[str], str] = str) -> Log:
    """A log that is to be read: from its beginning when it has no state yet."""
    log = Log(reader.agent, path, state, clean)
    if not log.state and reader.begin:
        reader.begin(log)
    return log


def feed_lines(
    log: Log,
    reader: Reader,
    file: BinaryIO,
    spot: Spot,
    notes: Notes,
    budget_bytes: int = PIECE_BYTES,
    end: int | None = None,
) -> Spot:
    """The lines from a spot on, until so many bytes are read or the end is met; where to go on. What is no record is
    counted.
    """
    lines = Lines(file, spot, end=end)
    for line in lines.take(budget_bytes):
        if line.data is None:
            notes.bad_one(line.offset, line.number)
        elif (line.data or reader.form == "text") and not (reader.skip and reader.skip(log, line.data)):
            log.source = log.source._replace(offset=line.offset, line=line.number)
            _feed_line(log, reader, line, line.data, notes)
    _count(log, notes)
    return lines.spot


def _feed_line(log: Log, reader: Reader, line: Line, data: bytes, notes: Notes) -> None:
    if reader.form == "text":
        _read(log, reader, data.decode("utf-8", "replace"), notes)
        return
    found, damaged = values(data)
    for value in found:
        if isinstance(value, dict):
            _read(log, reader, value, notes)
        else:
            damaged = True
    if damaged:
        notes.bad_one(line.offset, line.number)


def feed_document(log: Log, reader: Reader, file: BinaryIO, notes: Notes) -> None:
    """A whole document; again whenever it has changed, since it is rewritten."""
    data = file.read(MAX_LINE_BYTES + 1)
    log.source = log.source._replace(offset=0, line=1)
    found = values(data)[0] if len(data) <= MAX_LINE_BYTES else []
    if len(found) != 1 or not isinstance(found[0], dict):
        notes.bad_one(0, 1)
    else:
        log.whole = data.decode("utf-8", "replace")
        _read(log, reader, found[0], notes)
        log.whole = ""
    _count(log, notes)


def feed_store(log: Log, reader: Reader, notes: Notes) -> bool:
    """The rows of a database that are new; whether there are more. Raises UnreadableError."""
    with reading(log.path) as db:
        _read(log, reader, db, notes)
    _count(log, notes)
    return bool(log.state.get("more"))


@contextlib.contextmanager
def reading(path: str) -> Iterator[Connection]:
    """Another program's database, open. What goes wrong with it is an UnreadableError, and not trouble with ours."""
    try:
        db = open_foreign(path)
        try:
            yield db
        finally:
            db.close()
    except DatabaseError as error:
        raise UnreadableError(str(error)) from error


def _read(log: Log, reader: Reader, record: Json | str | Connection, notes: Notes) -> None:
    notes.records += 1
    try:
        reader.read(log, record)
    except ODD:
        notes.bad_one(log.source.offset, log.source.line)


def _count(log: Log, notes: Notes) -> None:
    notes.events += len(log.events)
    notes.skipped += log.skipped
    notes.bad += log.odd
    log.odd = 0
    log.skipped.clear()


def read_log(
    path: str, reader: Reader, clean: Callable[[str], str] = str, notes: Notes | None = None
) -> Iterator[Event]:
    """All events of one log, from its beginning, each once. Raises OSError."""
    log, notes, seen = new_log(reader, path, clean=clean), notes or Notes(), set[tuple[str, str]]()
    for _ in pieces(log, reader, notes):
        for event in log.events:
            if (event.kind, event.id) not in seen:
                seen.add((event.kind, event.id))
                yield event
        log.events.clear()


def pieces(log: Log, reader: Reader, notes: Notes) -> Iterator[None]:
    """A whole log from its beginning, piece by piece; whoever asks takes the events out of it in between."""
    if reader.form == "sqlite":
        more = True
        while more:
            more = feed_store(log, reader, notes)
            yield
        return
    with open_log(log.path) as file:
        if reader.form == "json":
            feed_document(log, reader, file, notes)
            yield
            return
        spot = None
        while spot != (spot := feed_lines(log, reader, file, spot or Spot(), notes)):
            yield
