"""A thousand files change at once, by a real `git checkout`: how long after git returns is all of it found?

    python bench/burst.py --n 1000 --count 100 --peer both

The folder of memories is itself the repository. Each changed file carries a word of its own. Fifty of them are asked
for until found (the time), then every one of them (the proof; whatever is not there yet moves the time and, after a
while, is lost).
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import measure
from drivers import Peer, cast
from measure import p50

LOST_AFTER_S = 60.0


def word(i: int, turn: int) -> str:
    return measure.word("br" + measure.CONSONANTS[turn], i)


def prepare(peer: Peer, corpora: measure.Corpora, n: int, changed: list[int], turns: int) -> None:
    """A repository with one branch for each turn; every branch changes the same files with words of its own."""
    corpus, folder = corpora.corpus, corpora.fill(peer.folder, n)
    measure.git(folder, "init", "-q", "-b", "main")
    measure.git(folder, "add", "-A")
    measure.git(folder, "commit", "-q", "-m", "all")
    for turn in range(turns):
        measure.git(folder, "checkout", "-q", "-b", f"turn{turn}", "main")
        for i in changed:
            corpus.touch(str(folder), i, word(i, turn), "inplace")
        measure.git(folder, "commit", "-q", "-a", "-m", f"turn {turn}")
    measure.git(folder, "checkout", "-q", "main")


def one(peer: Peer, paths: dict[int, str], turn: int) -> dict[str, Any]:
    """One checkout, watched to its end."""
    changed = list(paths)
    step = max(1, (len(changed) - 1) // 49)
    sample = changed[::step]
    cpu = peer.cpu_s()
    begun = time.perf_counter()
    measure.git(peer.folder, "checkout", "-q", f"turn{turn}")
    git_returned = last = time.perf_counter()
    lost: set[int] = set()

    def wait_for(i: int) -> None:
        nonlocal last
        if i not in lost and peer.holds(word(i, turn), paths[i]):
            return
        patience_s = 0.0 if lost else LOST_AFTER_S  # after the first loss the rest had its time too
        found = measure.until(lambda: peer.holds(word(i, turn), paths[i]), patience_s, 0.002)
        if found is None:
            lost.add(i)
        else:
            lost.discard(i)
            last = found

    for i in sample:
        wait_for(i)
    sampled = last
    for i in changed:
        wait_for(i)
    return {
        "cpu_s": peer.cpu_s() - cpu,  # with some 1,000 searches in it
        "git_ms": (git_returned - begun) * 1000,
        "sample_ms": (sampled - git_returned) * 1000,
        "all_ms": (last - git_returned) * 1000,
        "lost": [paths[i] for i in sorted(lost)],
    }


def run(args: argparse.Namespace) -> list[list[object]]:
    rows: list[list[object]] = []
    with measure.scratch(args.keep) as base, cast(args.peer, base, args.embedder) as peers:
        corpora = measure.Corpora(base)
        changed = corpora.corpus.burst_indexes(args.n, args.count)
        paths = {i: corpora.corpus.path_of(i) for i in changed}
        seen: dict[str, list[dict[str, Any]]] = {peer.name: [] for peer in peers}
        for peer in peers:
            prepare(peer, corpora, args.n, changed, args.turns)
            peer.start()
            peer.sync()
        for turn in range(args.turns):
            for peer in peers:
                seen[peer.name].append(one(peer, paths, turn))
                measure.record(args, "burst", peer=peer.name, n=args.n, count=len(changed), **seen[peer.name][-1])
        for name, runs in seen.items():
            medians = [p50(r[k] for r in runs) for k in ("cpu_s", "git_ms", "sample_ms", "all_ms")]
            worst = max(r["all_ms"] for r in runs)
            rows.append([name, args.n, len(changed), *medians, worst, sum(len(r["lost"]) for r in runs)])
    return rows


def main() -> None:
    p = measure.arguments(__doc__)
    p.add_argument("--count", type=int, default=1000, help="files that change")
    p.add_argument("--turns", type=int, default=3, help="checkouts")
    args = p.parse_args()
    header = ["peer", "files", "changed", "CPU s", "git ms", "sample found ms", "all found ms", "worst", "lost"]
    measure.table("After git checkout", header, run(args))


if __name__ == "__main__":
    main()
