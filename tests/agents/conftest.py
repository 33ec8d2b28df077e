"""`machine`: a home of its own with agents' settings in it, and mdmem installed under an absolute path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mdmem.agents import connect as room
from mdmem.agents.connect import Outcome
from tests.conftest import Home

MOVERS = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "CURSOR_CONFIG_DIR", "COPILOT_HOME", "QWEN_HOME")


class Machine:
    """A home folder, what lies in it, and what `connect` and `disconnect` do to it."""

    def __init__(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home.folder
        self.bin = home.folder / "bin"
        self._patch = monkeypatch
        for name in (*MOVERS, "GOOSE_PATH_ROOT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PATH", str(self.bin))
        self.launcher = self.install("bin/mdmem")
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)

    def install(self, rel: str) -> str:
        """An mdmem command at this place; it is the one that is called from now on."""
        self.launcher = str(self.script(rel, "#!/bin/sh\n"))
        self._patch.setattr("sys.argv", [self.launcher])
        return self.launcher

    def script(self, rel: str, text: str) -> Path:
        path = self.put(rel, text.encode())
        path.chmod(0o755)
        return path

    def put(self, rel: str, data: bytes) -> Path:
        path = self.home / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def connect(self, *names: str, dry_run: bool = False) -> list[Outcome]:
        return room.connect(names, cwd=str(self.home / "work"), now=self.now, dry_run=dry_run)

    def disconnect(self, *names: str, dry_run: bool = False) -> list[Outcome]:
        return room.disconnect(names, cwd=str(self.home / "work"), now=self.now, dry_run=dry_run)

    def tree(self) -> dict[str, tuple[object, ...]]:
        """Everything in the home: links with their targets, files with mode and bytes, folders."""
        return dict(self._walk())

    def _walk(self) -> Iterator[tuple[str, tuple[object, ...]]]:
        for folder, folders, files in os.walk(self.home):
            for name in (*folders, *files):
                path = Path(folder, name)
                rel = str(path.relative_to(self.home))
                if path.is_symlink():
                    yield rel, ("link", os.readlink(path))
                elif path.is_dir():
                    yield rel, ("folder",)
                else:
                    yield rel, ("file", stat.S_IMODE(path.stat().st_mode), path.read_bytes())


@pytest.fixture
def machine(home: Home, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(home, monkeypatch)
