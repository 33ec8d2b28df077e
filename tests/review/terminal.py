"""`mdmem` in a pseudo-terminal, keys pressed by a script, and what a person would see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unicodedata
from pathlib import Path

from tests.conftest import LIMIT_S, Home, wait_until

PROMPT = b"\n> "
# A shell's part: the program is a process group of its own, in the foreground, and can be stopped.
SHELL = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
pid = os.fork()
if not pid:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, "-m", "mdmem", *sys.argv[2:]])
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(pid))
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
"""
SGR = re.compile(rb"\x1b\[[0-9;]*m")


class Terminal:
    """One command in a terminal of `columns` x `rows`; `raw` is every byte that it wrote."""

    def __init__(self, home: Home, *args: str, columns: int = 80, rows: int = 24, **env: str) -> None:
        self.raw = b""
        self.master, self.slave = os.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self._pid_file = home.folder / "pid"
        self._pid_file.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-c", SHELL, str(self._pid_file), *args], stdin=self.slave, stdout=self.slave,
            stderr=self.slave, cwd=home.work, env={**home.env, "TERM": "xterm-256color", **env},
            start_new_session=True,
        )  # fmt: skip

    @property
    def pid(self) -> int:
        wait_until(self._pid_file.exists, "the program has started")
        return int(self._pid_file.read_text())

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, ending: bytes) -> None:
        """Read until the last thing written is `ending`."""
        deadline = time.monotonic() + LIMIT_S
        while self._read(0.05) or not self.raw.endswith(ending.replace(b"\n", b"\r\n")):
            assert time.monotonic() < deadline, f"no {ending!r} after:\n{self.raw.decode('utf-8', 'replace')}"

    def press(self, keys: str | bytes) -> None:
        """Wait for the prompt, then press; each piece of more than one key comes as one."""
        self.until(PROMPT)
        self.raw += b"\0"  # so that no prompt is taken for the next one
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def keys(self, text: str) -> None:
        for key in text.split():
            self.press(key)

    def finish(self) -> int:
        """The exit code."""
        deadline = time.monotonic() + LIMIT_S
        while self.process.poll() is None:
            self._read(0.05)
            assert time.monotonic() < deadline, f"no end after:\n{self.raw.decode('utf-8', 'replace')}"
        while self._read(0):
            pass
        return self.process.returncode

    def _read(self, timeout_s: float) -> bool:
        """Whether anything came within that time."""
        if not select.select([self.master], [], [], timeout_s)[0]:
            return False
        try:
            self.raw += os.read(self.master, 65536)
        except OSError:
            return False
        return True

    @property
    def is_as_before(self) -> bool:
        return termios.tcgetattr(self.slave) == self.before

    @property
    def state(self) -> str:
        """As the kernel has it: T for stopped."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]

    def close(self) -> None:
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.process.wait(LIMIT_S)
        for descriptor in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def seen(self, columns: int) -> str:
        """What stands there, as lines of so many columns: a longer one goes on in the next, marked."""
        data = SGR.sub(b"", self.raw).replace(b"\0", b"")
        assert not re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", data), "a control character reached the terminal"
        assert b"\r" not in data.replace(b"\r\n", b"")
        lines = []
        for line in data.decode("utf-8").replace("\r\n", "\n").split("\n"):
            piece, taken = "", 0
            for char in line:
                wide = 2 if unicodedata.east_asian_width(char) in "WF" else int(unicodedata.category(char) != "Mn")
                if taken + wide > columns:
                    lines.append(piece + "<<")
                    piece, taken = "", 0
                piece, taken = piece + char, taken + wide
            lines.append(piece)
        return "\n".join(lines)
