"""A daemon inside namespaces and under strace. Skips, with the reason, where the machine does not allow it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Daemon, Home, wait_until


class Boxed(Daemon):
    """A daemon started through a prefix of commands."""

    def __init__(self, home: Home, prefix: Sequence[str]) -> None:
        self.home = home
        self.socket = str(home.mdmem / "run" / "mdmem.sock")
        self.said = (home.folder / "daemon.err").open("w+b")
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "mdmem.daemon"],
            cwd="/", env=home.env, stderr=self.said, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        wait_until(self._answers, "the daemon answers")


@contextlib.contextmanager
def boxed(home: Home, prefix: Sequence[str], **settings: object) -> Iterator[Boxed]:
    home.env |= {f"MDMEM_{name.upper()}": str(value) for name, value in settings.items()}
    daemon = Boxed(home, prefix)
    try:
        yield daemon
    finally:
        daemon.stop()


def needs(*programs: str) -> None:
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")


def needs_namespaces(*flags: str) -> None:
    needs("unshare", "nsenter")
    if subprocess.run(["unshare", *flags, "true"], capture_output=True, check=False).returncode:
        pytest.skip(f"unshare {' '.join(flags)} is not allowed here")


MOUNTS = ("unshare", "--mount", "--propagation", "private")


def inside(daemon: Daemon, *command: str) -> str:
    """Run a command in the daemon's mount namespace."""
    done = subprocess.run(
        ["nsenter", "-t", str(daemon.process.pid), "-m", *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def write_inside(daemon: Daemon, path: Path, text: str) -> None:
    inside(daemon, "sh", "-c", 'mkdir -p "$(dirname "$0")" && printf %s "$1" > "$0"', str(path), text)


def ask(daemon: Daemon, op: str, **request: Any) -> dict[str, Any]:
    answer = daemon.ask(op, **request)
    assert answer["ok"], answer
    return answer
