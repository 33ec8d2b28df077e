"""What the ledger has recorded, read by whoever does not hold it; nothing where it can't be had at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from mdmem.db import LEDGER, Connection, DatabaseError, open_reader
from mdmem.ledger import LastProbe, Place, find_allowed, find_given, find_hooks, find_probes, find_refusals

if TYPE_CHECKING:
    from mdmem.candidates.inbox import Candidate

LEDGER_S = 0.1  # how long a block waits for the ledger
K = TypeVar("K")
V = TypeVar("V")


def read_given(ledger: str, agent: str, session: str) -> dict[Place, bytes]:
    """What a session was given."""
    return _read(ledger, lambda db: find_given(db, agent, session))


def read_hooks(ledger: str) -> dict[tuple[str, str], str]:
    """When hooks last came in: (agent, event) -> time."""
    return _read(ledger, find_hooks)


def read_refusals(ledger: str) -> dict[str, int]:
    """How often each gate refused what was proposed."""
    return _read(ledger, find_refusals)


def read_rejection(ledger: str, candidate: Candidate) -> str | None:
    """Why a candidate is not to be proposed again; None where it was not rejected."""
    from mdmem.review.marks import was_rejected  # a hook has no use for it

    return _read(ledger, lambda db: {"why": was_rejected(db, candidate)}).get("why")


def read_probes(ledger: str) -> dict[Place, LastProbe]:
    """What is known of every memory that was ever probed or doubted."""
    return _read(ledger, find_probes)


def read_allowed(ledger: str, asked: Sequence[bytes]) -> dict[bytes, str]:
    """Which probes a person has allowed, and when."""
    return _read(ledger, lambda db: find_allowed(db, asked))


def _read(ledger: str, find: Callable[[Connection], dict[K, V]]) -> dict[K, V]:
    try:
        with contextlib.closing(open_reader(LEDGER, ledger)) as db:
            db.set_busy_timeout(int(LEDGER_S * 1000))
            return find(db)
    except DatabaseError:
        return {}
