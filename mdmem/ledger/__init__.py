"""The ledger: what is known from nowhere else. Losing it loses no memory."""

from mdmem.ledger.use import Ledger, Use

__all__ = ["Ledger", "Use"]
