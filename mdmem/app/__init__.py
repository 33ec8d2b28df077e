"""The parts, built from settings: what the daemon and the commands have in common.

Each is found when it is asked for: a hook that reads the index has no use for what writes it.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdmem.app.answers import Answers
    from mdmem.app.app import App
    from mdmem.app.local import Local
    from mdmem.app.store import Counts, Store

_PARTS = {"Answers": "answers", "App": "app", "Counts": "store", "Local": "local", "Store": "store"}

__all__ = ["Answers", "App", "Counts", "Local", "Store"]


def __getattr__(name: str) -> object:
    if name in _PARTS:
        import importlib

        return getattr(importlib.import_module(f"mdmem.app.{_PARTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
