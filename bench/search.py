"""Searches over the socket: how long, and how right?

    python bench/search.py --n 1000 --peer both --embedder hash

Ten kinds of questions from the corpus, in turn, over a connection that stays open. What is right of the first ten
hits: `want` kinds (rare words, sentences, descriptions, identifiers): the wanted file is first / is there; for the
rare words also that it is the only hit. `holds` kinds (a common word; a two-character Chinese word; a tool and a
Chinese word): hits whose file truly holds every word asked for, of as many as there are to find (ten, or fewer where
fewer files hold them). The first eight two-character words give "x of 80", the first five tool-and-word questions "x
of 50" (or fewer).
"""

from __future__ import annotations

import argparse
import re
import time
from collections import defaultdict
from typing import Any, NamedTuple

import measure
from drivers import Peer, cast
from measure import p50, p95

HOLDS = {"en-common": 20, "zh-two-char": 8, "mixed": 5}  # kind: how many questions the short tally takes
TOP = 10


class Seen(NamedTuple):
    """One question asked of one peer in one mode."""

    kind: str
    ms: list[float]  # one for each time it was asked
    hits: list[str]


def holders(texts: dict[str, str], query: str) -> set[str]:
    """The files that hold every word of the query: Latin ones as whole words, Chinese ones as they stand."""
    tests = [
        re.compile(rf"(?<![a-z0-9]){re.escape(w)}(?![a-z0-9])" if w.isascii() else re.escape(w))
        for w in query.lower().split()
    ]
    return {path for path, text in texts.items() if all(t.search(text) for t in tests)}


def judge(query: dict[str, Any], hits: list[str], texts: dict[str, str]) -> dict[str, Any]:
    if query["kind"] in HOLDS:
        right = holders(texts, query["query"])
        return {"right": sum(h in right for h in hits[:TOP]), "possible": min(TOP, len(right))}
    want = query["want"][0]
    return {"first": hits[:1] == [want], "there": want in hits[:TOP], "only": hits == [want]}


def ask_all(peer: Peer, mode: str, queries: list[dict[str, Any]], turns: int) -> list[Seen]:
    for q in queries[:10]:
        peer.search(q["query"], TOP, mode)  # the first question of a kind pays for imports and a cold cache
    seen = [Seen(q["kind"], [], []) for q in queries]
    for _ in range(turns):
        for k, q in enumerate(queries):
            begun = time.perf_counter()
            hits = peer.search(q["query"], TOP, mode)
            seen[k].ms.append((time.perf_counter() - begun) * 1000)
            seen[k] = seen[k]._replace(hits=hits)
    return seen


def fill_vectors(peer: Peer, timeout_s: float) -> None:
    if measure.until(lambda: peer.vectors_left() == 0, timeout_s, 0.5) is None:
        print(f"note: {peer.name} still has {peer.vectors_left()} vectors to make; semantic answers are partial")


def report(
    peer: Peer, mode: str, queries: list[dict[str, Any]], seen: list[Seen], texts: dict[str, str]
) -> list[list[object]]:
    by_kind: dict[str, list[tuple[Seen, dict[str, Any]]]] = defaultdict(list)
    for q, s in zip(queries, seen, strict=True):
        by_kind[s.kind].append((s, judge(q, s.hits, texts)))
    return [
        [
            peer.name,
            mode,
            kind,
            p50(all_ms := [ms for s, _ in pairs for ms in s.ms]),
            p95(all_ms),
            verdict(kind, [v for _, v in pairs]),
        ]
        for kind, pairs in by_kind.items()
    ]


def verdict(kind: str, judged: list[dict[str, Any]]) -> str:
    if kind in HOLDS:
        short = judged[: HOLDS[kind]]
        tallies = [(sum(v["right"] for v in vs), sum(v["possible"] for v in vs)) for vs in (short, judged)]
        words = [f"{right} of {possible} hold it" for right, possible in tallies]
        return words[0] if len(short) == len(judged) else f"{words[0]} (all {len(judged)}: {words[1]})"
    count = {k: sum(v[k] for v in judged) for k in ("first", "there", "only")}
    only = f", only hit {count['only']}" if kind.endswith("rare") else ""
    return f"first {count['first']}, in ten {count['there']} of {len(judged)}{only}"


def run(args: argparse.Namespace) -> list[list[object]]:
    rows: list[list[object]] = []
    with measure.scratch(args.keep) as base, cast(args.peer, base, args.embedder) as peers:
        corpora = measure.Corpora(base)
        queries = corpora.corpus.queries(args.n, args.k)
        texts = {d.path: d.text().lower() for d in map(corpora.corpus.doc, range(args.n))}
        for peer in peers:
            corpora.fill(peer.folder, args.n)
            peer.start()
            peer.sync()
            if args.embedder != "none":
                fill_vectors(peer, args.vectors_s)
        for mode in args.modes.split(","):
            for peer in (p for p in peers if mode in p.modes):
                cpu, searches = peer.cpu_s(), args.k * args.turns + 10
                seen = ask_all(peer, mode, queries, args.turns)
                cpu_ms = (peer.cpu_s() - cpu) * 1000 / searches
                times = [ms for s in seen for ms in s.ms]
                rows += report(peer, mode, queries, seen, texts)
                rows.append([peer.name, mode, "all", p50(times), p95(times), f"CPU {cpu_ms:.2f} ms a search"])
                facts = {"cpu_ms": cpu_ms, "seen": [s._asdict() for s in seen], "degraded": sorted(peer.degraded)}
                measure.record(args, "search", peer=peer.name, n=args.n, mode=mode, **facts)
        for peer in peers:
            if peer.degraded:
                print(f"note: {peer.name} answered without: {', '.join(sorted(peer.degraded))}")
    return rows


def main() -> None:
    p = measure.arguments(__doc__)
    p.add_argument("--k", type=int, default=200, help="questions")
    p.add_argument("--turns", type=int, default=3, help="times each is asked")
    p.add_argument("--modes", default="keyword,hybrid")
    p.add_argument("--vectors-s", type=float, default=600, help="longest wait for vectors")
    args = p.parse_args()
    measure.table(f"Search in {args.n} files", ["peer", "mode", "kind", "p50 ms", "p95 ms", "right"], run(args))


if __name__ == "__main__":
    main()
