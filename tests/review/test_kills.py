"""Killed before or after any file operation of a decision, nothing is lost, and deciding once more doubles nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow

# One process that forks for each kill: a new interpreter each time would take minutes.
PROGRAM = """
import json, os, shutil, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from mdmem.candidates import inbox
from mdmem.review import decide
from mdmem.review.marks import was_rejected
from tests.review.conftest import Bench, candidate

act, root = sys.argv[2], Path(sys.argv[3])
OLD = "---\\nkey: old\\ntype: procedure\\n---\\nThe old way.\\n"
ACTION = {"update": "UPDATE", "supersede": "SUPERSEDE", "undo-update": "UPDATE"}.get(act, "ADD")
PROPOSED = candidate(action=ACTION, target=None if ACTION == "ADD" else "old")
OPERATIONS = ("open", "mkdir", "link", "unlink", "replace", "fsync", "write")

def decision(bench):
    shown = decide.look(bench.desk, inbox.list_candidates(bench.desk.inbox).waiting[0])
    if act == "reject":
        return decide.reject(bench.desk, shown)
    return decide.approve(bench.desk, shown)

def killing(at):
    count = [0]
    def wrap(real):
        def call(*args, **more):
            count[0] += 1
            if count[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)
            done = real(*args, **more)
            count[0] += 1
            if count[0] == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return done
        return call
    for name in OPERATIONS:
        setattr(os, name, wrap(getattr(os, name)))

def state(bench):
    return {"waiting": len(bench.waiting()), "memories": bench.memories()}

def run(at):
    folder = root / str(at)
    folder.mkdir()
    bench = Bench(folder)
    bench.memory("old.md", OLD)
    bench.put(PROPOSED)
    bench.ledger.close()
    pid = os.fork()
    if not pid:
        bench = Bench(folder)
        if act.startswith("undo"):
            done = decision(bench)
            killing(at)
            decide.undo(bench.desk, done)
        else:
            killing(at)
            decision(bench)
        os._exit(0)
    killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    bench = Bench(folder)
    told = {"killed": killed, "then": state(bench), "rejected": was_rejected(bench.ledger.db, PROPOSED)}
    if bench.waiting():
        decision(bench)
    told["after"] = state(bench)
    told["hidden"] = [p.name for p in folder.rglob(".mdmem-*") if p.suffix == ".md"]
    bench.ledger.close()
    shutil.rmtree(folder)
    print(json.dumps(told), flush=True)
    return killed

at = 1
while run(at):
    at += 1
"""
OLD = "---\nkey: old\ntype: procedure\n---\nThe old way.\n"


def runs(act: str, tmp_path) -> list[dict]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT), act, str(tmp_path)], capture_output=True, text=True, timeout=110,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) > 10, "the kills were not made"
    assert [one["killed"] for one in found] == [True] * (len(found) - 1) + [False]
    assert not any(one["hidden"] for one in found)
    return found


def new(memories: dict[str, str]) -> list[str]:
    return [text for text in memories.values() if "Run make dist first." in text]


@pytest.mark.parametrize("act", ["add", "undo-add"])
def test_f1_an_addition_is_there_once_or_waits(tmp_path, act: str) -> None:
    for one in runs(act, tmp_path):
        assert len(new(one["then"]["memories"])) + one["then"]["waiting"] >= 1
        assert len(new(one["then"]["memories"])) <= 1
        assert one["after"]["waiting"] == 0
        assert len(new(one["after"]["memories"])) == 1
        assert one["after"]["memories"]["old.md"] == OLD


@pytest.mark.parametrize("act", ["update", "undo-update"])
def test_f1_a_change_is_made_whole_or_waits(tmp_path, act: str) -> None:
    for one in runs(act, tmp_path):
        assert list(one["then"]["memories"]) == ["old.md"]
        changed = one["then"]["memories"]["old.md"] != OLD
        assert changed or one["then"]["waiting"] == 1
        assert one["after"]["waiting"] == 0
        text = one["after"]["memories"]["old.md"]
        assert text.startswith("---\nkey: old\n")
        assert text.endswith("---\nRun make dist first.\n")
        assert text.count("by: human:ann") == 1


def test_f1_what_supersedes_another_does_so_once(tmp_path) -> None:
    for one in runs("supersede", tmp_path):
        assert len(new(one["then"]["memories"])) + one["then"]["waiting"] >= 1
        assert one["after"]["waiting"] == 0
        assert len(new(one["after"]["memories"])) == 1
        assert "superseded_by: how-to-release" in one["after"]["memories"]["old.md"]


def test_f1_what_is_rejected_waits_or_is_remembered(tmp_path) -> None:
    for one in runs("reject", tmp_path):
        assert one["then"]["waiting"] == 1 or one["rejected"]
        assert one["after"] == {"waiting": 0, "memories": {"old.md": OLD}}
