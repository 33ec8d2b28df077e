"""The one way through recall: what the voices offer, validity, score, order."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mdmem.db import Connection
from mdmem.index import fold, query_terms, read, seek
from mdmem.index.graph import neighbours
from mdmem.index.read import Candidate, Entry
from mdmem.memory import survival
from mdmem.recall import voices
from mdmem.recall.diverse import diversify, word_likeness
from mdmem.recall.intent import VOICES
from mdmem.recall.offers import Asking, Embed, Used, offers
from mdmem.recall.query import Answer, Hit, Query, Why
from mdmem.recall.validity import moment, why_invalid

MAX_DEPTH = 6_400
MAX_LOOKED = 2_000  # files of one query
HALF_TEXT = 10_000  # characters: of a long question, a log that was pasted, its beginning and its end are asked
MAX_TOPIC = 3  # memories that only share a topic with the hits
TOPIC_SHARE = 0.5  # of the relevance of the hit they hang on

# Are these rows what their files say? What moved is synced, and True returned, before anything is given out.
Freshen = Callable[[Sequence[Entry]], bool]


class _Scored(NamedTuple):
    """A memory that may be given out. `via`: the entity by which it was reached, where no voice offers it."""

    found: Candidate
    relevance: float
    recency: float
    via: str | None = None

    @property
    def score(self) -> float:
        return self.relevance * self.recency * self.found.confidence


class Recall:
    """Answers queries from one read connection.

    `embed` is None where no embedder is set; `decay` is `time_decay_lambda`; `weights` are shares of the voices' usual
    weights; `used` and `freshen` are handed in by the app.
    """

    def __init__(
        self,
        db: Connection,
        *,
        embed: Embed | None = None,
        decay: float = 0.01,
        weights: Mapping[str, float] | None = None,
        used: Used | None = None,
        freshen: Freshen | None = None,
    ) -> None:
        self.db = db
        self.asking = Asking(db, self._embed_once if embed else None, used, weights or {})
        self.embed = embed
        self.decay = decay
        self.freshen = freshen
        self._vectors: dict[str, bytes] = {}
        self._losers: dict[int, str] = {}

    def _embed_once(self, text: str) -> bytes:
        """However deep the voices have to be asked again."""
        if text not in self._vectors and self.embed is not None:
            self._vectors[text] = self.embed(text)
        return self._vectors[text]

    def find(self, query: Query, now: datetime.datetime) -> Answer:
        """Hits for a query, best first. Any text gets an answer; `degraded` says what was missing."""
        text = (
            query.text if len(query.text) <= 2 * HALF_TEXT else f"{query.text[:HALF_TEXT]}\n{query.text[-HALF_TEXT:]}"
        )
        query = query._replace(text=text.encode("utf-8", "replace").decode())  # SQLite takes no lone surrogates
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
        offered = offers(self.asking, query, now, depth, degraded)
        exact = voices.exact_keys(self.db, query.text, query.folder_ids)
        everything = {i for pairs in offered.lists.values() for i, _ in pairs}
        found = {c.id: c for c in read.candidates(self.db, everything | set(exact))}
        self._losers = read.losers(self.db)
        ranks = {voice: {i: n for n, (i, _) in enumerate(pairs, 1)} for voice, pairs in offered.lists.items()}
        relevance = offered.relevance | dict.fromkeys(exact, 1.0)
        scored = [
            _Scored(found[i], share, self._recency(found[i], now))
            for i, share in relevance.items()
            if i in found and self._admits(query, found[i], now)
        ]
        scored = self._in_order(query, scored, exact, by_meaning=bool(ranks.get("semantic")))
        if query.mode == "hybrid" and query.text.strip():
            scored += self._topic(query, now, scored, query.limit - len(scored))
        return Answer(self._hits(query, now, scored, exact, ranks), query.mode, degraded), offered.whole

    def _in_order(
        self, query: Query, scored: list[_Scored], exact: Sequence[int], *, by_meaning: bool
    ) -> list[_Scored]:
        """The best, exact keys first; in hybrid mode with repetitions further down."""
        scored.sort(key=lambda s: (s.found.id not in exact, -s.score, s.found.place))
        firm = sum(s.found.id in exact for s in scored)
        if query.mode != "hybrid":
            return scored[: query.limit]
        by_id = {s.found.id: s for s in scored}
        rest = [(s.found.id, s.score) for s in scored[firm:]]
        order = diversify(rest, self._likeness if by_meaning else self._word_likeness, max(query.limit - firm, 0))
        return (scored[:firm] + [by_id[i] for i in order])[: query.limit]

    def _likeness(self, ids: Sequence[int]) -> dict[tuple[int, int], float]:
        return seek.likenesses(self.db, ids)

    def _word_likeness(self, ids: Sequence[int]) -> dict[tuple[int, int], float]:
        texts = {i: set(query_terms(e.description or e.name)) for i, e in read.entries(self.db, ids).items()}
        return word_likeness(texts, ids)

    def _topic(self, query: Query, now: datetime.datetime, direct: list[_Scored], room: int) -> list[_Scored]:
        """What else is about the entities of the hits, the rest of a topic: behind them, and marked."""
        if room <= 0 or not direct:
            return []
        hits = {s.found.id: s for s in direct}
        near = neighbours(self.db, hits, query.folder_ids, hidden_domains=query.hidden_domains)
        ways: dict[int, tuple[_Scored, str]] = {}
        for edge in near:
            for source, target in ((edge.from_id, edge.to_id), (edge.to_id, edge.from_id)):
                if edge.kind == "entity" and source in hits and target not in hits:
                    ways.setdefault(target, (hits[source], edge.via))
        more = [
            _Scored(found, TOPIC_SHARE * ways[found.id][0].relevance, self._recency(found, now), ways[found.id][1])
            for found in read.candidates(self.db, ways)
            if self._admits(query, found, now)
        ]
        more.sort(key=lambda s: (-s.score, s.found.place))
        return more[: min(room, MAX_TOPIC)]

    def _admits(self, query: Query, found: Candidate, now: datetime.datetime) -> bool:
        if found.folder_id not in query.folder_ids or (query.types and found.type not in query.types):
            return False
        domain = fold(found.domain or "")
        if domain in query.hidden_domains or (query.domain and domain != fold(query.domain)):
            return False
        if query.include_invalid:
            return True
        if query.as_of and moment(found.created) > query.as_of:
            return False
        return self._why_invalid(found, query.as_of or now) is None

    def _why_invalid(self, found: Candidate, at: datetime.datetime) -> str | None:
        winner = self._losers.get(found.id)
        return why_invalid(found, at) or (f"in conflict with {winner}, which holds" if winner else None)

    def _hits(
        self,
        query: Query,
        now: datetime.datetime,
        scored: list[_Scored],
        exact: Sequence[int],
        ranks: dict[str, dict[int, int]],
    ) -> list[Hit]:
        """Order is worked out on what decides it; the rest is read for the memories that are given out."""
        entries = read.entries(self.db, (s.found.id for s in scored))
        kept = [s for s in scored if s.found.id in entries]
        return [
            Hit(
                entries[s.found.id],
                s.score,
                n,
                _why(s, s.found.id in exact, ranks),
                self._why_invalid(s.found, query.as_of or now),
            )
            for n, s in enumerate(kept, 1)
        ]

    def _recency(self, found: Candidate, now: datetime.datetime) -> float:
        age_days = (now - moment(found.updated)).total_seconds() / 86_400
        return survival(found.type, age_days, stability=found.stability, decay=self.decay)


def _why(scored: _Scored, exact: bool, ranks: dict[str, dict[int, int]]) -> Why:
    rank = {voice: ranks.get(voice, {}).get(scored.found.id) for voice in VOICES}
    return Why(
        **rank,
        relevance=scored.relevance,
        recency=scored.recency,
        confidence=scored.found.confidence,
        exact_key=exact,
        via=scored.via,
    )
