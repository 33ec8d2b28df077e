"""The writing side: one open index and ledger, kept whole, and every way to bring them up to date.

One thread at a time; whoever makes one holds the writer's lock.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from mdmem.app.app import App
from mdmem.db import (
    DAMAGE,
    INDEX,
    LEDGER,
    UNUSABLE,
    Connection,
    DatabaseError,
    checkpoint,
    file_identity,
    has_tables,
    is_of_another_version,
    open_reader,
    open_writer,
    quick_check,
    set_aside,
    shrink,
    transaction,
)
from mdmem.errors import ConfigError, Problem
from mdmem.files import printable
from mdmem.index import read
from mdmem.index.read import Folder
from mdmem.index.vectors import expire_cache, put_cache, read_cache
from mdmem.ledger import KEEP_DAYS, Ledger
from mdmem.models import give_back_memory, same_weights
from mdmem.outputs import manifest
from mdmem.reindex.dates import Dates, apply_dates, busy_reason
from mdmem.reindex.sync import Outcome, Syncer
from mdmem.scope import Scope

log = logging.getLogger(__name__)

SECOND_LOOK_S = 0.4  # editors truncate, pause, then write


class Counts(NamedTuple):
    """What a sync did, summed over folders. `ms`: how long it took."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    problems: int = 0
    ms: int = 0

    def plus(self, outcome: Outcome) -> Counts:
        return self._replace(
            added=self.added + outcome.added,
            changed=self.changed + outcome.changed,
            removed=self.removed + outcome.removed,
            problems=self.problems + outcome.problems,
        )


class Store:
    """The open index and ledger of an app."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.ledger = Ledger(app.paths.ledger_db)
        self._ledger_identity = file_identity(app.paths.ledger_db)
        self.away: set[str] = set()  # folders that were not there, or not readable, when last looked at
        self.notice: str | None = None  # what a person should know of the last rebuild
        self._open()

    def _open(self) -> None:
        cache = _cache_of_another_version(self.app.paths.index_db)
        self.db = open_writer(INDEX, self.app.paths.index_db)
        if cache:
            with transaction(self.db):
                put_cache(self.db, cache)
        aliases = self.app.settings.recall.aliases
        stamp = hashlib.sha256(json.dumps(aliases, sort_keys=True).encode()).hexdigest()
        unfit = _why_unfit(self.db, stamp)
        if unfit:
            self._start_anew(unfit)
        self.syncer = Syncer(self.db, self.ledger, aliases=aliases)
        self.syncer.writer.set_meta("aliases", stamp)
        self.syncer.vectors.heal()
        self.syncer.vectors.compact()
        self.identity = self._identity()

    def close(self) -> None:
        with contextlib.suppress(*DatabaseError):  # what can't be given back now can be later
            checkpoint(self.db)
        self.db.close()
        self.ledger.close()

    # --- keeping it whole ---------------------------------------------------

    def is_replaced(self) -> bool:
        """Whether a file of ours was deleted or replaced while we hold it open. Any thread may ask."""
        return self._identity() != self.identity

    def _identity(self) -> tuple[tuple[int, int] | None, ...]:
        """Of the index, its journal and the journal's index (by now all are there), and the ledger."""
        paths = self.app.paths
        names = (paths.index_db, f"{paths.index_db}-wal", f"{paths.index_db}-shm", paths.ledger_db)
        return tuple(file_identity(name) for name in names)

    def _reopen_ledger(self) -> None:
        path = self.app.paths.ledger_db
        if file_identity(path) != self._ledger_identity:
            self.ledger.close()
            self.ledger = Ledger(path)
            self._ledger_identity = file_identity(path)

    def mend_ledger(self) -> bool:
        """Whether the ledger was damaged: then it is moved aside, and an empty one begun. No memory is lost with it.

        Damage that is met may be the ledger's: to make the index anew would not help, and nothing would be indexed.
        """
        path = self.app.paths.ledger_db
        if _is_whole_ledger(path):
            return False
        with contextlib.suppress(*DatabaseError):
            self.ledger.close()
        aside = set_aside(path, "damaged")
        log.warning("ledger set aside", extra={"reason": "it was damaged", "path": aside})
        self.ledger = self.syncer.ledger = Ledger(path)
        self._ledger_identity = file_identity(path)
        self.identity = (*self.identity[:-1], self._ledger_identity)
        self.notice = f"the ledger was damaged and moved to {aside}: use counts and history start anew"
        return True

    def is_sound(self) -> bool:
        """Whether the index is the file that was opened, undamaged, and agrees with itself. Reads all of it."""
        return not self.is_replaced() and _is_sound(self.db) and self._is_sound_to_others()

    def _is_sound_to_others(self) -> bool:
        """Whether the file is sound for who opens it now: what this connection holds in memory may hide the damage."""
        try:
            with contextlib.closing(open_reader(INDEX, self.app.paths.index_db)) as db:
                return _is_sound(db)
        except DatabaseError:
            return False

    def use_model(self, model: str, canary: bytes) -> None:
        """Vectors are made by this model from now on. `canary`: its vector of a fixed text: under the same name,
        another one means other weights, and every vector is made anew.
        """
        vectors = self.syncer.vectors
        known = vectors.canary() if vectors.model == model else None
        if known is not None and not same_weights(known, canary):
            vectors.forget()
        vectors.use(model, len(canary))
        vectors.set_canary(canary)

    def rebuild(self, why: str) -> None:
        """Start the index anew, keeping the embedding cache where it can still be read."""
        log.warning("index set aside", extra={"reason": why})
        self._start_anew("old")
        self.db.close()
        self._open()
        self.notice = f"the index was made anew: {why}"

    def _start_anew(self, aside: str) -> None:
        """An empty index in the place of the open one, which is set aside under a word."""
        cache = self._rescue_cache()
        self.db.close()
        self.app.prepare_folders()
        self._reopen_ledger()
        # Whatever lies there now goes too, if only the journal of a removed index: it would be taken for the new one's.
        set_aside(self.app.paths.index_db, aside)
        self.db = open_writer(INDEX, self.app.paths.index_db)
        if cache:
            with transaction(self.db):
                put_cache(self.db, cache)

    def _rescue_cache(self) -> list[tuple[object, ...]]:
        try:
            return read_cache(self.db)
        except DatabaseError:
            return []  # damaged, or closed by a rebuild that failed half-way

    # --- bringing it up to date ---------------------------------------------

    def sync(
        self,
        scope: Scope,
        hints: Iterable[str] | None = None,
        *,
        second_look: bool = False,
        should_stop: Callable[[], bool] | None = None,
    ) -> Outcome:
        """One folder; see `reindex.sync`. Damage met on the way leads to a rebuild, and another try."""
        try:
            outcome = self.syncer.sync(scope, hints, second_look=second_look, should_stop=should_stop)
        except DatabaseError as error:
            if not self.mend_ledger():
                if not isinstance(error, DAMAGE) and self.is_sound():
                    raise
                self.rebuild("it was damaged")
            outcome = self.syncer.sync(scope, None, second_look=second_look, should_stop=should_stop)
        if outcome.state == "ok":
            self.away.discard(scope.folder)
        else:
            self.away.add(scope.folder)
        return outcome

    def slim(self) -> None:
        """After much work: give back the memory that it took."""
        self.syncer.writer.forget_caches()
        shrink(self.db)
        give_back_memory()

    def settle(self, scope: Scope, outcome: Outcome, should_stop: Callable[[], bool]) -> Outcome:
        """The second look, for callers that wait for it: what is unclear is looked at until it is clear."""
        while outcome.unclear is None or outcome.unclear:
            if should_stop():
                return outcome
            time.sleep(SECOND_LOOK_S)
            again = self.sync(scope, outcome.unclear, second_look=True, should_stop=should_stop)
            outcome = again._replace(
                added=outcome.added + again.added,
                changed=outcome.changed + again.changed,
                removed=outcome.removed + again.removed,
            )
        return outcome

    def drop_strangers(self, scopes: Iterable[Scope]) -> int:
        """Take folders out that are no scope any more (untrusted, unmounted by the config); how many memories."""
        keep = {printable(scope.folder) for scope in scopes}
        gone = [f.id for f in read.folders(self.db) if f.path not in keep and not self._may_return(f)]
        if not gone:
            return 0
        with transaction(self.db):
            return sum(self.syncer.writer.drop_folder(folder_id) for folder_id in gone)

    def _may_return(self, folder: Folder) -> bool:
        """Agents are known by their folders: where the folder of these folders is away, nothing says that they left."""
        agents = self.app.agents_folder
        return folder.path.startswith(f"{printable(agents)}/") and not os.path.isdir(agents)

    def update_manifest(self, scope: Scope) -> str | None:
        """Write a folder's MEMORY.md if its bytes would change. Returns why it has to wait, or None."""
        folder = read.find_folder(self.db, printable(scope.folder))
        if scope.mount or folder is None or folder.state != "ok" or not folder.complete:
            return None
        if scope.kind == "project" and not self._may_write(scope):
            return "whether this is a scope still"
        busy = busy_reason(scope.folder)
        if busy:
            return busy

        def listing(type_name: str) -> list[manifest.Line]:
            rows = read.manifest_entries(self.db, folder.id, type_name)
            return [manifest.Line(_rel(path, raw), name, text) for path, raw, name, text in rows]

        _, problem = manifest.update(scope, read.manifest_counts(self.db, folder.id), listing)
        self._manifest_problem(folder.id, problem)
        return None

    def _may_write(self, scope: Scope) -> bool:
        """Whether a project's folder is still what was trusted: a checkout may have put a link there, or a person
        another repository, since the scopes were last read.
        """
        try:
            return self.app.is_current(scope)
        except ConfigError:
            return False  # nobody can say; what is known stays readable

    def _manifest_problem(self, folder_id: int, problem: Problem | None) -> None:
        held = read.problem_codes(self.db, folder_id, "manifest")
        if held != ({problem.code} if problem else set()):
            with transaction(self.db):
                self.syncer.writer.put_problems(folder_id, None, "manifest", [problem] if problem else [])

    def head(self, scope: Scope) -> str | None:
        """The commit at which the dates of a folder were read."""
        folder = read.find_folder(self.db, printable(scope.folder))
        return folder.head if folder else None

    def apply_dates(self, scope: Scope, dates: Dates) -> int:
        folder = read.find_folder(self.db, printable(scope.folder))
        return apply_dates(self.db, self.syncer.writer, folder.id, dates) if folder else 0

    # --- upkeep --------------------------------------------------------------

    def tidy(self, now: datetime.datetime) -> None:
        """Let go of what was kept long enough, and give back space; once a day, whoever asks and however often."""
        last = self.ledger.last("tidy") or ""
        if (now - datetime.timedelta(days=1)).isoformat() < last <= now.isoformat():
            return  # a time to come says nothing: the clock was wrong then
        before = (now - datetime.timedelta(days=KEEP_DAYS)).isoformat()
        self.ledger.expire(before)
        self.ledger.expire_records(now.isoformat())
        self.ledger.note("tidy", now.isoformat())
        with transaction(self.db):
            expire_cache(self.db, now.date().isoformat(), before[:10])
        self.syncer.vectors.compact()
        self.checkpoint()

    def checkpoint(self) -> None:
        """Move the journal into the database, and let go of its file's length."""
        checkpoint(self.db)


def _cache_of_another_version(path: str) -> list[tuple[object, ...]]:
    """The vectors of an index that is about to be set aside for its version: an upgrade must not cost them."""
    try:
        with contextlib.closing(open_reader(INDEX, path)) as db:
            return read_cache(db) if is_of_another_version(db, INDEX) else []
    except DatabaseError:
        return []


def _is_whole_ledger(path: str) -> bool:
    """Whether a ledger is undamaged for who opens it now, as far as can be told: one that is locked may be."""
    try:
        with contextlib.closing(open_reader(LEDGER, path)) as db:
            return quick_check(db) and has_tables(db, LEDGER)
    except DAMAGE:
        return False
    except DatabaseError:
        return True


def _is_sound(db: Connection) -> bool:
    try:
        return quick_check(db) and has_tables(db, INDEX) and read.is_whole(db)
    except UNUSABLE:
        return False


def _why_unfit(db: Connection, aliases: str) -> str | None:
    """Why an index that opens can't be used as it is: the word that it is set aside under."""
    try:
        if read.meta(db, "aliases") not in (None, aliases):
            return "other-aliases"
        return None if read.is_whole(db) else "damaged"
    except UNUSABLE:
        return "damaged"


def _rel(path: str, raw: bytes | None) -> str:
    return os.fsdecode(raw) if raw is not None else path
