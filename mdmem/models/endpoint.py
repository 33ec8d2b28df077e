"""In: texts. Out: vectors of an OpenAI-compatible /embeddings server, or in words why there are none.

Nothing here sleeps: a failed call says after how many seconds to try again, and the gate keeps everyone to it.
"""

from __future__ import annotations

import hashlib
import math
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
        items = self._call([self._settings.query_prefix + sound], limit_s)
        if isinstance(items, Refusal):
            raise self._error(items, self._count_query(items, limit_s))
        self._gate.succeeded()
        self._pace.succeeded()
        if isinstance(items[0], Refusal):
            raise self._error(items[0], None)
        return items[0]

    def canary(self) -> bytes:
        """See Embedder. Asks even where the gate is shut, and takes on a dimension that has changed (so does `id`)."""
        known, self.dimension = self.dimension, self._settings.dimensions
        items = self._call([self._settings.passage_prefix + CANARY], self._settings.timeout_s)
        item = items if isinstance(items, Refusal) else items[0]
        if isinstance(item, Refusal):
            self.dimension = self.dimension or known
            raise self._error(item, self._gate.failed(retry_after_s=item.retry_after_s))
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
        rounds = _Rounds(len(texts))
        items = self._divide(texts, rounds)
        again_s = self._count(rounds)
        return [item if isinstance(item, bytes) else self._error(item, again_s) for item in items]

    def _divide(self, texts: list[str], rounds: _Rounds) -> list[Item]:
        """Ask for a batch; halve it where it fails, down to the text that is to blame."""
        if rounds.stopped is not None:
            return [rounds.stopped for _ in texts]
        items = self._call(texts, self._settings.timeout_s)
        rounds.note(items)
        if not isinstance(items, Refusal):
            return items
        if items.blame == "late":
            # What a slow server cannot do in time in one go, it may do in two, next time.
            self._batch = max(1, min(self._batch, len(texts) // 2))
        if len(texts) == 1 or rounds.stopped is not None:
            return [items for _ in texts]
        middle = len(texts) // 2
        return self._divide(texts[:middle], rounds) + self._divide(texts[middle:], rounds)

    def _count(self, rounds: _Rounds) -> float | None:
        """Tell the gate how a batch went; the seconds after which to try its failed texts again, None for never."""
        stopped, alone = rounds.stopped, rounds.alone
        if stopped is not None:
            return self._gate.failed(retry_after_s=stopped.retry_after_s, at_once=stopped.blame == "setup")
        if rounds.answered:
            self._gate.succeeded()
            return None
        if alone is not None and alone.blame == "text":
            self._gate.withdrew()
            return None
        return self._gate.failed()

    def _call(self, texts: list[str], deadline_s: float) -> list[Item] | Refusal:
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
        return self._accept(vectors)

    def _accept(self, vectors: Vectors) -> list[Item] | Refusal:
        if vectors.dimension is not None and vectors.dimension != (self.dimension or vectors.dimension):
            words = f"it answered vectors of {vectors.dimension} numbers where {self.dimension} are known"
            return Refusal("setup", words, "the model behind this name has changed: run mdmem reindex --vectors")
        bad = Refusal("text", "it answered no usable vector for this text (null, zero, or not finite)")
        if self.dimension is None and any(vectors.rows):
            self.dimension = vectors.dimension
        return [row or bad for row in vectors.rows]

    def _shut(self, wait_s: float) -> EmbedError:
        words = "has failed lately, and is left alone for a while"
        return EmbedError(words, where=self._wire.host, retry_after_s=wait_s)

    def _error(self, refusal: Refusal, again_s: float | None) -> EmbedError:
        return EmbedError(refusal.words, where=self._wire.host, hint=refusal.hint, retry_after_s=again_s)


class _Rounds:
    """How the calls for one batch went; stops them once it looks like the server rather than a text."""

    def __init__(self, count: int) -> None:
        # A single bad text fails once at each halving; more failures in a row than that are not its doing.
        self._allowed = self._left = math.ceil(math.log2(count)) + 2 if count > 1 else 2
        self.answered = False
        self.stopped: Refusal | None = None
        self.alone: Refusal | None = None

    def note(self, items: list[Item] | Refusal) -> None:
        if not isinstance(items, Refusal):
            self.answered = True
            self._left = self._allowed
            return
        self.alone = items
        self._left -= 1
        if items.blame in {"server", "late", "setup"} or not self._left:
            self.stopped = items


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
