from __future__ import annotations

import os

import pytest

from tests.conftest import Daemon


def test_add_prints_key_and_path_and_can_be_found_at_once(home, call):
    done = call("add", "Never push to main.", "--type", "rule", "--key", "git:main")

    assert done.out == f"git:main  {home.user}/never-push-to-main.md\n"
    assert [m["key"] for m in call("search", "push main", "--json").json] == ["git:main"]


def test_add_with_a_daemon_is_findable_when_it_returns_even_in_a_new_scope(home, call, daemon: Daemon):
    done = call("add", "Alpha beta.", "--agent", "bob", "--json")

    assert done.json["scope"] == "agent"
    assert [h["key"] for h in daemon.ask("search", query="alpha", agent="bob")["hits"]] == ["alpha-beta"]
    watched = {s["path"]: s["watch"] for s in daemon.ask("status")["status"]["scopes"]}
    assert watched[str(home.mdmem / "agents" / "bob")] == "events"


def test_add_reads_a_pipe(home, call):
    assert call("add", stdin="From a pipe.\n").code == 0
    assert call("add", "-", "--name", "second", stdin="\ufeffFrom a second pipe.\n").code == 0
    assert (home.user / "from-a-pipe.md").exists()
    assert call("show", "second", "--json").json["body"] == "From a second pipe.\n"


def test_add_goes_to_the_project_around_the_working_directory(home, call, project):
    assert call("add", "A thing.", "--json").json["scope_ref"] == "work"
    assert call("add", "Mine.", "--scope", "user", "--json").json["scope"] == "user"


def test_add_says_it_when_the_project_is_not_trusted(home, call):
    (home.work / ".mdmem").mkdir()
    done = call("add", "A thing.")

    assert "not trusted" in done.err
    assert str(home.user) in done.out


def test_a_key_is_given_once_in_a_folder(home, call, project):
    assert call("add", "One.", "--key", "a:b").code == 0
    done = call("add", "Two.", "--key", "A:B")

    assert done.code == 4
    assert "taken" in done.err
    assert call("add", "Three.", "--key", "a:b", "--scope", "user").code == 0


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["add", "x", "--type", "rul"], "rule"),
        (["add", "x", "--confidence", "high"], "number"),
        (["add", "x", "--scope", "team"], "project"),
        (["add", "x", "--scope", "agent"], "--agent"),
        (["add", "x", "--agent", "../up"], "letters"),
        (["add", ""], "text"),
        (["add", "x", "--scope", "project"], ""),
    ],
)
def test_what_cannot_be_written_is_said_and_writes_nothing(home, call, args, word):
    done = call(*args)

    assert done.code in (2, 3)
    assert word in done.err
    assert not home.user.exists() or not list(home.user.iterdir())


def test_20_c5_k15_nasty_titles_become_memories_and_nothing_runs(home, call):
    titles = [
        "a: b",
        "$(touch x)",
        "`touch x`",
        "../../x",
        "-x",
        "]( x",
        "# h",
        "100%",
        "🎉",
        "a\"b'c",
        "ü\u202ex",
        "a\nb",
    ]
    for title in titles:
        assert call("add", f"About {title!r}.", "--name", title).code == 0, title
    listed = call("list", "--json").json

    assert len(listed) == len(titles)
    assert {m["name"] for m in listed} >= {"a: b", "$(touch x)", "`touch x`"}
    assert not (home.work / "x").exists()
    assert call("list").out.count("\u202e") == 0


def test_edit_sets_and_unsets_lines_and_keeps_the_rest(home, call):
    path = home.put("a.md", "---\n# mine\ntype: fact   # why\nexpires: 2030-01-01\n---\nText.\n")
    done = call("edit", "a", "--set", "type=rule", "--set", "tags=x", "--set", "tags=y", "--unset", "expires", "--json")

    assert done.json["type"] == "rule"
    assert done.json["tags"] == ["x", "y"]
    text = path.read_text()
    assert "# mine\n" in text
    assert "expires" not in text
    assert text.endswith("---\nText.\n")


def test_edit_opens_the_editor(home, call, monkeypatch):
    home.put("a.md", "Text.\n")
    monkeypatch.setenv("EDITOR", "sed -i s/Text/Other/")

    assert call("edit", "a").code == 0
    assert [h["key"] for h in call("search", "other", "--json").json] == ["a"]
    monkeypatch.setenv("EDITOR", "true")
    assert "nothing was changed" in call("edit", "a").err
    monkeypatch.setenv("EDITOR", "/nowhere/editor")
    assert call("edit", "a").code != 0


def test_edit_without_a_terminal_or_an_editor_names_the_flag(home, call):
    home.put("a.md", "Text.\n")
    done = call("edit", "a")

    assert done.code == 2
    assert "--set" in done.err
    assert call("edit", "a", "--set", "type").code == 2


def test_archive_and_restore_are_seen_at_once_and_change_nothing_in_the_end(home, call):
    path = home.put("a.md", "Alpha.\n")
    home.put("b.md", "Beta.\n")
    before = path.read_bytes()
    done = call("archive", "a", "b", "--json")

    assert [m["status"] for m in done.json] == ["archived", "archived"]
    assert call("list", "--json").json == []
    assert call("restore", "a", "b").code == 0
    assert path.read_bytes() == before
    assert len(call("list", "--json").json) == 2


def test_restore_says_when_a_memory_stays_invalid(home, call):
    home.put("a.md", "---\nstatus: archived\nexpires: 2020-01-01\n---\nAlpha.\n")
    done = call("restore", "a")

    assert done.code == 0
    assert "not recalled" in done.err


def test_archive_of_one_unknown_key_changes_none(home, call):
    path = home.put("a.md", "Alpha.\n")

    assert call("archive", "a", "nope").code == 3
    assert path.read_text() == "Alpha.\n"


def test_move_takes_a_memory_to_another_scope(home, call, project):
    home.put("a.md", "Alpha.\n")
    done = call("move", "a", "--scope", "project", "--json")

    assert done.json[0]["path"] == str(project / "a.md")
    assert not (home.user / "a.md").exists()
    assert [m["scope"] for m in call("list", "--json").json] == ["project"]
    assert call("move", "a").code == 2


def test_a_move_with_a_daemon_leaves_nothing_behind_in_the_index(home, call, project):
    home.put("a.md", "Alpha.\n")
    home.env["MDMEM_WATCH_QUIET_MS"] = home.env["MDMEM_WATCH_MAX_MS"] = "10000"  # only what it is told counts
    daemon = Daemon(home)
    try:
        daemon.sync()
        assert call("move", "a", "--scope", "project").code == 0
        listed = daemon.ask("list", cwd=str(home.work))["memories"]
    finally:
        daemon.stop()

    assert [m["scope"] for m in listed] == ["project"]


def test_a_mount_is_never_written(home, call):
    folder = home.folder / "others"
    path = home.put("a.md", "Alpha.\n", folder)
    home.put("config.toml", f'[[scopes.mounts]]\npath = "{folder}"\n', home.mdmem)

    for args in (
        ["archive", "a"],
        ["edit", "a", "--set", "type=rule"],
        ["move", "a", "--scope", "agent", "--agent", "x"],
    ):
        assert call(*args).code == 4, args
    assert path.read_text() == "Alpha.\n"
    assert os.listdir(folder) == ["a.md"]


def test_a_file_written_while_the_index_is_locked_is_said_to_wait(home, call):
    from mdmem.db import WriterLock

    call("sync")
    lock = WriterLock(str(home.mdmem / "run" / "mdmem.lock"))
    lock.take("a test")
    try:
        done = call("add", "Alpha.")
    finally:
        lock.release()

    assert done.code == 0
    assert "not in the index yet" in done.err
    assert (home.user / "alpha.md").exists()


def test_init_makes_a_folder_and_trusts_it(home, call):
    done = call("init", ".", "--json")

    assert done.json == {"scope": "project", "scope_ref": "work", "path": f"{home.work}/.mdmem", "created": True}
    assert call("init", ".", "--json").json["created"] is False
    assert (home.work / ".mdmem" / ".gitattributes").exists()
    assert (home.work / ".mdmem" / ".gitignore").exists()
    assert not (home.work / ".mdmem" / "MEMORY.md").exists(), "nothing is generated before there is a memory"


def test_init_does_not_take_the_home_folder_by_accident(home, call, monkeypatch):
    monkeypatch.chdir(home.folder)

    assert call("init").code == 4
    assert call("init", "nowhere").code == 3


def test_init_offers_to_adopt_and_adopts(home, call):
    home.put("MEMORY.md", "# Ours\n\n- use tabs\n", home.work / ".mdmem")
    offered = call("init", ".")
    assert "--adopt" in offered.err
    assert (home.work / ".mdmem" / "MEMORY.md").read_text() == "# Ours\n\n- use tabs\n"

    assert call("init", ".", "--adopt").code == 0
    text = (home.work / ".mdmem" / "MEMORY.md").read_text()
    assert text.startswith("# Ours\n")
    assert "](use-tabs.md)" in text


def test_trust_wants_memories_that_are_no_link(home, call):
    assert call("trust", home.work).code == 3
    assert call("untrust", home.work).code == 3
    (home.folder / "real").mkdir()
    (home.work / ".mdmem").symlink_to(home.folder / "real")
    assert call("trust", home.work).code == 4


def test_a_likely_repetition_is_warned_of_and_written_all_the_same(call):
    assert call("add", "Deploy the web shop with make deploy.", "--name", "Deploy the shop").code == 0
    again = call("add", "Deploy the web shop with make deploy.", "--name", "Deploy the shop again")
    assert again.code == 0
    assert "deploy-the-shop says nearly the same" in again.err
    assert call("add", "The tea is on the second floor.", "--name", "Tea").err == ""
