"""Programs of service managers, as far as mdmem calls them: `python fakes.py systemctl|loginctl|launchctl STATE …`.

They keep their state in a folder, note each call in `calls`, and really start what they are told to start.
"""

from __future__ import annotations

import json
import os
import plistlib
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LIMIT_S = 60.0
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def systemctl(folder: Path, args: list[str]) -> int:
    assert args[0] == "--user"
    verb, *rest = args[1:]
    if (folder / "no bus").exists():
        sys.stderr.write("Failed to connect to bus: No medium found\n")
        return 1
    if verb == "show":
        _show(folder, rest)
    elif verb in ("enable", "disable"):
        if not _unit(folder).exists():
            sys.stderr.write(f"Failed to {verb} unit: Unit file mdmem.service does not exist.\n")
            return 1
        _enable(folder, verb == "enable")
        if "--now" in rest:
            _stop(folder)
    elif verb in ("start", "restart"):
        return _start(folder, anew=verb == "restart")
    else:
        assert verb in ("daemon-reload", "reset-failed"), verb
    return 0


def _unit(folder: Path) -> Path:
    return Path((folder / "units").read_text()) / "mdmem.service"


def _enable(folder: Path, enabled: bool) -> None:
    link = _unit(folder).parent / "default.target.wants" / "mdmem.service"
    link.unlink(missing_ok=True)
    if enabled:
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(_unit(folder))


def _state(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / "state").read_text())
    except FileNotFoundError:
        return {"ActiveState": "inactive", "MainPID": 0, "supervisor": 0}
    return found


def _show(folder: Path, rest: list[str]) -> None:
    state = _state(folder)
    enabled = (_unit(folder).parent / "default.target.wants" / "mdmem.service").is_symlink()
    state |= {"UnitFileState": "enabled" if enabled else "", "Version": "252"}
    names = next(arg for arg in rest if arg.startswith("--property=")).removeprefix("--property=").split(",")
    sys.stdout.write("".join(f"{name}={state[name]}\n" for name in names if name in state))


def _start(folder: Path, *, anew: bool) -> int:
    if anew:
        _stop(folder)
    if _state(folder)["ActiveState"] == "active":
        return 0
    for old in ("notify", "state"):
        (folder / old).unlink(missing_ok=True)
    subprocess.Popen(
        [sys.executable, "-S", str(HERE / "manager.py"), str(_unit(folder)), str(folder / "state")],
        env=os.environ | {"PYTHONPATH": str(ROOT)}, start_new_session=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=(folder / "supervisor").open("w"),
    )  # fmt: skip
    _wait(lambda: _state(folder)["ActiveState"] in ("active", "failed") or _ended_at_once(folder))
    if _state(folder)["ActiveState"] == "active":
        return 0
    sys.stderr.write("Job for mdmem.service failed because the control process exited with error code.\n")
    return 1


def _ended_at_once(folder: Path) -> bool:
    state = _state(folder)
    return bool(state["supervisor"]) and state["ActiveState"] == "inactive"


def _stop(folder: Path) -> None:
    supervisor = _state(folder)["supervisor"]
    if supervisor and _state(folder)["MainPID"]:
        os.kill(supervisor, signal.SIGTERM)
        _wait(lambda: _state(folder)["MainPID"] == 0)
    (folder / "state").unlink(missing_ok=True)


def loginctl(folder: Path, args: list[str]) -> int:
    assert args[0] == "show-user"
    answer = folder / "linger"
    if not answer.exists():
        sys.stderr.write("Failed to get user: no such user\n")
        return 1
    sys.stdout.write(f"Linger={answer.read_text()}\n")
    return 0


def launchctl(folder: Path, args: list[str]) -> int:
    domain = f"gui/{os.getuid()}"
    target = f"{domain}/io.mdmem.daemon"
    loaded, verb = folder / "loaded", args[0]
    if verb == "print" and args[1] == domain:
        return 125 if (folder / "no bus").exists() else 0
    if verb == "bootstrap":
        assert args[1] == domain
        if loaded.exists():
            sys.stderr.write("Bootstrap failed: 5: Input/output error\n")
            return 5
        loaded.write_text(args[2])
        return _spawn(folder)  # RunAtLoad
    assert args[-1] == target, args
    if verb == "enable":
        return 0
    if not loaded.exists():
        sys.stderr.write(f'Could not find service "io.mdmem.daemon" in domain for user gui: {os.getuid()}\n')
        return 113
    if verb == "print":
        pid = _pid(folder)
        sys.stdout.write(f"{target} = {{\n\tactive count = 1\n\tstate = {'running' if pid else 'not running'}\n")
        sys.stdout.write((f"\tpid = {pid}\n" if pid else "") + "\n\tdomain = x\n}\n")
    elif verb == "kickstart":
        return 0 if _pid(folder) else _spawn(folder)
    else:
        assert verb == "bootout", args
        return _bootout(folder)
    return 0


def _bootout(folder: Path) -> int:
    if (folder / "stuck").exists():
        sys.stderr.write("Boot-out failed: 36: Operation now in progress\n")
        return 36
    if _pid(folder):
        os.kill(_pid(folder), signal.SIGTERM)
    (folder / "loaded").unlink()
    return 0


def _spawn(folder: Path) -> int:
    agent = plistlib.loads(Path((folder / "loaded").read_text()).read_bytes())
    (folder / "pid").write_text("0")
    child = subprocess.Popen(
        agent["ProgramArguments"], env=agent["EnvironmentVariables"], cwd="/", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    (folder / "pid").write_text(str(child.pid))
    return 0


def _pid(folder: Path) -> int:
    pid = int((folder / "pid").read_text())
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return 0
    return 0 if state == "Z" else pid


def _wait(holds: Any) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


if __name__ == "__main__":
    program, state, *arguments = sys.argv[1:]
    with (Path(state) / "calls").open("a") as calls:
        calls.write(f"{program} {' '.join(arguments)}\n")
    sys.exit(globals()[program](Path(state), arguments))
