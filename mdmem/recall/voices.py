"""A query in, one ranked list per voice out. Each stays inside the caller's scope folders."""

from __future__ import annotations

import heapq
import re

from mdmem.db import Connection
from mdmem.index import fold, match_expression, read

DEPTH = 60  # candidates of one voice and folder

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


def lexical(db: Connection, text: str, folder_ids: tuple[int, ...], depth: int = DEPTH) -> list[tuple[int, float]]:
    """(entry id, score) by bm25, best first, `depth` of each folder."""
    expression = match_expression(text)
    if expression is None:
        return []
    lists = [read.lexical(db, folder_id, expression, depth) for folder_id in folder_ids]
    return list(heapq.merge(*lists, key=lambda pair: -pair[1]))


def semantic(db: Connection, vector: bytes, folder_ids: tuple[int, ...], depth: int = DEPTH) -> list[tuple[int, float]]:
    """(entry id, cosine) of the nearest vectors, best first, `depth` of each folder."""
    lists = [read.nearest(db, folder_id, vector, depth) for folder_id in folder_ids]
    return list(heapq.merge(*lists, key=lambda pair: -pair[1]))
