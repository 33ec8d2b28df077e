"""Part B of the failure catalogue: a running daemon beside a working git."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import pytest

from mdmem.app import App
from mdmem.edit import init_project
from tests.conftest import Daemon, Home, wait_until
from tests.daemon.live import (
    Writes,
    assert_like_fresh,
    await_found,
    await_lost,
    found,
    git,
    listed,
    problem_codes,
    repository,
    running,
    scope_status,
    stamp,
    status,
)


def dirty(root: Path) -> str:
    return git(root, "status", "--porcelain")


def at_rest(daemon: Daemon, root: Path) -> bool:
    """MEMORY.md says what the memories say."""
    daemon.sync()
    manifest = (root / ".mdmem" / "MEMORY.md").read_text()
    return all(f"({path.name})" in manifest for path in (root / ".mdmem").glob("[a-z]*.md"))


def test_b2_a_clone_at_another_place_stays_clean(home: Home) -> None:
    root = repository(home)
    with running(home) as daemon:
        wait_until(lambda: at_rest(daemon, root), "MEMORY.md is made")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "manifest")
        copy = home.folder / "elsewhere" / "copy"
        copy.parent.mkdir()
        git(home.folder, "clone", "-q", str(root), str(copy))
        App().trust(str(copy))
        daemon.ask("reload")
        daemon.sync()

        assert listed(daemon, cwd=str(copy)) == {"first.md"}
        assert dirty(copy) == dirty(root) == ""


def test_b3_a_rebase_of_fifty_commits_ends_clean(home: Home) -> None:
    root = repository(home)
    init_project(str(root))  # with the ignore rule that hides a half-done write from `git add`
    with running(home) as daemon:
        wait_until(lambda: at_rest(daemon, root), "MEMORY.md is made")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "manifest")
        git(root, "rm", "-q", "--cached", ".mdmem/MEMORY.md")
        (root / ".gitignore").write_text("MEMORY.md\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "the manifest is not kept here")
        git(root, "checkout", "-qb", "work")
        for n in range(50):
            home.put(f"w{n}.md", f"work number{n}\n", root / ".mdmem")
            git(root, "add", "-A")
            git(root, "commit", "-qm", f"work {n}")
        git(root, "checkout", "-q", "main")
        home.put("upstream.md", "upstream text\n", root / ".mdmem")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "upstream")
        git(root, "checkout", "-q", "work")
        git(root, "rebase", "-q", "main")
        wait_until(lambda: at_rest(daemon, root), "MEMORY.md follows")

        assert dirty(root) == ""
        assert len(listed(daemon, cwd=str(root))) == 52
        assert_like_fresh(home, daemon)


def test_b3_a_tracked_manifest_is_not_touched_while_git_is_at_work(home: Home) -> None:
    root = repository(home)
    with running(home) as daemon:
        wait_until(lambda: at_rest(daemon, root), "MEMORY.md is made")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "manifest")
        before = stamp(root / ".mdmem" / "MEMORY.md")
        (root / ".git" / "rebase-merge").mkdir()
        home.put("second.md", "the secondword\n", root / ".mdmem")
        await_found(daemon, "secondword", cwd=str(root))
        daemon.sync()
        assert stamp(root / ".mdmem" / "MEMORY.md") == before

        (root / ".git" / "rebase-merge").rmdir()
        wait_until(lambda: b"second.md" in (root / ".mdmem" / "MEMORY.md").read_bytes(), "it is written afterwards")


def test_b4_and_b5_a_conflict_keeps_the_last_good_text_and_the_manifest_is_made_anew(home: Home) -> None:
    root = repository(home)
    folder = root / ".mdmem"
    home.put("fenced.md", "How conflicts look:\n\n```\n<<<<<<< HEAD\nfenceword\n=======\nb\n>>>>>>> x\n```\n", folder)
    with running(home) as daemon:
        wait_until(lambda: at_rest(daemon, root), "MEMORY.md is made")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "manifest")
        for branch, word in (("left", "leftword"), ("right", "rightword")):
            git(root, "checkout", "-qb", branch, "main")
            home.put("first.md", f"---\nname: {word}\n---\nThe {word} of the project.\n", folder)
            home.put(f"only-{branch}.md", f"only {word}\n", folder)
            wait_until(lambda: at_rest(daemon, root), "MEMORY.md follows")
            git(root, "add", "-A")
            git(root, "commit", "-qm", branch)
        git(root, "merge", "left", check=False)
        daemon.sync()

        assert "<<<<<<<" in (folder / "first.md").read_text()
        assert "<<<<<<<" in (folder / "MEMORY.md").read_text(), "staging is left to the person while git merges"
        assert "conflict" in " ".join(sorted(problem_codes(daemon)))
        hits = daemon.ask("search", query="rightword", mode="keyword", cwd=str(root))["hits"]
        assert all("<<<<<<<" not in str(hit) for hit in hits)
        assert found(daemon, "fenceword", cwd=str(root))

        home.put("first.md", "---\nname: both\n---\nThe bothword of the project.\n", folder)
        git(root, "add", "-A")
        git(root, "commit", "-qm", "merged")
        await_found(daemon, "bothword", cwd=str(root))
        wait_until(lambda: at_rest(daemon, root), "MEMORY.md is made anew")
        assert b"<<<<<<<" not in (folder / "MEMORY.md").read_bytes()
        assert_like_fresh(home, daemon)


def test_b6_a_stash_takes_memories_out_and_brings_them_back_and_nothing_is_written_back(home: Home) -> None:
    root = repository(home)
    with running(home) as daemon:
        home.put("untracked.md", "the stashword\n", root / ".mdmem")
        await_found(daemon, "stashword", cwd=str(root))
        git(root, "stash", "-u", "-q")
        await_lost(daemon, "stashword", cwd=str(root))
        daemon.sync()
        assert not (root / ".mdmem" / "untracked.md").exists()

        git(root, "checkout", "-q", "--", ".", check=False)
        (root / ".mdmem" / "MEMORY.md").unlink(missing_ok=True)  # made again meanwhile; a pop refuses over it
        git(root, "stash", "pop", "-q", check=False)
        if not (root / ".mdmem" / "untracked.md").exists():
            (root / ".mdmem" / "MEMORY.md").unlink(missing_ok=True)
            git(root, "stash", "pop", "-q")
        await_found(daemon, "stashword", cwd=str(root))


def test_b7_a_worktree_that_is_added_is_seen_and_one_removed_leaves(home: Home) -> None:
    root = repository(home)
    with running(home) as daemon:
        daemon.sync()
        tree = home.folder / "tree"
        git(root, "worktree", "add", "-q", "-b", "side", str(tree))
        home.put("side.md", "the sideword\n", tree / ".mdmem")
        await_found(daemon, "sideword", cwd=str(tree))
        (tree / "deep" / "er").mkdir(parents=True)

        assert found(daemon, "sideword", cwd=str(tree / "deep" / "er"))
        assert not found(daemon, "sideword", cwd=str(root))
        assert {s["scope_ref"] for s in status(daemon)["scopes"] if s["scope"] == "project"} == {"repo"}

        git(root, "worktree", "remove", "--force", str(tree))
        wait_until(lambda: len(status(daemon)["scopes"]) == 2, "its folder is no scope any more")
        assert_like_fresh(home, daemon)


def test_b9_only_the_scope_folder_is_watched(home: Home) -> None:
    root = repository(home)
    for n in range(300):
        (root / "node_modules" / f"m{n}" / "lib").mkdir(parents=True)
    with running(home) as daemon:
        daemon.sync()

        assert scope_status(daemon, root / ".mdmem")["watch"] == "events"
        assert watches(daemon) < 10


def watches(daemon: Daemon) -> int:
    count = 0
    for fd in Path(f"/proc/{daemon.process.pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += fd.read_text().count("inotify wd:")
    return count


def test_b10_nothing_but_memories_and_the_manifest_is_ever_left_in_a_scope_folder(home: Home) -> None:
    root = repository(home)
    with running(home, watch_heartbeat_seconds=0.5) as daemon:
        for n in range(20):
            home.put(f"m{n}.md", f"word{n}\n", root / ".mdmem")
        await_found(daemon, "word19", cwd=str(root))
        daemon.sync()
        for n in range(10):
            (root / ".mdmem" / f"m{n}.md").unlink()
        await_lost(daemon, "word9", cwd=str(root))
        daemon.sync()

        names = {p.name for p in (root / ".mdmem").iterdir() if not p.name.startswith(".mdmem-cookie-")}
        assert names == {"MEMORY.md", "first.md", *(f"m{n}.md" for n in range(10, 20))}


def test_j1_one_edit_writes_the_manifest_once_and_then_never_again(home: Home, daemon: Daemon) -> None:
    home.put("a.md", "---\nname: old\n---\ntext\n")
    daemon.sync()
    wait_until((home.user / "MEMORY.md").exists, "it is made")
    with Writes(home.user / "MEMORY.md") as writes:
        home.put("a.md", "---\nname: new\n---\ntext\n")
        wait_until(lambda: b"[new]" in (home.user / "MEMORY.md").read_bytes(), "it follows")
        written = stamp(home.user / "MEMORY.md")
        for _ in range(5):
            daemon.sync()
        threading.Event().wait(1.0)  # an endless rewrite would show by now

    assert stamp(home.user / "MEMORY.md") == written
    assert writes.count == 1


@pytest.mark.parametrize("many", [1_000])
def test_e19_a_tree_copied_in_while_the_daemon_starts_is_found_whole(home: Home, many: int) -> None:
    def copy() -> None:
        for n in range(many):
            home.put(f"d{n % 20}/e{n % 3}/m{n}.md", f"copied word{n}\n")

    copying = threading.Thread(target=copy)
    copying.start()
    try:
        with running(home) as daemon:
            copying.join()
            wait_until(lambda: status(daemon)["index"]["memories"] == many, "all are there, by events alone")
            assert_like_fresh(home, daemon)
    finally:
        copying.join()


def test_a_search_that_meets_a_changed_file_does_not_wait_for_git(home: Home) -> None:
    root = repository(home)
    tools = home.folder / "tools"
    home.put("git", "#!/bin/sh\nsleep 3\nexit 1\n", tools).chmod(0o755)
    home.env["PATH"] = f"{tools}:{home.env['PATH']}"
    with running(home, watch_quiet_ms=5_000, watch_max_ms=60_000) as daemon:
        await_found(daemon, "project", cwd=str(root))
        home.put("first.md", "The changedword of the project.\n", root / ".mdmem")
        started = time.monotonic()
        assert found(daemon, "project", cwd=str(root))
        assert found(daemon, "changedword", cwd=str(root))
        assert time.monotonic() - started < 2.0
