"""The daemon's life: take the lock, open, watch, answer, and stop with everything consistent."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from typing import Any

from mdmem import __version__
from mdmem.app import Answers, App
from mdmem.config.service import take_managed
from mdmem.daemon.filler import Filler
from mdmem.daemon.helper import Helper
from mdmem.daemon.instructions import Instructions
from mdmem.daemon.live import Live, Readers
from mdmem.daemon.server import PROTOCOL, Server
from mdmem.daemon.service.notify import Part, Supervision
from mdmem.daemon.watches import Watches
from mdmem.daemon.worker import TICK_NS, Worker
from mdmem.db import INDEX, DatabaseError, WriterLock, open_reader, quick_check
from mdmem.hooks import Call, Hooks

log = logging.getLogger(__name__)

STOP_S = 1.0
MCP_HOST = (sys.executable, "-m", "mdmem.agents.mcp_host")  # of a room above: started, never imported
LOOK_S = 2.0
WARM_UP_S = 0.5  # after the first hook: the next may be of the same start of a session
FILLER_S = 1_200.0
LEARNER_S = 600.0


def _warm_up() -> None:
    from mdmem.hooks.guard import warm_up

    warm_up()


class Daemon:
    """All parts of a running daemon."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.done = threading.Event()
        app.prepare_folders()
        self.lock = WriterLock(app.paths.lock)
        self.lock.take("the daemon", wait_s=2.0)
        try:
            self._build(app)
        except BaseException:
            self.lock.release()
            raise

    def _build(self, app: App) -> None:
        self.worker = Worker(app, on_tick=self._tick)
        self.readers = Readers(app.paths.index_db)
        idle_s = app.settings.embedder.idle_minutes * 60
        self.filler = Filler(self.worker, self.readers, app.embedder(), idle_s=idle_s)
        self.watches = Watches(self.worker)
        self.live = Live(app, self.worker, self.readers, self.filler, self.watches)
        self.answers = Answers(self.live)
        hurried = Live(app, self.worker, self.readers, self.filler, self.watches, hurried=True)
        self._is_warm = False
        self.hooks = Hooks(Answers(hurried), heard=self._heard)
        self.server = Server(app.paths.socket, self._handle, self.hooks.answer)
        self.instructions = Instructions(self.worker, self.answers)
        self.mcp = Helper(app.paths.mcp_socket, MCP_HOST)
        self.supervision = Supervision(take_managed(), app.paths.socket, self._parts(), self._under_way)

    def _parts(self) -> list[Part]:
        return [
            Part("worker", self.worker.is_alive, lambda: self.worker.pulse),
            Part("watches", self.worker.is_alive, lambda: self.worker.tick_pulse, least_s=3 * TICK_NS / 1e9),
            Part("server", self.server.is_alive),
            # It waits for the worker, for servers, and for a processor that has nothing better to do.
            Part("filler", self.filler.is_alive, lambda: self.filler.pulse, least_s=FILLER_S),
            Part("instructions", self.instructions.is_alive),
            Part("learner", self.live.learner.is_alive, lambda: self.live.learner.pulse, least_s=LEARNER_S),
            Part("helper", self.mcp.is_alive),
        ]

    def _under_way(self) -> tuple[int, int] | None:
        return self.worker.store.syncer.under_way

    def start(self) -> None:
        """The socket answers first; then the watches are armed; then everything is looked at."""
        self.worker.post(lambda store: self._first_look())
        self.worker.start()
        self.server.start()
        self.mcp.start()
        self.instructions.start()
        self.live.learner.start()
        self.filler.start()
        log.info("started", extra={"version": __version__, "pid": os.getpid()})

    def _first_look(self) -> None:
        self.worker.load_scopes()
        self.watches.follow()
        self.worker.rescan_all()
        threading.Thread(target=self._check_index, name="check", daemon=True).start()

    def _check_index(self) -> None:
        """Damage that no query has met yet. Reads the whole index, so it waits until the daemon is up."""
        try:
            with contextlib.closing(open_reader(INDEX, self.app.paths.index_db)) as connection:
                sound = quick_check(connection)
        except DatabaseError:
            return  # gone or locked: whoever needs it says so
        if not sound:
            self.worker.post(lambda store: self.worker.mend("it was damaged"))

    def _heard(self, call: Call) -> None:
        """A hook came in: an agent is at work here, and may give up at the end of its turn."""
        self.live.learner.heard(call)
        if not self._is_warm:
            self._is_warm = True
            soon = threading.Timer(WARM_UP_S, _warm_up)
            soon.daemon = True
            soon.start()

    def _tick(self) -> None:
        self.watches.tick()

    def _handle(self, request: dict[str, Any]) -> dict[str, Any]:
        op = request.get("op")
        if op == "ping":
            return {"ok": True, "pid": os.getpid(), "version": __version__, "protocol": PROTOCOL}
        if op == "stop":
            self.done.set()
            return {"ok": True, "pid": os.getpid()}
        return self.answers.answer(request) | {"version": __version__}

    def wait(self) -> int:
        """Until a signal, a `stop` request, or the end of the worker. Returns an exit code."""
        self.supervision.look()
        while not self.done.wait(min(LOOK_S, self.supervision.look_s)):
            self.supervision.look()
            if not self.worker.is_alive():
                log.error("the worker ended; stopping")
                return 70
            if not (self.lock.is_in_place() and self.server.is_in_place()):
                # Somebody tidied up. Nobody could reach this daemon, and the next one would not know of it: two would
                # write. Not 6, which tells a service manager to leave it at that.
                log.error("lock or socket were removed; stopping", extra={"path": self.app.paths.runtime})
                return 5
        return 0

    def reload(self) -> None:
        self.supervision.tell("RELOADING=1")
        self.live.reload_soon().add_done_callback(lambda _: self.supervision.tell("READY=1"))

    def stop(self) -> None:
        """Within a second; what is under way is finished or rolled back."""
        self.supervision.tell("STOPPING=1")
        self.server.stop()
        self.mcp.stop()
        self.worker.stop()
        self.worker.join(timeout=5 * STOP_S)
        self.watches.stop()
        self.filler.join(timeout=STOP_S)
        self.instructions.join(timeout=STOP_S)
        self.live.learner.wake()
        self.live.learner.join(timeout=STOP_S)
        self.readers.close()
        self.lock.release()
        log.info("stopped")


def _note_end(ended: threading.ExceptHookArgs) -> None:
    """A thread died of an exception. Of watchdog's that is known, and mended by the next tick: a line will do."""
    name = ended.thread.name if ended.thread else "?"
    if type(ended.thread).__module__.startswith("watchdog"):
        log.warning("a thread of the watches ended", extra={"which": name, "reason": repr(ended.exc_value)})
    else:
        log.error("a thread ended", extra={"which": name}, exc_info=ended.exc_value)


def run(app: App) -> int:
    """Run in the foreground until told to stop; the exit code."""
    os.umask(0o077)
    threading.excepthook = _note_end
    sys.setswitchinterval(0.001)  # a search must not wait 5 ms for the thread that indexes
    daemon = Daemon(app)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: daemon.done.set())
    signal.signal(signal.SIGHUP, lambda *_: daemon.reload())
    try:
        daemon.start()
        return daemon.wait()
    finally:
        daemon.stop()
