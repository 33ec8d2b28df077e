"""A launcher and variables in, a launch agent out; and launchd asked to follow it."""

from __future__ import annotations

import os
import re
import time
from typing import Any

from mdmem import __version__
from mdmem.config.service import launch_agents_folder
from mdmem.daemon.service.manager import Running, digest, must, pid_of, run, said, template
from mdmem.errors import MachineError

LABEL = "io.mdmem.daemon"
_MARK = "<!-- mdmem {version}, {digest} -->\n"
_MARKED = re.compile(rb"<!-- mdmem ([^ \n]+), ([0-9a-f]{64}) -->\n\Z")
GONE_S = 15.0  # bootout comes back before the agent has ended
PAUSE_S = 0.1


class Launchd:
    """launchd, for this person's desktop session."""

    name = "launchd"
    log_hint = f"launchctl print gui/$(id -u)/{LABEL}, and mdmem.log in the state folder"

    def __init__(self) -> None:
        self.path = f"{launch_agents_folder()}/{LABEL}.plist"
        self._domain = f"gui/{os.getuid()}"
        self._target = f"{self._domain}/{LABEL}"

    def render(self, launcher: str, variables: dict[str, str]) -> bytes:
        import plistlib

        agent: dict[str, Any] = plistlib.loads(template(f"launchd/{LABEL}.plist").encode())
        # launchd keeps what goes to stderr, and never rotates it.
        agent["ProgramArguments"] = [launcher, "daemon", "--log-file"]
        agent["EnvironmentVariables"] |= variables
        try:
            body = plistlib.dumps(agent)
        except (ValueError, UnicodeError) as error:
            raise MachineError(
                "launchd takes no name with control characters, or that is not UTF-8", where=ascii(launcher),
                hint="rename it",
            ) from error  # fmt: skip
        return body + _MARK.format(version=__version__, digest=digest(__version__, body)).encode()

    def is_ours(self, text: bytes) -> bool:
        mark = _MARKED.search(text)
        return mark is not None and digest(mark[1].decode(), text[: mark.start()]) == mark[2].decode()

    def launcher_of(self, text: bytes) -> str | None:
        import plistlib
        from xml.parsers.expat import ExpatError

        try:
            return str(plistlib.loads(text)["ProgramArguments"][0])
        except (ValueError, KeyError, IndexError, TypeError, ExpatError):
            return None

    def reach(self) -> None:
        hint = "mdmem up starts the daemon without it"
        try:
            done = run(["launchctl", "print", self._domain])
        except MachineError as error:
            error.hint = hint
            raise
        if done.returncode != 0:
            raise MachineError(
                f"your launchd cannot be reached: {said(done)}", hint=f"log in at the desktop, as yourself; {hint}"
            )

    def running(self) -> Running:
        done = run(["launchctl", "print", self._target])
        if done.returncode != 0:
            return Running(False, "not loaded", None)
        state = re.search(r"^\s*state = (.*)$", done.stdout, re.MULTILINE)
        return Running(True, state[1] if state else "unknown", pid_of(done.stdout, r"^\s*pid = (\d+)$"))

    def start(self, *, anew: bool) -> None:
        hint = f"see: {self.log_hint}"
        loaded = self.running().enabled
        if loaded and anew:
            self.stop()
        if not loaded or anew:
            must(["launchctl", "enable", self._target], hint=hint)
            must(["launchctl", "bootstrap", self._domain, self.path], hint=hint)
        must(["launchctl", "kickstart", self._target], hint=hint)

    def stop(self) -> None:
        if not self.running().enabled:
            return
        done = run(["launchctl", "bootout", self._target])
        give_up_s = time.monotonic() + GONE_S
        while self.running().enabled:
            if time.monotonic() > give_up_s:
                raise MachineError(f"launchctl bootout failed: {said(done)}", hint=f"see: {self.log_hint}")
            time.sleep(PAUSE_S)

    def forget(self) -> None:
        """There is nothing to take in: launchd reads a file only when it is told to."""
