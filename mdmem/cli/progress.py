"""A long request in, its answer out; at a terminal a line tells meanwhile how far it has come."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from mdmem.cli.ask import ask
from mdmem.config import find_paths
from mdmem.daemon import client
from mdmem.daemon.ask import Answer
from mdmem.errors import MdmemError

EVERY_S = 0.5
_CLEAR = "\r\x1b[K"


def ask_patiently(request: dict[str, Any]) -> Answer:
    """As `ask`. The line stands on stderr, only at a terminal, and is gone at the end."""
    if not sys.stderr.isatty():
        return ask(request)
    ended = threading.Event()
    ticker = threading.Thread(target=_tick, args=(ended,), name="progress", daemon=True)
    ticker.start()
    try:
        return ask(request)
    finally:
        ended.set()
        ticker.join()


def _tick(ended: threading.Event) -> None:
    started_s = time.monotonic()
    told = False
    while not ended.wait(EVERY_S):
        sys.stderr.write(f"{_CLEAR}reading memories … {_count()}{time.monotonic() - started_s:.0f} s")
        sys.stderr.flush()
        told = True
    if told:
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()


def _count() -> str:
    """How many memories a running daemon's index has now; '' where nobody can be asked, or is slow to say."""
    try:
        answer = client.ask(find_paths().socket, {"op": "status"}, timeout_s=EVERY_S)
    except MdmemError:
        return ""
    return f"{answer['status']['index']['memories']:,} so far, " if answer and answer.get("ok") else ""
