"""One file that may have changed in, what it says now out. Reads the file; touches no database."""

from __future__ import annotations

import datetime
import functools
import hashlib
import os
import time
from collections.abc import Mapping
from typing import NamedTuple

from mdmem import document
from mdmem.errors import Problem
from mdmem.files import Found, Read, Reader, printable
from mdmem.gates import secret_problems
from mdmem.index import Row, Stat, make_row
from mdmem.index.read import LAST_TEXT, Known
from mdmem.scope import Scope


class Gone(NamedTuple):
    """Not there any more, or empty: not a memory."""


class Same(NamedTuple):
    """Same bytes as the index has; only the stat moved."""

    stat: Stat


class Unclear(NamedTuple):
    """It was a memory and now reads empty or broken: an editor may be half way. To be read once more."""


class Unreadable(NamedTuple):
    """It can't be looked into now; what is known of it stays."""

    problem: Problem


class Broken(NamedTuple):
    """It can't be read as a memory; the last good state stays, marked."""

    stat: Stat
    sha256: bytes
    problems: list[Problem]


class Held(NamedTuple):
    """It holds a secret: it stays out of the index, all of it, until that is gone from the file."""

    problems: list[Problem]


class Readable(NamedTuple):
    """A memory, with whatever is odd about its file."""

    row: Row
    problems: list[Problem]


Finding = Gone | Same | Unclear | Unreadable | Broken | Held | Readable


def look_into(
    scope: Scope, reader: Reader, file: Found, known: Known | None, *, second_look: bool, aliases: Mapping[str, str]
) -> Finding:
    """Read a file and say what it holds. Never raises for what stands in it."""
    looked_ns = time.time_ns()
    read = reader.read(file.rel)
    if read is None:
        return Gone()
    if isinstance(read, Problem):
        return Unreadable(read)
    stat = _stat(read, looked_ns)
    sha256 = hashlib.sha256(read.data).digest()
    if known is not None and sha256 == known.sha256:
        return Same(stat)
    return _parse(scope, file, read, stat, sha256, known, second_look=second_look, aliases=aliases)


def _parse(
    scope: Scope,
    file: Found,
    read: Read,
    stat: Stat,
    sha256: bytes,
    known: Known | None,
    *,
    second_look: bool,
    aliases: Mapping[str, str],
) -> Finding:
    path = printable(file.rel)
    secrets = secret_problems(read.data, path)
    if secrets:
        return Held(secrets)  # and no other problem: their messages quote the file
    parsed = document.parse(read.data, path)
    was_good = known is not None and not known.broken
    if not second_look and ((parsed.empty and known is not None) or (parsed.broken and was_good)):
        return Unclear()
    if parsed.empty:
        return Gone()
    if parsed.broken and known is not None and known.broken != LAST_TEXT:
        return Broken(stat, sha256, parsed.problems)
    memory, problems = document.memory_of(parsed, path=path, scope=scope.kind)
    time_found = rfc3339(read.found.mtime_ns)
    row = make_row(
        memory,
        path=path,
        path_raw=None if path == file.rel else os.fsencode(file.rel),
        stat=stat,
        sha256=sha256,
        found=(time_found, time_found),
        aliases=aliases,
        broken=parsed.broken,
    )
    return Readable(row, [*parsed.problems, *problems])


def _stat(read: Read, looked_ns: int) -> Stat:
    f = read.found
    return Stat(f.size, f.mtime_ns, f.ctime_ns, f.device, f.inode, looked_ns)


@functools.lru_cache(1024)  # files come in batches of one second
def _second(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339(time_ns: int) -> str:
    """A time of the wall clock, in ns, as RFC 3339 UTC in whole seconds; kept within the years 1970 to 9999."""
    return _second(min(max(time_ns // 1_000_000_000, 0), 253_402_300_799))
