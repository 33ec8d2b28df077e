"""What is told to the service manager, and when: a real socket, parts whose progress the test decides, no clock."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from mdmem.config.service import Managed, take_managed
from mdmem.daemon.service.notify import Part, Supervision
from tests.conftest import Home


@pytest.fixture
def heard(home: Home) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(home.folder / "notify"))
        made.setblocking(False)
        yield made


def lines(heard: socket.socket) -> list[str]:
    found = []
    try:
        while True:
            found += heard.recv(4_096).decode().splitlines()
    except BlockingIOError:
        return found


def test_a_part_is_well_while_it_moves_or_has_not_stood_still_for_long() -> None:
    at = [1]
    part = Part("x", lambda: True, lambda: at[0])
    assert part.is_well(100.0, 5.0)
    assert part.is_well(105.0, 5.0)
    assert not part.is_well(105.1, 5.0)
    at[0] = 2

    assert part.is_well(105.2, 5.0)
    assert part.is_well(110.2, 5.0)


def test_a_patient_part_may_stand_still_for_longer_but_must_live() -> None:
    alive = [True]
    part = Part("x", lambda: alive[0], lambda: 1, least_s=60.0)
    assert part.is_well(100.0, 5.0)
    assert part.is_well(160.0, 5.0)
    assert not part.is_well(160.1, 5.0)
    alive[0] = False

    assert not Part("x", lambda: alive[0]).is_well(0.0, 5.0)


def test_it_is_not_ready_before_the_socket_answers(home: Home, heard: socket.socket) -> None:
    managed = Managed(str(home.folder / "notify"), None)
    told = Supervision(managed, str(home.folder / "no socket"), [], lambda: None)
    told.look()

    assert lines(heard) == ["STATUS=up to date"]
    assert told.look_s < 1


def test_the_status_is_counts_and_is_told_when_it_changes(home: Home, heard: socket.socket) -> None:
    at: list[tuple[int, int] | None] = [(500, 5_000)]
    told = Supervision(Managed(str(home.folder / "notify"), None), "", [], lambda: at[0])
    told.look()
    told.look()
    at[0] = None
    told.look()

    assert lines(heard) == ["STATUS=indexing: 500 files done, 4500 pending", "STATUS=up to date"]


def test_a_part_that_is_not_well_keeps_the_ping_back(home: Home, heard: socket.socket) -> None:
    alive = [True]
    told = Supervision(Managed(str(home.folder / "notify"), 60.0), "", [Part("x", lambda: alive[0])], lambda: None)
    told.look()
    assert "WATCHDOG=1" in lines(heard)
    alive[0] = False
    told = Supervision(Managed(str(home.folder / "notify"), 60.0), "", [Part("x", lambda: alive[0])], lambda: None)
    told.look()

    assert "WATCHDOG=1" not in lines(heard)


@pytest.mark.parametrize("address", [None, "/nowhere/notify", "@mdmem-nobody-listens", "vsock:2:1234"])
def test_without_a_service_manager_that_listens_nothing_happens(address: str | None) -> None:
    told = Supervision(Managed(address, 60.0), "", [Part("x", lambda: True)], lambda: None)
    told.look()
    told.tell("READY=1")


@pytest.mark.parametrize(
    ("usec", "pid", "seconds"),
    [("2000000", "own", 2.0), ("2000000", "", 2.0), ("2000000", "1", None), ("0", "", None), ("x", "", None)],
)
def test_the_watchdog_is_of_this_process_or_not_ours(
    monkeypatch: pytest.MonkeyPatch, usec: str, pid: str, seconds: float | None
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "@x")
    monkeypatch.setenv("WATCHDOG_USEC", usec)
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()) if pid == "own" else pid)

    assert take_managed() == Managed("@x", seconds)
    assert take_managed() == Managed(None, None)  # no child sees them
