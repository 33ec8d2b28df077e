"""How much of the processor a thread may take from others."""

from __future__ import annotations

import contextlib
import os
import threading

NICENESS = 15


def lower_priority() -> None:
    """Of the calling thread alone, where the system knows niceness of threads (Linux); elsewhere nothing."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
