"""Who a memory belongs to: scopes, and the projects known and trusted here (scopes.toml in, scopes.toml out)."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mdmem.errors import ConfigError, LockError, MachineError, UsageError

PROJECT_FOLDER = ".mdmem"
MAX_PATH_BYTES = 4_096  # no system takes a longer one, and each part of it would be looked at
_ALONE_S = 5.0
KINDS = ("user", "project", "agent")


class Scope(NamedTuple):
    """One scope folder: whose it is, where it lies, and whether mdmem may write there.

    `ref` is None for the user scope. `folder` is absolute. Linked worktrees of one repository share `kind` and `ref`
    but not `folder`. `mount` marks a folder of someone else's: read-only by the config.
    """

    kind: str
    ref: str | None
    folder: str
    mount: bool = False

    @property
    def label(self) -> str:
        return f"{self.kind}:{self.ref}" if self.ref else self.kind

    @property
    def private(self) -> bool:
        """Files are 0600: user and agent scopes. A project keeps its repository's modes."""
        return self.kind != "project"


class Project(NamedTuple):
    """One known project. `repository` is the id of its first commit ('' where there is none); `inode` and `born` are
    those of its `.git`, or of `root` where there is none (see `files.birth`): together they tell whether something else
    lies at the same place now.
    """

    ref: str
    root: str
    trusted: bool
    repository: str = ""
    inode: int = 0
    born: int = 0


def check_ref(text: str, what: str = "agent id") -> str:
    """An id that is safe as one folder name, as it is; else UsageError."""
    if not re.fullmatch(r"[\w][\w.@+-]{0,63}", text) or text in (".", ".."):
        raise UsageError(
            f"{text!r} is not an {what}",
            hint="letters, digits, and . _ - + @ inside, at most 64, starting with a letter or digit",
        )
    return text


def can_be_path(text: str) -> bool:
    """Whether the system could have a file of that name: JSON can write what no path can hold."""
    try:
        return "\0" not in text and len(os.fsencode(text)) < MAX_PATH_BYTES
    except UnicodeEncodeError:
        return False


def project_root(cwd: str) -> str | None:
    """The root of the project that a working directory lies in: the nearest folder up with `.mdmem` or `.git`.

    One rule for reader, writer, hook, command line and MCP alike. Links in `cwd` are resolved first. None when no
    folder up to the root is one, or `cwd` is gone.
    """
    here = os.path.realpath(cwd)
    while True:
        if os.path.isdir(f"{here}/{PROJECT_FOLDER}") or os.path.exists(f"{here}/.git"):
            return here
        parent = os.path.dirname(here)
        if parent == here:
            return None
        here = parent


@contextlib.contextmanager
def alone(folder: str) -> Iterator[None]:
    """Hold the lock of a folder of ours, made if need be, while a file in it is read, changed and written back.

    Of two commands at once one would undo what the other has just said to be done. Raises LockError, MachineError.
    """
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise MachineError(f"cannot be written: {error.strerror}", where=folder) from error
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: str) -> None:
    give_up = time.monotonic() + _ALONE_S
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up:
                raise LockError("another command keeps this folder locked", where=folder) from None
            time.sleep(0.005)
        except OSError:
            return  # a network disk that knows no locks on folders


_NEVER = (-1, -1)  # the stamp of no file


class Projects:
    """The projects of scopes.toml, in file order; every change is written back at once, comments kept.

    `trouble`: the file can't be read as it is now, and what it last said holds.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.trouble: ConfigError | None = None
        self._stamp: tuple[int, int] | None = _NEVER
        self._projects: list[Project] = []

    def all(self) -> list[Project]:
        """Every known project, read again when the file has changed. Raises ConfigError where it never was readable."""
        try:
            self._read_again()
        except ConfigError as error:
            if self._stamp is _NEVER:
                raise
            self.trouble = error
        return list(self._projects)

    def _read_again(self) -> None:
        stamp = self._stat()
        if stamp != self._stamp or self.trouble:
            self._projects = _parse(self._text(), self.path)
            self._stamp, self.trouble = stamp, None

    def find(self, root: str) -> Project | None:
        return next((p for p in self.all() if p.root == root), None)

    def put(self, root: str, *, trusted: bool, repository: str, inode: int, born: int = 0) -> tuple[Project, bool]:
        """Record a project at a place; the project, and whether it is new. Its ref is made once and then kept."""
        with alone(os.path.dirname(self.path)):
            self._read_again()  # a file that can't be read is not written over
            known = self.find(root)
            ref = known.ref if known else self._new_ref(root)
            project = Project(ref, root, trusted, repository, inode, born)
            if project != known:
                self._save(project)
        return project, known is None

    def _new_ref(self, root: str) -> str:
        name = os.path.basename(root) or "root"
        taken = {p.ref for p in self.all()}
        if name not in taken:
            return name
        return f"{name}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:6]}"

    def _save(self, project: Project) -> None:
        import tomlkit

        document = tomlkit.parse(self._text())
        tables = document.setdefault("project", tomlkit.aot())
        table = next((t for t in tables if t.get("root") == project.root), None)
        if table is None:
            table = tomlkit.table()
            tables.append(table)
        for name, value in project._asdict().items():
            table[name] = value
        self._write(tomlkit.dumps(document))

    def _write(self, text: str) -> None:
        temporary = f"{self.path}.{os.getpid()}.tmp"
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except OSError as error:
            raise MachineError(f"cannot be written: {error.strerror}", where=self.path) from error

    def _stat(self) -> tuple[int, int] | None:
        try:
            stat = os.stat(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", where=self.path) from error
        return stat.st_mtime_ns, stat.st_ino

    def _text(self) -> str:
        try:
            return Path(self.path).read_text("utf-8")
        except FileNotFoundError:
            return "# The projects that mdmem knows, and which of them are trusted here. You may edit this file.\n"
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot be read: {error}", where=self.path) from error


def _parse(text: str, path: str) -> list[Project]:
    import tomllib

    try:
        tables = tomllib.loads(text).get("project", [])
        return [_project(table) for table in tables]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"not a list of projects: {error}", where=path, hint="each [[project]] has ref, root and trusted"
        ) from error


def _project(table: dict[str, Any]) -> Project:
    root = os.path.expanduser(str(table["root"]))
    if not os.path.isabs(root):
        raise ValueError(f"root is {root!r}, no absolute path")  # it would mean another place for every command
    root = os.path.realpath(root)
    trusted = table.get("trusted", False)
    inode, born = (int(table.get(name, 0)) for name in ("inode", "born"))
    return Project(str(table["ref"]), root, trusted is True, str(table.get("repository", "")), inode, born)
