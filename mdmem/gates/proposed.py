"""What the gates are given, and what each of them says: plain data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Proposed(NamedTuple):
    """A memory that is not one yet. `scope`: user, project or agent. `by_person`: a person wrote it as it stands."""

    name: str
    description: str
    body: str
    key: str
    scope: str
    confidence: float
    by_person: bool = False


class Similar(NamedTuple):
    """A memory of the same scope and how near it is to the proposed one, from 0 to 1."""

    key: str
    nearness: float


class Context(NamedTuple):
    """What the gates can't see for themselves.

    `find_similar`: the nearest memories of the scope by full text and vectors, that with the same key among them with
    whatever nearness. `held`: how many memories the scope has that no person wrote; `quota`: how many it may have.
    """

    find_similar: Callable[[Proposed], Sequence[Similar]]
    held: int
    quota: int


class Verdict(NamedTuple):
    """What one gate says. `action` (ADD, UPDATE, NOOP) and the key of its `target` come from `duplicate` alone."""

    passed: bool
    reason: str
    action: str | None = None
    target: str | None = None
