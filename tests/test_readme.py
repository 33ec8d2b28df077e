"""The README's tour, run as written: every `$` line is typed into one shell, every other line must come out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"
END = "===end==="


def steps() -> list[tuple[str, list[str]]]:
    """(what is typed, the lines expected) in the order of the page."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", README.read_text("utf-8"), re.DOTALL):
        heredoc = False
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
                heredoc = "<<'END'" in line
            elif heredoc:
                found[-1] = (f"{found[-1][0]}\n{line}", [])
                heredoc = line != "END"
            else:
                found[-1][1].append(line)
    return found


def fits(line: str, expected: str) -> bool:
    """Whether a line came out as the page has it; `…` stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, expected.split("…"))), line) is not None


def run_tour(home: Path) -> list[list[str]]:
    script = "\n".join(f"{typed}\necho '{END}'" for typed, _ in steps())
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "MDMEM_"))}
    environment |= {"HOME": str(home), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LANG": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=home, env=environment, capture_output=True, text=True, timeout=90, check=False
    )
    out = [part.strip("\n").splitlines() for part in done.stdout.split(END)][:-1]
    assert len(out) == len(steps()), done.stderr
    return out


@pytest.mark.skipif(sys.platform == "darwin", reason="the tour names Linux's data folder")
def test_the_tour_works_as_written(home: object, tmp_path: Path) -> None:
    for (typed, expected), lines in zip(steps(), run_tour(tmp_path), strict=True):
        assert len(lines) == len(expected), (typed, lines)
        assert all(map(fits, lines, expected)), (typed, lines, expected)


def test_the_page_has_a_tour_of_some_length() -> None:
    assert len(steps()) >= 10
