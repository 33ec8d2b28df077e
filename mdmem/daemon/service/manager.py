"""What systemd and launchd have in common: what they must be able to do, their programs, the templates of files."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from mdmem.errors import MachineError

RUN_S = 90.0  # a start waits until the daemon is ready, as long as the unit lets it
_HERE = Path(__file__).parent
_PLACES = (_HERE / "files", _HERE.parents[2])  # installed from a wheel; run from the repository


class Running(NamedTuple):
    """What the service manager says of the service. `state` is its own word."""

    enabled: bool
    state: str
    pid: int | None


class Manager(Protocol):
    """systemd or launchd, as seen by one person. `path`: the one file that is written."""

    name: str
    path: str
    log_hint: str

    def render(self, launcher: str, variables: dict[str, str]) -> bytes:
        """The file; it names the version that wrote it, and holds a mark by which `is_ours` knows it."""

    def is_ours(self, text: bytes) -> bool:
        """Whether these are the bytes that some mdmem wrote, and nobody has changed since."""

    def launcher_of(self, text: bytes) -> str | None:
        """The program that a file of ours starts; None when it can't be told."""

    def reach(self) -> None:
        """Raises MachineError, saying what to do, where this person's service manager is not there or silent."""

    def running(self) -> Running: ...

    def start(self, *, anew: bool) -> None:
        """Take in the file, start now and at each login; `anew`: what runs is of another file or version."""

    def stop(self) -> None:
        """Stop, and start no more at logins. The file is still there."""

    def forget(self) -> None:
        """Take in that the file is gone."""


def run(command: Sequence[str], *, timeout_s: float = RUN_S) -> subprocess.CompletedProcess[str]:
    """Run a program of the service manager. Raises MachineError when it isn't there or hangs."""
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False,
            encoding="utf-8", errors="replace",
        )  # fmt: skip
    except OSError as error:
        raise MachineError(f"{command[0]} is not on this machine") from error
    except subprocess.TimeoutExpired as error:
        raise MachineError(f"{' '.join(command)} did not end in {timeout_s:g} s") from error


def said(done: subprocess.CompletedProcess[str]) -> str:
    """Why a program failed, in a line of its own words."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[0] if lines else f"code {done.returncode}"


def must(command: Sequence[str], *, hint: str) -> None:
    """Run a program whose failure is an error of ours, MachineError."""
    done = run(command)
    if done.returncode != 0:
        raise MachineError(f"{' '.join(command)} failed: {said(done)}", hint=hint)


def template(name: str) -> str:
    """A file of `systemd/` or `launchd/`."""
    found = next(path for place in _PLACES if (path := place / name).is_file())
    return found.read_text("utf-8")


def digest(version: str, body: bytes) -> str:
    """By this a file of ours is known again: of the version that wrote it, and of all but the line that holds it."""
    return hashlib.sha256(version.encode() + b"\n" + body).hexdigest()


def pid_of(text: str, pattern: str) -> int | None:
    found = re.search(pattern, text, re.MULTILINE)
    return int(found[1]) or None if found else None
