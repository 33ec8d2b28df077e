"""`mdmem service`: installed, again, upgraded, removed; by fakes of systemctl, loginctl and launchctl."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mdmem.daemon import client
from mdmem.daemon.service import checks, launchd, systemd
from mdmem.daemon.service import install as room
from tests.conftest import Daemon, Done, Home
from tests.service.conftest import command, installed

Call = Callable[..., Done]
FAKES = Path(__file__).parent / "fakes.py"


class Machine:
    """A machine with a service manager of fakes; `file`: what `install` writes."""

    def __init__(self, home: Home, kind: str, file: Path) -> None:
        self.kind, self.file = kind, file
        self.folder = home.folder / "fakes"
        self.folder.mkdir()
        self.bin = home.folder / "fakebin"
        for program in {"systemd": ("systemctl", "loginctl"), "launchd": ("launchctl",)}[kind]:
            command(self.bin / program, "-S", str(FAKES), program, str(self.folder))
        (self.folder / "units").write_text(str(file.parent))

    def calls(self) -> list[str]:
        """What was called since the last time, without questions."""
        path = self.folder / "calls"
        found = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [" ".join(line.split()[1:]) for line in found if " show" not in line and " print " not in line]


@pytest.fixture(params=["systemd", "launchd"])
def machine(request: pytest.FixtureRequest, home: Home, launcher: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.folder / "my config"))
    if request.param == "systemd":
        made = Machine(home, "systemd", home.folder / "my config/systemd/user/mdmem.service")
    else:
        made = Machine(home, "launchd", home.folder / "Library/LaunchAgents/io.mdmem.daemon.plist")
        for module in (room, checks):
            monkeypatch.setattr(module, "find_manager", launchd.Launchd)
    monkeypatch.setenv("PATH", f"{made.bin}:/usr/bin:/bin")
    return made


only_systemd = pytest.mark.parametrize("machine", ["systemd"], indirect=True)


@pytest.fixture(autouse=True)
def _nothing_stays(home: Home) -> Iterator[None]:
    """Whatever a test starts has ended before its home is removed."""
    yield
    client.ask(_socket(home), {"op": "stop"})


def _socket(home: Home) -> str:
    return str(home.mdmem / "run" / "mdmem.sock")


def ping(home: Home) -> int | None:
    answer = client.ask(_socket(home), {"op": "ping"})
    return int(answer["pid"]) if answer else None


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_m7_install_twice_upgrade_and_uninstall_twice_leave_the_memories_alone(
    home: Home, machine: Machine, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.file.parent.mkdir(parents=True)
    theirs = machine.file.parent / "other.service"
    theirs.write_text("[Service]\n")
    before = tree(machine.file.parent)
    home.put("a.md", "Alpha.\n")

    first = call("service", "install", "--json")
    assert first.code == 0, first.err
    assert (first.json["changed"], first.json["stopped"]) == (True, None)
    assert first.json["pid"] == ping(home)
    started = machine.calls()
    again = call("service", "install", "--json")
    assert (again.json["changed"], again.json["pid"]) == (False, first.json["pid"])

    for module in (systemd, launchd):
        monkeypatch.setattr(module, "__version__", "99.0")
    assert call("service", "status", "--json").json["current"] is False
    upgraded = call("service", "install")
    assert "written: " in upgraded.out
    assert ping(home) not in (None, first.json["pid"])
    assert len(list(machine.file.parent.glob("*mdmem*"))) == 1

    gone = call("service", "uninstall", "--json")
    assert gone.json["changed"] is True
    assert ping(home) is None
    assert call("service", "uninstall").out == "no service was installed\n"
    assert tree(machine.file.parent) - {"default.target.wants"} == before
    assert (home.user / "a.md").read_text() == "Alpha.\n"
    assert (home.mdmem / "state" / "index.db").exists()
    if machine.kind == "systemd":
        assert started == ["--user daemon-reload", "--user enable mdmem.service", "--user reset-failed mdmem.service",
                           "--user restart mdmem.service"]  # fmt: skip


@pytest.mark.slow
def test_a_daemon_of_another_version_is_started_anew_though_the_file_is_the_same(
    home: Home, machine: Machine, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("service", "install").code == 0
    before = ping(home)
    monkeypatch.setattr(room, "__version__", "99.0")
    done = call("service", "install", "--json")

    assert done.json["changed"] is False
    assert ping(home) not in (None, before)


def test_f4_a_daemon_started_by_hand_is_stopped_and_that_is_said(
    home: Home, machine: Machine, call: Call, daemon: Daemon
) -> None:
    assert call("service", "status", "--json").json["started_by"] == "hand"
    done = call("service", "install")

    assert done.code == 0, done.err
    assert f"started by hand (pid {daemon.process.pid}) was stopped" in done.out
    assert daemon.process.wait(10) == 0
    assert call("service", "status", "--json").json["started_by"] == "service"


@pytest.mark.slow
def test_down_stops_it_and_install_starts_it_again(home: Home, machine: Machine, call: Call) -> None:
    assert call("service", "install").code == 0
    assert "mdmem stopped" in call("down").out
    status = call("service", "status")
    assert "no daemon answers" in status.out
    assert call("service", "install").code == 0

    assert ping(home) is not None


def test_the_status_says_all_there_is_to_say(home: Home, machine: Machine, launcher: Path, call: Call) -> None:
    nothing = call("service", "status", "--json").json
    assert (nothing["installed"], nothing["launcher"], nothing["current"]) == (False, None, False)
    assert "mdmem service install" in call("service", "status").out
    pid = call("service", "install", "--json").json["pid"]
    status = call("service", "status", "--json").json

    assert status | {"state": ""} == {
        "manager": machine.kind, "reachable": True, "reason": None, "path": str(machine.file), "installed": True,
        "edited": False, "current": True, "launcher": str(launcher), "launcher_exists": True, "enabled": True,
        "state": "", "pid": pid, "started_by": "service", "linger": None,
    }  # fmt: skip
    assert status["state"] in ("active", "running")
    assert [f["code"] for f in call("doctor", "--json").json if f["check"] == "service"] == ["ok"]


@only_systemd
def test_m1_that_a_logout_ends_it_is_told_and_not_changed(home: Home, machine: Machine, call: Call) -> None:
    (machine.folder / "linger").write_text("no")
    told = call("service", "install")
    assert "loginctl enable-linger" in told.out
    assert "loginctl enable-linger" in call("service", "status").out
    assert not any("linger" in line for line in machine.calls())
    (machine.folder / "linger").write_text("yes")

    assert "linger" not in call("service", "status").out
    assert call("service", "status", "--json").json["linger"] is True


@pytest.mark.slow
def test_m2_a_launcher_that_is_gone_is_told_and_install_mends_it(
    home: Home, machine: Machine, launcher: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("service", "install").code == 0
    moved = installed(home.folder / "new venv" / "mdmem")
    launcher.unlink()
    monkeypatch.setattr("sys.argv", [str(moved)])
    status = call("service", "status")
    assert "that program is gone" in status.out
    doctor = call("doctor", "--json")
    assert "service-launcher-gone" in {finding["code"] for finding in doctor.json}
    assert doctor.code == 1
    assert call("service", "install").code == 0

    assert call("service", "status", "--json").json["launcher"] == str(moved)


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_file_that_somebody_changed_is_left_alone(home: Home, machine: Machine, call: Call, command: str) -> None:
    assert call("service", "install").code == 0
    pid = ping(home)
    edited = machine.file.read_bytes().replace(b"PYTHONUTF8", b"PYTHONUTF9")
    machine.file.write_bytes(edited)
    done = call("service", command)

    assert done.code == 4
    assert "by somebody else" in done.err
    assert machine.file.read_bytes() == edited
    assert ping(home) == pid
    assert "left alone" in call("service", "status").out
    assert "service-edited" in {finding["code"] for finding in call("doctor", "--json").json}


@pytest.mark.parametrize("how", ["absent", "silent"])
def test_without_a_service_manager_nothing_is_half_done(
    home: Home, machine: Machine, call: Call, daemon: Daemon, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "absent":
        monkeypatch.setenv("PATH", str(home.folder / "nothing"))
    else:
        (machine.folder / "no bus").touch()
    done = call("service", "install")

    assert done.code == 6
    assert "try:" in done.err
    assert not machine.file.exists()
    assert daemon.ask("ping")["ok"]
    assert call("service", "uninstall").code == 0
    status = call("service", "status", "--json")
    assert (status.code, status.json["reachable"]) == (0, False)


def test_an_installed_service_is_not_removed_behind_its_managers_back(home: Home, machine: Machine, call: Call) -> None:
    assert call("service", "install").code == 0
    (machine.folder / "no bus").touch()

    assert call("service", "uninstall").code == 6
    assert machine.file.exists()
    assert "service-unreachable" in {finding["code"] for finding in call("doctor", "--json").json}


def test_one_that_cannot_start_is_an_error_with_the_log_to_look_at(
    home: Home, machine: Machine, launcher: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "START_S", 1.0)
    launcher.write_text("#!/bin/sh\nexit 6\n")
    done = call("service", "install")

    assert done.code in (5, 6)
    assert "see: " in done.err


@only_systemd
def test_one_that_failed_for_good_is_told_by_doctor(home: Home, machine: Machine, launcher: Path, call: Call) -> None:
    launcher.write_text("#!/bin/sh\nexit 6\n")
    assert call("service", "install").code == 6

    assert "systemd says: failed" in call("service", "status").out
    assert "service-failed" in {finding["code"] for finding in call("doctor", "--json").json}


@pytest.mark.parametrize("machine", ["launchd"], indirect=True)
def test_under_launchd_the_log_is_the_rotating_file(home: Home, machine: Machine, call: Call) -> None:
    assert call("service", "install").code == 0
    log = home.mdmem / "state" / "mdmem.log"
    assert '"started"' in log.read_text()
    (home.mdmem / "config.toml").write_text("[watch]\nquiet = 1\n")
    pid = ping(home)
    assert pid is not None
    os.kill(pid, signal.SIGTERM)
    call("down")
    assert call("service", "status").code == 0


def test_where_mdmem_lives_is_passed_on(home: Home, machine: Machine, call: Call) -> None:
    assert call("service", "install").code == 0
    text = machine.file.read_text()

    assert str(home.mdmem) in text
    assert "XDG_DATA_HOME" not in text
