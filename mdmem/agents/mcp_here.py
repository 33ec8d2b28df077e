"""The MCP server in this process, where no daemon keeps a warm one: the same server, at the other end of a pair."""

from __future__ import annotations

import gc
import logging
import socket
import sys
import threading
from typing import Any

from mdmem.agents.pipe import Pump


def serve_here(hello: dict[str, Any], out: int) -> int:
    """Serve the client of standard input until it ends; the exit code. Its first bytes are read while we import."""
    ours, theirs = socket.socketpair()
    pump = Pump(ours, out)
    threading.Thread(target=pump.send, name="stdin", daemon=True).start()
    writing = threading.Thread(target=pump.receive, name="stdout", daemon=True)
    writing.start()

    gc.disable()  # it would look at the SDK's hundreds of thousands of objects over and over while they are made
    import asyncio

    from mdmem.agents.caller import Caller
    from mdmem.agents.wire import log_to_file, serve

    gc.freeze()
    gc.enable()
    log_to_file()
    code = 0
    try:
        asyncio.run(serve(theirs, Caller.of(hello)))
    except Exception as error:
        logging.getLogger(__name__).exception("serving MCP failed")
        sys.stderr.write(f"error: a fault of ours ({type(error).__name__}); the log of mdmem has the details\n")
        theirs.close()
        code = 70
    writing.join()
    return code
