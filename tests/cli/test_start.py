from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Daemon, Home

pytestmark = pytest.mark.slow


@pytest.fixture
def down(home: Home):
    """Whatever a test starts is stopped."""
    yield
    assert home.run("down").code == 0


def test_up_starts_down_stops_and_both_say_it_again(home, down):
    started = home.run("up", "--json").json
    assert (started["running"], started["started"]) == (True, True)
    again = home.run("up")
    assert again.code == 0
    assert f"already running (pid {started['pid']})" in again.out
    home.put("a.md", "Alpha.\n")
    assert home.run("sync").code == 0
    assert "a.md" in home.run("search", "alpha").out

    stopped = home.run("down", "--json").json
    assert stopped == {"running": False, "stopped": True, "pid": started["pid"]}
    assert home.run("down").out == "mdmem was not running\n"
    assert not Path(f"/proc/{started['pid']}").exists() or _is_zombie(started["pid"])
    log = (home.mdmem / "state" / "mdmem.log").read_text()
    assert '"started"' in log
    assert '"stopped"' in log
    assert "Alpha" not in log


def _is_zombie(pid: int) -> bool:
    return ") Z " in Path(f"/proc/{pid}/stat").read_text()


def test_f4_ten_starts_at_once_leave_one_daemon(home, down):
    starts = [
        subprocess.Popen([sys.executable, "-m", "mdmem", "up", "--json"], env=home.env, cwd="/", stdout=subprocess.PIPE)
        for _ in range(10)
    ]
    done = [(process.communicate(timeout=60)[0], process.returncode) for process in starts]

    assert {code for _, code in done} == {0}
    assert len({json.loads(out)["pid"] for out, _ in done}) == 1


def test_f4_a_second_daemon_says_who_runs_and_ends_with_its_own_code(home, daemon: Daemon):
    done = home.run("daemon")

    assert done.code == 6
    assert f"pid {daemon.process.pid}" in done.err
    assert daemon.ask("ping")["ok"]


def test_f5_62_a_stale_pid_of_a_stranger_neither_stops_a_start_nor_gets_a_signal(home, down):
    lock = home.put("run/mdmem.lock", json.dumps({"pid": os.getpid(), "owner": "the daemon"}), home.mdmem)
    lock.parent.chmod(0o700)

    assert home.run("down").out == "mdmem was not running\n"
    assert home.run("up").code == 0


def test_f7_64_a_home_with_a_long_name_and_a_stale_socket_start(home):
    deep = home.folder / ("x" * 60) / ("y" * 60)
    (deep / "run").mkdir(parents=True)
    env = {"MDMEM_HOME": str(deep)}
    try:
        assert home.run("up", env=env).code == 0
        pid = home.run("status", "--json", env=env).json["daemon"]["pid"]
        os.kill(pid, 9)
        assert home.run("list", env=env).code == 0
        assert home.run("up", env=env).code == 0
    finally:
        assert home.run("down", env=env).code == 0


def test_a_daemon_that_cannot_start_says_why(home):
    home.put("config.toml", "[watch]\nquiet = 1\n", home.mdmem)
    done = home.run("up")

    assert done.code == 6
    assert "watch.quiet is not a setting" in done.err
    assert "try:   did you mean" in done.err


def test_a_daemon_that_holds_the_lock_but_does_not_answer_is_named(home):
    from mdmem.db import WriterLock

    lock = WriterLock(str(home.mdmem / "run" / "mdmem.lock"))
    lock.take("the daemon")
    try:
        done = home.run("down")
    finally:
        lock.release()

    assert done.code == 5
    assert str(os.getpid()) in done.err


@contextmanager
def _listening(home: Home, answer: bytes):
    """A daemon of another time: answers everything with one line."""
    path = home.mdmem / "run" / "mdmem.sock"
    path.parent.mkdir(parents=True, mode=0o700)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            connection, _ = server.accept()
            with connection:
                if connection.recv(65536):
                    connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(str(path))
        thread.join()
        server.close()


def test_f13_a_daemon_of_another_protocol_is_named_with_the_restart(home, call):
    refusal = {"what": "this daemon (mdmem 9.9) speaks protocol 9, not 1", "hint": "restart it: mdmem down && mdmem up"}
    answer = {"ok": False, "error": refusal | {"where": None, "exit_code": 5}}
    with _listening(home, json.dumps(answer).encode() + b"\n"):
        done = call("search", "x")

    assert done.code == 5
    assert "speaks protocol 9" in done.err
    assert "mdmem down && mdmem up" in done.err


def test_f13_a_daemon_of_another_version_answers_and_is_named(home, call):
    with _listening(home, b'{"ok": true, "hits": [], "degraded": [], "version": "0.0.1", "pid": 1}\n'):
        done = call("search", "x", "--json")
        again = call("up")

    assert done.json == []
    assert "the daemon is mdmem 0.0.1" in done.err
    assert "already running" in again.out
    assert "restart it" in again.err


@pytest.mark.parametrize("answer", [b"nonsense\n", b"", b"[]\n"])
def test_a_daemon_that_answers_nonsense_is_an_error_in_words(home, call, answer):
    with _listening(home, answer):
        done = call("search", "x")
        doctor = call("doctor")

    assert done.code in (0, 5)
    assert "raceback" not in done.err
    assert doctor.code == 1


def test_the_daemon_in_the_foreground_ends_with_a_signal(home, daemon: Daemon):
    daemon.process.terminate()

    assert daemon.process.wait(10) == 0
