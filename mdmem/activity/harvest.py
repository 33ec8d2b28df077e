"""The past of the activity logs, on request: a time in, what was found since then out; the latest logs first."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mdmem.activity.feed import Notes, new_log, pieces
from mdmem.activity.log import Log
from mdmem.activity.places import Found
from mdmem.activity.tail import Find, Tail
from mdmem.ledger import stamp


class Progress(NamedTuple):
    """After one more log: how many are done, of how many, which, and how many events were new in it."""

    done: int
    of: int
    path: str
    agent: str
    events: int
    trouble: str | None = None


def harvest(tail: Tail, find: Find, since: datetime.datetime, found: Sequence[Found]) -> Iterator[Progress]:
    """Read what logs tell of the time since, one log a step.

    Stopped at any point and run again, it goes on: each record is used once, here and by the tail together.
    """
    logs = [one for one in found if one.mtime_ns >= since.timestamp() * 1e9]
    first = stamp(since)
    for done, log in enumerate(logs, 1):
        count, trouble = 0, None
        try:
            for new in _one(tail, find, log, first):
                count += new
        except OSError as error:
            trouble = str(error)
        yield Progress(done, len(logs), log.path, log.reader.agent, count, trouble)


def _one(tail: Tail, find: Find, found: Found, first: str) -> Iterator[int]:
    """One log from its beginning; the numbers of new events, piece by piece."""
    log, memo = new_log(found.reader, found.path, clean=tail.clean), dict[str, Any]()
    for _ in pieces(log, found.reader, Notes()):
        yield _use(tail, find, log, memo, first)


def _use(tail: Tail, find: Find, log: Log, memo: dict[str, Any], first: str) -> int:
    since = [event for event in log.events if event.at is None or event.at >= first]
    log.events.clear()
    fresh, keys = tail.fresh(since, used=True)
    wanted = [event for event in fresh if not tail.is_own(event)]
    if fresh:
        tail.ledger.tailed(tail.now(), keys=keys, found=find(wanted, memo) if wanted else ())
        json.dumps(memo)  # what cannot be kept beside a cursor must not work here either
    return len(wanted)
