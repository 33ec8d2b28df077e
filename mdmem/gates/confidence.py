"""A proposed memory in; whether it is believed enough to be asked about out."""

from __future__ import annotations

from mdmem.gates.proposed import Proposed, Verdict

ENOUGH = 0.6


def confidence(proposed: Proposed) -> Verdict:
    """Refuses what is too weak; it waits, and rises when it is met again."""
    if proposed.confidence >= ENOUGH:
        return Verdict(True, f"confidence {proposed.confidence:g}")
    return Verdict(False, f"weak: confidence {proposed.confidence:g} is under {ENOUGH:g}")
