"""What every test has: a home of its own, no thread left over, and, where asked for, a real daemon.

- `home`: a private folder; HOME and MDMEM_HOME point into it, and no setting of the caller's environment is seen.
- `mdmem(*args, ...)`: runs the real command as a subprocess.
- `daemon`: a real daemon of that home; stopped at the end, which fails on a traceback in what it said.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 20.0
# Who runs the tests in the background of a shell has interrupts ignored, and every program started here would too.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Home:
    """A private MDMEM_HOME and HOME, and the commands run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mdmem = folder / "m"
        self.user = self.mdmem / "user"
        self.work = folder / "work"
        self.work.mkdir()
        self.env = {k: v for k, v in os.environ.items() if not _is_private(k)}
        self.env |= {
            "HOME": str(folder),
            "MDMEM_HOME": str(self.mdmem),
            "MDMEM_EMBEDDER_MODEL": "none",
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C.UTF-8",
        }

    def put(self, rel: str, text: str, folder: Path | None = None) -> Path:
        """Write a file as a person would: in the user's scope folder, or in another."""
        path = (folder or self.user) / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def run(
        self, *args: str, stdin: str | bytes | None = None, cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> Done:
        """Run `mdmem ARGS` as a process of its own. stdin is empty unless given, and never a terminal."""
        done = subprocess.run(
            [sys.executable, "-m", "mdmem", *args],
            input=stdin.encode() if isinstance(stdin, str) else stdin or b"",
            capture_output=True,
            cwd=cwd or self.work,
            env=self.env | (env or {}),
            timeout=60,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def _is_private(name: str) -> bool:
    return name.startswith(("MDMEM_", "_MDMEM_", "XDG_", "GIT_")) or name in ("NO_COLOR", "EDITOR", "VISUAL")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A folder under /tmp: a socket's path must be short."""
    folder = Path(tempfile.mkdtemp(prefix="mm-", dir="/tmp"))
    made = Home(folder)
    for name in [n for n in os.environ if _is_private(n)]:
        monkeypatch.delenv(name)
    for name in ("HOME", "MDMEM_HOME", "MDMEM_EMBEDDER_MODEL"):
        monkeypatch.setenv(name, made.env[name])
    try:
        yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Daemon:
    """A running daemon, and how to speak to it."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.socket = str(home.mdmem / "run" / "mdmem.sock")
        self.said = (home.folder / "daemon.err").open("w+b")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mdmem.daemon"], cwd="/", env=home.env, stderr=self.said, stdin=subprocess.DEVNULL
        )
        wait_until(self._answers, "the daemon answers")

    def _answers(self) -> bool:
        from mdmem.daemon import client

        assert self.process.poll() is None, f"the daemon ended early:\n{self.stderr()}"
        return client.ask(self.socket, {"op": "ping"}) is not None

    def ask(self, op: str, **request: Any) -> dict[str, Any]:
        from mdmem.daemon import client

        answer = client.ask(self.socket, {"op": op, **request})
        assert answer is not None, "no daemon answers"
        return answer

    def sync(self) -> dict[str, Any]:
        return self.ask("sync")

    def stderr(self) -> str:
        self.said.flush()
        return (self.home.folder / "daemon.err").read_text("utf-8", "replace")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(LIMIT_S)
        finally:
            self.process.kill()
            self.said.close()
        said = (self.home.folder / "daemon.err").read_text("utf-8", "replace")
        assert "raceback" not in said, said


@pytest.fixture
def daemon(home: Home) -> Iterator[Daemon]:
    """A real daemon in a subprocess, without an embedder."""
    running = Daemon(home)
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def mdmem(home: Home) -> Callable[..., Done]:
    """`mdmem("search", "x")` as a real process."""
    return home.run


def wait_until(holds: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
    """Look again and again until something holds; fails, saying what, when it doesn't in time."""
    pause = threading.Event()
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {limit_s} s: {what}"
        pause.wait(0.02)


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    """A test ends the threads that it starts; a loopback server may serve a whole module."""
    before = set(threading.enumerate())
    yield
    started = [t for t in threading.enumerate() if t not in before and t.is_alive()]
    left = [t for t in started if "serve_forever" not in t.name and "process_request" not in t.name]
    for thread in left:
        thread.join(timeout=2.0)
    left = [t.name for t in left if t.is_alive()]
    assert not left, f"threads left over: {left}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """In CI a test that is skipped is a test that does not run, and nobody sees it."""
    outcome: Any = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
