"""Which folders are watched, and how: events where they arrive, polling where they don't, and proof of either."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from mdmem.daemon.worker import Worker
from mdmem.errors import MdmemError
from mdmem.files import folder_identity
from mdmem.files.watch import Watcher, heartbeat, sweep
from mdmem.reindex.dates import busy_reason
from mdmem.scope import Scope

log = logging.getLogger(__name__)

COOKIE_LIMIT_NS = 5_000_000_000  # a cookie that is not back by then never comes
RETRY_EVENTS_NS = 600_000_000_000
# Events within a second that say that the kernel's queue of 16,384 may have run over; we are told nothing of it.
FLOOD = 2_000
ROSTER_NS = 5_000_000_000  # how often to look for scope folders that came or went


class Watches:
    """Keeps the watches in step with the scopes. `tick` runs on the worker's thread, every two seconds."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.watcher = Watcher(self._on_change, self._on_cookie)
        settings = worker.app.settings.watch
        self._heartbeat_ns = int(settings.heartbeat_seconds * 1e9)
        self._poll_s = settings.poll_seconds
        self._always_poll = {str(Path(p).expanduser().resolve()) for p in settings.poll}
        self.modes: dict[str, tuple[str, str | None]] = {}  # folder -> (events | polling | off, why)
        self._next_beat_ns: dict[str, int] = {}
        self._retry_ns: dict[str, int] = {}
        self._cookies: dict[tuple[str, str], int] = {}  # (folder, name) -> sent, monotonic ns
        self._back: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._seen_events = 0
        self._flooded = False
        self._next_roster_ns = time.monotonic_ns() + ROSTER_NS
        self._next_count_ns = time.monotonic_ns() + self._heartbeat_ns
        self._counted_at = -1

    # --- on watchdog's threads ------------------------------------------------------

    def _on_change(self, folder: str, rel: str | None) -> None:
        self.worker.change(folder, rel)

    def _on_cookie(self, folder: str, name: str) -> None:
        with self._lock:
            self._back.add((folder, name))

    # --- on the worker's thread -------------------------------------------------------

    def follow(self) -> None:
        """Watch what the worker's scopes are now. Arms before the caller scans."""
        for folder in self.modes.keys() - self.worker.scopes.keys():
            self.watcher.disarm(folder)
            self.worker.poll(folder, None)
            del self.modes[folder]
        for folder, scope in self.worker.scopes.items():
            if folder not in self.modes:
                self._arm(scope)

    def tick(self) -> None:
        now_ns = time.monotonic_ns()
        self._check_flood()
        self._check_roster(now_ns)
        self._check_count(now_ns)
        self._collect()
        for folder, scope in self.worker.scopes.items():
            mode = self.modes.get(folder, ("off", None))[0]
            if mode == "events":
                self._check(scope, now_ns)
            elif mode == "off" and folder_identity(Path(folder)) is not None:
                self._arm(scope)
                self.worker.rescan(folder)
            elif mode == "polling" and now_ns >= self._retry_ns.get(folder, now_ns + 1):
                self._arm(scope)

    def _arm(self, scope: Scope) -> None:
        folder = scope.folder
        self._forget_cookies(folder)
        if folder_identity(Path(folder)) is None:
            self.watcher.disarm(folder)
            self._set_mode(folder, "off", "the folder is not there")
            return
        if not scope.mount:
            self._sweep(folder)
        refused = "set in the config" if folder in self._always_poll else None
        if refused is None:
            said = self.watcher.arm(folder)
            refused = said.reason if said else None
        if refused:
            self._retry_ns[folder] = time.monotonic_ns() + RETRY_EVENTS_NS
        self._set_mode(folder, "polling" if refused else "events", refused)
        self._next_beat_ns[folder] = 0

    def _sweep(self, folder: str) -> None:
        try:
            sweep(folder)
        except MdmemError as error:
            log.info("old temporary files stay", extra={"reason": str(error)})

    def _set_mode(self, folder: str, mode: str, why: str | None) -> None:
        if self.modes.get(folder) != (mode, why):
            log.info("watch", extra={"folder": folder, "mode": mode, "reason": why})
        self.modes[folder] = (mode, why)
        self.worker.poll(folder, self._poll_s if mode == "polling" else None)

    def _check(self, scope: Scope, now_ns: int) -> None:
        """Is the watch alive? Its threads and its folder at each tick, a cookie once a minute."""
        folder = scope.folder
        lost = next(
            (k for k, sent in self._cookies.items() if k[0] == folder and now_ns - sent > COOKIE_LIMIT_NS), None
        )
        if lost is not None or not self.watcher.is_armed(folder):
            self._rearm(scope, "its cookie did not come back" if lost else "it ended, or the folder was replaced")
        elif now_ns >= self._next_beat_ns.get(folder, 0) and not scope.mount:
            self._beat(scope, now_ns)

    def _rearm(self, scope: Scope, why: str) -> None:
        log.warning("watch started anew", extra={"folder": scope.folder, "reason": why})
        failed_before = self.modes.get(scope.folder, ("", None))[1]
        self._arm(scope)
        mode, _ = self.modes[scope.folder]
        if mode == "events" and why.startswith("its cookie"):
            if failed_before and failed_before.startswith("restarted"):
                self.watcher.disarm(scope.folder)
                self._set_mode(scope.folder, "polling", "events do not arrive from this folder")
                self._retry_ns[scope.folder] = time.monotonic_ns() + RETRY_EVENTS_NS
            else:
                self._set_mode(scope.folder, mode, f"restarted: {why}")
        self.worker.rescan(scope.folder)

    def _beat(self, scope: Scope, now_ns: int) -> None:
        folder = scope.folder
        self._next_beat_ns[folder] = now_ns + self._heartbeat_ns
        if scope.kind == "project" and busy_reason(folder):
            return  # git could meet the cookie
        try:
            name = heartbeat(folder)
        except MdmemError:
            return  # read-only: its scans must do
        with self._lock:
            if (folder, name) not in self._back:
                self._cookies[(folder, name)] = now_ns

    def _collect(self) -> None:
        with self._lock:
            back, self._back = self._back, set()
        for key in back:
            if self._cookies.pop(key, None) is not None:
                mode, why = self.modes.get(key[0], ("", None))
                if mode == "events" and why and why.startswith("restarted"):
                    self._set_mode(key[0], mode, None)

    def _forget_cookies(self, folder: str) -> None:
        for key in [k for k in self._cookies if k[0] == folder]:
            del self._cookies[key]

    def _check_flood(self) -> None:
        """A scan when the flood is over finds what the queue lost, wherever in the flood that was."""
        events = self.watcher.events - self._seen_events
        self._seen_events += events
        if events > FLOOD:
            self._flooded = True
        elif self._flooded:
            self._flooded = False
            log.info("many changes at once, some may be lost: all folders are scanned")
            self.worker.rescan_all()

    def _check_count(self, now_ns: int) -> None:
        """Sub-folders made since may have found no watch left."""
        if now_ns < self._next_count_ns:
            return
        self._next_count_ns = now_ns + self._heartbeat_ns
        if self.watcher.folder_events == self._counted_at:
            return  # counting walks all folders
        self._counted_at = self.watcher.folder_events
        if self.watcher.is_short():
            for folder, scope in self.worker.scopes.items():
                if self.modes.get(folder, ("", None))[0] == "events":
                    self._arm(scope)
                    self.worker.rescan(folder)

    def _check_roster(self, now_ns: int) -> None:
        """Scope folders may come and go without a word: a worktree is added, an agent's folder made by hand."""
        if now_ns < self._next_roster_ns:
            return
        self._next_roster_ns = now_ns + ROSTER_NS
        if self.worker.has_other_scopes():
            before = set(self.worker.scopes)
            self.worker.load_scopes()
            self.follow()
            for folder in self.worker.scopes.keys() - before:
                self.worker.rescan(folder)

    def stop(self) -> None:
        self.watcher.stop()
