"""In: how calls to one server went. Out: whether the next may go, and if not, how long to wait.

One gate is shared by all callers of a server, so that many threads do not each find out for themselves. After
`threshold` failures in a row it shuts, for longer each time; then one call at a time may try (half open).
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

BASE_S = 0.5
CAP_S = 60.0
RETRY_AFTER_CAP_S = 3_600.0  # a server may ask for a rest, but not for ever
TRIAL_S = 60.0  # how long a caller that tries and never reports keeps the others out


class Gate:
    """All times in seconds of `clock`; `spread` gives the jitter, 0 to 1."""

    def __init__(
        self,
        *,
        threshold: int = 3,
        clock: Callable[[], float] = time.monotonic,
        spread: Callable[[], float] = random.random,
    ) -> None:
        self._threshold = threshold
        self._clock = clock
        self._spread = spread
        self._lock = threading.Lock()
        self._failures = 0
        self._shut_until = 0.0
        self._trial_until = 0.0

    def enter(self) -> float | None:
        """None: go on, and report with `succeeded`, `failed` or `withdrew`. Else: seconds to wait."""
        with self._lock:
            now = self._clock()
            if now < self._shut_until:
                return self._shut_until - now
            if self._failures < self._threshold:
                return None
            if now < self._trial_until:
                return BASE_S
            self._trial_until = now + TRIAL_S
            return None

    def succeeded(self) -> None:
        with self._lock:
            self._failures = 0
            self._trial_until = 0.0

    def withdrew(self) -> None:
        """The call was not made, or says nothing about the server."""
        with self._lock:
            self._trial_until = 0.0

    def failed(self, *, retry_after_s: float | None = None, at_once: bool = False) -> float:
        """Count a failure; returns the seconds after which to try again.

        `retry_after_s` is the server's own word, and shuts the gate whatever the count; `at_once` shuts it too.
        """
        with self._lock:
            self._failures += 1
            if at_once:
                self._failures = max(self._failures, self._threshold)
            self._trial_until = 0.0
            wait_s = min(CAP_S, BASE_S * 2.0 ** min(self._failures - 1, 16)) * (1 + self._spread()) / 2
            if retry_after_s is not None:
                wait_s = max(wait_s, min(retry_after_s, RETRY_AFTER_CAP_S))
            if retry_after_s is not None or self._failures >= self._threshold:
                self._shut_until = max(self._shut_until, self._clock() + wait_s)
            return wait_s
