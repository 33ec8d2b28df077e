"""A hook's call in, what is printed out, where no daemon runs: read from the index as it is, in one short process.

No folder is walked and no embedder loaded, so it costs the same however many memories there are.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mdmem.app.answers import Answers
from mdmem.app.app import App
from mdmem.config import find_paths
from mdmem.db import INDEX, LEDGER, Connection, DatabaseError, WriterLock, open_reader
from mdmem.errors import MdmemError, SilentError
from mdmem.hooks.answer import Held, Hooks
from mdmem.index.read import Entry
from mdmem.ledger import Decided, Injection, Ledger, Place, Probed, find_given, find_use, find_used_between, stamp

if TYPE_CHECKING:
    from mdmem.app.learning import Learning

T = TypeVar("T")


class _Lines(logging.Handler):
    """Log lines to whoever keeps them: on this process's stderr they would come to the agent."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self.note = note

    def emit(self, record: logging.LogRecord) -> None:
        reason = getattr(record, "reason", None) or (record.exc_info and repr(record.exc_info[1])) or ""
        self.note(f"{record.getMessage()}: {reason}")


def answer(agent: str, event: str, raw: bytes, note: Callable[[str], None]) -> tuple[bytes, Held]:
    """What the agent's hook prints; `note` is told what went wrong. Raises MdmemError where mdmem can't be used.

    Behind it stands what has to be called when the agent has that.
    """
    logging.getLogger("mdmem").addHandler(_Lines(note))
    app = App(find_paths())
    backend = Alone(app)
    held: list[Held] = []
    printed = Hooks(Answers(backend), remembers=False).answer(agent, event, raw, held)

    def arrived() -> None:
        with contextlib.closing(backend):
            for one in held:
                one()

    return printed, arrived


@contextlib.contextmanager
def _noting() -> Iterator[None]:
    """An answer is given whether or not it can be noted that it was: another may hold the ledger."""
    with contextlib.suppress(MdmemError, *DatabaseError):
        yield


class Alone:
    """The backend of one hook without a daemon."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._lock = WriterLock(app.paths.lock)
        self._ledger: Ledger | None = None

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
        self._lock.release()

    @contextlib.contextmanager
    def reader(self) -> Iterator[Connection]:
        with contextlib.closing(open_reader(INDEX, self.app.paths.index_db)) as db:
            yield db

    def has_embedder(self) -> bool:
        return False

    def embed(self, text: str) -> bytes:
        raise SilentError("an embedder takes too long to load for a hook")

    def catch_up(self, folders: dict[str, list[str] | None]) -> bool:
        return False

    def given(self, agent: str, session: str) -> dict[Place, bytes]:
        with contextlib.closing(open_reader(LEDGER, self.app.paths.ledger_db)) as db:
            return find_given(db, agent, session)

    def injected(self, agent: str, session: str, given: Sequence[Injection]) -> None:
        with _noting():  # what can't be noted is given again, and no harm done
            self._writing().injected(agent, session, given, stamp())

    def forget_session(self, agent: str, session: str) -> None:
        self._writing().forget_session(agent, session)

    def note_hook(self, agent: str, event: str) -> None:
        with _noting():
            self._writing().note_hook(agent, event, stamp())

    def seen(self, entry: Entry) -> None:
        with _noting():
            self._writing().seen(entry.scope, entry.scope_ref, entry.path, stamp())

    def use(self, entry: Entry) -> dict[str, Any]:
        with contextlib.closing(open_reader(LEDGER, self.app.paths.ledger_db)) as db:
            return find_use(db, entry.scope, entry.scope_ref, entry.path)._asdict()

    def used_between(self, first: str, last: str) -> list[Place]:
        with contextlib.closing(open_reader(LEDGER, self.app.paths.ledger_db)) as db:
            return find_used_between(db, first, last)

    def _writing(self) -> Ledger:
        """The ledger to write in, held until this process ends. Whoever holds the lock is writing it: a hook doesn't
        wait.
        """
        if self._ledger is None:
            self._lock.take("a hook", wait_s=0.0)
            self._ledger = Ledger(self.app.paths.ledger_db, hurried=True)
        return self._ledger

    # --- what no hook asks for -------------------------------------------------

    def sync(self, folders: dict[str, list[str] | None] | None) -> dict[str, int]:
        raise NotImplementedError

    def reindex(self, *, vectors: bool) -> dict[str, int]:
        raise NotImplementedError

    def decided(self, made: Sequence[Decided], taken_back: Sequence[Decided]) -> None:
        raise NotImplementedError

    def allow_probes(self, allowed: Sequence[bytes]) -> None:
        raise NotImplementedError

    def probed(self, results: Sequence[Probed]) -> None:
        raise NotImplementedError

    def note_refusal(self, gate: str) -> None:
        raise NotImplementedError

    def learn(self, work: Callable[[Learning], T]) -> T:
        raise NotImplementedError

    def status(self) -> dict[str, Any]:
        raise NotImplementedError

    def reload(self) -> None:
        raise NotImplementedError
