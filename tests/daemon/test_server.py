"""The control socket against callers that are broken, slow, many, or strangers."""

from __future__ import annotations

import concurrent.futures
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from mdmem.agents import hook
from mdmem.daemon import client
from mdmem.daemon import server as server_module
from mdmem.daemon.server import MAX_CONNECTIONS, MAX_REQUEST_BYTES, Server
from mdmem.errors import MachineError, RefusedError, SilentError
from tests.conftest import LIMIT_S, Daemon, Home, wait_until


def no_hooks(agent: str, event: str, payload: bytes, held: object) -> bytes:
    return b""


def connect(daemon: Daemon) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    connection.connect(daemon.socket)
    return connection


def said(connection: socket.socket) -> Any:
    with connection.makefile("rb") as lines:
        line = lines.readline()
    return json.loads(line) if line else None


def works(daemon: Daemon) -> bool:
    return bool(daemon.ask("ping")["ok"])


@pytest.mark.parametrize(
    "junk",
    [b"junk\n", b"\n", b"[]\n", b"null\n", b'"x"\n', b"\xff\xfe\x00\n", b"[" * 100_000 + b"\n", b"{}\n", b'{"op": 1}\n',
     b'{"op": "search", "query": 5}\n', b'{"op": "search", "query": "x", "limit": "many"}\n',
     b'{"op": "search", "query": "x", "scope": {"a": 1}}\n', b'{"op": "sync", "folders": {"/etc": ["passwd"]}}\n',
     b'{"op": "list", "agent": "../../x"}\n', b'{"op": "search", "query": "\\ud800"}\n',
     b'{"op": "find", "key": "\\u0000"}\n', b"1" * 5_000 + b"\n"],
)  # fmt: skip
def test_l8_junk_gets_an_answer_in_words_and_harms_nobody(shared: Daemon, junk: bytes) -> None:
    with connect(shared) as connection:
        connection.sendall(junk)
        answer = said(connection)

    assert isinstance(answer["ok"], bool)
    assert answer["ok"] or not answer.get("hits")
    if not answer["ok"]:
        assert answer["error"]["what"]
        assert answer["error"]["exit_code"] != 70, answer
    assert works(shared)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One daemon for many small questions."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="mm-", dir="/tmp"))
    daemon = Daemon(Home(folder))
    yield daemon
    daemon.stop()
    shutil.rmtree(folder)


def test_an_endless_line_is_cut_off_and_the_daemon_stays_small(shared: Daemon) -> None:
    import psutil

    process = psutil.Process(shared.process.pid)
    before = process.memory_info().rss
    with connect(shared) as connection:
        try:
            for _ in range(50):
                connection.sendall(b"x" * 1_000_000)
        except (BrokenPipeError, ConnectionResetError):
            pass
        else:
            pytest.fail("50 MB were taken")
    assert process.memory_info().rss - before < 30e6
    assert works(shared)


def test_a_request_just_too_long_is_refused_in_words(shared: Daemon) -> None:
    with connect(shared) as connection:
        connection.sendall(b"x" * MAX_REQUEST_BYTES + b"y\n")
        answer = said(connection)

    assert "too long" in answer["error"]["what"]


def test_half_a_request_holds_up_nobody(shared: Daemon) -> None:
    halves = [connect(shared) for _ in range(20)]
    for half in halves:
        half.sendall(b'{"op": "pi')
    assert works(shared)
    halves[0].sendall(b'ng"}\n')
    assert said(halves[0])["ok"]
    for half in halves:
        half.close()
    assert works(shared)


def test_a_hundred_callers_at_once_all_get_their_answer(shared: Daemon) -> None:
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda _: client.ask(shared.socket, {"op": "status"}), range(100)))

    assert all(answer and answer["ok"] for answer in answers)


def test_callers_that_go_away_early_leave_nothing_behind(shared: Daemon) -> None:
    threads = len(os.listdir(f"/proc/{shared.process.pid}/task"))
    for _ in range(50):
        with connect(shared) as connection:
            connection.sendall(b'{"op": "status"}\n')
    wait_until(lambda: len(os.listdir(f"/proc/{shared.process.pid}/task")) <= threads + 1, "their threads end")
    assert works(shared)


def test_more_silent_callers_than_there_is_room_for_are_let_go_of(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "IDLE_S", 0.3)
    path = str(home.folder / "s")
    server = Server(path, lambda request: {"ok": True}, no_hooks)
    server.start()
    silent = []
    try:
        for _ in range(MAX_CONNECTIONS + 10):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            silent.append(connection)

        assert client.ask(path, {"op": "ping"}, timeout_s=10) == {"ok": True}
    finally:
        for connection in silent:
            connection.close()
        server.stop()
        server.join(5)


def test_a_caller_waits_a_moment_when_the_queue_is_full(home: Home) -> None:
    path = str(home.folder / "s")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(1)
    others = []
    try:
        for _ in range(2):
            other = socket.socket(socket.AF_UNIX)
            other.settimeout(1)
            other.connect(path)
            others.append(other)
        with pytest.raises(SilentError):
            client.ask(path, {"op": "ping"}, timeout_s=0.2)

        def serve() -> None:
            for _ in range(3):
                connection, _ = listening.accept()
                connection.sendall(b'{"ok": true}\n')
                others.append(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        assert client.ask(path, {"op": "ping"}, timeout_s=5) == {"ok": True}
        thread.join(5)
    finally:
        for other in others:
            other.close()
        listening.close()


def test_k7_another_user_is_refused_even_where_the_socket_can_be_reached(home: Home) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    home.folder.chmod(0o755)
    path = home.folder / "s"
    asked: list[Any] = []
    server = Server(str(path), lambda request: {"ok": asked.append(request) is None}, no_hooks)
    server.start()
    try:
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o666)  # as if someone had been careless
        code = (
            "import socket; s = socket.socket(socket.AF_UNIX); s.settimeout(5)\n"
            f"s.connect({str(path)!r}); s.sendall(b'{{}}\\n'); print(s.recv(99))"
        )
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--clear-groups", "/usr/bin/env", "python3", "-c", code],
            capture_output=True, text=True, check=False, cwd="/", timeout=20,
        )  # fmt: skip
        assert done.stdout.strip() in ("b''", "") or "Reset" in done.stderr, done
        assert asked == []
        assert client.ask(str(path), {"op": "x"}) == {"ok": True}
    finally:
        server.stop()
        server.join(5)


def test_a_hook_that_printed_finds_the_connection_open_though_nothing_is_to_be_noted(home: Home) -> None:
    """It says that it printed: into a closed connection that was an error in its log, each time the guard spoke."""
    path = str(home.folder / "s")
    server = Server(path, lambda request: {"ok": True}, lambda *_: b"{}")
    server.start()
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            connection.sendall(
                b'{"v": 1, "op": "hook", "agent": "qwen", "event": "Stop", "size": 2, "arrives": true}\n{}'
            )
            connection.settimeout(0.3)
            assert connection.recv(99) == b"hook 2\n{}"
            with pytest.raises(TimeoutError):
                connection.recv(1)
            connection.sendall(b"\n")
            assert connection.recv(1) == b""
    finally:
        server.stop()


def test_a_socket_that_cannot_be_made_is_said_in_words(home: Home) -> None:
    with pytest.raises(MachineError, match="socket cannot be made"):
        Server(str(home.folder / ("x" * 200)), lambda request: {}, no_hooks)


def test_accepting_goes_on_when_no_file_handle_was_left(home: Home) -> None:
    """In a process of its own, for its limit of handles."""
    code = f"""
import resource, socket, time
from mdmem.daemon import client
from mdmem.daemon.server import Server
path = {str(home.folder / "s")!r}
server = Server(path, lambda request: {{"ok": True}}, lambda *_: b"")
waiting = [socket.socket(socket.AF_UNIX) for _ in range(3)]
import os
taken = []
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 1, 256))
try:
    while True: taken.append(os.dup(0))
except OSError: pass
server.start()
waiting[0].connect(path)
started = time.process_time()
time.sleep(0.5)
assert time.process_time() - started < 0.2, "it spins"
for fd in taken: os.close(fd)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
assert client.ask(path, {{"op": "x"}}, timeout_s=5) == {{"ok": True}}
server.stop()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=home.env, check=False, timeout=30
    )
    assert done.returncode == 0, done.stderr


def ask_hook(daemon: Daemon, sent: bytes) -> bytes:
    """What comes back before the connection is closed."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(LIMIT_S)
        connection.connect(daemon.socket)
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as said:
            return said.read()


HOOK = b'{"v": 1, "op": "hook", "agent": "claude-code", "event": "SessionEnd", "size": %s}\n'


@pytest.mark.parametrize(
    ("size", "payload", "reply"),
    [
        (b"2", b"{}", b"hook 0\n"),
        (b"3", b"{}", b"hook 0\n"),  # cut off
        (b"0", b"", b"hook 0\n"),
        (b"-1", b"{}", b"hook 0\n"),
        (b"99999999999", b"{}", b"hook 0\n"),
        (b'"x"', b"{}", b""),
        (b"null", b"{}", b""),
        (b"1e400", b"{}", b""),
    ],
)
def test_a_hook_request_is_answered_in_a_frame_or_not_at_all(
    daemon: Daemon, size: bytes, payload: bytes, reply: bytes
) -> None:
    assert ask_hook(daemon, HOOK % size + payload) == reply
    assert daemon.ask("ping")["ok"]


@pytest.mark.parametrize(
    "rest", [b'"agent"', b'"a": ' + b"[" * 100_000, b'"size": 0}', b'"size": 0, "agent": "codex"}']
)
def test_half_a_hook_request_is_no_answer(daemon: Daemon, rest: bytes) -> None:
    assert ask_hook(daemon, b'{"v": 1, "op": "hook", ' + rest + b"\n") == b""
    assert daemon.ask("ping")["ok"]


def test_k7_nothing_is_sent_to_a_socket_in_a_folder_of_another_user(home: Home) -> None:
    """A path in /tmp can be taken by anybody, in advance."""
    folder = home.folder / "taken"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "s"))
        listening.listen()
        os.chown(folder, 12_345, 12_345)
        with pytest.raises(RefusedError, match="another user"):
            client.ask(str(folder / "s"), {"op": "ping"})
        assert hook._from_daemon(str(folder / "s"), ["claude-code", "Stop"], b"{}") is None
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()
