"""Many writers at once: every memory has a file of its own."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from mdmem.document import parse
from mdmem.edit import add, move
from mdmem.errors import MdmemError
from tests.edit.conftest import TODAY, put, tree

PROGRAM = """
import sys
from datetime import date
from mdmem.edit import add
from mdmem.scope import Scope
scope = Scope("user", None, sys.argv[1])
sys.stdin.readline()
for number in range(5):
    done = add(scope, f"text {sys.argv[2]}-{number}", fields={"name": "Same title"}, today=date(2026, 11, 2))
    print(done.rel)
"""


def run_together(count: int, work) -> None:
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait()
        work(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def bodies(folder: str) -> list[str]:
    return sorted(parse(data, "").body for data in tree(folder).values())


def test_j6_twenty_threads_with_one_title_make_twenty_files(user) -> None:
    rels: list[str] = []
    run_together(20, lambda number: rels.append(
        add(user, f"text {number}", fields={"name": "Same title"}, today=TODAY).rel
    ))  # fmt: skip

    assert len(set(rels)) == 20
    assert set(tree(user.folder)) == set(rels)
    assert bodies(user.folder) == sorted(f"text {number}\n" for number in range(20))


def test_j6_four_programs_with_one_title_make_twenty_files(user) -> None:
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, user.folder, str(number)],
            cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(4)
    ]  # fmt: skip
    for program in programs:
        assert program.stdin
        program.stdin.write("go\n")
        program.stdin.flush()
    rels = [rel for program in programs for rel in program.communicate()[0].split()]

    assert [program.returncode for program in programs] == [0] * 4
    assert len(set(rels)) == 20
    assert set(tree(user.folder)) == set(rels)
    assert bodies(user.folder) == sorted(f"text {n}-{turn}\n" for n in range(4) for turn in range(5))


def test_a_memory_that_many_move_at_once_arrives_once(user, project) -> None:
    for turn in range(10):
        put(user, "x.md", f"text {turn}\n")
        failed: list[MdmemError] = []

        def work(number: int, failed: list[MdmemError] = failed) -> None:
            try:
                move(user, "x.md", project, today=TODAY)
            except MdmemError as error:
                failed.append(error)

        run_together(4, work)
        assert len(failed) == 3
        assert tree(user.folder) == {}

    assert bodies(project.folder) == sorted(f"text {turn}\n" for turn in range(10))
