"""The control socket: JSON lines in, JSON lines out, for this person's processes alone."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable
from io import BufferedReader
from typing import Any

from mdmem import __version__
from mdmem.db import file_identity
from mdmem.errors import MachineError

log = logging.getLogger(__name__)

PROTOCOL = 1
MAX_REQUEST_BYTES = 4 * 1024 * 1024
MAX_CONNECTIONS = 64
ARRIVAL_S = 5.0  # a hook has printed by then, or has ended
IDLE_S = 10.0  # a connection that says nothing for so long is closed: no caller keeps one
PAUSE_S = 0.1
HOOK = b'{"v": 1, "op": "hook", '  # how a hook's request begins, byte for byte

Handle = Callable[[dict[str, Any]], dict[str, Any]]
Held = Callable[[], None]  # to be called when the agent has what was printed
HandleHook = Callable[[str, str, bytes, list[Held] | None], bytes]  # agent, event, payload -> what the hook prints


class Server(threading.Thread):
    """Accepts connections; each has a thread of its own, which answers one request after the other."""

    def __init__(self, path: str, handle: Handle, handle_hook: HandleHook) -> None:
        super().__init__(name="server", daemon=True)
        self.path = path
        self.handle = handle
        self.handle_hook = handle_hook
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._socket = listen(path)
        self._identity = file_identity(path)
        self._over = threading.Event()

    @property
    def _stopping(self) -> bool:
        return self._over.is_set()

    def run(self) -> None:
        while not self._stopping:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if self._stopping:
                    return
                # No file handle is left, most likely: the next try would fail as fast.
                self._over.wait(PAUSE_S)
                continue
            self._free.acquire()
            threading.Thread(target=self._serve, args=(connection,), name="connection", daemon=True).start()

    def stop(self) -> None:
        """Accept no more; the socket file goes away. Only the holder of the lock may call this."""
        self._over.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        if self.is_in_place():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)

    def is_in_place(self) -> bool:
        """Whether a caller would still come to this socket."""
        return self._identity is not None and file_identity(self.path) == self._identity

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                if peer_uid(connection) != os.getuid():
                    log.warning("connection of another user refused")
                    return
                connection.settimeout(IDLE_S)
                with connection.makefile("rb") as lines:
                    while line := lines.readline(MAX_REQUEST_BYTES + 1):
                        if line.startswith(HOOK):
                            return self._serve_hook(connection, line, lines)
                        connection.sendall(self._reply(line))
                        if len(line) > MAX_REQUEST_BYTES:
                            return
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return  # the caller went away, or is no hook of ours
        finally:
            self._free.release()

    def _serve_hook(self, connection: socket.socket, line: bytes, lines: BufferedReader) -> None:
        """A hook's process parses no JSON: its payload follows the request as it came, and what it prints is framed by
        a line with its size. When it has printed it says so by a line, and the connection ends when that was noted: a
        hook that gave up has told its agent nothing.
        """
        request = json.loads(line)
        size = request["size"]
        if not isinstance(size, int):
            raise ValueError("no size")  # noqa: TRY004  # one kind of error for all that is no request
        payload = lines.read(size) if 0 <= size <= MAX_REQUEST_BYTES else b""
        held: list[Held] | None = [] if request.get("arrives") is True else None
        printed = self.handle_hook(str(request["agent"]), str(request["event"]), payload, held)
        connection.settimeout(ARRIVAL_S)
        connection.sendall(b"hook %d\n" % len(printed) + printed)
        if printed and held is not None and lines.readline(1):  # it says so even where nothing is to be noted
            for note in held:
                note()

    def _reply(self, line: bytes) -> bytes:
        if len(line) > MAX_REQUEST_BYTES:
            answer = refusal("the request is too long", f"at most {MAX_REQUEST_BYTES} bytes")
        else:
            answer = self._answer(line)
        return json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            return refusal("the request is not JSON", "one JSON object a line")
        if not isinstance(request, dict):
            return refusal("the request is not a JSON object", "one JSON object a line")
        if request.get("v", PROTOCOL) != PROTOCOL:
            return refusal(
                f"this daemon (mdmem {__version__}) speaks protocol {PROTOCOL}, not {request.get('v')!r}",
                "restart it: mdmem down && mdmem up",
            )
        return self.handle(request)


def refusal(what: str, hint: str) -> dict[str, Any]:
    return {"ok": False, "error": {"what": what, "where": None, "hint": hint, "exit_code": 5}}


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end of a unix socket."""
    if sys.platform == "darwin":
        # struct xucred of LOCAL_PEERCRED: version, uid, ...
        data = connection.getsockopt(0, 1, 76)
        return int(struct.unpack_from("=II", data)[1])
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", data)[1])


def listen(path: str) -> socket.socket:
    """Bind the socket, 0600. A stale one is removed: the caller holds the lock, so nobody answers on it."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listening.bind(path)
    except OSError as error:
        listening.close()
        raise MachineError(f"the socket cannot be made: {error.strerror or error}", where=path) from error
    finally:
        os.umask(before)
    listening.listen(socket.SOMAXCONN)
    return listening
