"""A request in, the daemon's answer out; None when no daemon runs. Imports little: every command goes through here."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

from mdmem.config.paths import is_own
from mdmem.errors import RefusedError, SilentError

PROTOCOL = 1
_TAKEN_HINT = "remove it, or choose a shorter path for mdmem's state (MDMEM_HOME)"


def _connect(connection: socket.socket, path: str, timeout_s: float) -> None:
    """As `connect`, which doesn't wait when the daemon's queue of callers is full."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return connection.connect(path)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def ask(path: str, request: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any] | None:
    """Send one request to the socket at `path` and wait for its answer.

    None when nothing listens there. Raises SilentError when a daemon listens but doesn't answer in time or in words.
    """
    if not is_own(path):
        raise RefusedError("the socket's folder belongs to another user", where=path, hint=_TAKEN_HINT)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    with connection:
        try:
            _connect(connection, path, timeout_s)
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
            return None
        except OSError as error:
            raise SilentError(f"the daemon cannot be reached: {error.strerror}", where=path) from error
        try:
            connection.sendall(json.dumps({"v": PROTOCOL, **request}).encode() + b"\n")
            with connection.makefile("rb") as lines:
                line = lines.readline()
            answer = json.loads(line)
        except (OSError, ValueError) as error:
            raise SilentError(
                "the daemon did not answer", where=path, hint="see: mdmem doctor; restart it: mdmem down && mdmem up"
            ) from error
    return answer if isinstance(answer, dict) else None
