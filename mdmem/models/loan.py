"""In: how to load and free something heavy. Out: loans of it, so that it is never freed under a user."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class Loan(Generic[T]):
    """Loads on the first loan, lends to any number of threads at once, frees after `close` and the last return."""

    def __init__(self, load: Callable[[], T], free: Callable[[T], None]) -> None:
        self._load = load
        self._free = free
        self._lock = threading.Lock()
        self._held: _Held[T] | None = None

    @contextmanager
    def lend(self) -> Iterator[T]:
        with self._lock:
            if self._held is None:
                self._held = _Held(self._load())
            held = self._held
            held.users += 1
        try:
            yield held.thing
        finally:
            with self._lock:
                held.users -= 1
                if held.closing and not held.users:
                    self._free(held.thing)

    def close(self) -> None:
        with self._lock:
            held, self._held = self._held, None
            if held is None:
                return
            held.closing = True
            if not held.users:
                self._free(held.thing)


class _Held(Generic[T]):
    __slots__ = ("closing", "thing", "users")

    def __init__(self, thing: T) -> None:
        self.thing = thing
        self.users = 0
        self.closing = False


def give_back_memory() -> None:
    """Ask the C library to return freed memory to the system; glibc alone keeps it otherwise, and has the call."""
    import ctypes  # needed rarely

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
