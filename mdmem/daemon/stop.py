"""A running daemon in, none out: told to stop, and waited for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mdmem.config import Paths
from mdmem.daemon import client
from mdmem.errors import LockError, SilentError

if TYPE_CHECKING:
    from mdmem.db import WriterLock

STOP_S = 10.0


def stop(paths: Paths) -> dict[str, Any] | None:
    """Stop the daemon and wait until it has ended; its last answer, None where none ran.

    Raises SilentError when one holds the lock and does not end.
    """
    from mdmem.db import WriterLock

    answer = client.ask(paths.socket, {"op": "stop"})
    if answer is not None or os.path.exists(paths.lock):
        _wait_until_down(WriterLock(paths.lock), answer)
    return answer


def _wait_until_down(lock: WriterLock, answer: dict[str, Any] | None) -> None:
    try:
        lock.take("mdmem down", wait_s=STOP_S if answer else 0.0)
    except LockError as error:
        if answer is None and lock.holder().get("owner") != "the daemon":
            return  # a command at work, and no daemon
        pid = lock.holder().get("pid")
        raise SilentError(
            "the daemon still holds the lock, but does not answer",
            where=lock.path,
            hint=f"look at the process {pid}, and end it if it is mdmem: kill {pid}",
        ) from error
    lock.release()
