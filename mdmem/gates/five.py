"""A proposed memory and its context in, the verdict of each gate that it has to pass out."""

from __future__ import annotations

from mdmem.gates.confidence import confidence
from mdmem.gates.duplicate import duplicate
from mdmem.gates.proposed import Context, Proposed, Verdict
from mdmem.gates.quota import quota
from mdmem.gates.secret import find_secrets
from mdmem.gates.transient import transient


def run(proposed: Proposed, context: Context) -> dict[str, Verdict]:
    """Gate -> verdict. What a person wrote has one gate, `secret`; all else has five, and each of them speaks.

    Nothing that `secret` refuses may be kept, shown or looked up: then it is the only one.
    """
    verdicts = {"secret": secret(proposed)}
    if proposed.by_person or not verdicts["secret"].passed:
        return verdicts
    verdicts["transient"] = transient(proposed)
    verdicts["confidence"] = confidence(proposed)
    verdicts["duplicate"] = duplicate(proposed, context)
    verdicts["quota"] = quota(context, verdicts["duplicate"].action)
    return verdicts


def secret(proposed: Proposed) -> Verdict:
    """Refuses what holds a secret, by its kind."""
    found = find_secrets("\n".join((proposed.name, proposed.description, proposed.key, proposed.body)))
    if not found:
        return Verdict(True, "no secret in it")
    kinds = ", ".join(dict.fromkeys(finding.kind for finding in found))
    return Verdict(False, f"it holds a secret: {kinds}")
