"""A scope folder in, changes out: watchdog's events turned into hints about where to look.

A hint is a path that something happened to; what happened is found out by looking. The callbacks only call
`on_change`, which must not block or raise.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from watchdog import events

from mdmem.files import ignore, write
from mdmem.files.place import file_system, folder_identity

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver, ObservedWatch
    from watchdog.utils import BaseThread

log = logging.getLogger(__name__)

COOKIE = ".mdmem-cookie-"
MANIFEST = "MEMORY.md"

# (folder, relative path or None for "anywhere", whether it is only our own sign of life)
OnChange = Callable[[str, str | None], None]
OnCookie = Callable[[str, str], None]


class Refused(NamedTuple):
    """Why a folder can't be watched by events."""

    reason: str


class Watcher:
    """The watches of all folders, one observer for each device. Not thread-safe: one thread arms and disarms."""

    def __init__(self, on_change: OnChange, on_cookie: OnCookie) -> None:
        self._on_change = on_change
        self._on_cookie = on_cookie
        self._observers: dict[int, BaseObserver] = {}
        self._watches: dict[str, tuple[int, ObservedWatch, tuple[int, int]]] = {}
        self._threads: dict[int, list[BaseThread]] = {}  # an observer and what feeds it
        # Where folders are moved quickly watchdog warns of each, in ever other words: a log, and a memory, without end.
        warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
        self.events = 0  # how many came, cookies and what doesn't matter included
        self.folder_events = 0  # of folders, other than cookies: one may have come that is not watched

    def arm(self, folder: str) -> Refused | None:
        """Start to watch a folder; None when events will come. Call before its scan, so that nothing falls between."""
        self.disarm(folder)
        identity = folder_identity(Path(folder))
        if identity is None:
            return Refused("the folder is not there")
        kind, foreign = file_system(Path(folder))
        if foreign:
            return Refused(f"file system {kind} does not report every change")
        try:
            observer = self._observer(identity[0])
            before = _count_watches()
            wanted = self._unwatched(folder)
            watch = observer.schedule(_Handler(folder, self), folder, recursive=True, event_filter=_events())
        except OSError as error:
            return Refused(_in_words(error))
        self._watches[folder] = (identity[0], watch, identity)
        after = _count_watches()
        if before is None or after is None or after - before >= len(wanted):
            return None
        wanted &= self._unwatched(folder)  # those that came or went meanwhile say nothing
        if after - before >= len(wanted):
            return None
        self.disarm(folder)
        return Refused(
            f"only {max(after - before, 0)} of {len(wanted)} sub-folders could be watched: raise the limit with "
            "`sudo sysctl fs.inotify.max_user_watches=524288`"
        )

    def disarm(self, folder: str) -> None:
        """Stop watching a folder; nothing happens if it wasn't."""
        armed = self._watches.pop(folder, None)
        if armed is not None:
            device, watch, _ = armed
            try:
                self._observers[device].unschedule(watch)
            except (KeyError, OSError):
                # Its emitter ended by itself when the folder was removed.
                return

    def is_armed(self, folder: str) -> bool:
        """Whether events of this folder arrive: it is watched, it is still the same folder, and all threads live."""
        armed = self._watches.get(folder)
        if armed is None:
            return False
        device, watch, identity = armed
        observer = self._observers[device]
        alive = self._is_alive(device) and any(e.watch == watch and e.is_alive() for e in observer.emitters)
        return alive and folder_identity(Path(folder)) == identity

    def _is_alive(self, device: int) -> bool:
        return all(thread.is_alive() for thread in self._threads[device])

    def stop(self) -> None:
        for observer in self._observers.values():
            observer.stop()
        for observer in self._observers.values():
            observer.join(timeout=2)
        self._observers.clear()
        self._threads.clear()
        self._watches.clear()

    def _observer(self, device: int) -> BaseObserver:
        from watchdog.observers import Observer
        from watchdog.utils import BaseThread

        observer = self._observers.get(device)
        if observer is None or not self._is_alive(device):
            if observer is not None:
                self._bury(device)
            before = set(threading.enumerate())
            observer = Observer()
            observer.daemon = True
            observer.start()
            self._observers[device] = observer
            # On Linux an observer has a thread that reads for it, which ends where folders are moved in a bad moment.
            started = set(threading.enumerate()) - before
            self._threads[device] = [thread for thread in started if isinstance(thread, BaseThread)]
        return observer

    def _bury(self, device: int) -> None:
        """Stop what lives on of an observer that is half dead, and would hold its watches for ever."""
        for thread in [*self._threads[device], *self._observers[device].emitters]:
            try:
                thread.stop()
            except Exception:
                log.info("a watch could not be stopped", exc_info=True)

    def is_short(self) -> bool:
        """Whether some sub-folder is not watched: watchdog says nothing of those that it could not watch."""
        count = _count_watches()
        return count is not None and count < len({path for folder in self._watches for path in _folders(folder)})

    def _unwatched(self, folder: str) -> set[str]:
        """The folders in it, itself included, that no other watch covers: those share theirs."""
        others = tuple(f"{other}/" for other in self._watches if other != folder)
        return {path for path in _folders(folder) if not f"{path}/".startswith(others)}

    def lost(self, folder: str) -> None:
        """Something happened, nobody knows where."""
        self._on_change(folder, None)

    def changed(self, folder: str, path: str | bytes, is_folder: bool) -> None:
        """An event of watchdog: pass it on as a hint, if it can matter."""
        self.events += 1
        name = os.path.basename(os.fsdecode(path))
        if name.startswith(COOKIE):
            self._on_cookie(folder, name)
            return
        self.folder_events += is_folder
        rel = os.path.relpath(os.fsdecode(path), folder).replace(os.sep, "/")
        if rel == ".":
            self._on_change(folder, None)
        elif is_folder:
            if not ignore.skip_folder(name):
                self._on_change(folder, rel)
        elif ignore.matters(name) or rel == MANIFEST:
            self._on_change(folder, None if name == ".mdmemignore" else rel)


class _Handler(events.FileSystemEventHandler):
    """What watchdog calls, on its own thread."""

    def __init__(self, folder: str, watcher: Watcher) -> None:
        self.folder = folder
        self.watcher = watcher

    def dispatch(self, event: events.FileSystemEvent) -> None:
        try:
            self.watcher.changed(self.folder, event.src_path, event.is_directory)
            if event.dest_path:
                self.watcher.changed(self.folder, event.dest_path, event.is_directory)
        except Exception:
            # Whatever leaves here ends watchdog's thread, and with it all watches.
            log.exception("an event could not be understood", extra={"folder": self.folder})
            self.watcher.lost(self.folder)


def heartbeat(folder: str) -> str:
    """Make a cookie in a folder and remove it at once; its name must come back as a change. Raises MachineError."""
    return write.cookie(Path(folder))


def sweep(folder: str) -> int:
    """Remove old temporary files of ours that a kill left in a folder; how many."""
    return write.sweep(Path(folder))


def _events() -> list[type[events.FileSystemEvent]]:
    """What is listened to: not opened, not closed without a write, for our own reads raise those."""
    return [
        events.FileCreatedEvent,
        events.FileModifiedEvent,
        events.FileMovedEvent,
        events.FileDeletedEvent,
        events.DirCreatedEvent,
        events.DirMovedEvent,
        events.DirDeletedEvent,
    ]


def _folders(root: str) -> list[str]:
    return [path for path, _, _ in os.walk(root)]


def _count_watches() -> int | None:
    """How many inotify watches this process has; None where the kernel doesn't say."""
    total = 0
    try:
        for fd in os.listdir("/proc/self/fdinfo"):
            try:
                with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as file:
                    total += sum(line.startswith("inotify wd:") for line in file)
            except FileNotFoundError:
                continue
    except OSError:
        return None
    return total


def _in_words(error: OSError) -> str:
    import errno

    if error.errno == errno.ENOSPC:
        return "no inotify watch is left: raise the limit with `sudo sysctl fs.inotify.max_user_watches=524288`"
    if error.errno == errno.EMFILE:
        return "no inotify instance is left: raise the limit with `sudo sysctl fs.inotify.max_user_instances=512`"
    return error.strerror or str(error)
