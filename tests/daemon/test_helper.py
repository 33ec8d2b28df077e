"""A helper of the daemon: started when somebody calls, started again, stopped with it."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdmem.daemon.helper import Helper
from tests.conftest import wait_until

# Serves one caller, who says how it is to end; ends with its input too.
PROGRAM = """
import os, select, socket, sys
listening = socket.socket(fileno=int(sys.argv[1]))
while True:
    ready, _, _ = select.select([listening, 0], [], [])
    if 0 in ready:
        sys.exit(0)
    try:
        connection, _ = listening.accept()
    except BlockingIOError:
        continue
    connection.setblocking(True)
    connection.sendall(b"%d\\n" % os.getpid())
    said = connection.recv(100)
    if said == b"end":
        sys.exit(0)
    if said == b"die":
        os.kill(os.getpid(), 9)
"""


@pytest.fixture
def helper(tmp_path: Path) -> Iterator[Helper]:
    made = Helper(str(tmp_path / "s"), [sys.executable, "-c", PROGRAM])
    made.start()
    yield made
    made.stop()
    made.join(5)
    assert not made.is_alive()


def call(helper: Helper, say: bytes) -> int:
    """The process that answers; 0 where we are turned away."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(helper.path)
        pid = int(connection.recv(100) or b"0")
        connection.sendall(say)
        return pid


def test_it_starts_with_the_first_call_and_serves_the_next(helper: Helper) -> None:
    assert helper._process is None
    first = call(helper, b"x")

    assert first == call(helper, b"x")


@pytest.mark.parametrize("how", [b"end", b"die"])
def test_it_is_started_again_for_the_next_call(helper: Helper, how: bytes) -> None:
    first = call(helper, how)
    process = helper._process
    assert process is not None
    wait_until(lambda: process.poll() is not None, "it ends")
    wait_until(lambda: call(helper, b"x") not in (0, first), "another serves")


def test_who_calls_one_that_cannot_start_is_turned_away(tmp_path: Path) -> None:
    for command in ([sys.executable, "-c", "raise SystemExit(3)"], [str(tmp_path / "none")]):
        made = Helper(str(tmp_path / "s"), command)
        made.start()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(made.path)
            assert connection.recv(10) == b""
        made.stop()
        made.join(5)
        assert not made.is_alive()
        assert not (tmp_path / "s").exists()


def test_it_ends_with_the_daemon(helper: Helper) -> None:
    call(helper, b"x")
    process = helper._process
    assert process is not None
    helper.stop()

    assert process.wait(10) == 0
    assert not Path(helper.path).exists()
