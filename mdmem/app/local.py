"""What answers requests when no daemon runs: the command at hand opens the databases itself.

It takes the writer's lock if it is free, and then syncs first; otherwise it reads what is there.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mdmem import files
from mdmem.app.app import App
from mdmem.app.recorded import read_given
from mdmem.app.state import status_of
from mdmem.app.store import Counts, Store
from mdmem.db import (
    DAMAGE,
    INDEX,
    Connection,
    DatabaseError,
    WriterLock,
    is_disk_trouble,
    load_vectors,
    open_reader,
)
from mdmem.errors import LockError, SilentError
from mdmem.index.read import Entry
from mdmem.ledger import Decided, Injection, Place, Probed, find_used_between, stamp
from mdmem.models import Embedder
from mdmem.reindex.dates import find_dates
from mdmem.scope import Scope

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from mdmem.app.learning import Learning

T = TypeVar("T")


class Local:
    """The backend of one command."""

    def __init__(self, app: App, *, wait_s: float = 5.0) -> None:
        self.app = app
        app.prepare_folders()
        self.lock = WriterLock(app.paths.lock)
        self.store: Store | None = None
        self._embedder: Embedder | None = None
        self._learning: Learning | None = None
        try:
            self.lock.take("a command", wait_s=wait_s)
        except LockError:
            log.info("index is being written by another; reading it as it is")
        else:
            self.store = Store(app)

    def close(self) -> None:
        if self.store is not None:
            self.store.close()
        if self._embedder is not None:
            self._embedder.close()
        self.lock.release()

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- Backend ----------------------------------------------------------------

    @contextlib.contextmanager
    def reader(self) -> Iterator[Connection]:
        db = open_reader(INDEX, self.app.paths.index_db)
        try:
            load_vectors(db)
            yield db
        except DAMAGE:
            if self.store is not None:
                self._mend(self.store)
            raise
        finally:
            db.close()

    def has_embedder(self) -> bool:
        return self._get_embedder() is not None

    def embed(self, text: str) -> bytes:
        embedder = self._get_embedder()
        if embedder is None:
            raise SilentError("no embedder is set")
        return embedder.query(text)

    def _get_embedder(self) -> Embedder | None:
        if self._embedder is None:
            self._embedder = self.app.embedder()
        return self._embedder

    def sync(self, folders: dict[str, list[str] | None] | None) -> dict[str, int]:
        store = self._writing()
        try:
            return sync_all(store, folders)._asdict()
        except DAMAGE:
            return self._mend(store)

    def catch_up(self, folders: dict[str, list[str] | None]) -> bool:
        if self.store is not None:
            sync_all(self.store, folders)
        return self.store is not None

    def reindex(self, *, vectors: bool) -> dict[str, int]:
        store = self._writing()
        if vectors:
            store.syncer.vectors.forget()
        store.rebuild("asked for")
        return sync_all(store, None)._asdict()

    def seen(self, entry: Entry) -> None:
        if self.store is not None:
            now = stamp()
            with _noting():
                self.store.ledger.seen(entry.scope, entry.scope_ref, entry.path, now)

    def given(self, agent: str, session: str) -> dict[Place, bytes]:
        if self.store is not None:
            return self.store.ledger.given(agent, session)
        return read_given(self.app.paths.ledger_db, agent, session)

    def injected(self, agent: str, session: str, given: Sequence[Injection]) -> None:
        if self.store is not None:
            now = stamp()
            with _noting():  # what can't be noted is given again, and no harm done
                self.store.ledger.injected(agent, session, given, now)

    def forget_session(self, agent: str, session: str) -> None:
        self._writing().ledger.forget_session(agent, session)

    def note_hook(self, agent: str, event: str) -> None:
        self._writing().ledger.note_hook(agent, event, stamp())

    def decided(self, made: Sequence[Decided], taken_back: Sequence[Decided]) -> None:
        self._writing().ledger.decided(made, taken_back)

    def allow_probes(self, allowed: Sequence[bytes]) -> None:
        self._writing().ledger.allow_probes(allowed, stamp())

    def probed(self, results: Sequence[Probed]) -> None:
        self._writing().ledger.probed(results)

    def note_refusal(self, gate: str) -> None:
        if self.store is not None:
            with _noting():
                self.store.ledger.refused(gate, stamp())

    def learn(self, work: Callable[[Learning], T]) -> T:
        from mdmem.app.answers import Answers
        from mdmem.app.learning import Learning

        if self._learning is None:
            self._learning = Learning(Answers(self), self._writing().ledger)
        return work(self._learning)

    def use(self, entry: Entry) -> dict[str, Any]:
        if self.store is None:
            return {}
        return self.store.ledger.use(entry.scope, entry.scope_ref, entry.path)._asdict()

    def used_between(self, first: str, last: str) -> list[Place]:
        return find_used_between(self.store.ledger.db, first, last) if self.store is not None else []

    def status(self) -> dict[str, Any]:
        with self.reader() as db:
            return status_of(self.app, db, daemon=None)

    def reload(self) -> None:
        """Nothing is held that could be stale."""

    def _mend(self, store: Store) -> dict[str, int]:
        if not store.mend_ledger():
            store.rebuild("it was damaged")
        return sync_all(store, None)._asdict()

    def _writing(self) -> Store:
        if self.store is None:
            raise LockError(
                "another mdmem is writing the index", where=self.app.paths.lock, hint="try again in a moment"
            )
        return self.store


@contextlib.contextmanager
def _noting() -> Iterator[None]:
    """An answer is given whether or not it can be noted that it was: the disk may be full."""
    try:
        yield
    except DatabaseError as error:
        log.warning("not noted in the ledger", extra={"reason": str(is_disk_trouble(error) or error)})


def sync_all(
    store: Store,
    folders: dict[str, list[str] | None] | None,
    should_stop: Callable[[], bool] = lambda: False,
    *,
    ask_git: bool = True,
) -> Counts:
    """Sync folders (all scopes when None) with the second look and git's dates, then write their manifests.

    Without `ask_git` the caller sees to the dates: a long history takes git long.
    """
    started = time.monotonic_ns()
    roster = store.app.roster()
    store.app.check_layout(roster)
    counts = Counts()
    touched: list[Scope] = []
    if folders is None:
        store.drop_strangers(roster.scopes)
    for scope in roster.scopes:
        if folders is not None and scope.folder not in folders:
            continue
        outcome = store.sync(scope, None if folders is None else folders[scope.folder], should_stop=should_stop)
        outcome = store.settle(scope, outcome, should_stop)
        counts = counts.plus(outcome)
        touched.append(scope)
        if ask_git:
            refresh_dates(store, scope)
    for scope in touched:
        store.update_manifest(scope)
    return counts._replace(ms=(time.monotonic_ns() - started) // 1_000_000)


def refresh_dates(store: Store, scope: Scope) -> None:
    """Ask git for the dates of a project's memories, and write them."""
    if scope.kind == "project" and files.folder_identity(Path(scope.folder)) is not None:
        found = find_dates(scope.folder)
        if found is not None:
            store.apply_dates(scope, found)
