"""What `mdmem doctor` makes of each state of the service, and what goes wrong on the way to one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdmem.daemon.service import checks, launchd
from mdmem.daemon.service.install import State, install, state
from mdmem.daemon.service.launchd import Launchd
from mdmem.daemon.service.manager import run
from mdmem.daemon.service.systemd import Systemd
from mdmem.errors import MachineError
from tests.bed import paths_in
from tests.conftest import Home
from tests.service.conftest import command
from tests.service.test_install import Machine

WELL = State(
    manager="systemd", reachable=True, reason=None, path="/u", installed=True, edited=False, current=True,
    launcher="/x/mdmem", launcher_exists=True, enabled=True, state="active", pid=1, started_by="service", linger=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "codes"),
    [
        ({}, []),
        ({"edited": True, "current": False}, ["service-edited"]),
        ({"current": False}, ["service-outdated"]),
        ({"launcher_exists": False, "current": False}, ["service-launcher-gone"]),
        ({"reachable": False, "reason": "no bus", "state": "unknown"}, ["service-unreachable"]),
        ({"state": "failed"}, ["service-failed"]),
    ],
)
def test_each_state_has_its_finding_and_each_finding_its_repair(changes: dict[str, object], codes: list[str]) -> None:
    found = list(checks._of(WELL._replace(**changes)))  # type: ignore[arg-type]

    assert [finding.code for finding in found] == codes
    assert all(finding.hint and not finding.ok for finding in found)


@pytest.fixture
def systemd(home: Home, launcher: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(home, "systemd", home.folder / ".config/systemd/user/mdmem.service")
    monkeypatch.setenv("PATH", f"{made.bin}:/usr/bin:/bin")
    return made


def test_no_service_is_no_finding(home: Home, systemd: Machine) -> None:
    assert checks.checks(paths_in(home.mdmem)) == []


def test_a_file_that_cannot_be_read_is_named(home: Home, systemd: Machine) -> None:
    systemd.file.mkdir(parents=True)

    assert [finding.code for finding in checks.checks(paths_in(home.mdmem))] == ["service-unreadable"]
    with pytest.raises(MachineError, match=r"mdmem\.service"):
        state(paths_in(home.mdmem), Systemd())


def test_a_folder_that_cannot_be_made_is_named_and_nothing_is_started(home: Home, systemd: Machine) -> None:
    (home.folder / ".config").mkdir()
    (home.folder / ".config" / "systemd").symlink_to(home.folder / "nowhere" / "at all")
    with pytest.raises(MachineError, match="cannot be written"):
        install(paths_in(home.mdmem), Systemd())

    assert systemd.calls() == []


def test_an_agent_that_launchd_does_not_let_go_is_an_error_in_its_words(
    home: Home, launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(home, "launchd", home.folder / "Library/LaunchAgents/io.mdmem.daemon.plist")
    (machine.folder / "loaded").write_text("x")
    (machine.folder / "pid").write_text("0")
    (machine.folder / "stuck").touch()
    monkeypatch.setenv("PATH", f"{machine.bin}:/usr/bin:/bin")
    monkeypatch.setattr(launchd, "GONE_S", 0.2)
    with pytest.raises(MachineError, match="Operation now in progress"):
        Launchd().stop()


def test_a_program_that_hangs_is_not_waited_for_for_ever(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    command(home.folder / "bin" / "systemctl", "-c", "import threading; threading.Event().wait()")
    monkeypatch.setenv("PATH", f"{home.folder / 'bin'}:/usr/bin:/bin")
    with pytest.raises(MachineError, match="systemctl --user show did not end"):
        run(["systemctl", "--user", "show"], timeout_s=0.5)
