"""The files for service managers, judged by systemd's own programs, by plistlib, and by lists of what may be there."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.daemon.service.launchd import Launchd
from mdmem.daemon.service.systemd import Systemd, command, quote
from mdmem.errors import MachineError
from tests.conftest import ROOT
from tests.service.conftest import installed
from tests.service.manager import parse, split

ODD = ["plain", "a b", "100%h %", "$HOME ${x} $$", 'q"uote', "ap'ostrophe", "back\\slash", "ümläut 記憶", "a;b#c",
       "-x=1", "new\nline", " lead and trail "]  # fmt: skip
# systemd.exec(5): these are done by seccomp, prctl or rlimits, so that a user's manager needs no privileges for them.
FOR_USERS = {"NoNewPrivileges", "LockPersonality", "RestrictRealtime", "RestrictSUIDSGID", "SystemCallArchitectures",
             "RestrictAddressFamilies", "LimitCORE", "UMask"}  # fmt: skip
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1, max_size=20)


def analyze(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    return subprocess.run(
        ["systemd-analyze", "--user", "--no-pager", *args], env=os.environ | {"XDG_RUNTIME_DIR": str(folder)},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def unit(folder: Path, launcher: Path) -> Path:
    path = folder / "mdmem.service"
    path.write_bytes(Systemd().render(str(launcher), {"MDMEM_HOME": str(folder / launcher.parent.name)}))
    return path


@pytest.mark.parametrize("name", ODD)
def test_t17_systemd_takes_the_unit_whatever_the_path_to_mdmem(tmp_path: Path, name: str) -> None:
    launcher = installed(tmp_path / name / "mdmem")
    done = analyze(tmp_path, "verify", str(unit(tmp_path, launcher)))

    assert (done.returncode, done.stderr) == (0, "")


def test_t17_systemd_would_have_said_it(tmp_path: Path) -> None:
    path = unit(tmp_path, installed(tmp_path / "bin" / "mdmem"))
    path.write_text(
        path.read_text().replace("[Service]", "[Service]\nNoSuchKey=1").replace("/bin/mdmem", "/gone/mdmem")
    )
    done = analyze(tmp_path, "verify", str(path))

    assert "NoSuchKey" in done.stderr
    assert "gone/mdmem" in done.stderr


@pytest.mark.parametrize(("drop_in", "worst"), [(False, 90), (True, 30)])
def test_m5_the_drop_in_is_taken_and_hardens(tmp_path: Path, drop_in: bool, worst: int) -> None:
    path = unit(tmp_path, installed(tmp_path / "bin" / "mdmem"))
    if drop_in:
        (tmp_path / "mdmem.service.d").mkdir()
        text = (ROOT / "systemd" / "mdmem-hardening.conf").read_bytes()
        (tmp_path / "mdmem.service.d" / "hardening.conf").write_bytes(text)
    verified = analyze(tmp_path, "verify", str(path))
    judged = analyze(tmp_path, "security", "--offline=true", f"--threshold={worst}", str(path))

    assert (verified.returncode, verified.stderr) == (0, "")
    assert (judged.returncode, judged.stderr) == (0, ""), judged.stdout[-200:]


def test_m5_the_unit_hardens_by_nothing_that_a_user_may_not_do() -> None:
    text = (ROOT / "systemd" / "mdmem.service").read_text()
    lines = parse(text.replace("@MARK@", "").replace("@ENVIRONMENT@", ""))
    hardening = {
        key for key in lines if re.match("NoNew|Lock|Restrict|System|Limit|UMask|Protect|Private|Capab|Memory", key)
    }

    assert hardening == FOR_USERS
    drop_in = (ROOT / "systemd" / "mdmem-hardening.conf").read_text()
    assert "\nProtectHome=" not in drop_in
    assert "\nPrivateTmp=" not in drop_in


@given(NAMES, NAMES)
def test_what_is_quoted_is_what_the_service_gets(launcher: str, value: str) -> None:
    lines = parse(Systemd().render(f"/x/{launcher}/mdmem", {"MDMEM_HOME": value}).decode())

    assert split(lines["ExecStart"][0].removeprefix(":"))[-2:] == [f"/x/{launcher}/mdmem", "daemon"]
    assert split(lines["Environment"][-1]) == [f"MDMEM_HOME={value}"]
    assert Systemd().launcher_of(Systemd().render(f"/x/{launcher}/mdmem", {})) == f"/x/{launcher}/mdmem"


def test_a_program_that_systemd_takes_under_no_name_is_started_by_a_shell(tmp_path: Path) -> None:
    path = installed(tmp_path / "a 'b' \"c\" \\d" / "mdmem")
    words = split(command(str(path)).removeprefix(":"))
    done = subprocess.run([*words, "--version"], capture_output=True, text=True, check=True)

    assert words[0] == "/bin/sh"
    assert done.stdout.startswith("mdmem ")


def test_a_name_that_is_no_utf8_is_an_error_in_words() -> None:
    for manager in (Systemd(), Launchd()):
        with pytest.raises(MachineError, match="UTF-8"):
            manager.render("/x/\udcff/mdmem", {})
    with pytest.raises(MachineError, match="UTF-8"):
        quote("\udcff")


@pytest.mark.parametrize("manager", [Systemd(), Launchd()], ids=lambda manager: manager.name)
def test_any_change_to_a_file_of_ours_is_noticed(manager: Systemd | Launchd) -> None:
    text = manager.render("/x/mdmem", {})

    assert manager.is_ours(text)
    assert text == manager.render("/x/mdmem", {})
    for at in range(0, len(text), 7):
        assert not manager.is_ours(text[:at] + b"~" + text[at:])
    assert not manager.is_ours(b"")


ALLOWED = {"Label": str, "ProgramArguments": list, "RunAtLoad": bool, "KeepAlive": dict, "ThrottleInterval": int,
           "ExitTimeOut": int, "ProcessType": str, "Umask": int, "EnvironmentVariables": dict}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in ODD if "\n" not in name])
def test_t17_the_agent_reads_back_with_known_keys_and_types(name: str) -> None:
    launcher = f"/x/{name}<&>/mdmem"
    agent = plistlib.loads(Launchd().render(launcher, {"MDMEM_HOME": f"/{name}"}))

    assert {key: type(value) for key, value in agent.items()} == ALLOWED
    assert agent["ProgramArguments"] == [launcher, "daemon", "--log-file"]
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["EnvironmentVariables"] == {"PYTHONUTF8": "1", "MDMEM_HOME": f"/{name}"}
    assert agent["Umask"] == 0o077
    assert agent["ProcessType"] in ("Background", "Standard", "Adaptive", "Interactive")
    assert Launchd().launcher_of(Launchd().render(launcher, {})) == launcher


@pytest.mark.slow
def test_a_wheel_has_the_templates_where_they_are_looked_for(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    script = (
        "import sys; from mdmem.daemon.service import launchd, systemd\n"
        "for m in (systemd.Systemd(), launchd.Launchd()): sys.stdout.buffer.write(m.render('/x/mdmem', {}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip

    assert done.stdout == Systemd().render("/x/mdmem", {}) + Launchd().render("/x/mdmem", {})
    assert (tmp_path / "installed/mdmem/daemon/service/files/systemd/mdmem-hardening.conf").is_file()
