"""The ledger: what is known from nowhere else. Losing it loses no memory."""

from mdmem.ledger.use import Ledger, Use, read_use

__all__ = ["Ledger", "Use", "read_use"]
