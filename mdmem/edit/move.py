"""A memory in one scope in; the same bytes in another scope out."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

from mdmem import files
from mdmem.edit.place import Guard, Written, anything, check, create_free, prepare, read, real, refuse_mount, written
from mdmem.errors import MachineError, MdmemError, UsageError
from mdmem.files import write
from mdmem.gates import refuse_held
from mdmem.scope import Scope


def move(source: Scope, rel: str, target: Scope, *, today: date, guard: Guard = anything) -> Written:
    """Move a memory file to another scope folder, under the same path or, where that is taken, a numbered one.

    The new file is safely on disk before the old one goes; where the old one can't go (it changed meanwhile, the disk
    is read-only), the new one is taken back and the error raised. The bytes stay as they are: `today` is written
    nowhere. A key that follows from the path changes with it; a claimed `key` is for the caller to check.
    """
    refuse_mount(source)
    refuse_mount(target)
    root, raw = real(files.printable(source.folder), rel)
    if os.path.realpath(source.folder) == os.path.realpath(target.folder):
        raise UsageError(f"this memory is in the scope {target.label} already", where=files.printable(rel))
    data = read(root, raw)
    check(guard, rel, data)
    refuse_held(data, rel)  # from one's own folder it might go into a repository
    goal = prepare(target)
    placed = raw[:-3] + ".md"
    new, _ = create_free(goal, placed, lambda _: data, private=target.private)
    _leave(root, raw, data, goal, new)
    return written(target.folder, new, data)


def _leave(root: Path, rel: str, data: bytes, goal: Path, new: str) -> None:
    try:
        write.remove(root, rel, expected=data)
    except MdmemError as error:
        try:
            write.remove(goal, new, expected=data)
        except MdmemError as second:
            raise MachineError(
                f"the memory was copied, and now stands in both places: {error.what}",
                where=files.printable(str(goal / new)),
                hint="remove one of the two",
            ) from second
        raise
