"""A proposed memory and a count in; whether its scope has room for it out."""

from __future__ import annotations

from mdmem.gates.proposed import Context, Verdict


def quota(context: Context, action: str | None) -> Verdict:
    """Refuses one more than the scope may have of what no person wrote; an UPDATE takes no room."""
    if action == "UPDATE":
        return Verdict(True, "it takes the place of another")
    reason = f"{context.held} of {context.quota} memories that no person wrote"
    return Verdict(context.held < context.quota, reason)
