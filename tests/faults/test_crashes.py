"""Killed at any moment and started again, index, MEMORY.md and history are those of a fresh build (T2 and T11)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading

import pytest

from mdmem.daemon import client
from tests.conftest import Daemon, Home, wait_until
from tests.daemon.live import assert_like_fresh, await_found, git, repository, running, status
from tests.faults.machine import boxed, needs

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("MDMEM_TEST_KILLS", "24"))  # no setting of ours: read before the test's own environment


class Work:
    """A scripted workload in a user scope and a project: seeded, a step at a time."""

    def __init__(self, home: Home, seed: int) -> None:
        self.home, self.rng, self.n = home, random.Random(seed), 0
        self.root = repository(home)
        self.folders = [home.user, self.root / ".mdmem"]

    def step(self) -> None:
        folder = self.rng.choice(self.folders)
        files = sorted(p for p in folder.rglob("*.md") if p.name != "MEMORY.md") if folder.exists() else []
        act = self.rng.choice(["add", "add", "add", "edit", "delete", "rename", "many", "move", "broken", "git"])
        self.n += 1
        if act == "add" or not files:
            self.home.put(f"s{self.rng.randrange(3)}/m{self.n}.md", self.text(), folder)
        elif act == "edit":
            self.rng.choice(files).write_text(self.text())
        elif act == "broken":
            self.rng.choice(files).write_text(f"---\nname: [x{self.n}\n---\n")
        elif act == "delete":
            self.rng.choice(files).unlink()
        elif act == "rename":
            self.rng.choice(files).rename(folder / f"r{self.n}.md")
        elif act == "many":
            for k in range(60):
                self.home.put(f"many/k{k}.md", self.text(), folder)
        elif act == "move" and (folder / "many").exists():
            (folder / "many").rename(folder / f"moved{self.n}")
        elif act == "git":
            git(self.root, "add", "-A", check=False)
            git(self.root, "commit", "-qm", f"c{self.n}", check=False)

    def text(self) -> str:
        return f"---\nname: memory {self.n}\n---\nword{self.n} and [[m{self.rng.randrange(20)}]] {'text ' * 30}\n"


def test_f2_killed_again_and_again_it_ends_like_a_fresh_build(home: Home) -> None:
    work = Work(home, seed=11)
    rng = random.Random(12)
    pause = threading.Event()
    settings = {"watch_quiet_ms": 5, "watch_max_ms": 30}
    home.env |= {f"MDMEM_{k.upper()}": str(v) for k, v in settings.items()}
    for _ in range(KILLS):
        daemon = Daemon(home)
        for _ in range(rng.randrange(2, 8)):
            work.step()
            pause.wait(rng.random() * 0.03)  # the moment of the kill is what is random here
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait(20)
        daemon.stop()
    for path in [p for f in work.folders for p in f.rglob("*.md") if "name: [" in p.read_text()]:
        path.write_text(work.text())  # a file that is broken keeps its last good row: not so in a fresh build
    for left in [p for f in work.folders for p in f.rglob(".mdmem-*")]:
        os.utime(left, (1, 1))  # what a kill leaves is swept when it is an hour old
    with running(home) as daemon:
        daemon.sync()
        assert_like_fresh(home, daemon)
    assert [p for f in work.folders for p in f.rglob(".mdmem-*")] == []


@pytest.mark.parametrize("after", [0.05, 0.6])
def test_f3_killed_during_a_first_index_it_goes_on_and_never_takes_half_for_the_whole(home: Home, after: float) -> None:
    home.user.mkdir(parents=True)
    for n in range(2_000):
        (home.user / f"m{n}.md").write_text(f"---\nname: m{n}\n---\nnumber{n} {'word ' * 30}\n")
    daemon = Daemon(home)
    wait_until(lambda: status(daemon)["index"]["memories"] > after * 1_900, "it is at work")
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait(20)
    daemon.stop()
    with running(home) as daemon:
        daemon.sync()
        assert status(daemon)["index"]["memories"] == 2_000
        assert_like_fresh(home, daemon)


@pytest.mark.parametrize("call", ["renameat,rename,renameat2", "fsync", "linkat"])
def test_f1_killed_while_writing_the_manifest_nothing_half_done_is_indexed_or_stays(home: Home, call: str) -> None:
    needs("strace")
    home.put("a.md", "alphaword\n")
    with running(home) as daemon:
        wait_until((home.user / "MEMORY.md").exists, "there is one")
    old = (home.user / "MEMORY.md").read_bytes()
    home.put("b.md", "betaword\n")
    trace = ["strace", "-f", "-qq", "-o", os.devnull, "-P", str(home.user), "-e", f"trace={call}"]
    process = subprocess.Popen(
        [*trace, "-e", f"inject={call}:signal=KILL:when=1", sys.executable, "-m", "mdmem.daemon"],
        env=home.env, cwd="/", stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until(lambda: process.poll() is not None, "it is killed")
    finally:
        process.kill()
        process.wait(20)
    assert (home.user / "MEMORY.md").read_bytes() in (old, _manifest_of(home))
    with running(home) as daemon:
        daemon.sync()
        wait_until(lambda: b"b.md" in (home.user / "MEMORY.md").read_bytes(), "MEMORY.md follows")
        assert {p.rsplit("/", 1)[1] for p in _paths(daemon)} == {"a.md", "b.md"}
        assert_like_fresh(home, daemon)


def _manifest_of(home: Home) -> bytes:
    return (home.user / "MEMORY.md").read_bytes() if b"b.md" in (home.user / "MEMORY.md").read_bytes() else b""


def _paths(daemon: Daemon) -> list[str]:
    answer = daemon.ask("list")
    return [m["path"] for m in answer["memories"]]


@pytest.mark.parametrize("call", ["fsync", "renameat,rename,renameat2"])
def test_e8_an_error_of_the_disk_is_a_problem_and_the_old_manifest_stays(home: Home, call: str) -> None:
    needs("strace")
    home.put("a.md", "alphaword\n")
    with running(home) as daemon:
        wait_until((home.user / "MEMORY.md").exists, "there is one")
    old = (home.user / "MEMORY.md").read_bytes()
    home.put("b.md", "betaword\n")
    only = ["-P", str(home.user)] if "rename" in call else []  # a temporary file has no path; SQLite calls fdatasync
    trace = ["strace", "-f", "-qq", "-o", os.devnull, *only, "-e", f"trace={call}"]
    with boxed(home, [*trace, "-e", f"inject={call}:error=EIO"]) as daemon:
        try:
            await_found(daemon, "betaword")
            wait_until(
                lambda: "manifest-not-written" in {p["code"] for p in status(daemon)["problems"]}, "status says so"
            )
            assert (home.user / "MEMORY.md").read_bytes() == old
            assert list(home.user.glob(".mdmem-tmp-*")) == []
        finally:
            client.ask(daemon.socket, {"op": "stop"})  # strace would take the signal
            wait_until(lambda: daemon.process.poll() is not None, "it stops")
