"""The parts, built from settings: what the daemon and the commands have in common."""

from typing import TYPE_CHECKING

from mdmem.lazy import door

if TYPE_CHECKING:
    from mdmem.app.answers import Answers
    from mdmem.app.app import App
    from mdmem.app.local import Local
    from mdmem.app.store import Counts, Store

__all__ = ["Answers", "App", "Counts", "Local", "Store"]

__getattr__ = door(
    __name__, {"Answers": "answers", "App": "app", "Counts": "store", "Local": "local", "Store": "store"}
)
