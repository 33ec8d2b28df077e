"""A service installed, removed and looked at, whichever service manager this machine has."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, NamedTuple

from mdmem import __version__
from mdmem.config import Paths
from mdmem.config.launcher import launcher
from mdmem.config.service import passed_on
from mdmem.daemon import client
from mdmem.daemon.service.launchd import Launchd
from mdmem.daemon.service.manager import Manager, Running
from mdmem.daemon.service.systemd import Systemd, lingers
from mdmem.daemon.stop import stop
from mdmem.errors import MachineError, MdmemError, RefusedError, SilentError

START_S = 15.0
PAUSE_S = 0.05


class Done(NamedTuple):
    """What `install` or `uninstall` did. `stopped`: the pid of the daemon that had to go."""

    path: str
    changed: bool
    stopped: int | None
    pid: int | None
    linger: bool | None = None  # whether the service outlives a logout; None where that is not known, or no question


class State(NamedTuple):
    """The service as it stands. `started_by`: `service`, `hand`, or None where no daemon runs."""

    manager: str
    reachable: bool
    reason: str | None  # why it can't be reached
    path: str
    installed: bool
    edited: bool  # by somebody else than mdmem
    current: bool  # what this mdmem would write
    launcher: str | None  # the program that it starts
    launcher_exists: bool
    enabled: bool
    state: str
    pid: int | None
    started_by: str | None
    linger: bool | None  # as in Done


def find_manager() -> Manager:
    return Launchd() if sys.platform == "darwin" else Systemd()


def install(paths: Paths, manager: Manager) -> Done:
    """Have the service manager run the daemon, now and at each login. Doing it again changes nothing, but starts the
    daemon anew where the file, or mdmem, is another one now.

    Raises MachineError before anything is done where there is no service manager, RefusedError where the file is not
    ours.
    """
    wanted = manager.render(launcher(), passed_on())
    manager.reach()
    there = _read(manager.path)
    _refuse_edited(manager, there)
    answer, running = client.ask(paths.socket, {"op": "ping"}), manager.running()
    by_hand = answer is not None and answer["pid"] != running.pid
    if there != wanted:
        _write(manager.path, wanted)
    if by_hand:
        stop(paths)  # only now that little is left to go wrong
    other = answer is not None and answer.get("version") != __version__
    manager.start(anew=there != wanted or other)
    pid = _wait_until_up(paths, manager)
    return Done(manager.path, there != wanted, answer["pid"] if answer and by_hand else None, pid, _linger(manager))


def uninstall(paths: Paths, manager: Manager) -> Done:
    """Stop the service and remove its file, and nothing else. Raises as `install` does."""
    there = _read(manager.path)
    if there is None:
        return Done(manager.path, False, None, None)
    manager.reach()
    _refuse_edited(manager, there)
    pid = manager.running().pid
    manager.stop()
    try:
        os.unlink(manager.path)
    except OSError as error:
        raise MachineError(f"it cannot be removed: {error.strerror}", where=manager.path) from error
    manager.forget()
    return Done(manager.path, True, pid, None)


def state(paths: Paths, manager: Manager) -> State:
    """Everything a person may want to know of the service. Raises MachineError where its file cannot be read."""
    reason = _unreachable(manager)
    running = Running(False, "unknown", None) if reason else manager.running()
    there = _read(manager.path)
    program = manager.launcher_of(there) if there is not None else None
    return State(
        manager=manager.name,
        reachable=reason is None,
        reason=reason,
        path=manager.path,
        installed=there is not None,
        edited=there is not None and not manager.is_ours(there),
        current=there is not None and there == _wanted(manager),
        launcher=program,
        launcher_exists=program is not None and os.access(program, os.X_OK),
        enabled=running.enabled,
        state=running.state,
        pid=running.pid,
        started_by=_started_by(paths, running),
        linger=_linger(manager) if there is not None else None,
    )


def _linger(manager: Manager) -> bool | None:
    return lingers() if manager.name == "systemd" else None


def _started_by(paths: Paths, running: Running) -> str | None:
    try:
        answer = client.ask(paths.socket, {"op": "ping"}, timeout_s=5.0)
    except SilentError:
        return None
    if answer is None:
        return None
    return "service" if answer["pid"] == running.pid else "hand"


def _unreachable(manager: Manager) -> str | None:
    try:
        manager.reach()
    except MachineError as error:
        return str(error)
    return None


def _wanted(manager: Manager) -> bytes | None:
    try:
        return manager.render(launcher(), passed_on())
    except MdmemError:
        return None  # this mdmem could install nothing


def _refuse_edited(manager: Manager, there: bytes | None) -> None:
    if there is not None and not manager.is_ours(there):
        how = "a drop-in (systemctl --user edit mdmem)" if manager.name == "systemd" else "another agent"
        raise RefusedError(
            "it was written or changed by somebody else than mdmem", where=manager.path,
            hint=f"put what is yours into {how}, move the file away, and run this again",
        )  # fmt: skip


def _wait_until_up(paths: Paths, manager: Manager) -> int:
    """For launchd, whose start comes back at once; systemd's comes back when the daemon is ready."""
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s:
        answer: dict[str, Any] | None = client.ask(paths.socket, {"op": "ping"})
        if answer is not None and answer["pid"] == manager.running().pid:
            return int(answer["pid"])
        time.sleep(PAUSE_S)
    raise SilentError("the service was started, but the daemon does not answer", hint=f"see: {manager.log_hint}")


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MachineError(f"it cannot be read: {error.strerror}", where=path) from error


def _write(path: str, text: bytes) -> None:
    """A temporary file beside it, and a rename; 0644, as launchd wants it."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        with os.fdopen(fd, "wb") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise MachineError(f"it cannot be written: {error.strerror}", where=path) from error
