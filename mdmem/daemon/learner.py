"""Agents' activity logs in, candidates in the inbox out, on a thread of low priority."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from mdmem.app import Answers
from mdmem.daemon.priority import lower_priority
from mdmem.daemon.worker import Worker
from mdmem.db import DatabaseError, file_identity
from mdmem.errors import MdmemError, Problem, SilentError
from mdmem.ledger import Ledger

if TYPE_CHECKING:
    from mdmem.app.learning import Learning
    from mdmem.hooks.payload import Call

log = logging.getLogger(__name__)

POLL_S = 2.0
RETRY_S = 60.0  # after trouble: it is of a kind that lasts
T = TypeVar("T")


class Learner(threading.Thread):
    """Owns a connection to the ledger of its own: reading a log must not keep a saved memory waiting."""

    def __init__(self, worker: Worker, answers: Answers) -> None:
        super().__init__(name="learner", daemon=True)
        self.worker = worker
        self.answers = answers
        self.pulse = 0
        self.following: tuple[str, ...] = ()  # whose logs are followed now
        self.problems: list[Problem] = []  # with what could not be read in them
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._learning: Learning | None = None
        self._identity: tuple[int, int] | None = None

    # --- from other threads -------------------------------------------------------

    def call(self, work: Callable[[Learning], T], *, timeout_s: float = 600.0) -> T:
        """Run work on this thread and wait for it. Raises what it raises."""
        return self.post(work).result(timeout_s)

    def post(self, work: Callable[[Learning], T]) -> Future[T]:
        """Run work on this thread, some time."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(work(self._open()))
            except BaseException as error:  # noqa: BLE001  # it is the caller's
                future.set_exception(error)

        if self.worker.stopping.is_set():
            future.set_exception(SilentError("the daemon is stopping"))
        else:
            self._calls.put(run)
        return future

    def heard(self, call: Call) -> None:
        """A hook came in: it tells which log was written to, and in Cursor's how a command ended."""
        if call.agent not in self.answers.app.settings.learn.agents:
            return
        if call.agent == "cursor" and call.means == "seen":
            self.post(lambda learning: learning.take_hook(call.payload))
        elif call.transcript:
            path = call.transcript
            self.post(lambda learning: learning.look(path))

    def reload(self) -> None:
        """The settings may have changed: whose logs are followed is read again."""
        self.post(lambda _: self._close())

    def wake(self) -> None:
        self._calls.put(None)

    # --- its own thread ---------------------------------------------------------------

    def run(self) -> None:
        lower_priority()
        due = time.monotonic() + POLL_S  # however many calls come in between
        while not self.worker.stopping.is_set():
            self.pulse += 1
            try:
                call = self._calls.get(timeout=max(0.0, due - time.monotonic()))
            except queue.Empty:
                call = None
            if call is not None:
                call()
            if not self.worker.stopping.is_set() and time.monotonic() >= due:
                due = time.monotonic() + self._step()
        self._close()

    def _step(self) -> float:
        """Follow the logs a little; how long to wait until the next time."""
        if not self.answers.app.settings.learn.agents and not self.answers.app.settings.learn.logs:
            return POLL_S
        try:
            learning = self._open()
            busy = learning.step()
            self.following, self.problems = learning.follows, learning.problems()
        except MdmemError as error:
            log.warning("nothing is learned for now", extra={"reason": str(error)})
        except DatabaseError as error:
            log.warning("nothing is learned for now", extra={"reason": str(error)})
            self.worker.post(lambda store: self.worker.mend("it was damaged"))
        except Exception:
            log.exception("learning failed")
        else:
            return 0.0 if busy else POLL_S
        self._close()
        return RETRY_S

    def _open(self) -> Learning:
        """The ledger may have been set aside and made anew: then by the new one."""
        path = self.answers.app.paths.ledger_db
        if self._learning is not None and file_identity(path) != self._identity:
            self._close()
        if self._learning is None:
            from mdmem.app.learning import Learning  # readers and rules: only where there is something to learn from

            self._learning = Learning(self.answers, Ledger(path))
            self._identity = file_identity(path)
        return self._learning

    def _close(self) -> None:
        if self._learning is not None:
            self._learning.ledger.close()
            self._learning = None
        self.following, self.problems = (), []
