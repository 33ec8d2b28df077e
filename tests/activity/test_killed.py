"""Killed between any two steps and started again: everything once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.activity.part import Bench, keys, put_all, write_piece, writes
from tests.conftest import ROOT

LIMIT_S = 60


def tail(folder: Path, die_at: int | None = None) -> int:
    """Tail the folder in a process of its own; how it ended."""
    command = [sys.executable, "-m", "tests.activity.tailing", str(folder), *([str(die_at)] if die_at else [])]
    return subprocess.run(command, cwd=ROOT, timeout=LIMIT_S, capture_output=True).returncode


def at_once(folder: Path, *, databases: bool = True) -> list[tuple[str, str, str]]:
    folder.mkdir()
    bench = Bench(folder)
    put_all(folder, databases=databases)
    bench.clock.at += 100
    bench.poll()
    found = keys(bench.found())
    bench.close()
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_anywhere_each_thing_is_found_once(tmp_path: Path) -> None:
    wanted = at_once(tmp_path / "whole")
    folder = tmp_path / "killed"
    folder.mkdir()
    Bench(folder).close()
    put_all(folder)
    luck, killed = random.Random(11), 0
    while tail(folder, luck.randrange(1, 200)) == -signal.SIGKILL:
        killed += 1
    bench = Bench(folder, met=False)

    assert killed >= 5
    assert keys(bench.found()) == wanted
    bench.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_while_logs_grow_each_thing_is_found_once(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    folder.mkdir()
    bench = Bench(folder)
    bench.close()
    luck = random.Random(5)
    for count, (name, piece) in enumerate(writes(luck)):
        if isinstance(piece, bytes):  # what a database held for a moment may be gone when we start again
            write_piece(bench, name, piece)
            if count % 25 == 0:
                tail(folder, luck.randrange(1, 30))
    assert tail(folder) == 0
    again = Bench(folder, met=False)
    found = keys(again.found())
    again.close()

    assert found == at_once(tmp_path / "whole", databases=False)
