"""A path in a scope folder in, its bytes and the stat that goes with them out."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import NamedTuple

from mdmem.errors import Problem
from mdmem.files.folders import LinkOnTheWayError, opened
from mdmem.files.names import parts_of
from mdmem.files.problems import MAX_FILE_BYTES, problem
from mdmem.files.scan import Found, found_of, kind_of

# Non-blocking: opening a FIFO must not wait for a writer (it would for ever).
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TRIES = 4


class Read(NamedTuple):
    """The whole of one file; `found` was taken from the open file before reading, and still held after it.

    Clocks of file systems tick in milliseconds, and a second write inside one tick leaves the same stamps: look once
    more at a file whose `mtime_ns` is very fresh.
    """

    data: bytes
    found: Found


def read(root: Path, rel: str, *, max_bytes: int = MAX_FILE_BYTES) -> Read | Problem | None:
    """Read one file of a scope folder, following no link below the root and waiting for nothing.

    None: it is gone. A Problem: it is there but cannot be read (link, not a regular file, too large, no permission,
    disk error, still being written), or the whole folder is not there. Raises nothing for what the disk holds.
    """
    with Reader(root) as reader:
        return reader.read(rel, max_bytes=max_bytes)


class Reader:
    """Reads many files of a scope folder as `read` does, at half the cost for neighbours: the last folder stays open.

    For one batch, not for long: a folder that was replaced meanwhile goes on being read as it was.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._stack = contextlib.ExitStack()
        self._parents: list[str] | None = None
        self._folder = -1

    def read(self, rel: str, *, max_bytes: int = MAX_FILE_BYTES) -> Read | Problem | None:
        parts = parts_of(rel)
        if parts is None:
            return problem("outside", rel)
        try:
            return read_at(self._opened(parts[:-1]), parts[-1], rel, max_bytes=max_bytes)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except LinkOnTheWayError as error:
            return problem("symlink", error.rel)
        except OSError as error:
            return _trouble(rel, error)

    def _opened(self, parents: list[str]) -> int:
        if parents != self._parents:
            self.close()
            self._folder = self._stack.enter_context(opened(self.root, parents))
            self._parents = parents
        return self._folder

    def close(self) -> None:
        self._parents = None
        self._stack.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_at(folder: int, name: str, rel: str, *, max_bytes: int) -> Read | Problem:
    """`read` for a file of an open folder. Raises OSError."""
    descriptor = os.open(name, _OPEN_FILE, dir_fd=folder)
    try:
        for _ in range(_TRIES):
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                return problem("not-a-file", rel, about=kind_of(before.st_mode))
            if before.st_size > max_bytes:
                return problem("too-large", rel, about=max_bytes)
            data = _all_of(descriptor, before.st_size)
            after = os.fstat(descriptor)
            if len(data) == before.st_size and _stamp(before) == _stamp(after):
                return Read(data, found_of(rel, before))
        return problem("changing", rel)
    finally:
        os.close(descriptor)


def _all_of(descriptor: int, size: int) -> bytes:
    """What is in the file, up to one byte more than `size`: more than that means that it has grown."""
    data = os.pread(descriptor, size + 1, 0)
    while len(data) < size:  # a short read is rare on a disk, common on network file systems
        more = os.pread(descriptor, size + 1 - len(data), len(data))
        if not more:
            break
        data += more
    return data


def _stamp(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _trouble(rel: str, error: OSError) -> Problem | None:
    if error.errno == errno.ELOOP:
        return problem("symlink", rel)
    if error.errno in (errno.ENXIO, errno.EOPNOTSUPP, errno.ENODEV):
        return problem("not-a-file", rel, about="a socket or device")
    if error.errno == errno.ENAMETOOLONG:
        return None  # no such file can exist
    return problem("unreadable", rel, about=error.strerror or str(error))
