"""mdmem with two ways more to go wrong: requests that freeze the worker, or break its tick."""

from __future__ import annotations

import sys
import threading
from typing import Any

from mdmem.daemon.run import Daemon

handle = Daemon._handle


def also(daemon: Daemon, request: dict[str, Any]) -> dict[str, Any]:
    if request.get("op") == "freeze":
        daemon.worker.post(lambda store: threading.Event().wait())
    elif request.get("op") == "break the tick":
        daemon.worker._on_tick = lambda: 1 // 0
    else:
        return handle(daemon, request)
    return {"ok": True}


Daemon._handle = also  # type: ignore[method-assign]

if __name__ == "__main__":
    from mdmem.cli import main

    sys.exit(main())
