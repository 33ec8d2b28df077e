"""A query in, one ranked list per voice out. Each stays inside the caller's scope folders."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from mdmem.db import Connection
from mdmem.index import fold, match_expression, read, seek
from mdmem.index.graph import neighbours

DEPTH = 60  # candidates of one voice and folder
NEAREST = 256  # vectors that are looked at to know what is ordinary; the best of them are offered
OFFERED = 100  # by the semantic voice

# How much of a memory's strength reaches what hangs on it. Two hops from the strongest: what is said in a third memory
# is seldom about the question.
HOPS = 2
FRONT = 6  # memories from which a hop is made: the strongest
CARRIES = {"supersedes": 0.8, "link": 0.7, "derived_from": 0.7, "turn": 0.6, "entity": 0.5}

Ranked = list[tuple[int, float]]  # (entry id, score), best first

_EDGES = " \t\n.,;!?\"'`()[]{}<>。，；！？、“”‘’（）《》【】"
_LOOKS_LIKE_KEY = re.compile(r"[\w][:/._-][\w]")


def exact_keys(db: Connection, text: str, folder_ids: tuple[int, ...]) -> list[int]:
    """Memories whose exact key stands in the query: the query as a whole, or a word that looks like a key."""
    words = [text.strip()] + [
        w for w in (part.strip(_EDGES) for part in text.split()[:64]) if _LOOKS_LIKE_KEY.search(w)
    ]
    found = read.by_keys(db, folder_ids, words)
    order = {fold(word): n for n, word in reversed(list(enumerate(words)))}
    return [e.id for e in sorted(found, key=lambda e: (order.get(fold(e.key), 0), e.key, e.scope, e.path))]


def lexical(
    db: Connection, text: str, folder_ids: tuple[int, ...], depth: int = DEPTH, types: frozenset[str] = frozenset()
) -> Ranked:
    """(entry id, score) by bm25, best first, `depth` of each folder; of these types alone, where some are named."""
    expression = match_expression(text)
    if expression is None:
        return []
    return _merged(db, [seek.lexical(db, folder_id, expression, depth, types) for folder_id in folder_ids])


def semantic(db: Connection, vector: bytes, folder_ids: tuple[int, ...], depth: int = DEPTH) -> Ranked:
    """(entry id, cosine) of the nearest vectors, best first, `depth` of each folder."""
    return _merged(db, [seek.nearest(db, folder_id, vector, depth) for folder_id in folder_ids])


def graph(
    db: Connection, seeds: Mapping[int, float], folder_ids: tuple[int, ...], hidden_domains: frozenset[str]
) -> Ranked:
    """(entry id, strength) of what hangs on the seeds, strongest first. `seeds`: entry id -> strength in (0, 1].

    Spreading activation: each hop carries a share of the strength, by its kind, and the strongest way counts.
    """
    reached = dict(seeds)
    front = dict(seeds)
    for _ in range(HOPS):
        found: dict[int, float] = {}
        for near in neighbours(db, front, folder_ids, hidden_domains=hidden_domains):
            for source, target in ((near.from_id, near.to_id), (near.to_id, near.from_id)):
                strength = front.get(source, 0.0) * CARRIES[near.kind]
                if strength > max(reached.get(target, 0.0), found.get(target, 0.0)):
                    found[target] = strength
        reached |= found
        front = dict(sorted(found.items(), key=lambda pair: -pair[1])[:FRONT])
    return settled(db, sorted(((i, s) for i, s in reached.items() if i not in seeds), key=lambda pair: -pair[1]))


def strongest(scores: Mapping[int, float], among: Sequence[int]) -> dict[int, float]:
    """The seeds of the graph: these memories, by their share of the best score."""
    best = max(scores.values(), default=0.0)
    return {i: scores[i] / best for i in among if best > 0 and scores.get(i, 0.0) > 0}


def _merged(db: Connection, lists: Sequence[Ranked]) -> Ranked:
    return settled(db, list(heapq.merge(*lists, key=lambda pair: -pair[1])))


def settled(db: Connection, pairs: Ranked) -> Ranked:
    """The list with equal scores in the order of key and path."""
    count = Counter(score for _, score in pairs)
    equal = [i for i, score in pairs if count[score] > 1]
    places = {c.id: c.place for c in read.candidates(db, equal)}
    return sorted(pairs, key=lambda pair: (-pair[1], places.get(pair[0], ())))
