"""A memory as plain data, and the one table of types. No I/O."""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class TypeRule(NamedTuple):
    """How memories of one type are injected, fade and leave.

    `scale_days` and `shape` are the Weibull survival's η and k (None: never fades); `stale_days` and `retired_days`
    count from the last time it was seen (None: never leaves by itself). `fold_rank`: the manifest folds higher
    ranks first when it grows too long.
    """

    heading: str
    fold_rank: int
    always_injected: bool = False
    scale_days: float | None = None
    shape: float = 1.0
    stale_days: int | None = None
    retired_days: int | None = None


TYPES: dict[str, TypeRule] = {
    "feedback": TypeRule("Feedback", 0, always_injected=True),
    "rule": TypeRule("Rules", 1, always_injected=True),
    "user": TypeRule("User", 2, scale_days=100),
    "project": TypeRule("Project", 3, scale_days=100),
    "capability": TypeRule("Capabilities", 4),
    "procedure": TypeRule("Procedures", 5),
    "decision": TypeRule("Decisions", 6, scale_days=100, stale_days=90, retired_days=180),
    "commitment": TypeRule("Commitments", 7, scale_days=14, shape=2.0),
    "fact": TypeRule("Facts", 8, scale_days=100, stale_days=90, retired_days=180),
    "reference": TypeRule("References", 9, scale_days=200),
    "experience": TypeRule("Experience", 10, scale_days=45, shape=1.2, stale_days=90, retired_days=180),
    "notes": TypeRule("Notes", 11),
}

TYPE_ALIASES: dict[str, str] = {
    "policy": "rule",
    "preference": "user",
    "profile": "user",
    "workflow": "procedure",
}

DEFAULT_TYPE: dict[str, str] = {"user": "user", "project": "project", "agent": "fact"}  # by scope kind

SOURCES: dict[str, float] = {"stated": 1.0, "inferred": 0.7, "imported": 0.6, "tool": 0.5}  # -> confidence
STATUSES = ("active", "archived", "stale", "retired")
STABILITIES = ("permanent", "profile", "event")


def survival(type_name: str, age_days: float, *, stability: str | None = None, decay: float = 0.01) -> float:
    """How much of a memory is left at an age: the Weibull survival exp(-(age/η)^k) of its type.

    Shape: `age_days` >= 0 in days (negative ages count as 0); the result is in (0, 1]; `permanent` is never under
    0.5; types that never fade give 1. `decay` is `time_decay_lambda`: it stands for 1/η of the types whose η is 100.
    """
    rule = TYPES.get(type_name, TYPES["fact"])
    if rule.scale_days is None:
        return 1.0
    scale = 1.0 / decay if rule.scale_days == 100 and decay > 0 else rule.scale_days
    left = math.exp(-((max(age_days, 0.0) / scale) ** rule.shape))
    return max(left, 0.5) if stability == "permanent" else left


class Memory(NamedTuple):
    """What one file says, typed and with defaults filled in.

    `key` is NFC; dates are ISO text as written (a day or a time with offset, see `document`); `created` and
    `updated` are None when the file does not say (then git or mtime tells, see `reindex`). `extra` holds every
    frontmatter key that mdmem has no use for, as text, lists and maps. Lists are tuples of text.
    """

    key: str
    name: str
    description: str
    body: str
    type: str
    confidence: float
    source: str
    domain: str | None = None
    topic: str | None = None
    status: str | None = None
    stability: str | None = None
    valid_from: str | None = None
    invalid_at: str | None = None
    expires: str | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    derived_from: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    links: tuple[str, ...] = ()  # targets of [[wikilinks]] in the body, as written, without anchor or label
    code_spans: tuple[str, ...] = ()  # short `code spans` of the body that look like a name
    proof: str | None = None
    probe: str | None = None
    roles: tuple[str, ...] = ()  # `for:`
    created: str | None = None
    updated: str | None = None
    id: str | None = None  # an `id` that a person chose to write: a rename keeps its history by it
    explicit_key: bool = False  # `key` stands in the file, rather than following from the path
    extra: dict[str, Any] = {}  # noqa: RUF012  # never mutated
