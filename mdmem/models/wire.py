"""In: one JSON request to one configured server. Out: its answer, or in words why there is none; never an exception.

httpcore is httpx without its shell: it follows no redirect, reads no proxy or .netrc from the environment and keeps
no cookies, so text goes to the configured host or nowhere. What it lacks is a deadline for a whole call, since its
timeouts count from byte to byte: the network backend here holds every connect, read and write to one.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpcore

from mdmem.errors import ConfigError
from mdmem.models.loan import Loan

CONNECTIONS = 4
IDLE_S = 60.0
WRITE_BYTES = 32_768
Resolver = Callable[..., list[tuple[Any, ...]]]  # as socket.getaddrinfo
Option = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


class Reply(NamedTuple):
    """What a server answered. `body` is empty unless the status is 200."""

    status: int
    retry_after: str | None
    date: str | None
    body: bytes


class Silence(NamedTuple):
    """No answer, or none that can be used. `late`: the deadline passed; else the connection or the answer failed."""

    reason: str
    late: bool = False


class Wire:
    """Keeps connections to one server. May be used from any thread."""

    def __init__(self, url: str, api_key: str | None, *, resolver: Resolver = socket.getaddrinfo) -> None:
        """Raises ConfigError for a URL or key that cannot be used; neither is repeated in its words."""
        parts = _checked(url)
        self.host = _host(parts.hostname or "", parts.port)
        path = parts.path.rstrip("/")
        if not path.endswith("/embeddings"):
            path += "/embeddings"
        origin = f"{parts.scheme}://{_host(parts.hostname or '', parts.port)}"
        self._url = f"{origin}{path}" + (f"?{parts.query}" if parts.query else "")
        self._headers = _headers(api_key)
        self._secure = parts.scheme == "https"
        self._backend = _Backend(resolver)
        self._pool = Loan(self._connections, httpcore.ConnectionPool.close)

    def post(self, payload: object, *, deadline_s: float, cap_bytes: int) -> Reply | Silence:
        """POST `payload` as JSON; the answer's body may be `cap_bytes` long, and all is over after `deadline_s`."""
        body = json.dumps(payload).encode()
        try:
            with self._backend.deadline(deadline_s), self._pool.lend() as pool:
                return self._exchange(pool, body, deadline_s, cap_bytes)
        except httpcore.TimeoutException:
            silence = Silence(f"did not answer within {deadline_s:g} s", late=True)
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            silence = Silence(_cause(error))
        # Returned out here, so that no exception that holds the request or the key stays attached to a later one.
        return silence

    def close(self) -> None:
        """Drop the connections once no call uses them; the next call makes new ones."""
        self._pool.close()

    def _exchange(
        self, pool: httpcore.ConnectionPool, body: bytes, deadline_s: float, cap_bytes: int
    ) -> Reply | Silence:
        timeouts = dict.fromkeys(("connect", "read", "write", "pool"), deadline_s)
        request = pool.stream("POST", self._url, headers=self._headers, content=body, extensions={"timeout": timeouts})
        with request as response:
            found = {name.lower(): value for name, value in response.headers}
            answer = b""
            if response.status == 200:
                read = _read(response.iter_stream(), cap_bytes)
                if read is None:
                    return Silence(f"its answer is longer than {cap_bytes} bytes")
                answer = read
            return Reply(response.status, _text(found.get(b"retry-after")), _text(found.get(b"date")), answer)

    def _connections(self) -> httpcore.ConnectionPool:
        return httpcore.ConnectionPool(
            ssl_context=_trusted() if self._secure else None,
            max_connections=CONNECTIONS,
            keepalive_expiry=IDLE_S,
            network_backend=self._backend,
        )


def _checked(url: str) -> Any:  # noqa: ANN401 - SplitResult, whose port property raises
    """A URL in its parts; raises ConfigError in words that do not repeat it (it may hold a password)."""
    try:
        parts = urlsplit(url.strip())
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        sound = sound and url.isascii() and url.strip().isprintable() and " " not in url.strip()
    except ValueError:
        sound = False
    if not sound:
        raise ConfigError(
            "the address of the embedder is not an http:// or https:// URL",
            where="[embedder] url",
            hint='url = "http://127.0.0.1:11434/v1"',
        )
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "the address of the embedder holds a user name or password",
            where="[embedder] url",
            hint='leave it out, and name the key: api_key_env = "EMBEDDER_API_KEY"',
        )
    return parts


def _host(name: str, port: int | None) -> str:
    shown = f"[{name}]" if ":" in name else name
    return f"{shown}:{port}" if port else shown


def _headers(api_key: str | None) -> list[tuple[bytes, bytes]]:
    headers = [
        (b"Content-Type", b"application/json"),
        (b"Accept", b"application/json"),
        (b"Accept-Encoding", b"identity"),  # a compressed answer could unfold beyond any cap
        (b"User-Agent", b"mdmem"),
    ]
    key = (api_key or "").strip()
    if not key:
        return headers
    if not key.isascii() or not key.isprintable():
        raise ConfigError("the embedder's API key holds characters that no key can", where="[embedder]")
    return [*headers, (b"Authorization", b"Bearer " + key.encode())]


def _read(chunks: Iterable[bytes], cap_bytes: int) -> bytes | None:
    parts, total = [], 0
    for chunk in chunks:
        total += len(chunk)
        if total > cap_bytes:
            return None
        parts.append(chunk)
    return b"".join(parts)


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


def _trusted() -> ssl.SSLContext:
    """The system's certificates (a company's own among them) and certifi's, for Pythons that find none."""
    import certifi  # https alone needs it

    context = ssl.create_default_context(cafile=certifi.where())
    context.load_default_certs()
    return context


def _cause(error: Exception) -> str:
    """Why a connection failed, from the kind of error alone: the words of some hold the header or the host's reply."""
    cause = error.args[0] if error.args else None  # where httpcore keeps what it was caused by
    if isinstance(cause, ssl.SSLCertVerificationError):
        return "its certificate cannot be verified"
    if isinstance(cause, ssl.SSLError):
        return "no secure connection could be made"
    if isinstance(cause, socket.gaierror):
        return "its name is not found"
    if isinstance(cause, OSError) and cause.errno:
        return f"no connection: {os.strerror(cause.errno)}"
    if isinstance(error, httpcore.ProtocolError):
        return "its answer is not HTTP, or ends too soon"
    return "the connection broke off"


class _Backend(httpcore.NetworkBackend):
    """Connects, and holds what the calling thread does on a connection to that thread's deadline."""

    def __init__(self, resolver: Resolver) -> None:
        self._plain = httpcore.SyncBackend()
        self._resolver = resolver
        self._local = threading.local()

    @contextlib.contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        self._local.end = time.monotonic() + seconds
        try:
            yield
        finally:
            del self._local.end

    def left(self) -> float:
        """Seconds left to the calling thread; raises httpcore's own timeout when there are none."""
        left = float(getattr(self._local, "end", time.monotonic() + 1.0)) - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout
        return left

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Option] | None = None,
    ) -> httpcore.NetworkStream:
        failure: httpcore.ConnectError | None = None
        for address in _resolve(self._resolver, host, port, self.left()):
            try:
                stream = self._plain.connect_tcp(address, port, self.left(), local_address, socket_options)
            except httpcore.ConnectError as error:
                failure = error
            else:
                return _Stream(stream, self.left)
        raise failure or httpcore.ConnectError(socket.gaierror())


class _Stream(httpcore.NetworkStream):
    """A connection each of whose waits ends with the deadline of the thread that waits."""

    def __init__(self, plain: httpcore.NetworkStream, left: Callable[[], float]) -> None:
        self._plain = plain
        self._left = left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._plain.read(max_bytes, self._left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # In parts: httpcore grants the whole time anew to each piece that a slow reader takes.
        for start in range(0, len(buffer), WRITE_BYTES):
            self._plain.write(buffer[start : start + WRITE_BYTES], self._left())

    def close(self) -> None:
        self._plain.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._plain.start_tls(ssl_context, server_hostname, self._left()), self._left)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as httpcore has it
        return self._plain.get_extra_info(info)


def _resolve(resolver: Resolver, host: str, port: int, within_s: float) -> list[str]:
    """The addresses of a name. Looked up in a thread of its own: the system's resolver knows no deadline."""
    found: queue.SimpleQueue[list[str] | OSError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers = resolver(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            found.put(error)
        else:
            found.put(list(dict.fromkeys(str(answer[4][0]) for answer in answers)))

    threading.Thread(target=look_up, name="mdmem-resolve", daemon=True).start()
    try:
        result = found.get(timeout=within_s)
    except queue.Empty:
        raise httpcore.ConnectTimeout from None
    if isinstance(result, OSError):
        raise httpcore.ConnectError(result)
    return result
