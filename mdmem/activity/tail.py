"""Following the activity logs: what was written to them in, what was found in it out, each record once.

A cursor in the ledger says how far each log was read. It moves on in the same transaction that keeps what was found, so
that a process that dies anywhere neither loses nor repeats. Records are known by the agents' own ids: a log that is
copied, forked, cut or rewritten is read again, and gives only what is new.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from mdmem.activity.events import Event
from mdmem.activity.feed import (
    PIECE_BYTES,
    Notes,
    Trouble,
    feed_document,
    feed_lines,
    feed_store,
    new_log,
    open_log,
    reading,
)
from mdmem.activity.lines import Spot
from mdmem.activity.log import Log, digest
from mdmem.activity.places import Found, Place, find_log, find_logs, places, stat_log
from mdmem.activity.position import at_end, count_lines, goes_on, moved_to, restarted
from mdmem.files import printable
from mdmem.ledger import Cursor, Ledger, stamp

# Events of one log and what was remembered of it so far (JSON, to be changed in place) in, what was found out.
Find = Callable[[list[Event], dict[str, Any]], Sequence[bytes]]

LIST_EVERY_S = 30.0
HOT_NS = 2 * 24 * 3600 * 10**9  # older logs are looked at when folders are listed
PRIMED_BYTES = 16 << 20  # of a log whose past is left out, so much is read to know its session and its records
QUIET_S = 60.0
_PAUSE_PER_LISTING = 500  # ten thousand logs are listed every minute or two
_PAUSE_PER_COST = 50  # a database is read for at most a fiftieth of the time


class Tail:
    """The tail of all logs. Only one thread may call it, the one that writes the ledger."""

    def __init__(
        self,
        ledger: Ledger,
        roots: Mapping[str, Sequence[str]],
        *,
        others: Sequence[Place] = (),
        clean: Callable[[str], str] = str,
        own: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], str] = stamp,
    ) -> None:
        """`roots`: see `config.log_roots`; `others`: logs that the config names, see `named`. `clean` takes out of a
        text what mdmem put into it (`recall.block.without_blocks`). Work done in the folder `own` is mdmem's own, and
        is not learned from.
        """
        self.ledger = ledger
        self.clean = clean
        self.own = own
        self.clock = clock
        self.now = now
        self.others = others
        self.found_in: list[Place] = [*places(roots), *others]
        self._logs: dict[str, Found] = {}
        self._read: dict[str, Found] = {}  # as they were when they were read to their end
        self._hints: set[str] = set()
        self._ending: dict[str, float] = {}  # logs whose last turn has no written end yet -> when they were read
        self._not_before: dict[str, float] = {}
        self._troubles: dict[str, Trouble] = {}
        self._list_at = 0.0
        self._hot_since = 0

    def follow(self, roots: Mapping[str, Sequence[str]]) -> None:
        """Follow the logs in these folders from now on."""
        self.found_in = [*places(roots), *self.others]
        self._list_at = 0.0

    def look(self, path: str) -> None:
        """A hint that something was written to a log."""
        self._hints.add(path)

    def poll(self, find: Find) -> bool:
        """Read a piece of every log that has grown, the latest first; whether there was anything to read."""
        if self.clock() >= self._list_at:
            self.list_logs()
        self._take_hints()
        moved = _latest_first(self._moved())
        busy = False
        for found in moved:
            busy = self._try(found, find) or busy
        self._settle(find)
        return busy

    def take(self, events: list[Event], find: Find) -> None:
        """Events that come from elsewhere than a log: from a hook."""
        fresh, keys = self.fresh(events)
        if fresh:
            self.ledger.tailed(self.now(), keys=keys, found=find(fresh, {}))

    def problems(self) -> list[Trouble]:
        """What could not be read, over all logs."""
        noted = [
            trouble
            for path, agent, notes in self.ledger.noted_logs()
            for trouble in Notes(notes).troubles(printable(os.fsdecode(path)), agent)
        ]
        return [*self._troubles.values(), *noted]

    def logs(self) -> list[Found]:
        """The logs that are there now, the latest first."""
        return _latest_first(find_logs(self.found_in))

    # --- which logs -------------------------------------------------------------------------------------------

    def list_logs(self) -> list[Found]:
        """List the folders; the logs in them, the latest first. What one holds when it is met for the first time is
        past, and is left out.
        """
        began = self.clock()
        self._logs = {}
        for place in self.found_in:
            logs = list(find_logs([place]))
            met = f"tail:{place.reader.agent}:{digest(place.root, place.pattern)}"
            if self.ledger.last(met) is None:
                new = [found for found in logs if self.ledger.cursor(os.fsencode(found.path)) is None]
                self.ledger.start_tails([self._at_end(found) for found in new], self.now())
                self.ledger.note(met, self.now())
            self._logs |= {found.path: found for found in logs}
        self._read = {path: found for path, found in self._read.items() if path in self._logs}
        self._logs |= {path: found for path, found in self._read.items() if self._logs[path] == found}
        self._hot_since = max((found.mtime_ns for found in self._logs.values()), default=0) - HOT_NS
        self._list_at = self.clock() + max(LIST_EVERY_S, _PAUSE_PER_LISTING * (self.clock() - began))
        return _latest_first(self._logs.values())

    def _take_hints(self) -> None:
        hints, self._hints = self._hints, set()
        for path in hints:
            found = find_log(path, self.found_in)
            if found is not None:
                self._logs[found.path] = found

    def _moved(self) -> Iterator[Found]:
        """The logs that are not as they were when they were read. Every second for hundreds of logs: kept cheap."""
        read, hot = self._read, self._hot_since
        for path, listed in list(self._logs.items()):
            as_read = read.get(path)
            if as_read is not None:
                if as_read is listed and listed.mtime_ns < hot:
                    continue
                if listed.reader.form != "sqlite" and _is_as(path, as_read):
                    continue
            found = stat_log(path, listed.reader)
            if found is not None and found != as_read and self.clock() >= self._not_before.get(path, 0.0):
                self._logs[path] = found
                yield found

    def _at_end(self, found: Found) -> Cursor:
        cursor = _new_cursor(found)
        try:
            if found.reader.form == "sqlite":
                cursor = self._store_at_end(found, cursor)
            elif found.reader.form == "json":
                return cursor._replace(line=-1)
            else:
                with open_log(found.path) as file:
                    cursor = at_end(cursor, file)
        except OSError as error:
            self._trouble(found, error)
            return cursor._replace(line=-1)
        self._read[found.path] = found  # there is nothing new in it yet
        return cursor

    def _store_at_end(self, found: Found, cursor: Cursor) -> Cursor:
        log = new_log(found.reader, found.path)
        with reading(found.path) as db:
            if found.reader.to_end:
                found.reader.to_end(log, db)
        return cursor._replace(state=json.dumps(log.state))

    # --- reading ------------------------------------------------------------------------------------------------

    def _try(self, found: Found, find: Find) -> bool:
        """Read a piece of one log. Trouble with it is told, tried again later, and stays its own: even when what is
        looked for in its events fails and ends this poll, the next one begins with other logs.
        """
        later = self._not_before[found.path] = self.clock() + LIST_EVERY_S
        try:
            read = self._store if found.reader.form == "sqlite" else self._file
            more = read(found, find)
        except OSError as error:
            self._trouble(found, error)
            return False
        if self._not_before[found.path] == later:
            del self._not_before[found.path]
        self._troubles.pop(found.path, None)
        if not more:
            self._read[found.path] = found
        return True

    def _trouble(self, found: Found, error: OSError) -> None:
        words = error.strerror or str(error)
        self._troubles[found.path] = Trouble(printable(found.path), found.reader.agent, words, 1)
        self._not_before[found.path] = self.clock() + LIST_EVERY_S

    def _file(self, found: Found, find: Find) -> bool:
        if found.reader.form == "json":
            return self._document(found, find)
        with open_log(found.path) as file:
            cursor, instead_of = self._cursor(found, file, find)
            if cursor.line < 0 and found.size <= cursor.offset:
                return False
            if cursor.line < 0:
                cursor = self._primed(found, file, cursor)
            log = new_log(found.reader, found.path, json.loads(cursor.state), self.clean)
            notes, began = Notes(cursor.notes), self.clock()
            spot = Spot(cursor.offset, cursor.line, cursor.skipping)
            end = feed_lines(log, found.reader, file, spot, notes)
            if end != spot or instead_of is not None:
                self._keep(log, moved_to(cursor, end, file), notes, find, instead_of)
            elif found.size - end.offset > PIECE_BYTES:  # a very long line that grows is not read all the time
                self._pause(found, began)
        if found.reader.settle and "ending" in log.state:
            self._ending[found.path] = self.clock()
        return end.offset < found.size and end != spot

    def _pause(self, found: Found, began: float) -> None:
        self._not_before[found.path] = self.clock() + _PAUSE_PER_COST * (self.clock() - began)

    def _cursor(self, found: Found, file: BinaryIO, find: Find) -> tuple[Cursor, bytes | None]:
        """Where to go on in a log, and the path that it had until now, where it was moved. What was read tells which
        log it is: devices change their numbers, and a copy that was put back has another inode.
        """
        cursor = self.ledger.cursor(os.fsencode(found.path))
        if cursor is None:
            return self._from_elsewhere(found, file)
        if goes_on(cursor, file):
            return cursor._replace(device=found.device, inode=found.inode), None
        if cursor.line < 0 and found.size >= cursor.past:  # rewritten, and nothing in it was ever new
            cursor = at_end(_new_cursor(found), file)
            self.ledger.start_tails([cursor], self.now())
            return cursor, None
        if (cursor.device, cursor.inode) == (found.device, found.inode):
            return restarted(cursor), None
        self._finish(found, cursor, find)
        return _new_cursor(found), None

    def _from_elsewhere(self, found: Found, file: BinaryIO) -> tuple[Cursor, bytes | None]:
        for one in self.ledger.cursors_of(found.device, found.inode):
            if one.agent == found.reader.agent and not os.path.exists(one.path) and goes_on(one, file):
                return one._replace(path=os.fsencode(found.path)), one.path
        return _new_cursor(found), None

    def _finish(self, found: Found, cursor: Cursor, find: Find) -> None:
        """Another file stands in the place of a log: the rest of the old one is read first, where it lies beside it."""
        folder = os.path.dirname(found.path)
        with os.scandir(folder) as entries:
            beside = [one.path for one in entries if one.is_file() and one.inode() & (2**63 - 1) == cursor.inode]
        for path in beside:
            with open_log(path) as file:
                if not goes_on(cursor, file):
                    continue
                cursor = self._primed(found, file, cursor) if cursor.line < 0 else cursor
                spot, end = None, Spot(cursor.offset, cursor.line, cursor.skipping)
                while spot != end:
                    spot = end
                    log = new_log(found.reader, found.path, json.loads(cursor.state), self.clean)
                    notes = Notes(cursor.notes)
                    end = feed_lines(log, found.reader, file, spot, notes)
                    cursor = self._keep(log, moved_to(cursor, end, file), notes, find)

    def _primed(self, found: Found, file: BinaryIO, cursor: Cursor) -> Cursor:
        """The past of a log, read to know its session and which records are past; nothing is found in it."""
        log, spot, known_to = new_log(found.reader, found.path, clean=self.clean), Spot(), None
        while spot.offset < min(cursor.offset, PRIMED_BYTES) and spot != known_to:
            known_to = spot
            spot = feed_lines(log, found.reader, file, spot, Notes(), end=cursor.offset)
        _, keys = self.fresh(log.events)
        if spot.offset == cursor.offset:
            cursor = cursor._replace(past=0)  # what is past is known by its ids
        else:
            log.state.pop("calls", None)
        log.state.pop("ending", None)
        cursor = cursor._replace(line=count_lines(file, cursor.offset), state=json.dumps(log.state))
        self.ledger.tailed(self.now(), cursor=cursor, keys=keys, used=False)
        return cursor

    def _document(self, found: Found, find: Find) -> bool:
        cursor = self.ledger.cursor(os.fsencode(found.path)) or _new_cursor(found)
        log, notes = new_log(found.reader, found.path, clean=self.clean), Notes()
        with open_log(found.path) as file:
            feed_document(log, found.reader, file, notes)
        if cursor.line < 0:  # the first contact: what it holds is past
            _, keys = self.fresh(log.events)
            cursor = cursor._replace(line=0, notes=notes.to_json())
            self.ledger.tailed(self.now(), cursor=cursor, keys=keys, used=False)
        else:
            log.state.clear()
            self._keep(log, cursor, notes, find)
        return False

    def _store(self, found: Found, find: Find) -> bool:
        cursor = self.ledger.cursor(os.fsencode(found.path)) or _new_cursor(found)
        if cursor.line < 0:  # it could not be read at the first contact
            self.ledger.tailed(self.now(), cursor=self._store_at_end(found, cursor._replace(line=0)))
            return True
        log = new_log(found.reader, found.path, json.loads(cursor.state), self.clean)
        notes, began = Notes(cursor.notes), self.clock()
        more = feed_store(log, found.reader, notes)
        if log.events or json.dumps(log.state) != cursor.state:
            self._keep(log, cursor, notes, find)
        if not more:
            self._pause(found, began)
        return more

    def _keep(self, log: Log, cursor: Cursor, notes: Notes, find: Find, instead_of: bytes | None = None) -> Cursor:
        """What was read is used: all of it in one transaction, or none."""
        fresh, keys = self.fresh(log.events)
        wanted = [event for event in fresh if not _is_past(event, cursor) and not self.is_own(event)]
        memo = json.loads(cursor.memo)
        found = find(wanted, memo) if wanted else ()
        cursor = cursor._replace(state=json.dumps(log.state), memo=json.dumps(memo), notes=notes.to_json())
        self.ledger.tailed(self.now(), cursor=cursor, instead_of=instead_of, keys=keys, found=found)
        return cursor

    def is_own(self, event: Event) -> bool:
        return self.own is not None and f"{event.cwd or ''}/".startswith(f"{self.own.rstrip('/')}/")

    def fresh(self, events: Iterable[Event], *, used: bool = False) -> tuple[list[Event], list[int]]:
        """The events that were not seen before (or, `used`, only passed over), each once, and the keys under which that
        is remembered.
        """
        by_key: dict[int, Event] = {}
        for event in events:
            by_key.setdefault(_key(event), event)
        seen = self.ledger.seen_records(list(by_key), used=used)
        fresh = {key: event for key, event in by_key.items() if key not in seen}
        return list(fresh.values()), list(fresh)

    def _settle(self, find: Find) -> None:
        """A log that has been quiet for a while: its last turn has ended, though that was not written."""
        for path, since in list(self._ending.items()):
            found = self._logs.get(path)
            if found is not None and self.clock() - since < QUIET_S:
                continue
            del self._ending[path]
            cursor = self.ledger.cursor(os.fsencode(path))
            if found is not None and cursor is not None and found.reader.settle:
                log = new_log(found.reader, path, json.loads(cursor.state), self.clean)
                found.reader.settle(log)
                self._keep(log, cursor, Notes(cursor.notes), find)


def _is_as(path: str, found: Found) -> bool:
    try:
        now = os.stat(path)
    except OSError:
        return True
    return (now.st_mtime_ns, now.st_size) == (found.mtime_ns, found.size) and now.st_ino & (2**63 - 1) == found.inode


def _new_cursor(found: Found) -> Cursor:
    empty = hashlib.blake2b(b"", digest_size=16).digest()
    return Cursor(os.fsencode(found.path), found.reader.agent, found.device, found.inode, head=empty, last=empty)


def _is_past(event: Event, cursor: Cursor) -> bool:
    """A log that was cut is read again, and what was past at the first contact still is."""
    return event.source.offset is not None and event.source.offset < cursor.past


def _key(event: Event) -> int:
    """A record in eight bytes, as the ledger keeps it."""
    name = f"{event.agent}\0{event.kind}\0{event.id}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big", signed=True)


def _latest_first(logs: Iterable[Found]) -> list[Found]:
    return sorted(logs, key=lambda found: -found.mtime_ns)
