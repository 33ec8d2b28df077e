"""The process of one hook: the agent's JSON on stdin in, what the agent takes on stdout out, within 300 ms.

It runs at every turn, so it imports next to nothing; and whatever happens it ends with 0, silently, and at most a line
in `hook.log`: an agent may take any other ending for a reason to stop.
"""

from __future__ import annotations

# The modules with underscores are what `signal` and `socket` are made of; those import enum and selectors, and would
# take a third of the time that a hook may take.
import _signal
import _socket
import os

from mdmem.config.paths import is_own, likely_socket

TYPE_CHECKING = False  # as in typing, which is not imported for it

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    Answer = tuple[bytes, Callable[[], None]]  # what is printed; to be called when it is

DEADLINE_S = 0.25  # of 300 ms: the interpreter had started before it is counted, and a line in the log comes after
NOTE_S = 0.1  # that it was told; if that can't be noted, it is told again
MAX_PAYLOAD_BYTES = 4 * 1024 * 1024
MAX_LOG_BYTES = 1024 * 1024


def main(args: list[str]) -> NoReturn:
    """`hook AGENT EVENT`. Ends the process, always with 0: to take the interpreter down in order is felt too."""
    try:
        _signal.signal(_signal.SIGALRM, lambda *_: _give_up(args, "it took too long"))
        _signal.setitimer(_signal.ITIMER_REAL, DEADLINE_S)
        printed, arrived = _answer(args)
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _print(printed)
        _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
        _signal.setitimer(_signal.ITIMER_REAL, NOTE_S)
        arrived()
    except BaseException as error:  # noqa: BLE001  # nothing may reach the agent
        _log(args, f"{type(error).__name__}: {error}")
    os._exit(0)


def _answer(args: list[str]) -> Answer:
    raw = _read_stdin()
    if len(args) != 2 or not all(name.replace(".", "").replace("-", "").isalnum() and name.isascii() for name in args):
        _log(args, "usage: mdmem hook AGENT EVENT")
        return b"", _nothing
    if len(raw) > MAX_PAYLOAD_BYTES:
        _log(args, "the payload is too long")
        return b"", _nothing
    tried = likely_socket()
    answered = _from_daemon(tried, args, raw)
    if answered is None:
        from mdmem.config import find_paths

        path = find_paths().socket
        answered = _from_daemon(path, args, raw) if path != tried else None
    if answered is None:
        from mdmem.hooks.alone import answer

        return answer(args[0], args[1], raw, lambda why: _log(args, why))
    return answered


def _nothing() -> None:
    pass


def _read_stdin() -> bytes:
    """All of it, for the agent must not write into a closed pipe; but no more is kept than would be taken."""
    read, size = [], 0
    while part := os.read(0, 1 << 16):
        if size <= MAX_PAYLOAD_BYTES:
            read.append(part)
            size += len(part)
    return b"".join(read)


def _from_daemon(path: str | None, args: list[str], raw: bytes) -> Answer | None:
    """The daemon's answer; None where none runs. Raises OSError or ValueError when it gives none."""
    if path is None or not is_own(path):
        return None
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(path)
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        return None
    # The names were looked at: they hold nothing that JSON would escape.
    request = b'{"v": 1, "op": "hook", "agent": "%s", "event": "%s", "size": %d, "arrives": true}\n'
    connection.sendall(request % (args[0].encode(), args[1].encode(), len(raw)) + raw)
    printed = _framed(connection)

    def arrived() -> None:
        if printed:
            connection.sendall(b"\n")
            connection.recv(1)  # its end: by then it is noted, and the next hook gets no more than is new

    return printed, arrived


def _framed(connection: _socket.socket) -> bytes:
    reply = b""
    while part := connection.recv(1 << 16):
        reply += part
        head, newline, body = reply.partition(b"\n")
        if newline and head == b"hook %d" % len(body):
            return body
    raise ValueError("the daemon did not answer as this version does; restart it: mdmem down && mdmem up")


def _print(printed: bytes) -> None:
    while printed:
        printed = printed[os.write(1, printed) :]


def _give_up(args: list[str], why: str) -> None:
    try:
        _log(args, why)
    finally:
        os._exit(0)


def _log(args: list[str], why: str) -> None:
    """A line for whoever looks for it; where none can be written there is nobody to tell."""
    try:
        import time

        from mdmem.config import find_paths

        names = " ".join(ascii(name)[1:-1][:60] for name in args[:2])
        path = f"{find_paths().state}/hook.log"
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if os.path.exists(path) and os.stat(path).st_size > MAX_LOG_BYTES:
            os.replace(path, f"{path}.1")
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} hook {names}: {ascii(why)[1:-1][:500]}\n"
        # A pipe of that name must not hold us.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o600)
        try:
            os.write(handle, line.encode("ascii"))
        finally:
            os.close(handle)
    except BaseException:  # noqa: BLE001, S110
        pass
