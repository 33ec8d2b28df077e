"""A real HTTP server on loopback that behaves as a test says: a list of steps, one a request.

    with ScriptedServer([Step(status=429, headers={"Retry-After": "7"}), Step()]) as server:
        ... POST to server.url + "/embeddings" ...
        server.requests[0].payload

It answers /embeddings with the vectors of `HashEmbedder`; with `body` it answers anything, for any path. Nothing in
it sleeps for longer than the server lives: leaving the block ends every delay and drip.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self

from mdmem.models import EmbedError
from tests.models.hash_embedder import HashEmbedder

Entries = list[dict[str, Any]]


class Step(NamedTuple):
    """How one request is answered."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes | None = None  # None: embeddings of the request's `input` (for a status of 200)
    change: Callable[[Entries], Entries] | None = None  # what is wrong with those embeddings
    delay_s: float = 0.0  # before anything is sent
    drip_s: float = 0.0  # between single bytes of the answer, its head included
    drop: bool = False  # hang up without an answer


class Request(NamedTuple):
    path: str
    headers: dict[str, str]  # names in lower case
    payload: Any  # the JSON that was sent, or None
    at_s: float  # time.monotonic()
    peer: tuple[str, int]  # the client's end of the connection

    @property
    def texts(self) -> list[str]:
        return list(self.payload["input"])


class ScriptedServer:
    """Answers with `steps` in turn, then with `then` for ever; `react` may overrule them by what is asked."""

    def __init__(
        self,
        steps: Iterable[Step] = (),
        *,
        then: Step | None = None,
        react: Callable[[Request], Step | None] | None = None,
        embedder: HashEmbedder | None = None,
    ) -> None:
        self.requests: list[Request] = []
        self.embedder = embedder or HashEmbedder()
        self._steps = list(steps)
        self._then = then or Step()
        self.react = react
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, request: Request) -> Step:
        """The step for a request (the handler asks)."""
        with self._lock:
            self.requests.append(request)
            reaction = self.react(request) if self.react else None
            if reaction is not None:
                return reaction
            return self._steps.pop(0) if self._steps else self._then

    def wait(self, seconds: float) -> None:
        self._ended.wait(seconds)

    def embeddings(self, request: Request, step: Step) -> bytes:
        entries = [self._entry(place, text) for place, text in enumerate(request.texts)]
        if step.change is not None:
            entries = step.change(entries)
        return json.dumps({"object": "list", "data": entries, "model": "scripted"}).encode()

    def _entry(self, place: int, text: str) -> dict[str, Any]:
        vector = self.embedder.passages([text])[0]
        numbers = None if isinstance(vector, EmbedError) else list(memoryview(vector).cast("b"))
        return {"object": "embedding", "index": place, "embedding": numbers}


def on_word(word: str, step: Step) -> Callable[[Request], Step | None]:
    """A `react` that answers with `step` whenever a text holds the word."""
    return lambda request: step if any(word in text for text in request.texts) else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a handler may be waiting for bytes of a client that a test keeps open

    def __init__(self, address: tuple[str, int], script: ScriptedServer) -> None:
        super().__init__(address, _Handler)
        self.script = script

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        script = self.server.script
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, json.loads(sent) if sent else None, time.monotonic(), self.client_address)
        step = script.take(request)
        script.wait(step.delay_s)
        if step.drop:
            self.close_connection = True
            return
        body = step.body
        if body is None:
            body = script.embeddings(request, step) if step.status == 200 else b'{"error": {"message": "scripted"}}'
        self._send(step, body)

    do_GET = do_POST  # noqa: N815 - the name that http.server calls

    def _send(self, step: Step, body: bytes) -> None:
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **step.headers}
        head = f"HTTP/1.1 {step.status} Scripted\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in headers.items()
        )
        answer = head.encode() + b"\r\n" + body
        if not step.drip_s:
            self.wfile.write(answer)
            return
        for place in range(len(answer)):
            self.server.script.wait(step.drip_s)
            self.wfile.write(answer[place : place + 1])

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""
