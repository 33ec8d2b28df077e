from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import Daemon

DEPLOY = "---\nkey: deploy:blyck\ntype: capability\n---\nAWS deploys from this machine.\n"


def test_search_finds_a_file_that_was_just_saved_without_a_daemon(home, call):
    home.put("deploy.md", DEPLOY)
    done = call("search", "AWS", "deploys", "--json")

    assert done.code == 0
    assert [hit["key"] for hit in done.json] == ["deploy:blyck"]
    assert done.json[0]["path"] == str(home.user / "deploy.md")


def test_no_hits_is_success(home, call):
    assert call("search", "nothing", "--json")[:2] == (0, "[]\n")
    assert call("search", "nothing")[:2] == (0, "")
    assert call("list", "--json")[:2] == (0, "[]\n")


def test_a_person_sees_rank_key_type_description_path_and_reasons(home, call):
    home.put("deploy.md", DEPLOY)
    done = call("search", "deploy:blyck", "--explain")

    assert done.out.splitlines()[0] == "1. deploy:blyck  capability · user"
    assert "AWS deploys from this machine." in done.out
    assert str(home.user / "deploy.md") in done.out
    assert "exact key; lexical #1" in done.out


def test_what_was_missing_is_said_on_stderr_and_not_on_stdout(home, call):
    home.put("deploy.md", DEPLOY)
    done = call("search", "AWS", "--mode", "semantic", "--json")

    assert done.json is not None
    assert done.err.strip()


def test_words_that_look_like_options_are_words_after_two_dashes(home, call):
    home.put("x.md", "use the -x flag\n")

    assert [h["key"] for h in call("search", "--json", "--", "-x", "flag").json] == ["x"]


def test_show_gives_the_file_and_its_warning(home, call):
    home.put("old.md", "---\nstatus: archived\n---\nOld.\n")
    done = call("show", "old")

    assert done.out == "---\nstatus: archived\n---\nOld.\n"
    assert "not recalled now" in done.err
    shown = call("show", "old", "--json").json
    assert shown["body"] == "Old.\n"
    assert shown["warning"].startswith("not recalled now")


def test_k4_61_show_cannot_command_the_terminal(home, call):
    home.put("evil.md", "one\x1b]0;owned\x07\n\x1b[31mtwo\n")

    assert "\x1b" not in call("show", "evil").out


def test_an_unclear_key_lists_the_choices(home, call):
    home.put("deploy-a.md", "a\n")
    home.put("deploy-b.md", "b\n")
    done = call("show", "deploy")

    assert done.code == 2
    assert "deploy-a" in done.err
    assert "deploy-b" in done.err
    assert "try:" in done.err


def test_a_memory_is_found_by_its_path_as_the_shell_completes_it(home, call):
    path = home.put("ops/deploy.md", DEPLOY)

    assert call("show", path, "--json").json["key"] == "deploy:blyck"
    assert call("show", "ops/deploy.md", "--json").json["key"] == "deploy:blyck"


def test_list_filters(home, call, project):
    home.put("a.md", "---\ntype: rule\ndomain: ops\n---\nA.\n")
    home.put("b.md", "---\nstatus: archived\n---\nB.\n")
    home.put("c.md", "C.\n", project)

    def keys(*args: str) -> list[str]:
        return [memory["key"] for memory in call("list", "--json", *args).json]

    assert keys() == ["c", "a"]
    assert keys("--include-invalid") == ["c", "a", "b"]
    assert keys("--type", "policy") == ["a"]
    assert keys("--domain", "OPS") == ["a"]
    assert keys("--scope", "project") == ["c"]
    assert keys("--status", "archived") == ["b"]
    assert keys("--cwd", "/") == ["a"]


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["search", "x", "--mode", "hybird"], "hybrid"),
        (["search", "x", "--type", "rul"], "rule"),
        (["list", "--scope", "projct"], "project"),
        (["search", "x", "--as-of", "soon"], "2026-11-29"),
    ],
)
def test_a_wrong_word_names_the_right_one(call, args, hint):
    done = call(*args)

    assert done.code == 2
    assert hint in done.err


def test_with_and_without_a_daemon_the_answers_are_the_same(home, call, daemon: Daemon):
    home.put("deploy.md", DEPLOY)
    home.put("bad.md", "---\nconfidence: high\n---\nBad.\n")
    home.put("old.md", "---\nexpires: 2020-01-01\n---\nOld AWS.\n")
    questions = [
        ["search", "AWS", "--json"],
        ["search", "AWS", "--include-invalid"],
        ["search", "deploy:blyck", "--explain"],
        ["search", "x", "--type", "nope"],
        ["list", "--json"],
        ["list", "--status", "archived"],
        ["show", "deploy:blyck"],
        ["show", "nope"],
        ["show", "d"],
        ["debug", "query", "AWS"],
    ]
    assert call("sync").code == 0
    with_daemon = [call(*question) for question in questions]
    daemon.stop()
    without = [call(*question) for question in questions]

    assert with_daemon == without


def test_f14_every_reading_command_works_with_the_daemon_off(home, call):
    home.put("a.md", "A.\n")
    for args in (
        ["search", "a"],
        ["list"],
        ["show", "a"],
        ["status"],
        ["sync"],
        ["reindex"],
        ["check"],
        ["debug", "index"],
    ):
        assert call(*args).code == 0, args


def test_a_command_that_meets_another_writer_reads_what_is_there_and_says_so(home, call):
    from mdmem.db import WriterLock

    home.put("a.md", "Alpha.\n")
    call("sync")
    lock = WriterLock(str(home.mdmem / "run" / "mdmem.lock"))
    lock.take("a test")
    try:
        done = call("search", "alpha", "--json")
        assert [hit["key"] for hit in done.json] == ["a"]
        assert "another mdmem is writing the index" in done.err
        assert call("sync").code == 6
    finally:
        lock.release()


def test_the_project_of_another_folder_is_not_seen_until_it_is_trusted(home, call):
    folder = home.folder / "shop"
    (folder / ".git").mkdir(parents=True)
    home.put("a.md", "Alpha.\n", folder / ".mdmem")
    done = call("search", "alpha", "--cwd", folder, "--json")
    assert done.json == []
    assert "mdmem trust" in done.err

    assert call("trust", folder).code == 0
    assert [h["key"] for h in call("search", "alpha", "--cwd", folder, "--json").json] == ["a"]
    assert call("untrust", folder).code == 0
    assert call("search", "alpha", "--cwd", folder, "--json").json == []
    assert Path(folder, ".mdmem", "a.md").exists()


NASTY = [
    b"a\x1b[31mred.md", b"new\nline.md", b"-x.md", b"](x.md", b"#h.md", b"100%.md", "🎉.md".encode(), b"bad\xff.md",
    "rtl\u202e.md".encode(), b'"q".md', b"'q'.md", b"$(touch x).md", b"a b.md", b"!!.md", b"&amp;.md", b"a\rb.md",
]  # fmt: skip


def test_c5_k4_k15_nasty_file_names_are_listed_shown_and_changed_and_nothing_runs(home, call):
    import os

    home.user.mkdir(parents=True)
    for name in NASTY:
        Path(os.fsdecode(os.fsencode(home.user) + b"/" + name)).write_bytes(
            b"---\ntype: \x1b]0;x\x07odd\n---\nNasty \x1b[31m.\n"
        )
    shown = [
        call(*args)
        for args in (["list"], ["search", "nasty", "--explain"], ["status"], ["check"], ["list", "--json"], ["doctor"])
    ]

    assert not any(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.out + done.err) for done in shown)
    listed = shown[4].json
    assert len(listed) == len(NASTY)
    for memory in listed:
        assert call("show", "--json", "--", memory["path"]).json["path"] == memory["path"]
    assert call("archive", "--", "-x", *(m["path"] for m in listed if "bad" in m["path"])).code == 0
    assert len(call("list", "--json").json) == len(NASTY) - 2
    assert (home.user / "MEMORY.md").read_text().count("\n- [") == len(NASTY) - 2
    assert not Path("x").exists()
