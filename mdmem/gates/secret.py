"""A text in, the secrets and private data in it out; or the same text with them masked. Never shows a value.

Linear in the text: a rule is tried only at the places where one of its words stands, by a pattern that is anchored
there, bounded, and gives nothing back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mdmem.gates.private import Found, find_private
from mdmem.gates.rules import LEVELS, Rule, rules_near
from mdmem.gates.values import bare, changes, classes_of, is_real

_MIN_RUN = 16  # characters of the word that a secret of the screen "run" stands in
_MIN_CHANGES = 3  # a secret of the screens "mixed" and "run" has at least so many


class Finding(NamedTuple):
    """Where a secret stands: `start` and `end` in characters, `line` from 1. The value itself is left where it is."""

    kind: str
    level: str
    start: int
    end: int
    line: int


def find_secrets(text: str) -> list[Finding]:
    """All secrets of a text, in order; where several rules see the same place, the surest tells what it is."""
    classes = classes_of(text)
    found = sorted([*_by_rules(text, classes), *find_private(text, classes)])
    findings: list[Finding] = []
    line, counted = 1, 0
    for start, end, kind, level in _joined(found):
        line += text.count("\n", counted, start)
        counted = start
        findings.append(Finding(kind, level, start, end, line))
    return findings


def mask(text: str) -> str:
    """The text with `[secret: kind]` in the place of each value."""
    parts, at = [], 0
    for finding in find_secrets(text):
        parts += [text[at : finding.start], f"[secret: {finding.kind}]"]
        at = finding.end
    return "".join([*parts, text[at:]])


def _by_rules(text: str, classes: bytes) -> list[Found]:
    folded = text.replace("İ", "I").lower()  # the one letter that is longer when it is small
    found = _of_screen("none", text, folded, text)
    if changes(classes) >= _MIN_CHANGES:
        found += _of_screen("mixed", text, folded, text)
        found += _of_screen("run", text, folded, " ".join([word for word in text.split() if len(word) >= _MIN_RUN]))
    return found


def _of_screen(screen: str, text: str, folded: str, looked_at: str) -> list[Found]:
    """What the rules of one screen find, of those with a word in `looked_at`, or, where they fold, in `folded`."""
    hits = [(near, rules, text) for near, rules in rules_near(screen, fold=False) if near in looked_at]
    hits += [(near, rules, folded) for near, rules in rules_near(screen, fold=True) if near in folded]
    return [
        found
        for near, rules, where in hits
        for rule in rules
        if not rule.needs or any(sign in text for sign in rule.needs)
        for found in _of_rule(rule, near, text, where)
    ]


def _of_rule(rule: Rule, near: str, text: str, where: str) -> Iterator[Found]:
    pattern = rule.compiled()
    find, match_at, step, back = where.find, pattern.match, len(near), rule.back
    group = "value" if "value" in pattern.groupindex else 0
    judged: dict[str, tuple[int, int] | None] = {}  # what is written again and again is judged once
    at = find(near)
    while at >= 0:
        match = match_at(text, at - back if at > back else 0)
        end = at + step
        if match is not None:
            raw = match[group]
            if raw not in judged:
                judged[raw] = _secret_in(raw, rule, whole=not group)
            secret = judged[raw]
            if secret is not None:
                start = match.start(group)
                yield start + secret[0], start + secret[1], rule.kind, rule.level
            end = max(end, match.end())  # also where it is none: no character is looked at twice by a rule
        at = find(near, end)


def _secret_in(raw: str, rule: Rule, *, whole: bool) -> tuple[int, int] | None:
    """Where in a match the secret begins and ends; None where it is none."""
    value = raw if whole else bare(raw)
    if not (value and rule.check(value) and is_real(value)):
        return None
    start = raw.find(value)
    return start, start + len(value)


def _joined(found: list[Found]) -> list[Found]:
    """Findings that overlap as one, as long as all of them, of the surest kind."""
    joined: list[Found] = []
    for start, end, kind, level in found:
        if not joined or start >= joined[-1][1]:
            joined.append((start, end, kind, level))
            continue
        first, last, *_ = before = joined[-1]
        surest = min(before, (start, end, kind, level), key=lambda known: LEVELS.index(known[3]))
        joined[-1] = (first, max(last, end), surest[2], surest[3])
    return joined
