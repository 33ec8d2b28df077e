"""How the daemon's threads get on in, datagrams to the service manager out (sd_notify(3)). Without one, nothing."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Callable, Sequence

from mdmem.config.service import Managed
from mdmem.daemon import client
from mdmem.errors import SilentError

log = logging.getLogger(__name__)

SEND_S = 1.0
PING_S = 5.0


class Part:
    """A thread that must live, and whose `pulse` must change; `least_s`: how long it may always stay the same."""

    def __init__(
        self,
        name: str,
        is_alive: Callable[[], bool],
        pulse: Callable[[], int] = time.monotonic_ns,
        *,
        least_s: float = 0.0,
    ) -> None:
        self.name = name
        self.least_s = least_s
        self._is_alive = is_alive
        self._pulse = pulse
        self._last: int | None = None
        self._moved_s = 0.0

    def is_well(self, now_s: float, patience_s: float) -> bool:
        pulse = self._pulse()
        if pulse != self._last:
            self._last, self._moved_s = pulse, now_s
        return self._is_alive() and now_s - self._moved_s <= max(patience_s, self.least_s)


class Supervision:
    """Tells the service manager that the daemon is ready, what it is at, and, while it is true, that all is well.

    A part may do one thing for half the watchdog's time without a ping being left out, and is ended with the service
    after one and a half of it. `under_way`: files done and their number while many are indexed.
    """

    def __init__(
        self,
        managed: Managed,
        control: str,
        parts: Sequence[Part],
        under_way: Callable[[], tuple[int, int] | None],
    ) -> None:
        self._address = _address(managed.socket)
        self._watchdog_s = managed.watchdog_s
        self._control = control
        self._parts = parts
        self._under_way = under_way
        self._ready = False
        self._status = ""
        self._pinged_s = 0.0

    @property
    def look_s(self) -> float:
        """How often `look` wants to be called: often enough that none of the watchdog's time is wasted."""
        if self._address is None:
            return float("inf")
        return 0.1 if not self._ready else (self._watchdog_s or float("inf")) / 8

    def look(self) -> None:
        if self._address is None:
            return
        if not self._ready and self._answers():
            self._ready = True
            self.tell("READY=1")
        self._tell_status()
        if self._watchdog_s:
            self._ping(self._watchdog_s, time.monotonic())

    def tell(self, *lines: str) -> None:
        """Send lines to the service manager; one that does not listen is its own trouble. From any thread."""
        if self._address is None:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.settimeout(SEND_S)
            out.connect(self._address)
            out.send("\n".join(lines).encode())

    def _answers(self) -> bool:
        try:
            return client.ask(self._control, {"op": "ping"}, timeout_s=PING_S) is not None
        except SilentError:
            return False

    def _tell_status(self) -> None:
        at = self._under_way()
        status = f"indexing: {at[0]} files done, {at[1] - at[0]} pending" if at else "up to date"
        if status != self._status:
            self._status = status
            self.tell(f"STATUS={status}")

    def _ping(self, watchdog_s: float, now_s: float) -> None:
        ill = [part.name for part in self._parts if not part.is_well(now_s, watchdog_s / 2)]
        if ill:
            log.error("no progress: the service manager is not told that all is well", extra={"threads": ill})
        elif now_s - self._pinged_s >= watchdog_s / 4:
            self._pinged_s = now_s
            self.tell("WATCHDOG=1")


def _address(name: str | None) -> str | None:
    """The address as the kernel takes it: an abstract one begins with NUL. Other kinds (vsock) are none of ours."""
    if not name or name[0] not in "/@":
        return None
    return "\0" + name[1:] if name[0] == "@" else name
