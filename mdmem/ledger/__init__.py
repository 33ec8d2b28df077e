"""The ledger: what is known from nowhere else. Losing it loses no memory."""

from mdmem.ledger.cursors import Cursor
from mdmem.ledger.decisions import Decided, decided_of, find_decision
from mdmem.ledger.injections import Injection, Place, find_given
from mdmem.ledger.moment import stamp
from mdmem.ledger.probes import LastProbe, Probed, find_allowed, find_probes
from mdmem.ledger.use import KEEP_DAYS, Ledger, Use, find_hooks, find_refusals, find_use, find_used_between

__all__ = [
    "KEEP_DAYS",
    "Cursor",
    "Decided",
    "Injection",
    "LastProbe",
    "Ledger",
    "Place",
    "Probed",
    "Use",
    "decided_of",
    "find_allowed",
    "find_decision",
    "find_given",
    "find_hooks",
    "find_probes",
    "find_refusals",
    "find_use",
    "find_used_between",
    "stamp",
]
