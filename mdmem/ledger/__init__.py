"""The ledger: what is known from nowhere else. Losing it loses no memory."""

from mdmem.ledger.use import Ledger, Use, find_use

__all__ = ["Ledger", "Use", "find_use"]
