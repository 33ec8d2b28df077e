"""A proposed memory in, a verdict of each gate out; and any text in, the secrets in it out."""

from mdmem.gates.duplicate import SAME
from mdmem.gates.five import run
from mdmem.gates.held import refuse_held, refuse_secrets, secret_problems
from mdmem.gates.proposed import Context, Proposed, Similar, Verdict
from mdmem.gates.secret import Finding, find_secrets, mask

__all__ = [
    "SAME",
    "Context",
    "Finding",
    "Proposed",
    "Similar",
    "Verdict",
    "find_secrets",
    "mask",
    "refuse_held",
    "refuse_secrets",
    "run",
    "secret_problems",
]
