"""The daemon as a backend of answers: readers of its own, writing through its worker."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

from mdmem import __version__
from mdmem.app import Answers, App
from mdmem.app.recorded import LEDGER_S, read_given
from mdmem.app.state import status_of
from mdmem.daemon.filler import Filler
from mdmem.daemon.learner import Learner
from mdmem.daemon.watches import Watches
from mdmem.daemon.worker import Worker
from mdmem.db import (
    INDEX,
    LEDGER,
    UNUSABLE,
    Connection,
    DatabaseError,
    ReplacedError,
    file_identity,
    load_vectors,
    open_reader,
)
from mdmem.errors import SilentError
from mdmem.index import read
from mdmem.index.read import Entry
from mdmem.ledger import Decided, Injection, Place, Probed, find_use, find_used_between, stamp

if TYPE_CHECKING:
    from mdmem.app.learning import Learning

T = TypeVar("T")
CATCH_UP_S = 1.0  # how long a search waits for the writer to look at a file that moved
EMBED_S = 2.0
SEEN_S = 0.1
REPLACED_S = 1.0  # how long there may be no file while the index or the ledger is made anew
READERS = 4  # kept open; more are made when more ask at once


class Readers:
    """Read connections to the index, reused; those of a replaced index are thrown away."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._idle: queue.SimpleQueue[tuple[tuple[int, int] | None, Connection]] = queue.SimpleQueue()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[Connection]:
        identity = file_identity(self.path)
        try:
            connection = self._take(identity)
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
        except DatabaseError as error:
            if file_identity(self.path) == identity:
                raise
            raise ReplacedError(self.path) from error  # half of it was read from a file that is set aside now
        if self._idle.qsize() < READERS:
            self._idle.put((identity, connection))
        else:
            connection.close()

    def _take(self, identity: tuple[int, int] | None) -> Connection:
        while True:
            try:
                known, connection = self._idle.get_nowait()
            except queue.Empty:
                connection = open_reader(INDEX, self.path, wait_s=REPLACED_S)
                load_vectors(connection)
                return connection
            if known == identity:
                return connection
            connection.close()

    def close(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait()[1].close()


class Live:
    """What answers requests inside the daemon. Its methods run on the connections' threads.

    `hurried`: for hooks, which answer with what there is rather than wait.
    """

    def __init__(
        self, app: App, worker: Worker, readers: Readers, filler: Filler, watches: Watches, *, hurried: bool = False
    ) -> None:
        self.app = app
        self.share = 0.06 if hurried else 1.0  # of the usual waiting times
        self.worker = worker
        self.readers = readers
        self.filler = filler
        self.watches = watches
        self.started = time.monotonic()
        self.learner = Learner(worker, Answers(self))
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="embed") if hurried else None
        self._noting: Future[Any] | None = None  # the ledger's last piece of work for a block

    @contextlib.contextmanager
    def reader(self) -> Iterator[Connection]:
        if self.worker.store.is_replaced():
            # Better a slow answer than a wrong one, or none.
            self.worker.call(lambda store: self.worker.mend("its file was removed or replaced"))
        try:
            with self.readers() as connection:
                yield connection
        except UNUSABLE:
            # Every request may come back: by then the worker has made the index anew.
            self.worker.post(lambda store: self.worker.mend("it was damaged"))
            raise

    def has_embedder(self) -> bool:
        return self.filler.embedder is not None

    def embed(self, text: str) -> bytes:
        deadline_s = self.share * EMBED_S
        if self._aside is None:
            return self.filler.query(text, deadline_s=deadline_s)
        # Weights may have to be loaded first, a server may hang: that goes on aside, for the next question.
        try:
            return self._aside.submit(self.filler.query, text, deadline_s=deadline_s).result(deadline_s)
        except TimeoutError as error:
            raise SilentError("the embedder was not ready in time") from error

    def sync(self, folders: dict[str, list[str] | None] | None) -> dict[str, int]:
        if folders is None:
            return self.worker.call(lambda store: self.sync_all_here())
        return self.worker.call(lambda store: self.worker.sync_now(folders)._asdict())

    def catch_up(self, folders: dict[str, list[str] | None]) -> bool:
        try:
            self.worker.call(lambda store: self.worker.catch_up(folders), timeout_s=self.share * CATCH_UP_S)
        except TimeoutError:
            return False
        return True

    def sync_all_here(self) -> dict[str, int]:
        """On the worker's thread: read again which folders there are, watch them, and look at all of them."""
        self.worker.load_scopes()
        self.watches.follow()
        return self.worker.sync_now(None)._asdict()

    def reindex(self, *, vectors: bool) -> dict[str, int]:
        return self.worker.call(lambda store: self.worker.reindex_now(vectors=vectors)._asdict())

    def seen(self, entry: Entry) -> None:
        now = stamp()
        # Waited for only as long as nobody notices, for the worker may be indexing. What can't be counted is shown all
        # the same: the worker tells of the reason.
        with contextlib.suppress(TimeoutError, *DatabaseError):
            self.worker.call(
                lambda store: store.ledger.seen(entry.scope, entry.scope_ref, entry.path, now), timeout_s=SEEN_S
            )

    def given(self, agent: str, session: str) -> dict[Place, bytes]:
        if self._noting is not None:
            wait([self._noting], timeout=LEDGER_S)  # what was given a moment ago may not be written yet
        return read_given(self.app.paths.ledger_db, agent, session)

    def injected(self, agent: str, session: str, given: Sequence[Injection]) -> None:
        now = stamp()
        # The block doesn't wait. What can't be noted is given again, and no harm done: the worker tells of the reason.
        self._noting = self.worker.post(lambda store: store.ledger.injected(agent, session, given, now))

    def forget_session(self, agent: str, session: str) -> None:
        # Done in any case, and before what is given next is noted.
        self._noting = self.worker.post(lambda store: store.ledger.forget_session(agent, session))

    def note_hook(self, agent: str, event: str) -> None:
        now = stamp()
        self.worker.post(lambda store: store.ledger.note_hook(agent, event, now))

    def decided(self, made: Sequence[Decided], taken_back: Sequence[Decided]) -> None:
        # Where the worker is indexing just now it is noted a little later: nobody waits for that between two questions.
        with contextlib.suppress(TimeoutError):
            self.worker.call(lambda store: store.ledger.decided(made, taken_back), timeout_s=SEEN_S)

    def allow_probes(self, allowed: Sequence[bytes]) -> None:
        self.worker.call(lambda store: store.ledger.allow_probes(allowed, stamp()))

    def probed(self, results: Sequence[Probed]) -> None:
        self.worker.call(lambda store: store.ledger.probed(results))

    def note_refusal(self, gate: str) -> None:
        now = stamp()
        self.worker.post(lambda store: store.ledger.refused(gate, now))

    def learn(self, work: Callable[[Learning], T]) -> T:
        return self.learner.call(work)

    def use(self, entry: Entry) -> dict[str, Any]:
        with contextlib.closing(open_reader(LEDGER, self.app.paths.ledger_db, wait_s=REPLACED_S)) as db:
            return find_use(db, entry.scope, entry.scope_ref, entry.path)._asdict()

    def used_between(self, first: str, last: str) -> list[Place]:
        with contextlib.closing(open_reader(LEDGER, self.app.paths.ledger_db, wait_s=REPLACED_S)) as db:
            return find_used_between(db, first, last)

    def reload(self) -> None:
        """Read config and scopes again; folders that came are watched and indexed, those that went leave."""
        self.worker.call(lambda store: self._reload_here())

    def reload_soon(self) -> Future[Any]:
        """The same without waiting: for a signal."""
        return self.worker.post(lambda store: self._reload_here())

    def _reload_here(self) -> None:
        self.app.reload_settings()
        self.learner.reload()
        self.sync_all_here()

    def status(self) -> dict[str, Any]:
        with self.reader() as db:
            waiting, _, parked = read.vector_counts(db)
            return status_of(self.app, db, daemon=self._live(waiting + parked))

    def _live(self, waiting: int) -> dict[str, Any]:
        import os

        import psutil

        return {
            "daemon": {
                "running": True,
                "pid": os.getpid(),
                "version": __version__,
                "uptime_s": round(time.monotonic() - self.started, 1),
                "rss_mb": round(psutil.Process().memory_info().rss / 1e6, 1),
            },
            "watch": dict(self.watches.modes),
            "embedder": self.filler.state(),
            "pending": self.worker.pending,
            "learning": list(self.learner.following),
            "log_problems": [problem._asdict() for problem in self.learner.problems],
            "vectors_left_s": self.filler.left_s(waiting) if waiting else 0.0,
            "notice": self.worker.store.notice,
        }
