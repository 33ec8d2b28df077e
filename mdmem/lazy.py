"""What is made only when it is asked for: a hook imports, and compiles, only what it uses of a room."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Mapping


def door(room: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a room: names -> the modules of the room that define them."""

    def find(name: str) -> object:
        if name in modules:
            return getattr(importlib.import_module(f"{room}.{modules[name]}"), name)
        raise AttributeError(f"module {room!r} has no attribute {name!r}")

    return find


def pattern(text: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """A pattern that is compiled when it is first called for."""
    return functools.cache(lambda: re.compile(text, flags))
