"""`python -m mdmem.agents.mcp_host FD`: a listening socket in, every client that calls there served.

The daemon starts it when the first one calls, so that the SDK is imported once. It ends when nobody called for a while,
and when the daemon has ended and its last client has left: a client is not cut off by a restart of the daemon.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
import sys

from mdmem.agents.caller import Caller
from mdmem.agents.pipe import PROTOCOL
from mdmem.agents.wire import log_to_file, serve
from mdmem.daemon.server import peer_uid

log = logging.getLogger(__name__)

IDLE_S = 600.0
HELLO_S = 10.0
MAX_HELLO_BYTES = 64 * 1024
MAX_CLIENTS = 64
PAUSE_S = 0.1


class Host:
    """Serves all that call at one socket. `parent`: a pipe that ends when the daemon does."""

    def __init__(self, listening: socket.socket, parent: int, *, idle_s: float = IDLE_S) -> None:
        listening.setblocking(False)
        self.listening = listening
        self.parent = parent
        self.idle_s = idle_s
        self.clients: set[asyncio.Task[None]] = set()
        self._quiet_since = 0.0

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        orphaned: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self.parent, _end, orphaned)
        self._quiet_since = loop.time()
        accepting = loop.create_task(self._accept())
        while not orphaned.done():
            limit_s = None if self.clients else max(self._quiet_since + self.idle_s - loop.time(), 0)
            done, _ = await asyncio.wait(
                {orphaned, *self.clients}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
            )
            if not done and not self.clients and loop.time() >= self._quiet_since + self.idle_s:
                break
        loop.remove_reader(self.parent)
        accepting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await accepting
        self.listening.close()  # the daemon's own stays, and who calls there next is served by the next of us
        while self.clients:
            await asyncio.wait(set(self.clients))

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self.listening)
            except OSError as error:
                log.warning("no client can be taken", extra={"reason": str(error)})
                await asyncio.sleep(PAUSE_S)
                continue
            if len(self.clients) >= MAX_CLIENTS or peer_uid(connection) != os.getuid():
                connection.close()
                continue
            client = loop.create_task(self._serve(connection))
            self.clients.add(client)
            client.add_done_callback(self._left)

    def _left(self, client: asyncio.Task[None]) -> None:
        self.clients.discard(client)
        self._quiet_since = asyncio.get_running_loop().time()

    async def _serve(self, connection: socket.socket) -> None:
        try:
            hello = await asyncio.wait_for(_hello(connection), HELLO_S)
            if hello.get("v") != PROTOCOL:
                return  # of another version: it serves itself
            await asyncio.get_running_loop().sock_sendall(connection, b"ok\n")
            await serve(connection, Caller.of(hello))
        except (OSError, ValueError, TimeoutError):
            return  # the client went away, or was none of ours
        except Exception:
            log.exception("a client's session failed")
        finally:
            connection.close()


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _hello(connection: socket.socket) -> dict[str, object]:
    """The line by which a client's program says for whom it speaks; it waits for our answer before it says more."""
    loop = asyncio.get_running_loop()
    connection.setblocking(False)
    said = b""
    while not said.endswith(b"\n"):
        chunk = await loop.sock_recv(connection, MAX_HELLO_BYTES)
        said += chunk
        if not chunk or len(said) > MAX_HELLO_BYTES:
            raise ValueError("no hello")
    found = json.loads(said)
    if not isinstance(found, dict):
        raise ValueError("no hello")  # noqa: TRY004
    return found


def main() -> int:
    log_to_file()
    listening = socket.socket(fileno=int(sys.argv[1]))
    asyncio.run(Host(listening, sys.stdin.fileno()).run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
