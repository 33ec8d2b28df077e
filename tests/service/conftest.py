"""`launcher`: a command `mdmem` in a home of its own, as an installed one; `unit`: the unit that starts it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mdmem.daemon.service.systemd import Systemd
from tests.cli.conftest import call
from tests.conftest import ROOT, Home
from tests.service.manager import Service

__all__ = ["call"]


def command(path: Path, *arguments: str, **variables: str) -> Path:
    """A program that is Python with these arguments, and then its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sets = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    path.write_text(f'#!/bin/sh\n{sets}exec {shlex.join([sys.executable, *arguments])} "$@"\n')
    path.chmod(0o755)
    return path


def installed(path: Path) -> Path:
    return command(path, "-m", "mdmem", PYTHONPATH=str(ROOT), MDMEM_EMBEDDER_MODEL="none")


@pytest.fixture
def launcher(home: Home, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In a folder with a name full of what has to be escaped; commands of this test are called by it."""
    path = installed(home.folder / 'a b%i $HOME "q" é' / "mdmem")
    monkeypatch.setattr(sys, "argv", [str(path)])
    return path


@pytest.fixture
def service(home: Home, launcher: Path) -> Iterator[Callable[..., Service]]:
    """A service of the unit that would be installed; ended with the test."""
    made: list[Service] = []

    def make(**more: object) -> Service:
        unit = home.folder / "mdmem.service"
        unit.write_bytes(Systemd().render(str(launcher), {"MDMEM_HOME": str(home.mdmem)}))
        folder = home.folder / f"service{len(made)}"
        folder.mkdir()
        made.append(Service(unit, folder, **more))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for one in made:
        one.close()
        assert "raceback" not in one.journal()
