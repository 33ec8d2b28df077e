"""A memory in, what it points at out: wikilinks, supersedes, derived_from."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mdmem.index.tokens import fold
from mdmem.memory import Memory

_TURN = re.compile(r"^(?P<session>[\w.+-]+:[^\s#]+)#(?P<turn>\S+)$")  # agent:session#turn


def fold_target(target: str) -> str:
    """A link's target as it is compared: without `[[ ]]`, label, anchor and `.md`, folded like a key."""
    inner = target.strip().removeprefix("[[").removesuffix("]]").split("|")[0].split("#")[0]
    return fold(inner.removesuffix(".md"))


def names_of(key: str, path: str, name: str, aliases: tuple[str, ...]) -> set[str]:
    """What a link may call a memory besides its key: path, file name, name and aliases, folded."""
    stem = path.removesuffix(".md")
    return {fold(n) for n in (stem, stem.rpartition("/")[2], name, *aliases) if n} - {fold(key)}


def edges_of(memory: Memory) -> list[tuple[str, str]]:
    """(kind, target) of each edge, sorted. A `derived_from` of the form agent:session#turn is an edge of kind 'turn':
    memories of one turn share its target.
    """
    found = {("link", fold_target(link)) for link in memory.links}
    found |= {("supersedes", fold_target(key)) for key in memory.supersedes}
    for origin in memory.derived_from:
        found.add(("turn", fold(origin)) if _TURN.match(origin.strip()) else ("derived_from", fold_target(origin)))
    return sorted((kind, target) for kind, target in found if target)


def in_a_ring(replacer: Mapping[int, int]) -> set[int]:
    """The ids that come back to themselves by way of who replaces whom. `replacer`: id -> the id that replaces it."""
    found: set[int] = set()
    for start in replacer:
        seen: list[int] = []
        at: int | None = start
        while at is not None and at not in seen:
            seen.append(at)
            at = replacer.get(at)
        if at == start:
            found.add(start)
    return found
