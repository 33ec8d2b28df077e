from __future__ import annotations

import threading

from tests.conftest import Daemon

BAD = "---\nconfidence: high\n---\nBad.\n"


def test_sync_counts_what_it_did(home, call):
    home.put("a.md", "A.\n")
    home.put("bad.md", BAD)

    counts = call("sync", "--json").json
    assert {name: counts[name] for name in ("added", "changed", "removed", "problems")} == {
        "added": 2, "changed": 0, "removed": 0, "problems": 1
    }  # fmt: skip
    assert isinstance(counts["ms"], int)
    (home.user / "a.md").unlink()
    assert call("sync").out == "since the last look 0 added, 0 changed, 1 removed; 1 problem\n"


def test_reindex_gives_the_same_answers(home, call):
    home.put("a.md", "Alpha.\n")
    before = call("search", "alpha", "--json").json

    assert call("reindex").code == 0
    assert call("search", "alpha", "--json").json == before


def test_long_work_says_how_far_it_is_at_a_terminal_alone_and_leaves_no_trace(home, call, daemon: Daemon, monkeypatch):
    from mdmem.cli import progress

    home.put("a.md", "Alpha.\n")
    daemon.sync()
    told = threading.Event()
    real = progress._count

    def slow(request: object) -> dict[str, int]:
        assert told.wait(20)
        return {"added": 0, "changed": 0, "removed": 0, "problems": 0, "ms": 1}

    def count() -> str:
        text = real()
        told.set()
        return text

    monkeypatch.setattr(progress, "ask", slow)
    monkeypatch.setattr(progress, "_count", count)
    monkeypatch.setattr(progress, "EVERY_S", 0.01)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    done = call("sync")

    assert done.out == "since the last look 0 added, 0 changed, 0 removed; 0 problems\n"
    assert "reading memories … " in done.err
    assert done.err.endswith("\r\x1b[K")


def test_status_shows_problems_with_path_line_and_repair(home, call):
    home.put("bad.md", BAD)
    done = call("status")

    assert done.code == 1
    assert f"{home.user}/bad.md:2: confidence is 'high'" in done.out
    assert "try: write a number" in done.out
    assert "daemon   not running" in done.out


def test_status_as_json_has_every_part(home, call, daemon: Daemon):
    daemon.sync()
    status = call("status", "--json").json

    assert status["daemon"]["pid"] == daemon.process.pid
    assert status["problems"] == []
    assert {"scopes", "index", "embedder", "llm", "candidates", "conflicts", "untrusted"} <= status.keys()
    assert [s["watch"] for s in status["scopes"]] == ["events"]
    assert "watch events" in call("status").out


def test_check_needs_no_index_and_names_each_mistake(home, call):
    home.put("bad.md", BAD, home.work / ".mdmem")
    home.put("ok.md", "Fine.\n", home.work / ".mdmem")
    done = call("check")

    assert done.code == 1
    assert done.out.startswith(".mdmem/bad.md:2: confidence is 'high', not a number from 0 to 1")
    assert not (home.mdmem / "state" / "index.db").exists()


def test_check_of_files_as_pre_commit_gives_them(home, call):
    folder = home.work / ".mdmem"
    home.put("sub/bad.md", BAD, folder)
    home.put("ok.md", "Fine.\n", folder)
    home.put("MEMORY.md", "---\nconfidence: high\n---\n", folder)

    assert call("check", ".mdmem/ok.md", ".mdmem/MEMORY.md").code == 0
    found = call("check", ".mdmem/ok.md", ".mdmem/sub/bad.md", "--json").json
    assert [(f["path"], f["line"], f["code"], f["ok"]) for f in found] == [
        (".mdmem/sub/bad.md", 2, "bad-confidence", False)
    ]
    assert call("check", "nope.md").code == 3


def test_check_of_folders(home, call):
    home.put("bad.md", BAD, home.folder / "other")
    home.put("bad.md", BAD, home.work / ".mdmem")

    assert [f["path"] for f in call("check", home.folder / "other", "--json").json] == [f"{home.folder}/other/bad.md"]
    assert [f["path"] for f in call("check", home.work, "--json").json] == [".mdmem/bad.md"]
    assert call("check", home.work / ".mdmem").code == 1


def test_check_sees_two_files_with_one_key_and_broken_yaml(home, call):
    home.put("a.md", "---\nkey: x:y\n---\nA.\n")
    home.put("b.md", "---\nkey: X:Y\n---\nB.\n")
    home.put("c.md", "---\nkey: x:y\nstatus: archived\n---\nC.\n")
    home.put("d.md", "---\nkey: [\n---\nD.\n")

    assert {(f["path"].rpartition("/")[2], f["code"]) for f in call("check", "--json").json} == {
        ("b.md", "same-key"), ("d.md", "yaml-broken")
    }  # fmt: skip


def test_check_and_sync_agree_about_files(home, call):
    home.put("bad.md", BAD)
    home.put("date.md", "---\nexpires: soon\n---\nX.\n")
    home.put("bin.md", "\0\1\2")
    (home.user / "link.md").symlink_to("bad.md")
    checked = {(f["path"], f["line"], f["code"]) for f in call("check", "--json").json}

    assert checked == {(f["path"], f["line"], f["code"]) for f in call("status", "--json").json["problems"]}
    assert len(checked) == 4


def test_doctor_finds_nothing_on_a_sound_machine(home, call, daemon: Daemon):
    home.put("a.md", "A.\n")
    daemon.sync()
    findings = call("doctor", "--json").json
    wrong = [f for f in findings if not f["ok"] and f["check"] != "watch"]

    assert wrong == []
    assert {f["check"] for f in findings} >= {
        "config",
        "sqlite",
        "permissions",
        "disk",
        "git",
        "daemon",
        "watch",
        "index",
    }


def test_doctor_names_each_fault_and_its_repair(home, call):
    home.put("a.md", "A.\n")
    call("sync")
    (home.mdmem / "state").chmod(0o755)
    index = home.mdmem / "state" / "index.db"
    index.write_bytes(index.read_bytes()[:4096] + b"\xff" * 8192)
    done = call("doctor", "--json")

    assert done.code == 1
    wrong = {f["code"]: f for f in done.json if not f["ok"]}
    assert {"daemon-down", "too-open", "index-damaged"} <= wrong.keys()
    assert all(f["hint"] for f in wrong.values())
    assert "fail daemon" in call("doctor").out


def test_doctor_says_that_the_config_is_unusable(home, call):
    home.put("config.toml", "[embedder]\nmodle = 1\n", home.mdmem)
    done = call("doctor", "--json")

    assert done.code == 1
    assert [f["code"] for f in done.json] == ["config-unusable"]
