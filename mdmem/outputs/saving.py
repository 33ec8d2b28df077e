"""The path of another program's settings file and new bytes in, a file safely on disk out.

Written as memories are (`files.write`): by temporary file, fsync and rename, with mode, owner and attributes kept, and
only if the file still holds what was read. A link is written through: people link their dotfiles.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from mdmem.errors import ChangedError, ConfigError, MdmemError, NotFoundError, RefusedError
from mdmem.files import write as files
from mdmem.files.folders import small_file

MAX_BYTES = 32 * 1024 * 1024
MADE = ".made-by-mdmem"


class Backup(NamedTuple):
    """A copy that was made beside a file before it was changed."""

    path: str
    data: bytes


def real_path(path: str, *, within: str | None = None) -> str:
    """The file that a path leads to. RefusedError where that is not below the folder `within`."""
    real = os.path.realpath(path)
    if within is not None and not real.startswith(os.path.realpath(within).rstrip("/") + "/"):
        raise RefusedError("it is a link that leads out of the project", where=path, hint="put a file there instead")
    return real


def read(real: str) -> bytes | None:
    """The bytes of a file, None where there is none. ConfigError for all else that is not a small regular file."""
    try:
        return small_file(real, MAX_BYTES, follow=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(
            f"it cannot be read: {error.strerror or error}", where=real, hint="look at it and its permissions"
        ) from error


def write(real: str, data: bytes, *, expected: bytes | None, private: bool = True, last: bool = False) -> bool:
    """Make a file (`expected` None) or give it new bytes; False where it changed meanwhile: look at it again first.

    With `last` that is an error instead.
    """
    with _named(real):
        try:
            root, rel = _split(real)
            files.write_generated(root, rel, data, expected=expected, private=private and expected is None)
        except ChangedError as error:
            if not last:
                return False
            raise _restless() from error
    return True


def remove(real: str, *, expected: bytes, last: bool = False) -> bool:
    """Remove a file if it still holds `expected`; False where it doesn't."""
    with _named(real):
        try:
            files.remove(*_split(real), expected=expected)
        except ChangedError as error:
            if not last:
                return False
            raise _restless() from error
    return True


def remove_empty_folders(folder: str, top: str, *, below: bool = False) -> None:
    """Remove a folder, and those around it up to `top` (or `below` it), for as long as they are empty."""
    while folder.startswith(top.rstrip("/") + "/") or (folder == top and not below):
        try:
            Path(folder).rmdir()
        except OSError:
            return
        folder = os.path.dirname(folder)


def make_folder(folder: str) -> None:
    """Make an agent's folder where there is none, with a file in it that says who made it."""
    real = os.path.realpath(folder)
    if not os.path.isdir(real):
        write(
            f"{real}/{MADE}",
            b"mdmem connect made this folder; mdmem disconnect removes it if it is empty\n",
            expected=None,
        )


def remove_made(folder: str) -> None:
    """Remove a folder of `make_folder` if nothing else is in it; from one that is in use only the file goes."""
    with contextlib.suppress(OSError):
        os.unlink(f"{folder}/{MADE}")
        Path(folder).rmdir()


def back_up(real: str, data: bytes, now: datetime) -> str:
    """Keep what a file holds beside it, under a dated name that no program reads; that path."""
    with _named(real):
        path = free = f"{real}.mdmem-{now:%Y-%m-%dT%H%M%S}.bak"
        count = 1
        while os.path.lexists(free):
            count += 1
            free = f"{path.removesuffix('.bak')}-{count}.bak"
        files.create(*_split(free), data, private=True)
    return free


def backups(real: str) -> list[Backup]:
    """All that were made of a file, the oldest first."""
    folder, name = os.path.split(real)
    found = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        names = [other for other in os.listdir(folder) if other.startswith(f"{name}.mdmem-") and other.endswith(".bak")]
        for path in (os.path.join(folder, other) for other in sorted(names, key=lambda other: (len(other), other))):
            data = read(path)
            if data is not None:
                found.append(Backup(path, data))
    return found


def _split(real: str) -> tuple[Path, str]:
    """The nearest folder that is there, and the way from it."""
    root = os.path.dirname(real)
    while not os.path.isdir(root):
        root = os.path.dirname(root)
    return Path(root), os.path.relpath(real, root)


@contextlib.contextmanager
def _named(real: str) -> Iterator[None]:
    """Errors name the whole path: below it they know a name in a folder."""
    try:
        yield
    except MdmemError as error:
        error.where = real
        raise
    except OSError as error:
        raise NotFoundError(error.strerror or str(error), where=real) from error


def _restless() -> RefusedError:
    return RefusedError(
        "another program changed it each time it was to be written", hint="close the agent, then run this again"
    )
