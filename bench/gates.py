"""What the gate of secrets costs: the slowest of many nasty fillers, and a file of an ordinary corpus.

python bench/gates.py --size 100000
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import measure

from mdmem.gates import find_secrets, secret_problems
from mdmem.gates.rules import load_rules

COMMON = [
    "a",
    "A1",
    "1 ",
    "(1",
    "://",
    "a:a@",
    "=",
    "AA00 ",
    "phone 12345678 ",
    "电话 13812345678 ",
    "the password is a b ",
]


def fillers(size: int) -> dict[str, str]:
    units = [*COMMON, *(f"{near}{end}" for rule in load_rules() for near in rule.near for end in ("", " ", "=", ": "))]
    return {unit: (unit * (size // len(unit) + 1))[:size] for unit in units}


def best_ms(text: str, turns: int = 3) -> float:
    costs = []
    for _ in range(turns):
        begun = time.process_time()
        find_secrets(text)
        costs.append(time.process_time() - begun)
    return min(costs) * 1000


def per_file_us(n: int) -> float:
    """Each file's best of twenty looks: what an index made from nothing pays for the gate."""
    with TemporaryDirectory() as folder:
        measure.load_corpus().write(folder, n)
        files = [path.read_bytes() for path in Path(folder).rglob("*.md")]
    total = 0
    for data in files:
        costs = []
        for _ in range(20):
            begun = time.perf_counter_ns()
            secret_problems(data, "x.md")
            costs.append(time.perf_counter_ns() - begun)
        total += min(costs)
    return total / len(files) / 1000


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--size", type=int, default=100_000)
    p.add_argument("--n", type=int, default=300)
    args = p.parse_args()
    find_secrets("warm")
    found = sorted(((best_ms(text), unit) for unit, text in fillers(args.size).items()), reverse=True)
    measure.table("The slowest fillers", ["filler", "ms"], [[repr(unit), ms] for ms, unit in found[:10]])
    measure.table("An ordinary file", ["files", "us/file"], [[args.n, per_file_us(args.n)]])


if __name__ == "__main__":
    main()
