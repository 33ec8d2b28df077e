"""In: texts over HTTP. Out: an OpenAI-compatible /v1/embeddings on loopback; vectors of hashed words.

For benches that need vectors by the thousand and not their quality: the same words give near vectors, at almost no
cost.

    python bench/endpoint.py            prints its URL and serves until interrupted
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSION = 384
TOKEN = re.compile("[a-z0-9]+|[\u3040-\u30ff\u3400-\u9fff]")


def vector(text: str) -> list[float]:
    """A unit vector of hashed words; a fixed one where there are no words."""
    out = [0.0] * DIMENSION
    for token in TOKEN.findall(text.lower()) or [""]:
        h = zlib.crc32(token.encode())
        out[h % DIMENSION] += 1.0 if h & 0x10000 else -1.0
    norm = math.sqrt(sum(x * x for x in out))
    return [round(x / norm, 5) for x in out] if norm else [1.0, *out[1:]]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer: a second one would wait 40 ms for the first to be acknowledged

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        data = [{"object": "embedding", "index": i, "embedding": vector(t)} for i, t in enumerate(texts)]
        body = json.dumps({"object": "list", "model": asked.get("model", "hash"), "data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the table is the output."""


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The endpoint in a thread; its base URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    with serving() as url, contextlib.suppress(KeyboardInterrupt):
        print(url, flush=True)
        threading.Event().wait()
