"""In: texts. Out: vectors of an OpenAI-compatible /embeddings server, or in words why there are none.

Nothing here sleeps: a failed call says after how many seconds to try again, and the gate keeps everyone to it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Literal, NamedTuple

from mdmem.errors import ConfigError
from mdmem.models.answer import Vectors, parse_vectors, retry_after_s
from mdmem.models.embedder import CANARY, EmbedderSettings, EmbedError, nothing_to_embed, readable
from mdmem.models.gate import Gate
from mdmem.models.wire import Reply, Silence, Wire

QUERY_DEADLINE_S = 2.0
LIMIT_BYTES = 24_000  # servers take some 8,000 tokens; longer texts come in pieces
ANSWER_BYTES = 65_536  # for the frame of an answer
VECTOR_BYTES = 262_144  # for each vector in it: 8,192 numbers of 32 characters
PARKED_S = 3_600.0
TEXT_STATUSES = frozenset({400, 413, 422})  # this text, or so many at once, is refused
SETUP_STATUSES = frozenset({401, 402, 403, 404, 405, 410})


class Refusal(NamedTuple):
    """Why texts got no vectors, and who is to blame: that decides what is tried next."""

    blame: Literal["text", "batch", "server", "late", "setup"]
    words: str
    hint: str | None = None
    retry_after_s: float | None = None


Item = bytes | Refusal


class EndpointEmbedder:
    """An OpenAI-compatible server; one gate for all threads. No text and no key is in any error."""

    def __init__(self, settings: EmbedderSettings, *, gate: Gate | None = None, pace: Gate | None = None) -> None:
        """Raises ConfigError for settings that cannot be used."""
        if not settings.url or not settings.name:
            hint = 'url = "http://127.0.0.1:11434/v1" and name = "nomic-embed-text"'
            raise ConfigError("an endpoint needs url and name", where="[embedder]", hint=hint)
        self._settings = settings
        self._wire = Wire(settings.url, settings.api_key)
        self._gate = gate or Gate()
        # Queries have less time than passages: that they are late shuts out queries alone.
        self._pace = pace or Gate(threshold=2)
        self._batch = max(settings.batch, 1)
        self.dimension: int | None = settings.dimensions

    @property
    def at_once(self) -> int:
        return self._batch

    @property
    def id(self) -> str:
        prefix = self._settings.passage_prefix
        mark = "+" + hashlib.sha256(prefix.encode("utf-8", "replace")).hexdigest()[:8] if prefix else ""
        return f"openai:{self._settings.name}@{self._wire.host}/{self.dimension or '?'}{mark}"

    def passages(self, texts: Sequence[str]) -> list[bytes | EmbedError]:
        sound = [readable(text, limit_bytes=LIMIT_BYTES) for text in texts]
        asked = [self._settings.passage_prefix + text for text in sound if text is not None]
        found: list[bytes | EmbedError] = []
        while len(found) < len(asked):
            found += self._slice(asked[len(found) : len(found) + self._batch])
        rest = iter(found)
        return [nothing_to_embed() if text is None else next(rest) for text in sound]

    def query(self, text: str, *, deadline_s: float | None = None) -> bytes:
        sound = readable(text, limit_bytes=LIMIT_BYTES)
        if sound is None:
            raise nothing_to_embed()
        self._enter_both()
        limit_s = min(QUERY_DEADLINE_S if deadline_s is None else deadline_s, self._settings.timeout_s)
        items = self._call([self._settings.query_prefix + sound], limit_s, self.dimension)
        if isinstance(items, Refusal):
            raise self._error(items, self._count_query(items, limit_s))
        self._gate.succeeded()
        self._pace.succeeded()
        if isinstance(items[0], Refusal):
            raise self._error(items[0], None)
        return items[0]

    def canary(self) -> bytes:
        """See Embedder. Asks even where the gate is shut, and takes on a dimension that has changed (so does `id`)."""
        items = self._ask_canary(self._settings.dimensions)
        item = items if isinstance(items, Refusal) else items[0]
        if isinstance(item, Refusal):
            raise self._error(item, self._gate.failed(retry_after_s=item.retry_after_s))
        self.dimension = len(item)
        self._gate.succeeded()
        return item

    def close(self) -> None:
        self._wire.close()

    def _enter_both(self) -> None:
        wait_s = self._gate.enter()
        if wait_s is None:
            wait_s = self._pace.enter()
            if wait_s is None:
                return
            self._gate.withdrew()
        raise self._shut(wait_s)

    def _count_query(self, refusal: Refusal, limit_s: float) -> float | None:
        if refusal.blame == "late" and limit_s < self._settings.timeout_s:
            self._gate.withdrew()
            return self._pace.failed()
        self._pace.withdrew()
        if refusal.blame == "text":
            self._gate.withdrew()
            return None
        return self._gate.failed(retry_after_s=refusal.retry_after_s, at_once=refusal.blame == "setup")

    def _slice(self, texts: list[str]) -> list[bytes | EmbedError]:
        """One batch, and what becomes of it; one entry through the gate."""
        wait_s = self._gate.enter()
        if wait_s is not None:
            return [self._shut(wait_s) for _ in texts]
        rounds = _Rounds()
        items = self._divide(texts, rounds)
        stopped = rounds.stopped
        if stopped is None:
            self._gate.succeeded()
            self._batch = min(self._batch + 1, max(self._settings.batch, 1))
            return [item if isinstance(item, bytes) else self._parked(item) for item in items]
        wait_s = self._gate.failed(retry_after_s=stopped.retry_after_s, at_once=stopped.blame == "setup")
        return [item if isinstance(item, bytes) else self._error(item, wait_s) for item in items]

    def _divide(self, texts: list[str], rounds: _Rounds) -> list[Item]:
        """Ask for a batch; halve it where it fails, down to the texts that are to blame."""
        if rounds.stopped is not None:
            return [rounds.stopped for _ in texts]
        items = self._call(texts, self._settings.timeout_s, self.dimension)
        if not isinstance(items, Refusal):
            rounds.healthy = True
            return items
        if items.blame == "late":
            # What a slow server cannot do in time in one go, it may do in two, next time.
            self._batch = max(1, min(self._batch, len(texts) // 2))
        if items.blame not in {"text", "batch"} or not self._is_healthy(rounds):
            rounds.stopped = items
        if len(texts) == 1 or rounds.stopped is not None:
            return [items for _ in texts]
        middle = len(texts) // 2
        return self._divide(texts[:middle], rounds) + self._divide(texts[middle:], rounds)

    def _is_healthy(self, rounds: _Rounds) -> bool:
        """Whether the server answers a harmless text: then those that it refused are to blame, and not it."""
        if not rounds.healthy:
            rounds.healthy = isinstance(self._ask_canary(self.dimension), list)
        return rounds.healthy

    def _ask_canary(self, dimension: int | None) -> list[Item] | Refusal:
        return self._call([self._settings.passage_prefix + CANARY], self._settings.timeout_s, dimension)

    def _call(self, texts: list[str], deadline_s: float, dimension: int | None) -> list[Item] | Refusal:
        """One request; `dimension` is what its vectors must have, None for any."""
        payload: dict[str, object] = {"model": self._settings.name, "input": texts}
        if self._settings.dimensions is not None:
            payload["dimensions"] = self._settings.dimensions
        cap_bytes = ANSWER_BYTES + VECTOR_BYTES * len(texts)
        reply = self._wire.post(payload, deadline_s=deadline_s, cap_bytes=cap_bytes)
        if isinstance(reply, Silence):
            return Refusal("late" if reply.late else "server", reply.reason)
        if reply.status != 200:
            return _refusal(reply)
        vectors = parse_vectors(reply.body, len(texts))
        if isinstance(vectors, str):
            return Refusal("batch", vectors)
        return self._accept(vectors, dimension)

    def _accept(self, vectors: Vectors, dimension: int | None) -> list[Item] | Refusal:
        if vectors.dimension is not None and vectors.dimension != (dimension or vectors.dimension):
            words = f"it answered vectors of {vectors.dimension} numbers, not of {dimension}"
            return Refusal("setup", words, "check dimensions in [embedder], or run mdmem reindex --vectors")
        if self.dimension is None and any(vectors.rows):
            self.dimension = vectors.dimension
        bad = Refusal("text", "it answered no usable vector for this text (null, zero, or not finite)")
        return [row or bad for row in vectors.rows]

    def _shut(self, wait_s: float) -> EmbedError:
        words = "has failed lately, and is left alone for a while"
        return EmbedError(words, where=self._wire.host, retry_after_s=wait_s)

    def _parked(self, refusal: Refusal) -> EmbedError:
        """A text that alone is to blame: never again, or after a long rest where the server spoke of its own fault."""
        return self._error(refusal, None if refusal.blame == "text" else PARKED_S)

    def _error(self, refusal: Refusal, again_s: float | None) -> EmbedError:
        return EmbedError(refusal.words, where=self._wire.host, hint=refusal.hint, retry_after_s=again_s)


class _Rounds:
    """What the calls for one batch have shown so far."""

    def __init__(self) -> None:
        self.healthy = False  # it answered something
        self.stopped: Refusal | None = None  # it is the server, so no more calls


def _refusal(reply: Reply) -> Refusal:
    status = reply.status
    words = f"answered {status}"
    if 300 <= status < 400:
        hint = "text is sent to no other place than the configured one: put the final address in [embedder] url"
        return Refusal("setup", f"{words}, a redirect", hint)
    if status in TEXT_STATUSES:
        return Refusal("text", f"{words}: it refuses this text", "shorten the text, or check [embedder] name")
    if status == 500:
        return Refusal("batch", words)
    wait_s = retry_after_s(reply.retry_after, reply.date, time.time())
    if status in SETUP_STATUSES:
        return Refusal("setup", words, "check url, name and key in [embedder], then run mdmem config test-embedder")
    if status == 429 and wait_s is None:
        wait_s = 0.0  # no time named: the gate's own, but at once
    return Refusal("server", words, retry_after_s=wait_s)
