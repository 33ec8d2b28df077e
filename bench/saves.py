"""How long after a save is it found, how long until MEMORY.md tells of it, what does a save cost, is one lost?

    python bench/saves.py --n 1000 --peer both

Three rounds. Edits: a unique word is appended to a file and saved by rename, and the socket is asked until it finds
it. New: a new memory is saved, and MEMORY.md is looked at in the same loop (an edit of a body leaves its bytes
alone). Quiet: edits that nobody asks about, 150 ms apart, for the CPU that a save costs. Peers take turns, save by
save.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import measure
from drivers import Peer, cast
from measure import p50, p95

LOST_AFTER_S = 15.0


class Tally:
    """What was seen of one peer."""

    def __init__(self, peer: Peer, marker_tag: str) -> None:
        self.peer, self.tag = peer, marker_tag
        self.found_ms: list[float] = []
        self.manifest_ms: list[float] = []  # relative to found: below zero is before it
        self.new_ms: list[float] = []
        self.lost: list[str] = []

    def edit(self, corpus: object, i: int, turn: int) -> None:
        mark = measure.word(f"{self.tag}t", turn)
        rel = corpus.path_of(i)  # type: ignore[attr-defined]
        begun = time.perf_counter()
        corpus.touch(str(self.peer.folder), i, mark)  # type: ignore[attr-defined]
        found = measure.until(lambda: self.peer.holds(mark, rel), LOST_AFTER_S)
        self.found_ms.append((found - begun) * 1000) if found else self.lost.append(rel)

    def new(self, turn: int) -> None:
        mark, rel = measure.word(f"{self.tag}n", turn), f"aaa-new-{turn:03d}.md"
        text = f"---\nname: {mark}\ndescription: a new memory {mark}\ntype: feedback\n---\n\nSaid once, {mark}.\n"
        manifest = self.peer.folder / "MEMORY.md"
        before, seen = _stamp(manifest), {}

        def look() -> bool:
            if "found" not in seen and self.peer.holds(mark, rel):
                seen["found"] = time.perf_counter()
            if "manifest" not in seen and (not self.peer.has_manifest or _stamp(manifest) != before):
                seen["manifest"] = time.perf_counter()
            return len(seen) == 2

        begun = time.perf_counter()
        measure.replace(self.peer.folder / rel, text.encode())
        measure.until(look, LOST_AFTER_S)
        if "found" in seen:
            self.new_ms.append((seen["found"] - begun) * 1000)
            if self.peer.has_manifest and "manifest" in seen:
                self.manifest_ms.append((seen["manifest"] - seen["found"]) * 1000)
        if len(seen) < 2:
            self.lost.append(f"{rel} ({', '.join({'found', 'manifest'} - seen.keys())})")


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        st = path.stat()
    except FileNotFoundError:
        return None
    return st.st_ino, st.st_mtime_ns


def quiet_cpu_ms(peer: Peer, corpus: object, indexes: list[int]) -> float:
    """CPU ms of the daemon for one save that nobody waits for."""
    before = peer.cpu_s()
    for i in indexes:
        corpus.touch(str(peer.folder), i, measure.word("kqt", i))  # type: ignore[attr-defined]
        time.sleep(0.15)  # longer than any quiet time, so that each is a batch of its own
    rel = corpus.path_of(indexes[-1])  # type: ignore[attr-defined]
    measure.until(lambda: peer.holds(measure.word("kqt", indexes[-1]), rel), LOST_AFTER_S)
    return (peer.cpu_s() - before) * 1000 / len(indexes)


def run(args: argparse.Namespace) -> list[list[object]]:
    rng = random.Random(7)
    rows: list[list[object]] = []
    with measure.scratch(args.keep) as base, cast(args.peer, base, args.embedder) as peers:
        corpora = measure.Corpora(base)
        for peer in peers:
            corpora.fill(peer.folder, args.n)
            peer.start()
            peer.sync()
        tallies = [Tally(peer, "bc"[k]) for k, peer in enumerate(peers)]
        picked = rng.sample(range(args.n), min(args.saves, args.n))
        for turn, i in enumerate(picked):
            for tally in tallies:
                tally.edit(corpora.corpus, i, turn)
        for turn in range(args.new):
            for tally in tallies:
                tally.new(turn)
        for tally in tallies:
            cpu = quiet_cpu_ms(tally.peer, corpora.corpus, picked[:20])
            m, f, new = tally.manifest_ms, tally.found_ms, tally.new_ms
            name = tally.peer.name
            rows.append(
                [name, args.n, cpu, p50(f), p95(f), max(f, default=None), p50(new), p50(m), p95(m), len(tally.lost)]
            )
            facts = {
                "found_ms": f,
                "new_ms": new,
                "manifest_after_found_ms": m,
                "lost": tally.lost,
                "cpu_ms_per_save": cpu,
            }
            measure.record(args, "saves", peer=name, n=args.n, **facts)
    return rows


def main() -> None:
    p = measure.arguments(__doc__)
    p.add_argument("--saves", type=int, default=50)
    p.add_argument("--new", type=int, default=20)
    args = p.parse_args()
    header = [
        "peer",
        "files",
        "CPU ms/save",
        "found p50 ms",
        "p95",
        "max",
        "new p50",
        "MEMORY.md - found p50",
        "p95",
        "lost",
    ]
    measure.table("A save until it is found", header, run(args))


if __name__ == "__main__":
    main()
