"""A socket and a command in; a process that serves the socket's callers, started when the first one calls, out.

The daemon listens, and its helper accepts: a caller waits in the queue while the helper starts, and the helper may end
and be started again without anybody seeing a moment at which nothing listens.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import subprocess
import threading
from collections.abc import Sequence

from mdmem.daemon.server import listen
from mdmem.db import file_identity

log = logging.getLogger(__name__)

STOP_S = 0.5


class Helper(threading.Thread):
    """Keeps a socket served by `command`, which is given the number of its descriptor as the last word.

    The process has a pipe as its input, which ends when the daemon does: however the daemon ends, it learns of it.
    """

    def __init__(self, path: str, command: Sequence[str]) -> None:
        super().__init__(name="helper", daemon=True)
        self.path = path
        self.command = command
        self._listening = listen(path)
        self._listening.setblocking(False)
        self._identity = file_identity(path)
        self._over = threading.Event()
        self._bell, self._ring = socket.socketpair()
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        while not self._over.is_set():
            select.select([self._listening, self._bell], [], [])
            if self._over.is_set():
                return
            try:
                code = self._serve()
            except OSError as error:
                log.warning("a helper can't be started", extra={"path": self.path, "reason": str(error)})
                code = 1
            if code and not self._over.is_set():
                log.warning("a helper ended", extra={"path": self.path, "code": code})
                self._turn_away()

    def stop(self) -> None:
        """No more callers. The process ends now, or, where it serves somebody, when the last one has left."""
        if self._over.is_set():
            return
        self._over.set()
        self._ring.close()
        if self._identity is not None and file_identity(self.path) == self._identity:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
        process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()
        self.join(timeout=STOP_S)
        self._bell.close()
        self._listening.close()

    def _serve(self) -> int:
        """Start the process and wait for its end; its exit code."""
        descriptor = self._listening.fileno()
        with subprocess.Popen(
            [*self.command, str(descriptor)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[descriptor],
            cwd="/",
        ) as process:
            self._process = process
            if self._over.is_set() and process.stdin is not None:
                process.stdin.close()  # `stop` came while it was started
            return process.wait()

    def _turn_away(self) -> None:
        """Let go of those who wait: they can do without, and each would start a process that fails."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                connection.close()
