"""One user, one agent, one project and one mount, each in a folder of its own."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from mdmem.scope import Scope

TODAY = date(2026, 11, 2)


@pytest.fixture
def user(tmp_path: Path) -> Scope:
    folder = tmp_path / "data" / "user"
    folder.mkdir(parents=True, mode=0o700)
    return Scope("user", None, str(folder))


@pytest.fixture
def project(tmp_path: Path) -> Scope:
    folder = tmp_path / "blyck" / ".mdmem"
    folder.mkdir(parents=True)
    return Scope("project", "blyck", str(folder))


@pytest.fixture
def agent(tmp_path: Path) -> Scope:
    return Scope("agent", "claude", str(tmp_path / "data" / "agents" / "claude"))


@pytest.fixture
def mount(tmp_path: Path) -> Scope:
    folder = tmp_path / "obsidian"
    folder.mkdir()
    (folder / "x.md").write_bytes(b"theirs\n")
    return Scope("user", None, str(folder), mount=True)


def put(scope: Scope, rel: str, data: bytes | str) -> Path:
    """A file in a scope folder, as an editor would have saved it."""
    path = Path(scope.folder, rel)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def tree(folder: str | Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too, with its bytes."""
    root = Path(folder)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
