"""The one way through recall: voices, fusion, validity, score, order."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from mdmem.db import DAMAGE, Connection, DatabaseError
from mdmem.errors import MdmemError
from mdmem.index import read
from mdmem.index.read import Candidate, Entry
from mdmem.memory import survival
from mdmem.recall import voices
from mdmem.recall.fusion import reciprocal_ranks, scaled
from mdmem.recall.query import Answer, Hit, Query, Why
from mdmem.recall.validity import moment, why_invalid

SEMANTIC_DEPTH = 20  # of each voice in semantic and hybrid mode

MAX_DEPTH = 6_400

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
        self._vector: tuple[str, bytes] | None = None  # of the last query: asking deeper must not embed again

    def find(self, query: Query, now: datetime.datetime) -> Answer:
        """Hits for a query, best first. Any text gets an answer; `degraded` says what was missing."""
        answer = self._find(query, now)
        if self.freshen and self.freshen([hit.entry for hit in answer.hits]):
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
        if query.mode == "keyword":
            relevance = scaled(dict(lists["lexical"]))
        else:
            deep = SEMANTIC_DEPTH * depth // max(voices.DEPTH, 2 * query.limit)
            relevance = scaled(reciprocal_ranks([[i for i, _ in pairs[:deep]] for pairs in lists.values()]))
        relevance.update(dict.fromkeys(exact, 1.0))
        ranks = {voice: {i: n for n, (i, _) in enumerate(pairs, 1)} for voice, pairs in lists.items()}
        hits = self._hits(query, now, relevance, set(exact), ranks)
        return Answer(hits[: query.limit], query.mode, degraded), len(lists["lexical"]) < depth

    def _voices(self, query: Query, degraded: list[str], depth: int) -> dict[str, list[tuple[int, float]]]:
        lists = {"lexical": voices.lexical(self.db, query.text, query.folder_ids, depth)}
        if query.mode == "keyword" or not query.text.strip():
            return lists
        try:
            lists["semantic"] = self._semantic(query, degraded)
        except MdmemError as error:
            degraded.append(f"no vectors: {error}")
        return lists

    def _semantic(self, query: Query, degraded: list[str]) -> list[tuple[int, float]]:
        if self.embed is None:
            degraded.append("no vectors: no embedder is set; see `mdmem config show`")
            return []
        if self._vector is None or self._vector[0] != query.text:
            self._vector = (query.text, self.embed(query.text))
        vector = self._vector[1]
        try:
            found = voices.semantic(self.db, vector, query.folder_ids)
        except DAMAGE:
            raise
        except DatabaseError:
            degraded.append("no vectors yet: they are made in the background; see `mdmem status`")
            return []
        waiting, done, _ = read.vector_counts(self.db)
        if waiting:
            degraded.append(f"vectors are still being made: {done} of {done + waiting}; see `mdmem status`")
        return found

    def _admits(self, query: Query, found: Candidate, at: datetime.datetime) -> bool:
        if found.folder_id not in query.folder_ids or (query.types and found.type not in query.types):
            return False
        if query.domain and (found.domain or "").casefold() != query.domain.casefold():
            return False
        if query.include_invalid:
            return True
        if query.as_of and moment(found.created) > query.as_of:
            return False
        return why_invalid(found, at) is None

    def _hits(
        self,
        query: Query,
        now: datetime.datetime,
        relevance: dict[int, float],
        exact: set[int],
        ranks: dict[str, dict[int, int]],
    ) -> list[Hit]:
        at = query.as_of or now
        scored = []
        for found in read.candidates(self.db, relevance):
            if self._admits(query, found, at):
                recency = self._recency(found, now)
                score = relevance[found.id] * recency * found.confidence
                scored.append((found.id not in exact, -score, found.id, recency))
        scored.sort()
        # Ties go by key, scope and path: all that stand level with the last one are read before the cut.
        last = scored[query.limit - 1][:2] if len(scored) >= query.limit else (True, 0.0)
        best = [row for row in scored if row[:2] <= last]
        entries = read.entries(self.db, (row[2] for row in best))
        hits = [
            self._hit(entries[entry_id], -negative, recency, relevance[entry_id], not inexact, ranks, at)
            for inexact, negative, entry_id, recency in best
            if entry_id in entries
        ]
        hits.sort(key=_order)
        return [hit._replace(rank=n) for n, hit in enumerate(hits[: query.limit], 1)]

    def _recency(self, found: Candidate, now: datetime.datetime) -> float:
        age_days = (now - moment(found.updated)).total_seconds() / 86_400
        return survival(found.type, age_days, stability=found.stability, decay=self.decay)

    def _hit(
        self,
        entry: Entry,
        score: float,
        recency: float,
        relevance: float,
        exact: bool,
        ranks: dict[str, dict[int, int]],
        at: datetime.datetime,
    ) -> Hit:
        why = Why(
            lexical=ranks["lexical"].get(entry.id),
            semantic=ranks.get("semantic", {}).get(entry.id),
            temporal=None,
            graph=None,
            relevance=relevance,
            recency=recency,
            confidence=entry.confidence,
            exact_key=exact,
        )
        return Hit(entry, score, 0, why, why_invalid(entry, at))


def _order(hit: Hit) -> tuple[object, ...]:
    """Exact keys first, then score; ties by key, scope, scope_ref, path, so that the same index gives one list."""
    e = hit.entry
    return (not hit.why.exact_key, -hit.score, e.key, e.scope, e.scope_ref or "", e.path)
