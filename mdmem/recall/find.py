"""The one way through recall: voices, fusion, validity, score, order."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from mdmem.db import DAMAGE, Connection, DatabaseError
from mdmem.errors import MdmemError
from mdmem.index import read
from mdmem.index.read import Entry
from mdmem.memory import survival
from mdmem.recall import voices
from mdmem.recall.fusion import reciprocal_ranks, scaled
from mdmem.recall.query import Answer, Hit, Query, Why
from mdmem.recall.validity import moment, why_invalid

SEMANTIC_DEPTH = 20  # of each voice in semantic and hybrid mode

MAX_DEPTH = 6_400
MAX_LOOKED = 2_000  # files of one query

# Are these rows what their files say? What moved is synced, and True returned, before anything is given out.
Freshen = Callable[[Sequence[Entry]], bool]
# The vector of a query's text. Raises MdmemError when there is none to be had.
Embed = Callable[[str], bytes]


class Recall:
    """Answers queries from one read connection.

    `embed` is None where no embedder is set; `decay` is `time_decay_lambda`; `freshen` is handed in by the app.
    """

    def __init__(
        self,
        db: Connection,
        *,
        embed: Embed | None = None,
        decay: float = 0.01,
        freshen: Freshen | None = None,
    ) -> None:
        self.db = db
        self.embed = embed
        self.decay = decay
        self.freshen = freshen
        self._vectors: dict[str, bytes] = {}

    def find(self, query: Query, now: datetime.datetime) -> Answer:
        """Hits for a query, best first. Any text gets an answer; `degraded` says what was missing."""
        query = query._replace(text=query.text.encode("utf-8", "replace").decode())  # SQLite takes no lone surrogates
        answer = self._find(query, now)
        looked: set[int] = set()
        while self.freshen:
            # What takes the place of a hit that moved has not been looked at yet.
            new = [hit.entry for hit in answer.hits if hit.entry.id not in looked]
            if not new or len(looked) > MAX_LOOKED or not self.freshen(new):
                break
            looked.update(entry.id for entry in new)
            answer = self._find(query, now)
        return answer

    def _find(self, query: Query, now: datetime.datetime) -> Answer:
        depth = max(voices.DEPTH, 2 * query.limit)
        while True:
            answer, all_offered = self._ranked(query, now, depth)
            # What has ended may crowd out what holds: ask deeper, until there is enough or no more.
            if len(answer.hits) >= query.limit or all_offered or depth >= MAX_DEPTH:
                return answer
            depth *= 8

    def _ranked(self, query: Query, now: datetime.datetime, depth: int) -> tuple[Answer, bool]:
        degraded: list[str] = []
        lists = self._voices(query, degraded, depth)
        exact = voices.exact_keys(self.db, query.text, query.folder_ids)
        found = read.entries(self.db, {i for pairs in lists.values() for i, _ in pairs} | set(exact))
        lists = {voice: _settle_ties(pairs, found) for voice, pairs in lists.items()}
        deep = depth
        if query.mode == "keyword":
            relevance = scaled(dict(lists["lexical"]))
        else:
            deep = max(SEMANTIC_DEPTH, query.limit) * depth // max(voices.DEPTH, 2 * query.limit)
            relevance = scaled(reciprocal_ranks([[i for i, _ in pairs[:deep]] for pairs in lists.values()]))
        relevance.update(dict.fromkeys(exact, 1.0))
        ranks = {voice: {i: n for n, (i, _) in enumerate(pairs, 1)} for voice, pairs in lists.items()}
        hits = self._hits(query, now, [(found[i], share) for i, share in relevance.items()], set(exact), ranks)
        all_offered = all(len(pairs) <= deep and len(pairs) < depth for pairs in lists.values())
        return Answer(hits[: query.limit], query.mode, degraded), all_offered

    def _voices(self, query: Query, degraded: list[str], depth: int) -> dict[str, list[tuple[int, float]]]:
        lists = {"lexical": voices.lexical(self.db, query.text, query.folder_ids, depth)}
        if query.mode == "keyword" or not query.text.strip():
            return lists
        try:
            lists["semantic"] = self._semantic(query, degraded, depth)
        except MdmemError as error:
            degraded.append(f"no vectors: {error}")
        return lists

    def _semantic(self, query: Query, degraded: list[str], depth: int) -> list[tuple[int, float]]:
        if self.embed is None:
            degraded.append("no vectors: no embedder is set; see `mdmem config show`")
            return []
        vector = self._vectors.get(query.text)
        if vector is None:
            vector = self._vectors[query.text] = self.embed(query.text)
        try:
            found = voices.semantic(self.db, vector, query.folder_ids, depth)
        except DAMAGE:
            raise
        except DatabaseError:
            degraded.append("no vectors yet: they are made in the background; see `mdmem status`")
            return []
        waiting, done, _ = read.vector_counts(self.db)
        if waiting:
            degraded.append(f"vectors are still being made: {done} of {done + waiting}; see `mdmem status`")
        return found

    def _admits(self, query: Query, entry: Entry, now: datetime.datetime) -> bool:
        if entry.folder_state != "ok" or (query.types and entry.type not in query.types):
            return False
        if query.domain and (entry.domain or "").casefold() != query.domain.casefold():
            return False
        if query.as_of and moment(entry.created, whole_day=False) > query.as_of and not query.include_invalid:
            return False
        return query.include_invalid or why_invalid(entry, query.as_of or now) is None

    def _hits(
        self,
        query: Query,
        now: datetime.datetime,
        relevance: list[tuple[Entry, float]],
        exact: set[int],
        ranks: dict[str, dict[int, int]],
    ) -> list[Hit]:
        hits = []
        for entry, share in relevance:
            if not self._admits(query, entry, now):
                continue
            why = self._why(entry, now, share, entry.id in exact, ranks)
            score = why.relevance * why.recency * why.confidence
            hits.append(Hit(entry, score, 0, why, why_invalid(entry, query.as_of or now)))
        hits.sort(key=_order)
        return [hit._replace(rank=n) for n, hit in enumerate(hits, 1)]

    def _why(
        self, entry: Entry, now: datetime.datetime, relevance: float, exact: bool, ranks: dict[str, dict[int, int]]
    ) -> Why:
        age_days = (now - moment(entry.updated)).total_seconds() / 86_400
        recency = survival(entry.type, age_days, stability=entry.stability, decay=self.decay)
        return Why(
            ranks["lexical"].get(entry.id),
            ranks.get("semantic", {}).get(entry.id),
            None,
            None,
            relevance,
            recency,
            entry.confidence,
            exact,
        )


def _settle_ties(pairs: list[tuple[int, float]], found: dict[int, Entry]) -> list[tuple[int, float]]:
    """A voice's list with equal scores in the order of key and path: row ids differ from one build to the next."""
    known = [pair for pair in pairs if pair[0] in found]  # gone since, in another process's transaction
    return sorted(known, key=lambda pair: (-pair[1], *_name(found[pair[0]])))


def _name(e: Entry) -> tuple[str, str, str, str]:
    return e.key, e.scope, e.scope_ref or "", e.path


def _order(hit: Hit) -> tuple[object, ...]:
    """Exact keys first, then score; ties by key, scope, scope_ref, path, so that the same index gives one list."""
    return (not hit.why.exact_key, -hit.score, *_name(hit.entry))
