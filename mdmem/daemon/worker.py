"""The one thread that owns the databases: changes and requests in, an index in step with the files out."""

from __future__ import annotations

import datetime
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from mdmem.app import App, Counts, Store
from mdmem.app.local import sync_all
from mdmem.app.store import SECOND_LOOK_S
from mdmem.db import DAMAGE, DatabaseError, is_disk_trouble
from mdmem.errors import MdmemError, SilentError
from mdmem.files.settle import Settle
from mdmem.reindex.dates import Dates, find_dates, head_of
from mdmem.reindex.sync import Outcome
from mdmem.scope import Scope

log = logging.getLogger(__name__)
T = TypeVar("T")

MANY_FILES = 300  # a sync of more leaves memory behind that is worth giving back
TICK_NS = 2_000_000_000
TURN_NS = 50_000_000
MANIFEST_WAIT_NS = 500_000_000  # while git is at work
DATES_QUIET_NS = 1_000_000_000  # git is asked once for a run of saves
SLEPT_NS = 30_000_000_000  # a gap like this in a wait of a second: the machine was asleep, or we were stopped
TIDY_NS = 600_000_000_000  # how often it is asked whether a day has gone by since the last tidying


class Change(NamedTuple):
    """Something happened in a folder; `rel` None: anywhere in it."""

    folder: str
    rel: str | None


class Call(NamedTuple):
    """Work to be done on the worker's thread."""

    work: Callable[[Store], Any]
    future: Future[Any]


class Worker(threading.Thread):
    """Owns the store. Everything reaches it through its queue; nothing else touches it."""

    def __init__(self, app: App, on_tick: Callable[[], None]) -> None:
        super().__init__(name="worker", daemon=True)
        self.app = app
        self.store = Store(app)
        self.scopes: dict[str, Scope] = {}
        self.stopping = threading.Event()
        self.new_pieces = threading.Event()  # there may be pieces that wait for vectors
        self.manifests_written = threading.Event()  # memories have changed, and it has been quiet since
        self._queue: queue.SimpleQueue[Change | Call | None] = queue.SimpleQueue()
        watch = app.settings.watch
        self._settle = Settle(quiet_ns=watch.quiet_ms * 1_000_000, max_ns=watch.max_ms * 1_000_000)
        self._second: dict[str, tuple[int, frozenset[str] | None]] = {}  # folder -> (when, what) to look at again
        self._manifests: dict[str, int] = {}  # folder -> when its MEMORY.md is to be looked at
        self._dates: dict[str, int] = {}  # folder -> when git is to be asked
        self._asking: set[str] = set()  # folders whose git is being asked now
        self._rescan_ns = int(watch.rescan_minutes * 60e9)
        self._next_rescan_ns = time.monotonic_ns() + self._rescan_ns
        self._next_tick_ns = 0
        self._next_tidy_ns = time.monotonic_ns() + TIDY_NS
        self._on_tick = on_tick
        self._polled: dict[str, tuple[int, int]] = {}  # folder -> (when next, how often in ns)
        self._blocked: str | None = None
        self._unreadable: str | None = None  # why the scopes could not be read, when that was last said
        self.failure: BaseException | None = None
        self.ticks = 0
        self._steps = 0
        self._resting = False

    # --- from other threads -------------------------------------------------------

    def change(self, folder: str, rel: str | None) -> None:
        """A hint. Never blocks, never raises."""
        self._queue.put(Change(folder, rel))

    def call(self, work: Callable[[Store], T], *, timeout_s: float = 600.0) -> T:
        """Run work on the worker's thread and wait for it. Raises what it raises; SilentError when the worker ends."""
        future: Future[T] = Future()
        if self.stopping.is_set():
            raise SilentError("the daemon is stopping")
        self._queue.put(Call(work, future))
        return future.result(timeout_s)

    def post(self, work: Callable[[Store], Any]) -> Future[Any]:
        """Run work on the worker's thread, some time."""
        future: Future[Any] = Future()
        self._queue.put(Call(work, future))
        return future

    def stop(self) -> None:
        self.stopping.set()
        for waited_for in (self.new_pieces, self.manifests_written):
            waited_for.set()  # whoever waits for these looks whether to stop
        self._queue.put(None)

    @property
    def pending(self) -> int:
        return self._queue.qsize() + len(self._second)

    @property
    def pulse(self) -> int:
        """Another number at each look, for as long as the worker gets on with its work or has none."""
        return time.monotonic_ns() if self._resting else self._steps

    @property
    def tick_pulse(self) -> int:
        """The same of the tick, which must come when the worker rests; long work keeps it waiting."""
        return self.ticks if self._resting else self._steps

    # --- the loop ------------------------------------------------------------------

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                self._turn()
        except BaseException as error:
            self.failure = error
            log.exception("worker ended")
        finally:
            self._refuse_rest()
            self.store.close()

    def _turn(self) -> None:
        before_ns = _awake_ns()
        timeout_s = max(self._next_ns() - time.monotonic_ns(), 0) / 1e9
        self._resting = True
        try:
            item = self._queue.get(timeout=timeout_s)
        except queue.Empty:
            item = None
        self._resting = False
        if _awake_ns() - before_ns > timeout_s * 1e9 + SLEPT_NS:
            self.rescan_all()
        # Callers that ask without a pause must not keep what is due from being done.
        until_ns = time.monotonic_ns() + TURN_NS
        while item is not None and not self.stopping.is_set():
            self._take(item)
            if time.monotonic_ns() > until_ns:
                break
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
        self._work_due()

    def _next_ns(self) -> int:
        times = [self._next_tick_ns, self._next_rescan_ns, *self._manifests.values(), *self._dates.values()]
        times += [when for when, _ in self._second.values()] + [when for when, _ in self._polled.values()]
        settled = self._settle.next_ns()
        return min([*times, settled] if settled is not None else times)

    def _is_stopping(self) -> bool:
        """For long work, which asks between files: that it asks shows that it gets on."""
        self._steps += 1
        return self.stopping.is_set()

    def _take(self, item: Change | Call) -> None:
        self._steps += 1
        if isinstance(item, Change):
            self._settle.note(item.folder, item.rel, time.monotonic_ns())
            return
        try:
            result = item.work(self.store)
        except BaseException as error:  # noqa: BLE001  # the caller gets it, on its own thread
            item.future.set_exception(error)
            self._guard(error)
        else:
            item.future.set_result(result)

    def _work_due(self) -> None:
        """Whatever has come due: each step is level-triggered, so that a failed one is simply done again."""
        now_ns = time.monotonic_ns()
        try:
            for due in self._settle.take_due(now_ns):
                self._sync(due.folder, due.rels)
            self._look_again(now_ns)
            self._poll(now_ns)
            self._write_manifests(now_ns)
            self._ask_git(now_ns)
            if now_ns >= self._next_rescan_ns:
                self.rescan_all()
            if now_ns >= self._next_tick_ns:
                self._tick(now_ns)
            self._blocked = None
        except Exception as error:  # noqa: BLE001  # the loop must live; see _guard
            self._guard(error)

    def _tick(self, now_ns: int) -> None:
        self._next_tick_ns = now_ns + TICK_NS
        if self.store.is_replaced():
            self._rebuild("its file was removed or replaced")
        for folder in list(self.store.away):
            self._sync(folder, None)  # no event need tell that it is back
        self._on_tick()
        self.ticks += 1
        if now_ns >= self._next_tidy_ns:
            self._next_tidy_ns = now_ns + TIDY_NS
            self.store.tidy(datetime.datetime.now(datetime.UTC))

    def _guard(self, error: BaseException) -> None:
        """A step failed: damage is mended; the machine's trouble is said once and tried again; the rest is logged."""
        if isinstance(error, DAMAGE):
            self._mend_now()
        elif isinstance(error, DatabaseError) or (isinstance(error, MdmemError) and error.exit_code == 6):
            trouble = is_disk_trouble(error) or error
            if self._blocked != str(trouble):
                self._blocked = str(trouble)
                log.error("cannot write", extra={"reason": str(trouble)})
            self._retry_all()
        elif not isinstance(error, MdmemError):
            log.error("step failed", exc_info=error)
            self._retry_all()

    def _mend_now(self) -> None:
        try:
            self.mend("it was damaged", sure=True)
        except Exception as error:
            # A disk that is full, most likely: what is due later meets the damage again.
            log.exception("the index could not be made anew", extra={"reason": str(is_disk_trouble(error) or "")})
            self._retry_all()

    def _retry_all(self) -> None:
        """Look at everything again in a while: what failed is found by looking, not remembered."""
        self._next_rescan_ns = min(self._next_rescan_ns, time.monotonic_ns() + 5_000_000_000)

    def _refuse_rest(self) -> None:
        self.stopping.set()
        while True:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return
            if isinstance(item, Call):
                item.future.set_exception(SilentError("the daemon is stopping"))

    # --- steps ---------------------------------------------------------------------

    def load_scopes(self) -> dict[str, Scope]:
        """Read which folders there are; forget what is no scope any more."""
        roster = self.app.roster()
        self.app.check_layout(roster)
        self.scopes = {scope.folder: scope for scope in roster.scopes}
        self._unreadable = None
        self.store.drop_strangers(roster.scopes)
        return self.scopes

    def has_other_scopes(self) -> bool:
        """Whether there are other folders now than were last loaded."""
        try:
            return {scope.folder for scope in self.app.roster().scopes} != self.scopes.keys()
        except MdmemError as error:
            if self._unreadable != str(error):
                self._unreadable = str(error)
                log.warning("scopes cannot be read; those known stay", extra={"reason": str(error)})
            return False

    def rescan_all(self) -> None:
        self._next_rescan_ns = time.monotonic_ns() + self._rescan_ns
        for folder in list(self.scopes):
            self._sync(folder, None)

    def rescan(self, folder: str) -> None:
        self._sync(folder, None)

    def poll(self, folder: str, every_s: float | None) -> None:
        """Look at a folder now and then (None: no longer), because its events don't arrive."""
        if every_s is None:
            self._polled.pop(folder, None)
        else:
            self._polled.setdefault(folder, (time.monotonic_ns(), int(every_s * 1e9)))

    def catch_up(self, folders: dict[str, list[str] | None]) -> None:
        """On the worker's thread: look at a few paths now. What reads unclear is looked at again in its time."""
        for folder, rels in folders.items():
            self._sync(folder, None if rels is None else frozenset(rels))

    def sync_now(self, folders: dict[str, list[str] | None] | None) -> Counts:
        """On the worker's thread: everything that was on disk when asked, second looks and dates included."""
        if folders is None:
            self.load_scopes()
        for folder in self.scopes if folders is None else folders:
            if folders is None or folders[folder] is None:  # with hints, what else waits there goes on waiting
                self._settle.take(folder)
                self._second.pop(folder, None)
        # A search that met a changed file waits for this: git is asked afterwards, on a thread of its own.
        hinted = folders is not None and None not in folders.values()
        counts = sync_all(self.store, folders, self._is_stopping, ask_git=not hinted)
        now_ns = time.monotonic_ns()
        for folder in self.scopes if folders is None else folders:
            self._manifests.setdefault(folder, now_ns + MANIFEST_WAIT_NS)  # git may have been at work
            if hinted and folder in self.scopes and self.scopes[folder].kind == "project":
                self._dates[folder] = now_ns + DATES_QUIET_NS
        self.new_pieces.set()
        return counts

    def reindex_now(self, *, vectors: bool) -> Counts:
        if vectors:
            self.store.syncer.vectors.forget()
        self._rebuild("asked for", rescan=False)
        return self.sync_now(None)

    def mend(self, why: str, *, sure: bool = False) -> None:
        """The index or the ledger is damaged, someone saw: make it anew, unless that has been done already."""
        if self.store.mend_ledger():
            self.rescan_all()
        elif sure or not self.store.is_sound():
            self._rebuild(why)

    def _rebuild(self, why: str, *, rescan: bool = True) -> None:
        self.store.rebuild(why)
        if rescan:
            self.rescan_all()

    def _sync(self, folder: str, rels: frozenset[str] | None, *, second_look: bool = False) -> None:
        scope = self.scopes.get(folder)
        if scope is None:
            self.store.away.discard(folder)
            return
        started_ns = time.monotonic_ns()
        outcome = self.store.sync(scope, rels, second_look=second_look, should_stop=self._is_stopping)
        now_ns = time.monotonic_ns()
        if outcome.unclear is None or outcome.unclear:
            self._second[folder] = (now_ns + int(SECOND_LOOK_S * 1e9), outcome.unclear)
        if outcome.moved or rels is None or "MEMORY.md" in rels:
            self._manifests[folder] = now_ns
        self._note_dates(scope, outcome, now_ns)
        if folder in self._polled:
            _, every_ns = self._polled[folder]
            # A big folder is polled more rarely: never more than a fiftieth of a core. Not so where the time went into
            # what had changed: more of that is to be expected, and a checkout would be followed by minutes of silence.
            rest_ns = 50 * (now_ns - started_ns)
            if outcome.moved:
                rest_ns = min(rest_ns, 5 * every_ns)
            self._polled[folder] = (now_ns + max(every_ns, rest_ns), every_ns)
        if outcome.added + outcome.changed > MANY_FILES:
            self.store.slim()
        if outcome.moved:
            self.new_pieces.set()
            log.info(
                "reindexed",
                extra={
                    "scope": scope.label,
                    "added": outcome.added,
                    "changed": outcome.changed,
                    "removed": outcome.removed,
                    "ms": (now_ns - started_ns) // 1_000_000,
                },
            )

    def _note_dates(self, scope: Scope, outcome: Outcome, now_ns: int) -> None:
        if scope.kind == "project" and outcome.state == "ok":
            moved = outcome.moved or outcome.touched
            if moved or self.store.head(scope) != head_of(scope.folder):
                self._dates[scope.folder] = now_ns + DATES_QUIET_NS

    def _look_again(self, now_ns: int) -> None:
        for folder, (when_ns, rels) in list(self._second.items()):
            if when_ns <= now_ns:
                del self._second[folder]
                self._sync(folder, rels, second_look=True)

    def _poll(self, now_ns: int) -> None:
        for folder, (when_ns, every_ns) in list(self._polled.items()):
            if when_ns <= now_ns:
                self._polled[folder] = (now_ns + every_ns, every_ns)  # one that fails must not keep the tick waiting
                self._sync(folder, None)

    def _write_manifests(self, now_ns: int) -> None:
        """After the search commit, and once for a burst: not while changes of the folder still come in."""
        for folder, when_ns in list(self._manifests.items()):
            scope = self.scopes.get(folder)
            if when_ns > now_ns:
                continue
            del self._manifests[folder]
            if scope is not None and self.store.update_manifest(scope):
                self._manifests[folder] = now_ns + MANIFEST_WAIT_NS
            self.manifests_written.set()

    def _ask_git(self, now_ns: int) -> None:
        for folder, when_ns in list(self._dates.items()):
            if folder not in self.scopes:
                del self._dates[folder]  # trusted no longer: git is not asked there
            elif when_ns <= now_ns and folder not in self._asking:
                del self._dates[folder]
                self._asking.add(folder)
                threading.Thread(target=self._find_dates, args=(folder,), name="git", daemon=True).start()

    def _find_dates(self, folder: str) -> None:
        """On a thread of its own: a long history takes long."""
        dates: Dates | None = None
        try:
            dates = find_dates(folder)
        except Exception:
            log.exception("git dates failed")
        self.post(lambda store: self._apply_dates(store, folder, dates))

    def _apply_dates(self, store: Store, folder: str, dates: Dates | None) -> None:
        self._asking.discard(folder)
        scope = self.scopes.get(folder)
        if scope is not None and dates is not None:
            store.apply_dates(scope, dates)


def _awake_ns() -> int:
    """A clock that goes on while the machine sleeps, where there is one."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime_ns(clock) if clock is not None else time.time_ns()
