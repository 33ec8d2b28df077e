"""The rulers themselves: percentiles, judging, counting of opened files, CPU of a child. No time is asserted."""

from __future__ import annotations

import json
import math
import shutil
import sys
import urllib.request
from pathlib import Path

import burst
import cold
import drivers
import endpoint
import measure
import pytest
import search


def test_percentiles_are_values_that_were_seen() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]

    assert measure.p50(values) == 3.0
    assert measure.p95(values) == 5.0
    assert measure.percentile(range(1, 101), 95) == 95
    assert math.isnan(measure.p50([]))


def test_a_table_shows_nothing_measured_as_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    measure.table("Title", ["a", "b", "c"], [[1000, None, float("nan")], ["x", 0.123, 1234.5]])
    lines = capsys.readouterr().out.splitlines()

    assert lines[3:] == [
        "| a     | b    | c    |",
        "|-------|------|------|",
        "| 1,000 | -    | -    |",
        "| x     | 0.12 | 1234 |",
    ]


def test_words_are_unique_and_hold_only_consonants() -> None:
    words = {measure.word("b", k) for k in range(5000)}

    assert len(words) == 5000
    assert not set("".join(words)) & set("aeiouy0123456789")


def test_corpus_files_are_old(corpora: measure.Corpora, tmp_path: Path) -> None:
    folder = corpora.fill(tmp_path / "user", 30)
    files = list(folder.rglob("*.md"))

    assert len(files) == 30
    assert {f.stat().st_mtime_ns for f in files} == {measure.LONG_AGO_NS}


def test_the_cpu_of_a_child_and_its_exit_code_are_seen() -> None:
    cpu, wall, code = measure.child_cpu_ms([sys.executable, "-c", "sum(range(10**6)); raise SystemExit(3)"])

    assert code == 3
    assert cpu > 0
    assert wall > 0


def test_a_tool_and_a_chinese_word_must_both_be_in_the_file() -> None:
    texts = {"a.md": "使用 git 索引", "b.md": "使用 digit 索引", "c.md": "git only", "d.md": "索引"}

    assert search.holders(texts, "Git 索引") == {"a.md"}
    assert search.holders(texts, "索引") == {"a.md", "b.md", "d.md"}


def test_hits_are_judged_by_what_there_is_to_find() -> None:
    texts = {"a.md": "索引", "b.md": "索引", "c.md": "缓存"}
    judged = search.judge({"kind": "zh-two-char", "query": "索引", "want": []}, ["a.md", "c.md"], texts)

    assert judged == {"right": 1, "possible": 2}

    rare = search.judge({"kind": "en-rare", "query": "zq", "want": ["a.md"]}, ["a.md", "b.md"], texts)

    assert rare == {"first": True, "there": True, "only": False}


def test_the_files_that_a_start_opens_are_counted(floor: drivers.Floor, corpora: measure.Corpora) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    corpora.fill(floor.folder, 12)

    assert cold.files_opened(floor) == 12
    assert cold.files_opened(floor) == 0


def test_a_changed_file_that_is_never_found_counts_as_lost(
    floor: drivers.Floor, corpora: measure.Corpora, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(burst, "LOST_AFTER_S", 2.0)
    paths = {i: corpora.corpus.path_of(i) for i in range(6)}
    hidden = [paths[0], paths[4]]
    burst.prepare(floor, corpora, 12, list(paths), 1)
    floor.start()
    monkeypatch.setattr(floor, "holds", lambda query, rel: rel not in hidden and rel in floor.search(query, 5))

    assert burst.one(floor, paths, 0)["lost"] == hidden


def test_the_endpoint_gives_unit_vectors_in_order() -> None:
    with endpoint.serving() as url:
        body = json.dumps({"model": "hash", "input": ["cache system", "缓存 系统", ""]}).encode()
        request = urllib.request.Request(f"{url}/embeddings", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            data = json.load(answer)["data"]

    assert [d["index"] for d in data] == [0, 1, 2]
    assert all(abs(sum(x * x for x in d["embedding"]) - 1) < 1e-3 for d in data)
    assert data[0]["embedding"] == endpoint.vector("System, cache!")
