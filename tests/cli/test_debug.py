from __future__ import annotations

import json
import signal
import subprocess
import sys

from tests.conftest import wait_until


def test_scan_document_and_memory_show_each_step(home, call):
    path = home.put("ops/a.md", "---\ntype: policy\nconfidence: high\nmine: 1\n---\nText.\n", home.work / ".mdmem")
    call("init", ".")

    assert [f["rel"] for f in call("debug", "scan", "project").json["found"]] == ["ops/a.md"]
    assert call("debug", "scan", home.work / ".mdmem").json["state"] == "ok"
    assert call("debug", "document", path).json["fields"] == {"type": "policy", "confidence": "high", "mine": "1"}
    memory = call("debug", "memory", path).json
    assert (memory["key"], memory["type"], memory["extra"]) == ("ops/a", "rule", {"mine": "1"})
    assert [p["code"] for p in memory["problems"]] == ["bad-confidence"]
    assert call("debug", "memory", path, "--scope", "agent").json["key"] == "ops/a"


def test_index_shows_drift_without_writing(home, call):
    assert call("debug", "index").code == 3
    path = home.put("a.md", "A.\n")
    home.put("b.md", "B.\n")
    call("sync")
    path.write_text("Changed.\n")
    (home.user / "b.md").unlink()
    home.put("c.md", "C.\n")

    for _ in range(2):
        (folder,) = call("debug", "index", "--drift").json["folders"]
        assert folder["read"] == ["a.md", "c.md"]
        assert folder["removed"] == ["b.md"]


def test_query_shows_how_it_was_understood(home, call):
    home.put("a.md", "getUserById\n")
    shown = call("debug", "query", "getUserById").json

    assert "get_user_by_id" in shown["terms"]
    assert shown["hits"][0]["why"]["lexical"] == 1


def test_what_is_not_there_is_said(home, call):
    for args in (["scan", "nowhere"], ["document", "nope.md"], ["memory", "nope.md"], ["watch", "nowhere"]):
        done = call("debug", *args)
        assert (done.code, done.out) == (3, ""), args


def test_watch_prints_changes_as_json_lines_until_it_is_interrupted(home):
    home.user.mkdir(parents=True)
    with (
        (home.folder / "out").open("wb") as out,
        subprocess.Popen(
            [sys.executable, "-m", "mdmem", "debug", "watch", "user"],
            env=home.env, cwd=home.work, stdout=out, stderr=subprocess.PIPE,
        ) as process,
    ):  # fmt: skip
        assert process.stderr is not None
        assert b"watching" in process.stderr.readline()
        home.put("a.md", "A.\n")
        wait_until((lambda: (home.folder / "out").stat().st_size > 0), "a change is printed")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130

    lines = [json.loads(line) for line in (home.folder / "out").read_text().splitlines()]
    assert {line["rel"] for line in lines} == {"a.md"}
