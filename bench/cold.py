"""An index made from nothing, and a start where nothing changed.

    python bench/cold.py --n 1000 --peer both

Cold: CPU seconds and wall time from the start of the process to a whole index, files per CPU second, bytes of
database per file once the log is folded in. Warm: the same folder again: time to the first answer, CPU until the
index is known to be whole, and how many memory files were opened (strace; 0 is the aim).
"""

from __future__ import annotations

import argparse
import re
import shutil
import time
from pathlib import Path
from typing import Any

import measure
from drivers import Peer, cast
from measure import p50

OPENED = re.compile(r'open(?:at2?)?\(.*?"([^"]+)"')


def cold(peer: Peer) -> dict[str, Any]:
    begun = time.perf_counter()
    answered = peer.start()
    peer.sync()
    facts = {
        "wall_s": time.perf_counter() - begun,
        "cpu_s": peer.cpu_s(),
        "answer_s": answered,
        "rss_mb": peer.rss_mb()[0],
    }
    peer.stop()
    return {**facts, "db_bytes": measure.db_bytes(peer.db)}


def warm(peer: Peer, word: str) -> dict[str, Any]:
    begun = time.perf_counter()
    peer.start()
    found = len(peer.search(word))
    answered = time.perf_counter() - begun
    peer.sync()
    facts = {"answer_s": answered, "found": found, "whole_s": time.perf_counter() - begun, "cpu_s": peer.cpu_s()}
    return {**facts, "stop_s": peer.stop()}


def files_opened(peer: Peer) -> int | None:
    """Memory files that a start opens; None where there is no strace."""
    if not shutil.which("strace"):
        return None
    trace = peer.home / "trace.txt"
    peer.start(prefix=["strace", "-f", "-qq", "-s", "4096", "-e", "trace=open,openat,openat2", "-o", str(trace)])
    peer.sync()
    peer.stop()
    paths = [Path(m[1]) for m in OPENED.finditer(trace.read_text(errors="replace"))]
    return sum(p.suffix == ".md" and p.name != "MEMORY.md" for p in paths)


def forget(peer: Peer) -> None:
    """Take away all but the memories and the config, for another cold start."""
    for path in peer.home.iterdir():
        if path.is_dir() and path != peer.folder:
            shutil.rmtree(path)
        elif path.is_file() and path.name != "config.toml":
            path.unlink()


def run(args: argparse.Namespace) -> tuple[list[list[object]], list[list[object]]]:
    first: list[list[object]] = []
    again: list[list[object]] = []
    with measure.scratch(args.keep) as base, cast(args.peer, base, args.embedder) as peers:
        corpora = measure.Corpora(base)
        colds: dict[str, list[dict[str, Any]]] = {peer.name: [] for peer in peers}
        warms: dict[str, list[dict[str, Any]]] = {peer.name: [] for peer in peers}
        for peer in peers:
            corpora.fill(peer.folder, args.n)
        for _ in range(args.turns):
            for peer in peers:
                forget(peer)
                colds[peer.name].append(cold(peer))
                warms[peer.name].append(warm(peer, corpora.corpus.marker(args.n // 2)))
        for peer in peers:
            c, w, opened = colds[peer.name], warms[peer.name], files_opened(peer)
            cpu, size = p50(x["cpu_s"] for x in c), c[-1]["db_bytes"]
            wall, rss = p50(x["wall_s"] for x in c), p50(x["rss_mb"] for x in c)
            first.append([peer.name, args.n, cpu, wall, args.n / cpu, size / args.n, rss])
            columns = [p50(x[k] for x in w) for k in ("cpu_s", "answer_s", "whole_s", "stop_s")]
            again.append([peer.name, args.n, *columns, opened, min(x["found"] for x in w)])
            measure.record(args, "cold", peer=peer.name, n=args.n, cold=c, warm=w, opened=opened)
    return first, again


def main() -> None:
    p = measure.arguments(__doc__)
    p.add_argument("--turns", type=int, default=3)
    first, again = run(p.parse_args())
    measure.table(
        "Cold: an index from nothing",
        ["peer", "files", "CPU s", "wall s", "files/CPU s", "DB bytes/file", "RSS MB"],
        first,
    )
    measure.table(
        "Warm: nothing changed",
        ["peer", "files", "CPU s", "first answer s", "whole s", "stop s", "memory files opened", "hits"],
        again,
    )


if __name__ == "__main__":
    main()
