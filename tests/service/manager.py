"""A small service manager: a unit in, its own command line started, supervised and ended as systemd would do it.

It knows the lines of mdmem's unit, and fails on any other. As a program it supervises one unit until SIGTERM:
`python manager.py UNIT STATE_FILE`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

IGNORED = """
    Description StartLimitIntervalSec NotifyAccess RestartSec TimeoutStartSec LimitCORE KillMode UMask StandardOutput
    StandardError SyslogIdentifier NoNewPrivileges LockPersonality RestrictRealtime RestrictSUIDSGID
    SystemCallArchitectures RestrictAddressFamilies WantedBy
""".split()  # what makes no difference here
KNOWN = """
    Type WatchdogSec WatchdogSignal ExecStart ExecReload Restart RestartPreventExitStatus StartLimitBurst
    TimeoutStopSec Environment
""".split()


def parse(text: str) -> dict[str, list[str]]:
    """Every key of a unit with its values (systemd.syntax(7)), whatever its section."""
    found: dict[str, list[str]] = {}
    for line in text.replace("\\\n", " ").split("\n"):
        line = line.strip(" \t")
        if not line or line[0] in "#;[":
            continue
        key, _, value = line.partition("=")
        assert key in IGNORED + KNOWN, f"not a line of ours: {line}"
        found.setdefault(key, []).append(value)
    return found


def split(value: str) -> list[str]:
    """The words of a value: quotes, C escapes, and `%%`; any other specifier is a mistake."""
    words, word, quote, at = [], None, "", 0
    while at < len(value):
        char = value[at]
        if char == "\\":
            escape = re.compile(r"\\(x[0-9a-f]{2}|[abfnrtv\\\"'s])").match(value, at)
            assert escape, value[at:]
            code = escape[1]
            word = (word or "") + (chr(int(code[1:], 16)) if code[0] == "x" else code if code in "\\\"'" else "?")
            at = escape.end()
            continue
        if quote:
            quote, word = ("", word) if char == quote else (quote, (word or "") + char)
        elif char in "\"'" and word is None:
            quote, word = char, ""
        elif char in " \t":
            words, word = (words, None) if word is None else ([*words, word], None)
        else:
            word = (word or "") + char
        at += 1
    assert not quote, f"a quote is not closed: {value}"
    words += [] if word is None else [word]
    assert not any(re.search("%(?!%)", word.replace("%%", "")) for word in words), f"a specifier: {words}"
    return [word.replace("%%", "%") for word in words]


class Service:
    """One unit under supervision. Nothing happens but in `step`, so a test needs no thread."""

    def __init__(self, unit: Path, folder: Path, *, watchdog_usec: int | None = None, address: str = "") -> None:
        self.lines = parse(unit.read_text("utf-8"))
        self.folder = folder
        self.watchdog_s = (watchdog_usec or int(self.lines["WatchdogSec"][0]) * 1_000_000) / 1e6
        self.address = address or str(folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + self.address[1:] if self.address[0] == "@" else self.address)
        self.socket.setblocking(False)
        self.state = "inactive"
        self.told: list[str] = []  # every line that the service sent
        self.starts = 0
        self.results: list[str] = []  # how it ended, each time
        self.process: subprocess.Popen[bytes] | None = None
        self._pinged_s = 0.0

    def start(self) -> None:
        command = self.lines["ExecStart"][0]
        assert command.startswith(":"), "else $ would have to be escaped"
        env = dict(split(value)[0].split("=", 1) for value in self.lines["Environment"])
        env |= {"NOTIFY_SOCKET": self.address, "WATCHDOG_USEC": str(int(self.watchdog_s * 1e6))}
        knowing_its_pid = ["/bin/sh", "-c", 'export WATCHDOG_PID=$$; exec "$@"', "sh"]
        with (self.folder / "journal").open("ab") as journal:
            self.process = subprocess.Popen(
                [*knowing_its_pid, *split(command[1:])], env=env, cwd="/", stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=journal,
            )  # fmt: skip
        self.state, self.starts = "activating", self.starts + 1

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def step(self) -> None:
        """What has come in since, and what follows from it."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._hear(self.socket.recv(65_536).decode())
        if self.process is None:
            return
        code = self.process.poll()
        if code is not None:
            self._ended("success" if code in (0, -signal.SIGTERM) else f"code {code}")
        elif self.state == "active" and time.monotonic() - self._pinged_s > self.watchdog_s:
            self._end(getattr(signal, self.lines["WatchdogSignal"][0]))
            self._ended("watchdog")

    def _hear(self, message: str) -> None:
        for line in message.splitlines():
            self.told.append(line)
            if line == "READY=1" and self.state != "active":
                self.state, self._pinged_s = "active", time.monotonic()
            elif line == "RELOADING=1":
                self.state = "reloading"
            elif line == "WATCHDOG=1":
                self._pinged_s = time.monotonic()

    def _ended(self, result: str) -> None:
        self.process = None
        self.results.append(result)
        prevented = {f"code {code}" for code in self.lines["RestartPreventExitStatus"][0].split()}
        assert self.lines["Restart"] == ["on-failure"]
        if result == "success":
            self.state = "inactive"
        elif result in prevented or self.starts >= int(self.lines["StartLimitBurst"][0]):
            self.state = "failed"
        else:
            self.start()

    def _end(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        try:
            self.process.wait(int(self.lines["TimeoutStopSec"][0]))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self._end(signal.SIGTERM)
            self.step()
        self.process = None

    def close(self) -> None:
        self.stop()
        self.socket.close()

    def reload(self) -> None:
        command = [word.replace("${MAINPID}", str(self.pid)) for word in split(self.lines["ExecReload"][0])]
        subprocess.run(command, check=True)

    def until(self, holds: Callable[[], bool], what: str, limit_s: float = 60.0) -> None:
        """Supervise until something holds."""
        from tests.conftest import wait_until

        def stepped() -> bool:
            self.step()
            return holds()

        try:
            wait_until(stepped, what, limit_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.told[-5:]} {self.results} {self.journal()[-2000:]}") from None

    def journal(self) -> str:
        path = self.folder / "journal"
        return path.read_text("utf-8", "replace") if path.exists() else ""


def supervise(unit: Path, state_file: Path) -> None:
    """Supervise a unit; its state is kept in a file."""
    over: list[Any] = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(1))
    service = Service(unit, state_file.parent)
    service.start()
    while not over and service.state not in ("failed", "inactive"):
        service.step()
        _keep(state_file, service)
        time.sleep(0.02)
    service.close()
    _keep(state_file, service)


def _keep(state_file: Path, service: Service) -> None:
    pid = service.pid if service.process is not None else 0
    temporary = state_file.with_suffix(".new")
    temporary.write_text(json.dumps({"ActiveState": service.state, "MainPID": pid, "supervisor": os.getpid()}))
    os.replace(temporary, state_file)


if __name__ == "__main__":
    supervise(Path(sys.argv[1]), Path(sys.argv[2]))
