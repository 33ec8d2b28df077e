"""What was learned from events: a proposed memory, or a doubt about one. Plain data, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line that was quoted, and where it stands: `offset` in bytes, or `row` of a database."""

    agent: str
    session: str
    path: str
    offset: int | None
    text: str
    row: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed memory. `scope`: whose it should be; `cwd` tells which project. `kind`: what was proved or said, such
    as deploy or user_rule. `chain`: the commands that led there, the last of them the success itself.
    """

    key: str
    type: str
    kind: str
    name: str
    description: str
    body: str
    scope: Literal["user", "project"]
    confidence: float
    source: Literal["tool", "stated"]
    evidence: tuple[Evidence, ...]
    cwd: str | None = None
    at: str | None = None
    entities: tuple[str, ...] = ()
    proof: str | None = None
    probe: str | None = None
    chain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """A command failed that proves the memory `key` when it succeeds: if there is one, it wants verification."""

    key: str
    kind: str
    evidence: Evidence
    cwd: str | None = None
    at: str | None = None
