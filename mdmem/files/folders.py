"""A scope folder and the parts of a path in, an open folder out: reached part by part, never through a link.

Also the bytes of small files that are ours or git's, read without ever waiting.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

OPEN_ROOT = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK | os.O_CLOEXEC
OPEN_FOLDER = OPEN_ROOT | os.O_NOFOLLOW


class LinkOnTheWayError(OSError):
    """A parent of the path is a symbolic link; `rel` says which."""

    def __init__(self, rel: str) -> None:
        super().__init__(errno.ELOOP, os.strerror(errno.ELOOP), rel)
        self.rel = rel


class RootMissingError(OSError):
    """The scope folder itself is not there: nothing can be said about what it holds."""


@contextlib.contextmanager
def opened(root: Path, parents: Sequence[str]) -> Iterator[int]:
    """The descriptor of the folder `root/parents`, for use as `dir_fd`, closed afterwards.

    Opening part by part leaves no moment in which a folder that was checked can be exchanged for a link. The root
    itself may be reached through links. Raises OSError; `LinkOnTheWayError` and `RootMissingError` are named apart.
    """
    folder = _root(root)
    try:
        for depth, name in enumerate(parents, 1):
            inner = _step(folder, name, "/".join(parents[:depth]))
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _root(root: Path) -> int:
    try:
        return os.open(root, OPEN_ROOT)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RootMissingError(error.errno, error.strerror, os.fspath(root)) from error


def _step(folder: int, name: str, rel: str) -> int:
    try:
        return os.open(name, OPEN_FOLDER, dir_fd=folder)
    except OSError as error:
        # With both flags a link answers ENOTDIR (Linux) or ELOOP (macOS).
        if error.errno in (errno.ENOTDIR, errno.ELOOP) and _is_link(folder, name):
            raise LinkOnTheWayError(rel) from error
        raise


def _is_link(folder: int, name: str) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def small_file(path: str, limit_bytes: int, *, follow: bool = False) -> bytes:
    """The bytes of a regular file of at most `limit_bytes`; a FIFO cannot block it. Raises OSError for all else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > limit_bytes:
            raise OSError(errno.EINVAL, f"not a regular file of at most {limit_bytes // 1024} KiB", path)
        data = b""
        while more := os.read(descriptor, info.st_size + 1):
            data += more
        return data
    finally:
        os.close(descriptor)
