"""Every bench that the floor can play runs to its end in the small, loses nothing, and writes its results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import measure
import pytest

BENCH = Path(measure.__file__).parent


def run(tmp_path: Path, name: str, *flags: str) -> dict[str, Any]:
    results = tmp_path / "results.jsonl"
    command = [sys.executable, str(BENCH / f"{name}.py"), "--peer", "floor", "--json", str(results), *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    assert "| floor |" in done.stdout
    return json.loads(results.read_text().splitlines()[-1])


@pytest.mark.usefixtures("corpora")
class TestAgainstTheFloor:
    def test_saves_are_all_found(self, tmp_path: Path) -> None:
        result = run(tmp_path, "saves", "--n", "30", "--saves", "4", "--new", "2")

        assert result["lost"] == []
        assert (len(result["found_ms"]), len(result["new_ms"])) == (4, 2)

    def test_a_burst_is_all_found(self, tmp_path: Path) -> None:
        result = run(tmp_path, "burst", "--n", "60", "--count", "40", "--turns", "1")

        assert result["lost"] == []
        assert result["count"] == 40

    def test_a_cold_start_fills_and_a_warm_one_answers(self, tmp_path: Path) -> None:
        result = run(tmp_path, "cold", "--n", "40", "--turns", "1")

        assert result["cold"][0]["db_bytes"] > 40 * 100
        assert [w["found"] for w in result["warm"]] == [1]

    def test_rare_words_are_first(self, tmp_path: Path) -> None:
        result = run(tmp_path, "search", "--n", "60", "--k", "20", "--turns", "1")
        rare = [s["hits"] for s in result["seen"] if s["kind"] == "en-rare"]

        assert [len(hits) for hits in rare] == [1, 1]

    def test_updates_are_all_found(self, tmp_path: Path) -> None:
        result = run(tmp_path, "growth", "--n", "10", "--updates", "30")

        assert result["lost"] == 0

    def test_idle_is_sampled(self, tmp_path: Path) -> None:
        result = run(tmp_path, "idle", "--n", "10", "--minutes", "0.002")

        assert len(result["samples"]) == 2


@pytest.mark.usefixtures("corpora")
@pytest.mark.timeout(120)
def test_recall_is_scored_on_files_that_were_searched(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    command = [sys.executable, str(BENCH / "recall.py"), "--sets", "memorybank", "--stores", "1", "--embedder", "none"]
    done = subprocess.run(
        [*command, "--modes", "keyword", "--json", str(results)], capture_output=True, text=True, timeout=100
    )

    assert done.returncode == 0, done.stderr
    scores = json.loads(results.read_text())["scores"]
    assert scores["all"]["n"] == 2
    assert scores["all"]["recall@10"] > 0
