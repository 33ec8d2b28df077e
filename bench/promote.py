"""What it costs to learn from events: loading the rules, reading a command, finding a wish.

    python bench/promote.py --turns 20

Takes the labelled command lines and messages of tests/candidates as its load. CPU milliseconds, so that a busy machine
tells the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mdmem.activity.events import Event, Source  # noqa: E402
from mdmem.candidates import shell, wishes  # noqa: E402
from mdmem.candidates.promote import Promoter  # noqa: E402

CASES = ROOT / "tests" / "candidates"
LOAD = """
import time
from mdmem.candidates import rules
begun = time.process_time()
rules.load()
print(time.process_time() - begun)
"""


def cpu_ms(act: Callable[[], object], turns: int) -> float:
    begun = time.process_time()
    for _ in range(turns):
        act()
    return (time.process_time() - begun) / turns * 1e3


def load_ms(turns: int) -> float:
    """In a fresh process each time: the rules are kept once read."""
    runs = [
        subprocess.run([sys.executable, "-c", LOAD], cwd=ROOT, capture_output=True, text=True) for _ in range(turns)
    ]
    return min(float(run.stdout) for run in runs) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=10)
    turns = parser.parse_args().turns
    rows = [line.split("\t") for line in (CASES / "commands.tsv").read_text("utf-8").splitlines() if line[:1] != "#"]
    commands = [row[1] for row in rows]
    messages = [json.loads(line)["text"] for line in (CASES / "wishes.jsonl").read_text("utf-8").splitlines()]
    source = Source("log", 0, 1)
    events = [
        Event("ran", "bench", f"s{n}", str(n), source, cwd="/work/shop", command=c, outcome="ok", exit_code=0)
        for n, c in enumerate(commands)
    ]
    promoter = Promoter(mask=str)
    for event in events:
        promoter.feed(event)
    result = {
        "load_rules_ms": load_ms(min(turns, 5)),
        "read_command_ms": cpu_ms(lambda: [shell.read(c) for c in commands], turns) / len(commands),
        "feed_command_ms": cpu_ms(lambda: [promoter.feed(e) for e in events], turns) / len(events),
        "find_wishes_ms": cpu_ms(lambda: [wishes.find(m) for m in messages], turns) / len(messages),
        "read_64_kib_ms": cpu_ms(lambda: shell.read("npm test && " * 5_400 + "true"), 3),
    }
    print(json.dumps({name: round(value, 3) for name, value in result.items()}))


if __name__ == "__main__":
    main()
