"""A fresh virtual environment, `pip install` of this project, `mdmem --help`: seconds, megabytes, packages.

    python bench/install.py [--wheels FOLDER]

Megabytes are those of site-packages less what an empty environment has (pip, setuptools). pip's cache is used as it
is, so the second run tells the cost without the network; --wheels installs from a folder alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import measure


def megabytes(folder: Path) -> float:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink()) / 1e6


def packages(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.dist-info"))


def largest(folder: Path) -> str:
    sizes = sorted(
        ((megabytes(p), p.name) for p in folder.iterdir() if p.name not in ("pip", "setuptools")), reverse=True
    )
    return ", ".join(f"{name} {mb:.0f}" for mb, name in sizes[:4])


def run(args: argparse.Namespace) -> list[object]:
    with measure.scratch(args.keep) as base:
        env = base / "env"
        begun = time.perf_counter()
        subprocess.run([args.python, "-m", "venv", str(env)], check=True)
        made_s = time.perf_counter() - begun
        site = next(env.glob("lib/python*/site-packages"))
        bare_mb, bare_count = megabytes(site), packages(site)
        where = ["--no-index", "--find-links", args.wheels] if args.wheels else []
        command = [str(env / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", *where, str(measure.ROOT)]
        cpu_ms, wall_ms, code = measure.child_cpu_ms(command, log=str(base / "pip.log"))
        if code:
            raise SystemExit(f"error: pip ended with {code}\n{(base / 'pip.log').read_text()[-2000:]}")
        mdmem = str(env / "bin" / "mdmem")
        clean = {"PATH": "/usr/bin:/bin", "HOME": str(base), "MDMEM_HOME": str(base / "home")}
        first = measure.child_cpu_ms([mdmem, "--help"], clean)
        help_ms, _, help_code = measure.child_cpu_ms([mdmem, "--help"], clean)
        facts = {
            "venv_s": made_s,
            "cpu_s": cpu_ms / 1000,
            "wall_s": wall_ms / 1000,
            "mb": megabytes(site) - bare_mb,
            "packages": packages(site) - bare_count,
            "first_help_ms": first[0],
            "help_ms": help_ms,
            "help_code": help_code,
            "largest": largest(site),
        }
        measure.record(args, "install", **facts)
        return list(facts.values())


def main() -> None:
    p = measure.arguments(__doc__)
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--wheels", metavar="FOLDER", help="install from this folder, not from an index")
    header = [
        "venv s",
        "pip CPU s",
        "wall s",
        "MB",
        "packages",
        "first --help CPU ms",
        "--help CPU ms",
        "exit",
        "largest MB",
    ]
    measure.table("Install", header, [run(p.parse_args())])


if __name__ == "__main__":
    main()
