"""In: a home folder. Out: a peer that can be started, asked, weighed and stopped: `Floor` or `Mdmem`.

A peer's memories are in `<home>/user/`. Nothing of the person's own is touched: the homes are scratch folders.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import measure
import psutil


class PeerError(Exception):
    """A peer that did not start, answer or stop; the end of its log is in the words."""


class Peer:
    """One daemon over one home."""

    name: ClassVar[str]
    socket_name: ClassVar[str]
    db_name: ClassVar[str]
    modes: ClassVar[tuple[str, ...]] = ("keyword",)
    has_manifest: ClassVar[bool] = False

    def __init__(self, home: Path) -> None:
        self.home, self.folder = home, home / "user"
        self.socket_path, self.db = home / self.socket_name, home / self.db_name
        self.log = home / "daemon.log"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.process: subprocess.Popen[bytes] | None = None
        self.degraded: set[str] = set()
        self._line: Any = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def start(self, prefix: Sequence[str] = (), timeout_s: float = 600.0) -> float:
        """Start and wait for the first answer to a ping; seconds that took. `prefix` is a program to run it under."""
        begun = time.perf_counter()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*prefix, *self.command()], env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        ready = measure.until(self._answers, timeout_s)
        if ready is None:
            raise self._trouble("no answer on the socket")
        return ready - begun

    def _answers(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise self._trouble("the daemon ended at start")
        try:
            return bool(self.ask({"v": 1, "op": "ping"}).get("ok"))
        except OSError:
            return False

    def _trouble(self, what: str) -> PeerError:
        return PeerError(f"{self.name}: {what}\n{self.log.read_text(errors='replace')[-2000:]}")

    def ask(self, request: dict[str, Any]) -> Any:
        """One request, one answer, over a connection that is kept open; made anew once where the daemon closed it."""
        data = json.dumps(request, ensure_ascii=False).encode() + b"\n"
        for last in (False, True):
            fresh = self._line is None
            if fresh:
                with socket.socket(socket.AF_UNIX) as s:
                    s.settimeout(600)
                    s.connect(str(self.socket_path))
                    self._line = s.makefile("rwb")
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._line.write(data)
                self._line.flush()
                if answer := self._line.readline():
                    return json.loads(answer)
            self.hang_up()
            if fresh or last:
                break
        raise ConnectionError(f"{self.name}: the daemon hung up")

    def hang_up(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            with contextlib.suppress(OSError):
                line.close()

    def search(self, query: str, limit: int = 10, mode: str = "keyword") -> list[str]:
        """The paths found, best first, relative to the folder."""
        raise NotImplementedError

    def holds(self, query: str, rel: str) -> bool:
        return rel in self.search(query, 5)

    def sync(self) -> None:
        """Return when the index has all that was on disk when asked; where that comes before any answer, at once."""

    def vectors_left(self) -> int:
        """How many memories still wait for their vectors."""
        return 0

    def relative(self, path: str) -> str:
        root = os.path.realpath(self.folder) + "/"
        return path[len(root) :] if path.startswith(root) else path

    def daemon(self) -> psutil.Process:
        """The daemon itself, also where it was started under another program."""
        assert self.process is not None
        top = psutil.Process(self.process.pid)
        return top if top.name() != "strace" else top.children()[0]

    def cpu_s(self) -> float:
        """CPU seconds of the daemon and its children, living and dead, since its start."""
        top = self.daemon()
        own = top.cpu_times()
        rest = sum(t.user + t.system for t in (c.cpu_times() for c in top.children(recursive=True)))
        return _precise_cpu_s(top.pid, own.user + own.system) + own.children_user + own.children_system + rest

    def rss_mb(self) -> tuple[float, float]:
        """(RSS, PSS) in MB; PSS is NaN where the system does not tell."""
        used = self.daemon().memory_full_info()
        return used.rss / 1e6, getattr(used, "pss", float("nan")) / 1e6

    def stop(self) -> float:
        """SIGTERM, then wait; seconds that took."""
        self.hang_up()
        if self.process is None:
            return 0.0
        begun = time.perf_counter()
        if self.process.poll() is None:
            with contextlib.suppress(psutil.NoSuchProcess, IndexError):
                self.daemon().send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise self._trouble("did not stop within 30 s of SIGTERM") from None
        self.process = None
        return time.perf_counter() - begun


def _precise_cpu_s(pid: int, otherwise: float) -> float:
    """A process's CPU clock in nanoseconds where Linux offers it: /proc counts in steps of 10 ms."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return time.clock_gettime(~pid << 3 | 2)
    return otherwise


class Floor(Peer):
    name, socket_name, db_name = "floor", "floor.sock", "floor.db"

    def command(self) -> list[str]:
        program = str(Path(__file__).with_name("floor.py"))
        return [sys.executable, program, str(self.folder), str(self.db), str(self.socket_path)]

    def search(self, query: str, limit: int = 10, mode: str = "keyword") -> list[str]:
        return [self.relative(hit["path"]) for hit in self.ask({"op": "search", "query": query, "limit": limit})]


class Mdmem(Peer):
    """The product. MDMEM_BIN names another program to run in its place."""

    name, socket_name, db_name = "mdmem", "run/mdmem.sock", "state/index.db"
    modes = ("keyword", "semantic", "hybrid")
    has_manifest = True

    def __init__(self, home: Path, embedder: str = "none", endpoint: str | None = None) -> None:
        super().__init__(home)
        model = f'"openai"\nurl = "{endpoint}"\nname = "hash"' if embedder == "hash" else f'"{embedder}"'
        (home / "config.toml").write_text(f"[embedder]\nmodel = {model}\n")

    @staticmethod
    def program() -> list[str]:
        if named := os.environ.get("MDMEM_BIN"):
            return shlex.split(named)
        beside = shutil.which("mdmem", path=str(Path(sys.executable).parent))
        return [beside] if beside else [sys.executable, "-m", "mdmem"]

    def command(self) -> list[str]:
        return [*self.program(), "daemon"]

    def environment(self) -> dict[str, str]:
        """Ours, less any setting of the person's; this work tree is imported before what is installed."""
        mine = {k: v for k, v in os.environ.items() if not k.startswith("MDMEM_") and k != "PYTHONDONTWRITEBYTECODE"}
        return {**mine, "MDMEM_HOME": str(self.home), "PYTHONPATH": str(measure.ROOT)}

    def _ok(self, op: str, **fields: Any) -> Any:
        answer = self.ask({"v": 1, "op": op, **fields})
        if not answer.get("ok"):
            raise self._trouble(f"{op} was refused: {answer}")
        return answer

    def search(self, query: str, limit: int = 10, mode: str = "keyword") -> list[str]:
        answer = self._ok("search", query=query, limit=limit, mode=mode, cwd="/", scope=["user"])
        self.degraded.update(map(str, answer.get("degraded") or ()))
        return [self.relative(hit["path"]) for hit in answer["hits"]]

    def sync(self) -> None:
        self._ok("sync")

    def vectors_left(self) -> int:
        return int(self._ok("status")["status"]["index"]["pending_vectors"])


@contextlib.contextmanager
def cast(which: str, base: Path, embedder: str = "none") -> Iterator[list[Peer]]:
    """The peers that --peer asks for, not started; all are stopped at the end."""
    with contextlib.ExitStack() as stack:
        peers: list[Peer] = [] if which == "mdmem" else [Floor(base / "f")]
        if which != "floor":
            url = None
            if embedder == "hash":
                import endpoint

                url = stack.enter_context(endpoint.serving())
            peers.append(Mdmem(base / "m", embedder, url))
        for peer in peers:
            stack.callback(peer.stop)
        yield peers
