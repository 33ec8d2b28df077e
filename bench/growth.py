"""Does the database grow under ten thousand updates, and what does a memory take in it?

    python bench/growth.py --n 1000 --updates 10000 --peer both
    python bench/growth.py --n 1000 --peer mdmem --embedder hash     with vectors

Updates are saves by rename, in small batches; the last of each batch is waited for. Sizes are taken with the daemon
stopped and the log folded in; the greatest size of the log is seen on the way.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import measure
from drivers import Peer, cast


def settled(peer: Peer) -> int:
    """Stop, weigh, start again."""
    if measure.until(lambda: peer.vectors_left() == 0, 3600, 0.2) is None:
        raise SystemExit("error: the vectors were not filled within an hour")
    peer.stop()
    size = measure.db_bytes(peer.db)
    peer.start()
    peer.sync()
    return size


def wal_bytes(peer: Peer) -> int:
    wal = peer.db.with_name(peer.db.name + "-wal")
    return wal.stat().st_size if wal.exists() else 0


def update(peer: Peer, corpus: Any, n: int, updates: int, batch: int) -> tuple[int, int]:
    """(greatest size of the log, batches whose last save was not found within 15 s)."""
    most = lost = 0
    for start in range(0, updates, batch):
        for k in range(start, min(start + batch, updates)):
            corpus.touch(str(peer.folder), k % n, measure.word("gr", k))
        mark, rel = measure.word("gr", k), corpus.path_of(k % n)
        lost += measure.until(partial(peer.holds, mark, rel), 15, 0.002) is None
        most = max(most, wal_bytes(peer))
    return most, lost


def run(args: argparse.Namespace) -> list[list[object]]:
    rows: list[list[object]] = []
    with measure.scratch(args.keep) as base, cast(args.peer, base, args.embedder) as peers:
        corpora = measure.Corpora(base)
        for peer in peers:
            corpora.fill(peer.folder, args.n)
            peer.start()
            peer.sync()
            before = settled(peer)
            cpu = peer.cpu_s()
            most, lost = update(peer, corpora.corpus, args.n, args.updates, args.batch)
            cpu_ms = (peer.cpu_s() - cpu) * 1000 / args.updates
            after = settled(peer)
            rows.append(
                [
                    peer.name,
                    args.n,
                    cpu_ms,
                    before / args.n,
                    before / 1e6,
                    after / 1e6,
                    after / before,
                    most / 1e6,
                    lost,
                ]
            )
            facts = {"before": before, "after": after, "wal": most, "lost": lost, "cpu_ms": cpu_ms}
            measure.record(
                args, "growth", peer=peer.name, n=args.n, updates=args.updates, embedder=args.embedder, **facts
            )
    return rows


def main() -> None:
    p = measure.arguments(__doc__, n=1000)
    p.add_argument("--updates", type=int, default=10_000)
    p.add_argument("--batch", type=int, default=10, help="saves made together")
    args = p.parse_args()
    header = [
        "peer",
        "files",
        "CPU ms/update",
        "DB bytes/file",
        "DB MB",
        f"after {args.updates}",
        "times",
        "log MB at most",
        "lost",
    ]
    measure.table(f"Growth (embedder {args.embedder})", header, run(args))


if __name__ == "__main__":
    main()
