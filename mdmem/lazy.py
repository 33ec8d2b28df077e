"""A room's door whose names are found when they are asked for: a hook imports only what it uses of a room."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping


def door(room: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a room: names -> the modules of the room that define them."""

    def find(name: str) -> object:
        if name in modules:
            return getattr(importlib.import_module(f"{room}.{modules[name]}"), name)
        raise AttributeError(f"module {room!r} has no attribute {name!r}")

    return find
