"""A folder, or some paths in it, in; every file that can be a memory out, with the problems met on the way.

Nothing here follows a link below the root, opens a file, or raises for what a folder holds.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from mdmem.errors import Problem
from mdmem.files import ignore
from mdmem.files.names import folded, parts_of
from mdmem.files.problems import MAX_FILE_BYTES, problem

# Problems between two files: only `scan` sees both, so only a scan may add or clear these.
WHOLE_SCAN_CODES = frozenset({"same-name", "possible-copy", "too-many"})

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAC = sys.platform == "darwin"
_SF_DATALESS = 0x40000000  # macOS: the name is here, the bytes are online; reading would download and block
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


class Found(NamedTuple):
    """A file that can be a memory, as `lstat` saw it; `rel` is POSIX, as the file system knows it (`os.fsdecode`)."""

    rel: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int


class Scan(NamedTuple):
    """What was found, sorted by `rel`.

    `state`: "ok", "missing" (no such folder now: offline, nothing was removed) or "unreadable". `folders`: how many
    were walked, the root included. `unreadable`: rels of files and folders ("" is the root) that could not be looked
    at; whatever is known of them and of all below them stays known. A scan that stopped early has "" in it.
    """

    state: str
    found: list[Found]
    folders: int
    problems: list[Problem]
    unreadable: frozenset[str]


def scan(
    root: Path,
    *,
    max_files: int = 200_000,
    max_depth: int = 64,
    should_stop: Callable[[], bool] | None = None,
    rules: ignore.Rules | None = None,
) -> Scan:
    """Walk a scope folder.

    `max_files` bounds the names looked at (files of any kind and folders), so that a folder of millions costs no more
    than one of that many; `should_stop` is asked once per folder. `rules` default to the folder's `.mdmemignore`.
    """
    walk = _Walk(root, ignore.load_rules(root) if rules is None else rules, max_files, max_depth)
    if not walk.open_root():
        return walk.result()
    walk.below("", should_stop)
    walk.compare_names()
    return walk.result()


def look(root: Path, rels: Iterable[str], *, rules: ignore.Rules | None = None) -> Scan:
    """Judge just these paths as `scan` would; a folder among them is walked.

    A path that is gone, or that `scan` would pass over, is simply absent. Problems of `WHOLE_SCAN_CODES` are not
    looked for. `folders` counts the folders walked.
    """
    walk = _Walk(root, ignore.load_rules(root) if rules is None else rules, 200_000, 64)
    if not walk.open_root():
        return walk.result()
    chains: dict[str, bool] = {"": True}
    for rel in dict.fromkeys(rels):
        if not rel:
            walk.below("", None)
        elif (parts := parts_of(rel)) and _walkable_parents(walk, parts, chains):
            _look_at(walk, rel, parts)
    return walk.result()


def found_of(rel: str, info: os.stat_result) -> Found:
    """What `info` says of the file `rel`."""
    return Found(rel, info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_dev)


def kind_of(mode: int) -> str:
    """What a mode says something is that is neither a regular file nor a link, in words."""
    return _KINDS.get(stat.S_IFMT(mode), "something special")


class _Walk:
    """One walk's findings. `root` stays a string: undecodable names and speed both want it."""

    def __init__(self, root: Path, rules: ignore.Rules, max_names: int, max_depth: int) -> None:
        self.root = os.fspath(root)
        self.rules = rules
        self.ruled = rules.spec is not None
        self.names_left = max_names
        self.max_names = max_names
        self.max_depth = max_depth
        self.state = "ok"
        self.folders = 0
        self.found: dict[str, Found] = {}
        self.problems: dict[tuple[str, str], Problem] = {}
        self.stubs: list[str] = []
        self.unreadable: set[str] = set()

    def open_root(self) -> bool:
        """Whether the root can be walked at all; sets `state`. The root itself may be reached through links."""
        try:
            os.close(os.open(self.root, _OPEN_FOLDER & ~os.O_NOFOLLOW))
        except OSError as error:
            self.state = "missing" if error.errno in _GONE else "unreadable"
            self.cannot_read("", error)
            return False
        for found in self.rules.problems:
            self.problems[found.path, f"{found.code}:{found.line}"] = found
        if self.rules.broken:
            # What the person wanted left out is unknown, so nothing new may come in and nothing known may go.
            self.state = "unreadable"
            self.unreadable.add("")
        return not self.rules.broken

    def add(self, code: str, rel: str, about: object = "") -> None:
        self.problems[rel, code] = problem(code, rel, about=about)

    def cannot_read(self, rel: str, error: OSError) -> None:
        self.unreadable.add(rel)
        if self.state != "missing":
            self.add("unreadable", rel, error.strerror or str(error))

    def below(self, top: str, should_stop: Callable[[], bool] | None) -> None:
        """Walk a folder and all below it, deepest last seen first; no recursion, one open folder at a time."""
        waiting = [top]
        while waiting:
            if should_stop is not None and should_stop():
                self.unreadable.add("")  # not all was seen: nothing may count as removed
                break
            rel = waiting.pop()
            if rel.count("/") >= self.max_depth:
                self.add("too-deep", rel)
            else:
                waiting += self.folder(rel)
            if self.names_left < 0:
                self.unreadable.add("")
                self.add("too-many", "", self.max_names)
                break

    def folder(self, rel: str) -> list[str]:
        """Look at one folder's entries; gives the folders in it."""
        path = f"{self.root}/{rel}" if rel else self.root
        prefix = f"{rel}/" if rel else ""
        try:
            descriptor = os.open(path, _OPEN_FOLDER if rel else _OPEN_FOLDER & ~os.O_NOFOLLOW)
        except OSError as error:
            self.no_folder(rel, error)
            return []
        try:
            with os.scandir(descriptor) as entries:
                inner = self.entries(prefix, entries)
        except OSError as error:
            self.cannot_read(rel, error)
            return []
        finally:
            os.close(descriptor)
        self.folders += 1
        return inner

    def no_folder(self, rel: str, error: OSError) -> None:
        if error.errno == errno.ENAMETOOLONG:
            self.add("too-deep", rel)
        elif error.errno not in _GONE or not rel:
            self.cannot_read(rel, error)

    def entries(self, prefix: str, entries: Iterable[os.DirEntry[str]]) -> list[str]:
        inner: list[str] = []
        for entry in entries:
            self.names_left -= 1
            if self.names_left < 0:
                break
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if not ignore.skip_folder(name) and not (self.ruled and self.rules.skips(prefix + name, True)):
                    inner.append(prefix + name)
            elif ignore.is_memory_name(name):
                try:
                    info = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # gone between the listing and the look
                self.judge(prefix + name, info)
            else:
                self.oddity(prefix, name, entry.is_symlink())
        return inner

    def judge(self, rel: str, info: os.stat_result) -> None:
        """What a file with a memory's name is: a memory, or trouble."""
        if self.ruled and self.rules.skips(rel, False):
            return
        mode = info.st_mode
        if stat.S_ISREG(mode) and info.st_size <= MAX_FILE_BYTES and not (_MAC and _is_online_only(info)):
            self.found[rel] = found_of(rel, info)
        elif stat.S_ISLNK(mode):
            self.add("symlink", rel)
        elif not stat.S_ISREG(mode):
            self.add("not-a-file", rel, kind_of(mode))
        elif info.st_size > MAX_FILE_BYTES:
            self.add("too-large", rel, MAX_FILE_BYTES)
        else:
            self.stubs.append(rel)

    def oddity(self, prefix: str, name: str, is_link: bool) -> None:
        """A name that is no memory's, but that a person should hear of: a link, a conflict copy, an online stub."""
        code, rel = _odd(name, is_link)
        if code and not (self.ruled and self.rules.skips(prefix + rel, False)):
            if code == "not-on-this-disk":
                self.stubs.append(prefix + rel)
            else:
                self.add(code, prefix + rel)

    def compare_names(self) -> None:
        """Report pairs of files that only one of could exist on another disk, or that look like a copy."""
        seen: dict[str, str] = {}
        for rel in sorted(self.found):
            other = seen.setdefault(folded(rel), rel)
            if other is not rel:
                self.add("same-name", rel, other)
            if rel[-5:-4] == " ":
                folder, slash, name = rel.rpartition("/")
                original = ignore.original_of(name)
                if original is not None and folder + slash + original in self.found:
                    self.add("possible-copy", rel, folder + slash + original)

    def result(self) -> Scan:
        for rel in self.stubs:
            if rel not in self.found:
                self.unreadable.add(rel)
                self.add("not-on-this-disk", rel)
        found = [self.found[rel] for rel in sorted(self.found)]
        problems = sorted(self.problems.values(), key=lambda p: (p.path, p.line or 0, p.code))
        return Scan(self.state, found, self.folders, problems, frozenset(self.unreadable))


def _is_online_only(info: os.stat_result) -> bool:
    return bool(getattr(info, "st_flags", 0) & _SF_DATALESS)


def _odd(name: str, is_link: bool) -> tuple[str, str]:
    """A problem's code ("" for none) and the name it is about."""
    if name[0] == ".":
        stub = None if is_link else ignore.stub_of(name)
        return ("not-on-this-disk", stub) if stub else ("", name)
    if is_link:
        passed_over = name.lower() in ignore.RESERVED or name[-1] in "~#" or ignore.skip_folder(name)
        return ("" if passed_over else "symlink", name)
    return ("conflict-copy" if ignore.is_conflict_copy(name) else "", name)


def _walkable_parents(walk: _Walk, parts: list[str], chains: dict[str, bool]) -> bool:
    """Whether `scan` would come to the folder of this path; each folder is looked at once."""
    if len(parts) > walk.max_depth + 1:
        walk.add("too-deep", "/".join(parts[: walk.max_depth + 1]))
        return False
    for depth in range(1, len(parts)):
        rel = "/".join(parts[:depth])
        if rel not in chains:
            chains[rel] = _walkable(walk, rel, parts[depth - 1])
        if not chains[rel]:
            return False
    return True


def _walkable(walk: _Walk, rel: str, name: str) -> bool:
    if ignore.skip_folder(name) or walk.rules.skips(rel, True):
        return False
    info = _lstat(walk, rel)
    if info is not None and stat.S_ISLNK(info.st_mode):
        walk.add("symlink", rel)
    return info is not None and stat.S_ISDIR(info.st_mode)


def _lstat(walk: _Walk, rel: str) -> os.stat_result | None:
    try:
        return os.lstat(f"{walk.root}/{rel}")
    except OSError as error:
        if error.errno == errno.EACCES:
            walk.cannot_read(rel.rpartition("/")[0], error)  # it is the folder that forbids a look at what it holds
        elif error.errno not in (*_GONE, errno.ENAMETOOLONG):
            walk.cannot_read(rel, error)
        return None


def _look_at(walk: _Walk, rel: str, parts: list[str]) -> None:
    name = parts[-1]
    info = _lstat(walk, rel)
    if info is None:
        _look_for_stub(walk, rel, parts)
    elif stat.S_ISDIR(info.st_mode):
        if not ignore.skip_folder(name) and not walk.rules.skips(rel, True):
            walk.below(rel, None)
    elif ignore.is_memory_name(name):
        walk.judge(rel, info)
    else:
        walk.oddity(rel[: len(rel) - len(name)], name, stat.S_ISLNK(info.st_mode))


def _look_for_stub(walk: _Walk, rel: str, parts: list[str]) -> None:
    """A sync program that takes a file off this disk leaves `.x.md.icloud`: the memory is not gone."""
    prefix, name = rel[: len(rel) - len(parts[-1])], parts[-1]
    if ignore.is_memory_name(name):
        info = _lstat(walk, f"{prefix}.{name}.icloud")
        if info is not None:
            walk.oddity(prefix, f".{name}.icloud", stat.S_ISLNK(info.st_mode))
