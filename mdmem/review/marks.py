"""A candidate in, the hashes by which a decision about it is remembered out; and what was decided before."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from mdmem.candidates.inbox import Candidate
from mdmem.db import Connection
from mdmem.ledger import find_decision
from mdmem.memory import DEFAULT_TYPE, SOURCES, TYPE_ALIASES

_WORD = re.compile(r"\w+")
_OF_ALL_KINDS = ("rule", "fact")
_KEY_START = re.compile(r"[^:/]+[:/]")


class Marks(NamedTuple):
    """`own`: of this proposal, whatever its spaces, case and signs; `pattern`: of all like it, where its key says what
    it is like. Neither tells what was proposed.
    """

    own: str
    pattern: str | None
    evidence: str


def marks_of(candidate: Candidate) -> Marks:
    words = " ".join(_WORD.findall(candidate.body.casefold()))
    place = (candidate.scope, candidate.scope_ref or "")
    start = key_start(candidate)
    pattern = _hash("pattern", *place, type_of(candidate), start) if start else None
    return Marks(_hash("own", *place, text_of(candidate, "key"), words), pattern, evidence_of(candidate))


def key_start(candidate: Candidate) -> str:
    """What the key of this candidate has in common with those of its kind: `deploy:` of `deploy:blyck`. Nothing where
    that says no more than the type: two facts have nothing in common.
    """
    found = _KEY_START.match(text_of(candidate, "key").casefold())
    return found[0] if found and found[0][:-1] not in _OF_ALL_KINDS else ""


def text_of(candidate: Candidate, name: str) -> str:
    value = candidate.fields.get(name)
    return value.strip() if isinstance(value, str) else ""


def type_of(candidate: Candidate) -> str:
    said = text_of(candidate, "type").lower()
    return TYPE_ALIASES.get(said, said) or DEFAULT_TYPE[candidate.scope]


def evidence_of(candidate: Candidate) -> str:
    """The kind of evidence: a person said it, an agent concluded it, a tool showed it."""
    said = text_of(candidate, "source").lower()
    return said if said in SOURCES else "inferred"


def was_rejected(db: Connection, candidate: Candidate) -> str | None:
    """Why this is not to be proposed again, or None. `db`: the ledger.

    What was rejected may come back with evidence of another kind; what was refused for ever may not.
    """
    marks = marks_of(candidate)
    found = find_decision(db, marks.own)
    if found is not None and found.decision == "never":
        return f"refused for ever on {found.at[:10]}"
    if found is not None and found.decision == "reject" and found.evidence == marks.evidence:
        return f"rejected on {found.at[:10]}"
    alike = find_decision(db, marks.pattern) if marks.pattern else None
    if alike is not None and alike.decision == "never":
        return f"its kind ({type_of(candidate)} {key_start(candidate)}…) was refused for ever on {alike.at[:10]}"
    return None


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
