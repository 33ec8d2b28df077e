"""A query in, what its voices offer out: the relevance of each memory, and its rank in each voice's list."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mdmem.db import DAMAGE, Connection, DatabaseError
from mdmem.errors import MdmemError
from mdmem.index import query_terms, read
from mdmem.recall import voices
from mdmem.recall.fusion import Ordinary, ordinary, reciprocal_ranks, scaled, word_shares
from mdmem.recall.intent import weights_of
from mdmem.recall.query import Query
from mdmem.recall.voices import DEPTH, NEAREST, OFFERED, Ranked
from mdmem.recall.when import days_of

SEMANTIC_DEPTH = 20  # of each voice in semantic mode
SEEDS = 3  # of the graph, from lexical and semantic each
WORDS_FLOOR = 0.1  # of the best: below it one common word of many is shared

# The vector of a query's text. Raises MdmemError when there is none to be had.
Embed = Callable[[str], bytes]
# (first day, last day) -> ids of the memories that were recalled by key in these days, the latest first.
Used = Callable[[str, str], list[int]]


class Offers(NamedTuple):
    """`relevance`: in (0, 1], by memory; `lists`: by voice, best first; `whole`: no voice has more to offer."""

    relevance: dict[int, float]
    lists: dict[str, Ranked]
    whole: bool


class Asking(NamedTuple):
    """What the voices are asked from. `weights`: voice -> share of its usual weight, as a person set it."""

    db: Connection
    embed: Embed | None
    used: Used | None
    weights: Mapping[str, float]


def offers(asking: Asking, query: Query, now: datetime.datetime, depth: int, degraded: list[str]) -> Offers:
    """What the voices of the query's mode offer, `depth` of a voice and folder. Adds to `degraded` what was missing."""
    lexical = voices.lexical(asking.db, query.text, query.folder_ids, depth)
    if query.mode == "keyword" or not query.text.strip():
        return Offers(scaled(dict(lexical)), {"lexical": lexical}, len(lexical) < depth)
    if query.mode == "semantic":
        return _by_rank(asking, query, depth, lexical, degraded)
    return _by_score(asking, query, now, depth, lexical, degraded)


def _by_rank(asking: Asking, query: Query, depth: int, lexical: Ranked, degraded: list[str]) -> Offers:
    _, semantic = _semantic(asking, query, depth, degraded)
    lists = {"lexical": lexical, "semantic": semantic}
    deep = max(SEMANTIC_DEPTH, query.limit) * depth // max(DEPTH, 2 * query.limit)
    relevance = scaled(reciprocal_ranks([[i for i, _ in pairs[:deep]] for pairs in lists.values()]))
    return Offers(relevance, lists, all(len(pairs) <= deep and len(pairs) < depth for pairs in lists.values()))


def _by_score(
    asking: Asking, query: Query, now: datetime.datetime, depth: int, lexical: Ranked, degraded: list[str]
) -> Offers:
    """The weighed sum of what each voice says of a memory, each as a share of its own full mark.

    Ranks would throw away how sure a voice is, and a weak voice would drag down a sure one (docs/benchmarks.md).
    """
    weights = weights_of(query.text, asking.weights)
    vector, nearest = (
        _semantic(asking, query, NEAREST * depth // DEPTH, degraded) if weights["semantic"] else (None, [])
    )
    held = sum(read.count_entries(asking.db, folder_id) for folder_id in query.folder_ids)
    lists = {"lexical": lexical if weights["lexical"] else []}
    shares = word_shares(lists["lexical"], len(set(query_terms(query.text))), held)
    lists["lexical"] = [pair for pair in lists["lexical"] if shares[pair[0]] >= WORDS_FLOOR * shares[lexical[0][0]]]
    scores = {i: weights["lexical"] * shares[i] for i, _ in lists["lexical"]}
    if vector is not None and nearest:
        usual = ordinary([cosine for _, cosine in nearest], held, read.unrelated(asking.db, vector))
        lists["semantic"] = [(i, c) for i, c in nearest[: OFFERED * depth // DEPTH] if usual.height(c) > 0]
        _add(scores, weights["semantic"], _heights(asking.db, usual, lists["semantic"], list(scores), vector))
    seeds = voices.strongest(scores, [i for pairs in lists.values() for i, _ in pairs[:SEEDS]])
    best = max(scores.values(), default=0.0)
    if weights["graph"] and seeds:
        lists["graph"] = voices.graph(asking.db, seeds, query.folder_ids, query.hidden_domains)[:depth]
        _add(scores, weights["graph"] * best, dict(lists["graph"]))
    if weights["temporal"]:
        lists["temporal"] = _temporal(asking, query, now, depth)
        _add(scores, weights["temporal"], dict(lists["temporal"]))
    whole = len(lexical) < depth and len(nearest) < NEAREST * depth // DEPTH
    return Offers(scaled(scores), lists, whole)


def _add(scores: dict[int, float], weight: float, more: Mapping[int, float]) -> None:
    for entry_id, score in more.items():
        scores[entry_id] = scores.get(entry_id, 0.0) + weight * score


def _heights(
    db: Connection, usual: Ordinary, semantic: Ranked, others: Sequence[int], vector: bytes
) -> dict[int, float]:
    """How far each memory stands out by its meaning, those too that another voice offers."""
    known = dict(semantic)
    known |= read.cosines(db, [i for i in others if i not in known], vector)
    return {i: usual.height(cosine) for i, cosine in known.items()}


def _semantic(asking: Asking, query: Query, depth: int, degraded: list[str]) -> tuple[bytes | None, Ranked]:
    """The query's vector and the nearest memories; (None, []) and a line more in `degraded` where there are none."""
    if asking.embed is None:
        degraded.append("no vectors: no embedder is set; see `mdmem config show`")
        return None, []
    try:
        vector = asking.embed(query.text)
    except MdmemError as error:
        degraded.append(f"no vectors: {error}")
        return None, []
    try:
        found = voices.semantic(asking.db, vector, query.folder_ids, depth)
    except DAMAGE:
        raise
    except DatabaseError:
        degraded.append("no vectors yet: they are made in the background; see `mdmem status`")
        return None, []
    waiting, done, _ = read.vector_counts(asking.db)
    if waiting:
        degraded.append(f"vectors are still being made: {done} of {done + waiting}; see `mdmem status`")
    return vector, found


def _temporal(asking: Asking, query: Query, now: datetime.datetime, depth: int) -> Ranked:
    """What changed or was used in the days that the question names; nothing where it names none."""
    days = days_of(query.text, now.astimezone().date())
    if days is None:
        return []
    first, last = days.first.isoformat(), days.last.isoformat()
    found = read.changed_between(asking.db, query.folder_ids, first, last, depth)
    found += asking.used(first, last)[:depth] if asking.used else []
    return [(entry_id, 1.0) for entry_id in dict.fromkeys(found)]
