"""How long `mdmem mcp` takes until `initialize` is answered, against `python -c pass` started in the same turns.

    python bench/mcp_start.py --n 1000 --turns 15

Without a daemon the SDK is imported in the program itself; with one the first client waits until the daemon's host has
imported it, and later ones do not. `tool`: until a search is answered after that. CPU is that of the program alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import NamedTuple

import measure
import psutil
from drivers import Mdmem, Peer, cast
from measure import p50, p95

INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}  # fmt: skip
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
SEARCH = {
    "jsonrpc": "2.0", "id": 2, "method": "tools/call",
    "params": {"name": "search_memory", "arguments": {"query": "cache system", "mode": "keyword"}},
}  # fmt: skip


class Times(NamedTuple):
    """Milliseconds from the start of one process."""

    first: list[float]
    tool: list[float]
    cpu: list[float]


def session(peer: Peer, times: Times) -> None:
    """Start the program, open a session, search once, end it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    process = subprocess.Popen(
        [*Mdmem.program(), "mcp"], env=peer.environment(), cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for messages, into in (((INITIALIZE,), times.first), ((INITIALIZED, SEARCH), times.tool)):
        begun = start if into is times.first else time.perf_counter()
        process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        into.append((time.perf_counter() - begun) * 1000)
        if "error" in answer or answer["result"].get("isError"):
            raise SystemExit(f"error: {answer}")
    process.stdin.close()
    process.stdout.close()
    if process.wait(30):
        raise SystemExit(f"error: mdmem mcp ended with {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    times.cpu.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000)


def end_host(peer: Peer) -> None:
    """So that the next client finds none that is warm."""
    assert peer.process is not None
    for child in psutil.Process(peer.process.pid).children():
        if "mdmem.agents.mcp_host" in child.cmdline():
            child.kill()
            child.wait(10)


def run(args: argparse.Namespace) -> list[list[object]]:
    rows = {name: Times([], [], []) for name in ("no daemon", "daemon, first client", "daemon, warm host")}
    bare: list[float] = []
    with measure.scratch(args.keep) as base, cast("mdmem", base, args.embedder) as peers:
        peer = peers[0]
        measure.Corpora(base).fill(peer.folder, args.n)
        peer.start()
        peer.sync()
        for turn in range(args.turns + 1):
            measured = {name: rows[name] if turn else Times([], [], []) for name in rows}  # the first turn only warms
            bare.append(measure.child_cpu_ms([sys.executable, "-c", "pass"], peer.environment())[1])
            end_host(peer)
            session(peer, measured["daemon, first client"])
            session(peer, measured["daemon, warm host"])
        peer.stop()
        for turn in range(args.turns + 1):
            session(peer, rows["no daemon"] if turn else Times([], [], []))
    for name, times in rows.items():
        measure.record(args, "mcp", n=args.n, name=name, **times._asdict())
    own = [["python -c pass", p50(bare), p95(bare), min(bare), None, None]]
    return own + [[name, p50(t.first), p95(t.first), min(t.first), p50(t.tool), min(t.cpu)] for name, t in rows.items()]


def main() -> None:
    p = measure.arguments(__doc__, n=1_000)
    p.add_argument("--turns", type=int, default=15)
    header = ["process", "first answer p50 ms", "p95", "least", "then a search p50", "CPU least"]
    measure.table("mdmem mcp", header, run(p.parse_args()))


if __name__ == "__main__":
    main()
