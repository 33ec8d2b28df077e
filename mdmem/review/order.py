"""Waiting candidates in; which come first, belong together, give way, or need no question out. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from mdmem.candidates.inbox import Candidate, Evidence, Verdict, Waiting
from mdmem.config.settings import AutoApprove
from mdmem.memory import SOURCES
from mdmem.review.marks import evidence_of, key_start, text_of, type_of

MAX_WAITING = 19  # per scope: a person looks through fewer than twenty in one go
_ALWAYS_TOLD = ("rule", "feedback")  # what is injected each turn is let pass only where a rule names it
Place = tuple[str, str | None]


def confidence_of(candidate: Candidate) -> float:
    """What it says of itself, else what its source is usually worth; never over 1."""
    try:
        said = float(text_of(candidate, "confidence"))
    except ValueError:
        return SOURCES[evidence_of(candidate)]
    return min(max(said, 0.0), 1.0) if math.isfinite(said) else 0.0


def is_weak(waiting: Waiting) -> bool:
    """The gate of confidence did not let it pass: it waits for a second, independent sign."""
    verdict = waiting.gates.get("confidence")
    return verdict is not None and not verdict.passed


def ordered(waiting: Iterable[Waiting]) -> list[Waiting]:
    """The strongest first; of those that are as strong, the newest."""
    by_key = sorted(waiting, key=lambda one: one.key)
    newest = sorted(by_key, key=lambda one: one.candidate.proposed, reverse=True)
    return sorted(newest, key=lambda one: (is_weak(one), -confidence_of(one.candidate)))


def groups(waiting: Iterable[Waiting]) -> list[list[Waiting]]:
    """Candidates that are one question together: of one scope and type, and keys that begin alike, or one target."""
    found: dict[tuple[str, ...], list[Waiting]] = {}
    for one in ordered(waiting):
        candidate = one.candidate
        family = key_start(candidate) or candidate.target or f" {one.key}"
        place = (candidate.scope, candidate.scope_ref or "", type_of(candidate), family)
        found.setdefault(place, []).append(one)
    return list(found.values())


def room_for(waiting: Iterable[Waiting], new: Waiting) -> list[Waiting]:
    """Which give way so that no more than MAX_WAITING wait in the scope of `new`, the weakest first.

    `new` is among them where it is the weakest itself: then it is not to be kept. They are counted, not kept.
    """
    there = [one for one in waiting if _place(one.candidate) == _place(new.candidate) and one.key != new.key]
    return ordered([*there, new])[MAX_WAITING:][::-1]


def met_again(waiting: Waiting, evidence: Sequence[Evidence]) -> Waiting | None:
    """A candidate that waits, with what was found for it since; None where that adds nothing.

    A weak one rises when it is met in another session: the same session saying it twice is no second sign.
    """
    known = set(waiting.candidate.evidence)
    added = tuple(one for one in evidence if one not in known)
    if not added:
        return None
    sessions = {(one.agent, one.session) for one in known}
    again = any(one.session and (one.agent, one.session) not in sessions for one in added)
    gates = dict(waiting.gates)
    if again and is_weak(waiting):
        gates["confidence"] = Verdict(True, "met again in another session")
    candidate = waiting.candidate._replace(evidence=(*waiting.candidate.evidence, *added))
    return waiting._replace(candidate=candidate, gates=gates)


def lets_pass(candidate: Candidate, gates: Mapping[str, Verdict], rules: Sequence[AutoApprove]) -> AutoApprove | None:
    """The rule of the settings by which a candidate needs no question; None where it is to be asked about."""
    if not gates or not all(verdict.passed for verdict in gates.values()):
        return None
    return next((rule for rule in rules if _fits(candidate, rule)), None)


def _fits(candidate: Candidate, rule: AutoApprove) -> bool:
    kind = type_of(candidate)
    if rule.type is None and kind in _ALWAYS_TOLD:
        return False
    wanted = ((rule.type, kind), (rule.source, evidence_of(candidate)), (rule.scope, candidate.scope))
    named = all(asked is None or asked == found for asked, found in wanted)
    return named and confidence_of(candidate) >= rule.min_confidence


def _place(candidate: Candidate) -> Place:
    return candidate.scope, candidate.scope_ref or None
