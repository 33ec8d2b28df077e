"""What `mdmem search QUERY` costs as a process of its own, against `python -c pass`.

    python bench/cli.py --n 1000

CPU of the child and its children as the kernel counts it (wait4), with the daemon up and with it down; compiled
modules are warm, and PYTHONDONTWRITEBYTECODE is not handed on. Turns are interleaved.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

import measure
from drivers import Mdmem, cast
from measure import p50, p95


class Candidate(NamedTuple):
    name: str
    argv: list[str]
    cpu_ms: list[float]
    wall_ms: list[float]


def candidates(state: str) -> list[Candidate]:
    """What is compared while the daemon is up or down."""
    program = Mdmem.program()
    asked = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "mdmem --version": [*program, "--version"],
        "mdmem search": [*program, "search", "cache system", "--mode", "keyword"],
        "mdmem search --json": [*program, "search", "cache system", "--mode", "keyword", "--json"],
    }
    return [Candidate(f"{name}, daemon {state}", argv, [], []) for name, argv in asked.items()]


def series(which: list[Candidate], env: dict[str, str], turns: int) -> None:
    """Every candidate in turn; the first turn only warms."""
    for turn in range(turns + 1):
        for c in which:
            cpu, wall, code = measure.child_cpu_ms(c.argv, env)
            if code:
                raise SystemExit(f"error: {' '.join(c.argv)} ended with {code}")
            if turn:
                c.cpu_ms.append(cpu)
                c.wall_ms.append(wall)


def run(args: argparse.Namespace) -> list[list[object]]:
    with measure.scratch(args.keep) as base, cast("mdmem", base, args.embedder) as peers:
        peer = peers[0]
        measure.Corpora(base).fill(peer.folder, args.n)
        peer.start()
        peer.sync()
        up, down = candidates("up"), candidates("down")
        series(up, peer.environment(), args.turns)
        peer.stop()
        series(down, peer.environment(), args.turns)
    for c in up + down:
        measure.record(args, "cli", n=args.n, **c._asdict())
    bare = min(up[0].cpu_ms + down[0].cpu_ms)
    return [
        [c.name, p50(c.cpu_ms), p95(c.cpu_ms), min(c.cpu_ms), min(c.cpu_ms) / bare, p50(c.wall_ms)] for c in up + down
    ]


def main() -> None:
    p = measure.arguments(__doc__)
    p.add_argument("--turns", type=int, default=30)
    header = ["process", "CPU p50 ms", "p95", "least", "times bare", "wall p50 ms"]
    measure.table("The command as a process", header, run(p.parse_args()))


if __name__ == "__main__":
    main()
