"""The ledger: what is known from nowhere else. Losing it loses no memory."""

from mdmem.ledger.cursors import Cursor
from mdmem.ledger.injections import Injection, Place, find_given
from mdmem.ledger.use import KEEP_DAYS, Ledger, Use, find_hooks, find_refusals, find_use, find_used_between, stamp

__all__ = [
    "KEEP_DAYS",
    "Cursor",
    "Injection",
    "Ledger",
    "Place",
    "Use",
    "find_given",
    "find_hooks",
    "find_refusals",
    "find_use",
    "find_used_between",
    "stamp",
]
