"""A client's standard input and output in, the MCP server behind them out: a warm one, or one in this process.

This is the whole of `mdmem mcp` while a daemon runs: bytes go through, and the SDK is not imported. The client's
standard output is kept for the protocol before anything else is: whatever prints, in Python or in C, meets stderr.
"""

from __future__ import annotations

import os
import sys

ACK_S = 20.0  # a server that has to be started imports the SDK first; on a busy machine that takes seconds
CHUNK_BYTES = 1 << 16
PROTOCOL = 1


def main(cwd: str | None = None, agent: str | None = None) -> int:
    """Serve MCP until the client's input ends; the exit code. `cwd`, `agent`: whom the client works for, if told."""
    try:
        os.fstat(1)
        _open_missing()
        out = os.dup(1)
        os.dup2(2, 1)
    except OSError as error:
        sys.stderr.write(f"error: there is no standard output to answer on: {error.strerror}\n")
        return 6
    return _serve(out, cwd, agent)


def _open_missing() -> None:
    """Nothing in the place of a standard stream that is closed: what is opened next would be taken for it."""
    for handle in (0, 2):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.dup(2), "w")


def _serve(out: int, cwd: str | None, agent: str | None) -> int:
    import signal

    from mdmem.config.paths import calling, find_paths
    from mdmem.errors import MdmemError

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    told_agent, told_cwd = calling()
    project = cwd or told_cwd
    hello: dict[str, object] = {
        "v": PROTOCOL,
        "agent": agent or told_agent,
        "project": os.path.abspath(os.path.expanduser(project)) if project else None,  # no shell has read it
        "cwd": _working_folder(),
    }
    try:
        paths = find_paths()
    except MdmemError as error:
        sys.stderr.write(f"error: {error}\n" + (f"try:   {error.hint}\n" if error.hint else ""))
        return error.exit_code
    connection = _greet(paths.mcp_socket, hello)
    if connection is None:
        from mdmem.agents.mcp_here import serve_here

        return serve_here(hello, out)
    return Pump(connection, out).run()


def _working_folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109  # pathlib costs 10 ms here
    except OSError:
        return None  # the folder is gone


def _greet(path: str, hello: dict[str, object]) -> _Socket | None:
    """A connection to the warm server that has answered the greeting; None where there is none, or it won't serve."""
    import json
    import socket

    from mdmem.config.paths import is_own

    if not is_own(path):
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(ACK_S)
    try:
        connection.connect(path)
        connection.sendall(json.dumps(hello).encode() + b"\n")
        # It says nothing more before the client does.
        if connection.recv(CHUNK_BYTES) == b"ok\n":
            connection.settimeout(None)
            return connection
    except OSError:
        pass
    connection.close()
    return None


class Pump:
    """Bytes from standard input to a connection, and from there to `out`, each way at its own pace."""

    def __init__(self, connection: _Socket, out: int) -> None:
        self.connection = connection
        self.out = out
        self._over = False  # the client has nothing more to say, or does not listen any more

    def run(self) -> int:
        """Until the server has answered everything. An error where it ended of itself."""
        import threading

        threading.Thread(target=self.send, name="stdin", daemon=True).start()
        self.receive()
        if self._over:
            return 0
        sys.stderr.write("error: the MCP server of the daemon ended\ntry:   connect again; see: mdmem doctor\n")
        return 5

    def send(self) -> None:
        import socket

        try:
            while chunk := os.read(0, CHUNK_BYTES):
                self.connection.sendall(chunk)
            self._over = True
            self.connection.shutdown(socket.SHUT_WR)
        except OSError:
            return  # the server is gone: `receive` sees it too

    def receive(self) -> None:
        try:
            while chunk := self.connection.recv(CHUNK_BYTES):
                if not self._write(chunk):
                    self._over = True
                    break
        except OSError:
            pass
        self.connection.close()

    def _write(self, chunk: bytes) -> bool:
        rest = memoryview(chunk)
        try:
            while rest:
                rest = rest[os.write(self.out, rest) :]
        except OSError:
            return False  # the client went away
        return True


TYPE_CHECKING = False  # as in typing, which is not imported for it

if TYPE_CHECKING:
    from socket import socket as _Socket  # noqa: N812
