"""A scope folder and a memory's path in; its bytes, a free name, or what is said of it once it is written, out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from mdmem import files
from mdmem.document import memory_of, parse
from mdmem.errors import MachineError, NotFoundError, Problem, RefusedError, UsageError
from mdmem.files import write
from mdmem.memory import Memory
from mdmem.scope import PROJECT_FOLDER, Scope

# What a memory is to be, or was: raises RefusedError where whoever asks may not write it.
Guard = Callable[[Memory], None]


class Written(NamedTuple):
    """One memory file that is safely on disk.

    All are printable text, as the index has them: `folder` absolute, `rel` inside it (POSIX), `path` the two joined.
    """

    folder: str
    rel: str
    key: str
    path: str


def written(folder: str, rel: str, data: bytes) -> Written:
    """What is to be said of a file that holds `data` now."""
    shown, folder = files.printable(rel), files.printable(folder)
    memory, _ = memory_of(parse(data, shown), path=shown, scope="user")
    return Written(folder, shown, memory.key, f"{folder}/{shown}")


def anything(memory: Memory) -> None:
    """The guard that lets everything be written."""


def check(guard: Guard, rel: str, *states: bytes) -> None:
    """Ask a guard about what a file holds, or is to hold."""
    shown = files.printable(rel)
    for data in states:
        guard(memory_of(parse(data, shown), path=shown, scope="user")[0])


def real(folder: str, rel: str) -> tuple[Path, str]:
    """Folder and path of a memory as the file system has them, from the form that people and the index have.

    Raises RefusedError for a path that leaves the folder, and for a file that is never a memory.
    """
    root, raw = Path(files.from_printable(folder)), files.from_printable(rel)
    write.inside(root, raw)
    if not files.is_memory_name(raw.rpartition("/")[2]):
        raise RefusedError("this file is not a memory", where=rel, hint="edit it by hand")
    return root, raw


def read(root: Path, rel: str) -> bytes:
    """The bytes of a memory file. NotFoundError where there is none, RefusedError or MachineError if unreadable."""
    found = files.read(root, rel)
    if found is None or (isinstance(found, Problem) and not root.is_dir()):
        raise NotFoundError("there is no such memory", where=files.printable(rel), hint="see: mdmem list")
    if not isinstance(found, Problem):
        return found.data
    kind = MachineError if found.code == "unreadable" else RefusedError
    raise kind(found.message, where=found.path, hint=found.hint)


def refuse_mount(scope: Scope) -> None:
    """Raise RefusedError for a folder of someone else's: mounts are read, never written."""
    if scope.mount:
        raise RefusedError(
            "this folder is a read-only mount",
            where=files.printable(scope.folder),
            hint="change the file with the program that it belongs to",
        )


def prepare(scope: Scope) -> Path:
    """The folder of a scope that may be written to; the first memory of a user or an agent makes it.

    A project's is made by `init` alone. Raises RefusedError for mounts, and for a repository's link to elsewhere.
    """
    refuse_mount(scope)
    root = Path(scope.folder)
    if scope.private and not os.path.lexists(root):
        files.private_folder(root)
    if scope.kind == "project" and root.name == PROJECT_FOLDER and root.is_symlink():
        raise linked(root)
    return root


def linked(root: Path) -> RefusedError:
    return RefusedError(
        "the project's scope folder is a symbolic link",
        where=files.printable(str(root)),
        hint="replace it by a real folder, or add the folder it leads to as a mount in the config",
    )


def create_free(root: Path, rel: str, make: Callable[[str], bytes], *, private: bool) -> tuple[str, bytes]:
    """Write a new memory at `rel`, or at the first of `-2`, `-3` … that is free; the path and the bytes.

    `make` gives the bytes for a path. Two writers at once get two names: a name is taken by making the file.
    """
    taken = _names(root, rel.rpartition("/")[0])
    names = _numbered(rel)
    while True:
        name = next(names)
        if files.folded(name.rpartition("/")[2]) in taken:
            continue
        check_seen(root, name)
        data = make(name)
        try:
            write.create(root, name, data, private=private)
        except RefusedError:
            if not os.path.lexists(root / name):
                raise
            continue  # somebody was faster
        return name, data


def check_seen(root: Path, rel: str) -> None:
    """Raise UsageError for a name that no scan takes for a memory: what is saved there would never be found."""
    *parents, name = rel.split("/")
    shown = files.printable(rel)
    if not files.is_memory_name(name):
        raise UsageError("a memory can't have this file name", where=shown, hint="choose another name, ending in .md")
    if any(files.skip_folder(parent) for parent in parents):
        raise UsageError("no memories are read from this folder", where=shown, hint="choose another folder")
    rules = files.load_rules(root)
    paths = ["/".join(parents[:depth]) for depth in range(1, len(parents) + 1)]
    if rules.skips(rel, is_folder=False) or any(rules.skips(path, is_folder=True) for path in paths):
        raise UsageError(".mdmemignore names this file", where=shown, hint="choose another name, or change that file")


def _numbered(rel: str) -> Iterator[str]:
    stem, count = rel[: -len(".md")], 1
    while True:
        yield rel if count == 1 else f"{stem}-{count}.md"
        count += 1


def _names(root: Path, inner: str) -> set[str]:
    """The names in a folder, folded: what differs in case alone is one file on many disks."""
    try:
        return {files.folded(name) for name in os.listdir(root / inner)}
    except OSError:
        return set()  # not there yet, or not readable: making the file will tell
