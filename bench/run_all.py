"""All benches one after another, each in a process of its own; the exit code is 1 when any failed.

    python bench/run_all.py --n 1000 --peer both --json results.jsonl

Left out unless asked for with --long: idle (minutes), vectors (minutes of one core), install (the network).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import measure

QUICK = ("saves", "burst", "cold", "search", "growth")
OF_MDMEM = ("cli", "mcp_start")
LONG = ("vectors", "idle", "install")


def main() -> int:
    p = measure.arguments(__doc__)
    p.add_argument("--long", action="store_true")
    args = p.parse_args()
    chosen = [*QUICK, *(OF_MDMEM if args.peer != "floor" else ()), *(LONG if args.long else ())]
    failed = []
    for name in chosen:
        own_size = name in ("growth", "vectors")  # these have a size of their own, small enough for any run
        flags = [
            "--peer",
            args.peer,
            *([] if own_size else ["--n", str(args.n)]),
            *(["--json", args.json] if args.json else []),
        ]
        program = Path(__file__).with_name(f"{name}.py")
        if subprocess.run([sys.executable, str(program), *flags], check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
