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
        offered = {i for pairs in lists.values() for i, _ in pairs}
        found = {c.id: c for c in read.candidates(self.db, offered | set(exact))}
        lists = {voice: _settle_ties(pairs, found) for voice, pairs in lists.items()}
        deep = depth
        if query.mode == "keyword":
            relevance = scaled(dict(lists["lexical"]))
        else:
            deep = max(SEMANTIC_DEPTH, query.limit) * depth // max(voices.DEPTH, 2 * query.limit)
            relevance = scaled(reciprocal_ranks([[i for i, _ in pairs[:deep]] for pairs in lists.values()]))
        relevance.update(dict.fromkeys(exact, 1.0))
        ranks = {voice: {i: n for n, (i, _) in enumerate(pairs, 1)} for voice, pairs in lists.items()}
        hits = self._hits(query, now, [(found[i], share) for i, share in relevance.items() if i in found], exact, ranks)
        all_offered = all(len(pairs) <= deep and len(pairs) < depth for pairs in lists.values())
        return Answer(hits, query.mode, degraded), all_offered

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

    def _admits(self, query: Query, found: Candidate, at: datetime.datetime) -> bool:
        if found.folder_id not in query.folder_ids or (query.types and found.type not in query.types):
            return False
        if (found.domain or "").casefold() in query.hidden_domains:
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
        relevance: list[tuple[Candidate, float]],
        exact: list[int],
        ranks: dict[str, dict[int, int]],
    ) -> list[Hit]:
        """Scores are worked out on what decides them; the rest is read for the memories that are given out."""
        at = query.as_of or now
        scored = []
        for found, share in relevance:
            if self._admits(query, found, at):
                recency = self._recency(found, now)
                score = share * recency * found.confidence
                scored.append((found.id not in exact, -score, _name(found), found, share, recency))
        scored.sort(key=lambda row: row[:3])
        best = scored[: query.limit]
        entries = read.entries(self.db, (row[3].id for row in best))
        kept = [row for row in best if row[3].id in entries]
        return [
            Hit(entries[found.id], -score, n, _why(found, share, recency, not inexact, ranks), why_invalid(found, at))
            for n, (inexact, score, _, found, share, recency) in enumerate(kept, 1)
        ]

    def _recency(self, found: Candidate, now: datetime.datetime) -> float:
        age_days = (now - moment(found.updated)).total_seconds() / 86_400
        return survival(found.type, age_days, stability=found.stability, decay=self.decay)


def _why(found: Candidate, relevance: float, recency: float, exact: bool, ranks: dict[str, dict[int, int]]) -> Why:
    return Why(
        lexical=ranks["lexical"].get(found.id),
        semantic=ranks.get("semantic", {}).get(found.id),
        temporal=None,
        graph=None,
        relevance=relevance,
        recency=recency,
        confidence=found.confidence,
        exact_key=exact,
    )


def _settle_ties(pairs: list[tuple[int, float]], found: dict[int, Candidate]) -> list[tuple[int, float]]:
    """A voice's list with equal scores in the order of key and path: row ids differ from one build to the next."""
    known = [pair for pair in pairs if pair[0] in found]  # gone since, in another process's transaction
    return sorted(known, key=lambda pair: (-pair[1], *_name(found[pair[0]])))


def _name(found: Candidate) -> tuple[str, str, str, str]:
    return found.key, found.scope, found.scope_ref or "", found.path
