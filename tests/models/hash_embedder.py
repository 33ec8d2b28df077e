"""A real embedder without weights: hashed words and their trigrams, 64 numbers. Same words, near vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

from mdmem.models.embedder import CANARY, EmbedError, nothing_to_embed, readable
from mdmem.models.quantise import quantise

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]|\w+")
TRIGRAM_WEIGHT = 0.3


class HashEmbedder:
    """Deterministic on every machine. `dimension` and `seed` make other "models"; `refuse` fails texts with that word.

    `texts_seen` counts the passages asked for, so that a test can prove that nothing was embedded twice.
    """

    def __init__(self, dimension: int = 64, *, seed: int = 0, refuse: str | None = None) -> None:
        self.dimension: int | None = dimension
        self.id = f"hash{seed or ''}/{dimension}"
        self.at_once = 1
        self.texts_seen = 0
        self._size = dimension
        self._seed = seed
        self._refuse = refuse

    def passages(self, texts: Sequence[str]) -> list[bytes | EmbedError]:
        self.texts_seen += len(texts)
        return [self._embed(text) for text in texts]

    def query(self, text: str, *, deadline_s: float | None = None) -> bytes:
        found = self._embed(text)
        if isinstance(found, EmbedError):
            raise found
        return found

    def canary(self) -> bytes:
        return self.query(CANARY)

    def close(self) -> None:
        pass

    def _embed(self, text: str) -> bytes | EmbedError:
        sound = readable(text, limit_bytes=100_000)
        if sound is None:
            return nothing_to_embed()
        if self._refuse is not None and self._refuse in sound:
            return EmbedError("refused by the test's embedder", where=self.id)
        vector = [0.0] * self._size
        for word in WORD.findall(sound.lower()) or [sound.strip()]:
            self._add(vector, word, 1.0)
            for start in range(len(word) - 2):
                self._add(vector, "#" + word[start : start + 3], TRIGRAM_WEIGHT)
        return quantise(vector) or EmbedError("every word cancelled out", where=self.id)

    def _add(self, vector: list[float], token: str, weight: float) -> None:
        # Two different places a token, each with its own sign: fewer chance likenesses than one, and never zero.
        digest = blake2b(f"{self._seed}:{token}".encode(), digest_size=9).digest()
        first = int.from_bytes(digest[:4]) % self._size
        second = (first + 1 + int.from_bytes(digest[4:8]) % (self._size - 1)) % self._size
        vector[first] += weight if digest[8] & 1 else -weight
        vector[second] += weight if digest[8] & 2 else -weight
