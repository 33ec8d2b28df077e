"""What is asked, and what comes back. Plain data."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from mdmem.index.read import Entry

MODES = ("keyword", "semantic", "hybrid")


class Query(NamedTuple):
    """A question. `folder_ids`: the caller's scope folders; nothing outside them is ever looked at.

    `hidden_domains` (folded) are those that the caller's role may not read.
    `as_of` asks what held at that time; `include_invalid` also gives what does not hold, marked.
    """

    text: str
    folder_ids: tuple[int, ...]
    mode: str = "hybrid"
    types: frozenset[str] = frozenset()
    domain: str | None = None
    limit: int = 10
    hidden_domains: frozenset[str] = frozenset()
    include_invalid: bool = False
    as_of: datetime.datetime | None = None


class Why(NamedTuple):
    """The reason for a hit: its rank in each voice (from 1; None: not offered by it), and each factor of its score.

    `via`: an entity that it shares with a hit; no voice offers it, it is the rest of a topic.
    """

    lexical: int | None
    semantic: int | None
    temporal: int | None
    graph: int | None
    relevance: float
    recency: float
    confidence: float
    exact_key: bool
    via: str | None = None


class Hit(NamedTuple):
    """One memory recalled. `score` is relevance x recency x confidence; `invalid` says why it doesn't hold, if so."""

    entry: Entry
    score: float
    rank: int
    why: Why
    invalid: str | None = None


class Answer(NamedTuple):
    """Hits, best first; `degraded` names what was missing and how to mend it, one line each."""

    hits: list[Hit]
    mode: str
    degraded: list[str]
