"""A proposed memory and what is near to it in; what would become of it without a language model out."""

from __future__ import annotations

from mdmem.gates.proposed import Context, Proposed, Verdict

SAME = 0.7  # as near as this says the same


def duplicate(proposed: Proposed, context: Context) -> Verdict:
    """The same key: UPDATE. Another that says the same: NOOP, refused with its key. Else ADD."""
    similar = context.find_similar(proposed)
    key = proposed.key.casefold()
    same = next((other.key for other in similar if other.key.casefold() == key), None)
    if same is not None:
        return Verdict(True, f"{same} has the same key", "UPDATE", same)
    nearest = max(similar, key=lambda other: other.nearness, default=None)
    if nearest is not None and nearest.nearness >= SAME:
        return Verdict(False, f"{nearest.key} says the same ({nearest.nearness:.2f})", "NOOP", nearest.key)
    return Verdict(True, "nothing says the same", "ADD")
