"""A query in, what its voices offer out: the relevance of each memory, and its rank in each voice's list."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from mdmem.db import DAMAGE, Connection, DatabaseError
from mdmem.errors import MdmemError
from mdmem.index import query_terms, read, seek
from mdmem.index.days import asked_words, words_between
from mdmem.index.entities import named_in
from mdmem.index.ids import FOLDER_BITS
from mdmem.index.tokens import is_wide
from mdmem.recall import voices
from mdmem.recall.fusion import ordinary, reciprocal_ranks, scaled, word_shares
from mdmem.recall.intent import weights_of
from mdmem.recall.query import Query
from mdmem.recall.voices import DEPTH, NEAREST, OFFERED, Ranked
from mdmem.recall.when import days_of

SEMANTIC_DEPTH = 20  # of each voice in semantic mode
SEEDS = 3  # of the graph, from lexical and semantic each
ABOUT = 1.2  # what it is worth that a memory is about an entity which the question names
MOST_OF_DAYS = 5_000
WORDS_FLOOR = 0.1  # of the best: below it one common word of many is shared

# The vector of a query's text. Raises MdmemError when there is none to be had.
Embed = Callable[[str], bytes]
# (first day, last day) -> ids, of any scope, of the memories that were recalled by key in these days, the latest first.
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
    seen = _Seen(read.ids_of_domains(asking.db, query.folder_ids, query.hidden_domains))
    alone = query.mode == "keyword" or not query.text.strip()
    # Of other types nothing is shown; only where voices are weighed against each other do they count.
    types = query.types if alone else frozenset[str]()
    lexical = seen.of(voices.lexical(asking.db, query.text, query.folder_ids, depth, types), depth)
    if alone:
        return Offers(scaled(dict(lexical)), {"lexical": lexical}, seen.whole)
    if query.mode == "semantic":
        return _by_rank(asking, query, depth, lexical, seen, degraded)
    return _by_score(asking, query, now, depth, lexical, seen, degraded)


class _Seen:
    """What of a voice's list the caller may see: the rest counts nowhere, neither in ranks nor as a seed.

    `whole`: no list so far had more to offer.
    """

    def __init__(self, hidden: Collection[int]) -> None:
        self.hidden = hidden
        self.whole = True

    def of(self, pairs: Ranked, depth: int) -> Ranked:
        self.whole = self.whole and len(pairs) < depth
        return [pair for pair in pairs if pair[0] not in self.hidden] if self.hidden else pairs


def _by_rank(asking: Asking, query: Query, depth: int, lexical: Ranked, seen: _Seen, degraded: list[str]) -> Offers:
    _, semantic = _semantic(asking, query, depth, seen, degraded)
    lists = {"lexical": lexical, "semantic": semantic}
    deep = max(SEMANTIC_DEPTH, query.limit) * depth // max(DEPTH, 2 * query.limit)
    relevance = scaled(reciprocal_ranks([[i for i, _ in pairs[:deep]] for pairs in lists.values()]))
    return Offers(relevance, lists, seen.whole and all(len(pairs) <= deep for pairs in lists.values()))


def _by_score(
    asking: Asking,
    query: Query,
    now: datetime.datetime,
    depth: int,
    lexical: Ranked,
    seen: _Seen,
    degraded: list[str],
) -> Offers:
    """The weighed sum of what each voice says of a memory, each as a share of its own full mark.

    Ranks would throw away how sure a voice is, and a weak voice would drag down a sure one (docs/benchmarks.md).
    """
    weights = weights_of(query.text, asking.weights, str(read.meta(asking.db, "vec_model") or ""))
    deep = NEAREST * depth // DEPTH
    vector, nearest = _semantic(asking, query, deep, seen, degraded) if weights["semantic"] else (None, [])
    held = sum(read.count_entries(asking.db, f) for f in query.folder_ids) - len(seen.hidden)
    meaning = _Meaning(asking.db, vector, nearest, held)
    shares = _word_shares(asking.db, query.text, lexical, held) if weights["lexical"] else {}
    floor = WORDS_FLOOR * max(shares.values(), default=1.0)
    lists = {"lexical": [pair for pair in lexical if shares.get(pair[0], 0.0) >= floor]}
    # Where no word of the question stands anywhere meaning must be surer: the nearest of unrelated things is no answer.
    is_doubtful = not lists["lexical"] and nearest and meaning.usual.could_be_chance(nearest[0][1], held)
    offered = [] if is_doubtful else nearest[: OFFERED * depth // DEPTH]
    lists["semantic"] = [pair for pair in offered if meaning.usual.height(pair[1]) > 0]
    said: dict[str, Mapping[int, float]] = {"lexical": {i: shares[i] for i, _ in lists["lexical"]}}
    said["semantic"] = meaning.heights(_members(lists))
    direct = _sum(weights, said)
    best = max(direct.values(), default=0.0)
    if weights["graph"]:
        seeds = voices.strongest(direct, [i for pairs in lists.values() for i, _ in pairs[:SEEDS]])
        lists["graph"] = voices.graph(asking.db, seeds, query.folder_ids, query.hidden_domains)[:depth]
        said["graph"] = {i: best * strength for i, strength in lists["graph"]}
    if weights["temporal"]:
        lists["temporal"] = _temporal(asking, query, now, _members(lists), seen, depth)
        said["temporal"] = dict(lists["temporal"])
    said["semantic"] = meaning.heights(_members(lists))
    scores = _sum(weights, said)
    for entry_id in seek.about(asking.db, list(scores), named_in(query.text)):
        scores[entry_id] *= ABOUT
    return Offers(scaled(scores), lists, seen.whole)


def _word_shares(db: Connection, text: str, lexical: Ranked, held: int) -> dict[int, float]:
    ids = [i for i, _ in lexical]
    strangers = seek.wide(db, ids) if not is_wide(text) else set(ids) - seek.wide(db, ids)
    return word_shares(lexical, len(set(query_terms(text))), held, strangers)


def _members(lists: Mapping[str, Ranked]) -> dict[int, None]:
    return {i: None for pairs in lists.values() for i, _ in pairs}


def _sum(weights: Mapping[str, float], said: Mapping[str, Mapping[int, float]]) -> dict[int, float]:
    """What each voice says of a memory, weighed and added."""
    scores: dict[int, float] = {}
    for voice, shares in said.items():
        for entry_id, share in shares.items():
            scores[entry_id] = scores.get(entry_id, 0.0) + weights[voice] * share
    return scores


class _Meaning:
    """How far memories stand out from the ordinary by their meaning, whichever voice offers them."""

    def __init__(self, db: Connection, vector: bytes | None, nearest: Ranked, held: int) -> None:
        self.db = db
        self.vector = vector
        self.cosines = dict(nearest)
        unrelated = seek.unrelated(db, vector) if vector is not None else 0.0
        self.usual = ordinary([cosine for _, cosine in nearest], held, unrelated)

    def heights(self, ids: Iterable[int]) -> dict[int, float]:
        """Id -> height, of those that have a vector."""
        if self.vector is None:
            return {}
        self.cosines |= seek.cosines(self.db, [i for i in ids if i not in self.cosines], self.vector)
        return {i: self.usual.height(self.cosines[i]) for i in ids if i in self.cosines}


def _semantic(
    asking: Asking, query: Query, depth: int, seen: _Seen, degraded: list[str]
) -> tuple[bytes | None, Ranked]:
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
        found = seen.of(voices.semantic(asking.db, vector, query.folder_ids, depth), depth)
    except DAMAGE:
        raise
    except DatabaseError:
        degraded.append("no vectors yet: the daemon makes them in the background (mdmem up); see `mdmem status`")
        return None, []
    if read.is_waiting(asking.db):
        waiting, done, _ = read.vector_counts(asking.db)
        degraded.append(f"vectors are still being made: {done} of {done + waiting}; see `mdmem status`")
    return vector, found


def _temporal(
    asking: Asking, query: Query, now: datetime.datetime, others: Collection[int], seen: _Seen, depth: int
) -> Ranked:
    """What speaks of the days that the question names, or changed or was used in them; nothing where it names none.

    Where that is more than `depth`, days tell little: they only speak for what another voice offers too.
    """
    named = asked_words(query.text)
    days = days_of(query.text, now.astimezone().date())
    found = seek.naming(asking.db, query.folder_ids, named or (words_between(*days) if days else ()), MOST_OF_DAYS)
    if days is not None:
        first, last = (day.isoformat() for day in days)
        found += seek.changed_between(asking.db, query.folder_ids, first, last, MOST_OF_DAYS)
        found += asking.used(first, last) if asking.used else []
    own = {i for i in found if i >> FOLDER_BITS in query.folder_ids and i not in seen.hidden}
    return voices.settled(asking.db, [(i, 1.0) for i in own if len(own) <= depth or i in others])
