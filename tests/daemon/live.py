"""What the tests of a running daemon have in common: asking it, and comparing its index with a fresh build."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mdmem.app import App, Local
from mdmem.config import Paths, find_paths
from mdmem.db import INDEX, open_reader
from mdmem.index import read
from tests.conftest import Daemon, Home, wait_until

GIT_ENV = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.example", "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b.example", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
}  # fmt: skip


@contextlib.contextmanager
def running(home: Home, **settings: object) -> Iterator[Daemon]:
    """A daemon whose settings are given as `watch_quiet_ms=…`, that is MDMEM_WATCH_QUIET_MS."""
    home.env |= {f"MDMEM_{name.upper()}": str(value) for name, value in settings.items()}
    daemon = Daemon(home)
    try:
        yield daemon
    finally:
        daemon.stop()


def found(daemon: Daemon, query: str, **more: Any) -> list[str]:
    """The paths of the hits, best first."""
    answer = daemon.ask("search", query=query, mode=more.pop("mode", "keyword"), **more)
    assert answer["ok"], answer
    return [hit["path"] for hit in answer["hits"]]


def listed(daemon: Daemon, **more: Any) -> set[str]:
    """The paths of all memories that a caller sees."""
    answer = daemon.ask("list", **more)
    assert answer["ok"], answer
    return {os.path.basename(memory["path"]) for memory in answer["memories"]}


def await_found(daemon: Daemon, query: str, limit_s: float = 20.0, **more: Any) -> None:
    wait_until(lambda: bool(found(daemon, query, **more)), f"{query!r} is found", limit_s)


def await_lost(daemon: Daemon, query: str, limit_s: float = 20.0, **more: Any) -> None:
    wait_until(lambda: not found(daemon, query, **more), f"{query!r} is no longer found", limit_s)


def status(daemon: Daemon, **more: Any) -> dict[str, Any]:
    answer = daemon.ask("status", **more)
    assert answer["ok"], answer
    return dict(answer["status"])


def scope_status(daemon: Daemon, folder: Path) -> dict[str, Any]:
    return next(s for s in status(daemon)["scopes"] if s["path"] == os.path.realpath(folder))


def problem_codes(daemon: Daemon) -> set[str]:
    return {problem["code"] for problem in status(daemon)["problems"]}


def dump_live(home: Home) -> dict[str, list[Any]]:
    db = open_reader(INDEX, str(home.mdmem / "state" / "index.db"))
    try:
        return read.dump(db)
    finally:
        db.close()


def dump_fresh() -> dict[str, list[Any]]:
    """Build an index from nothing, beside the one in use (MDMEM_HOME is that of the test)."""
    with tempfile.TemporaryDirectory(prefix="mm-fresh-", dir="/tmp") as folder:
        found = find_paths()
        state, run = f"{folder}/state", f"{folder}/run"
        paths = Paths(found.data, state, run, found.config_file, f"{run}/s")
        with Local(App(paths)) as local:
            local.sync(None)
            with local.reader() as db:
                return read.dump(db)


def manifests(home: Home) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(home.folder.rglob("MEMORY.md"))}


def assert_like_fresh(home: Home, daemon: Daemon) -> None:
    """After a sync, index and MEMORY.md equal those of a fresh build from the same files."""
    assert daemon.sync()["ok"]
    before = manifests(home)
    live, fresh = dump_live(home), dump_fresh()
    assert live == fresh
    assert manifests(home) == before


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false", "-C", str(folder), *arguments],
        env={k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | GIT_ENV | {"GIT_EDITOR": "true"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert not check or done.returncode == 0, f"git {arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def repository(home: Home, name: str = "repo") -> Path:
    """A git repository with a scope folder, a commit, and trust."""
    root = home.folder / name
    root.mkdir()
    git(root, "init", "-q")
    home.put("first.md", "The first memory of the project.\n", root / ".mdmem")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    App().trust(str(root))
    return root


def stamp(path: Path) -> tuple[int, int]:
    """What differs when a file was written again."""
    info = path.stat()
    return info.st_mtime_ns, info.st_ino


class Writes:
    """Counts how often a file is replaced, by asking the kernel: the names of its folder in, a count out."""

    def __init__(self, path: Path) -> None:
        from watchdog.events import FileSystemEvent, FileSystemEventHandler
        from watchdog.observers import Observer

        self.count = 0
        target = str(path)
        outer = self

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                if (event.event_type == "moved" and event.dest_path == target) or (
                    event.event_type in ("created", "modified") and event.src_path == target
                ):
                    outer.count += 1

        self._observer = Observer()
        self._observer.schedule(Handler(), str(path.parent))

    def __enter__(self) -> Writes:
        self._observer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._observer.stop()
        self._observer.join()
