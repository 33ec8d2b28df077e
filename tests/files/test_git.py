"""What git says, without asking git; and the two questions that only git can answer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from mdmem.files import git
from mdmem.files.git import Repository

CLEAN = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "GIT_EDITOR": "true",
}


@pytest.fixture(autouse=True)
def _own_home(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "no-home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def run(top: Path, *arguments: str, day: int = 1, fails: bool = False) -> str:
    when = {
        "GIT_AUTHOR_DATE": f"2026-01-{day:02}T12:00:00+0200",
        "GIT_COMMITTER_DATE": f"2026-01-{day:02}T12:00:00+0200",
    }
    options = ["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", "-c", "advice.detachedHead=false"]
    done = subprocess.run(
        ["git", *options, "-C", str(top), *arguments], env=CLEAN | when, capture_output=True, text=True
    )
    assert fails or done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(top: Path, files: dict[str, str], day: int = 1) -> str:
    for rel, text in files.items():
        path = top / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run(top, "add", "-A")
    run(top, "commit", "-qm", f"day {day}", day=day)
    return run(top, "rev-parse", "HEAD")


@pytest.fixture
def top(tmp_path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    run(folder, "init", "-q")
    return folder


def test_b7_every_start_folder_leads_to_its_work_tree(top, tmp_path) -> None:
    commit(top, {"a/b/x.md": "x"})
    run(top, "worktree", "add", "-q", str(tmp_path / "linked"))
    nested = top / "a/nested"
    nested.mkdir()
    run(nested, "init", "-q")
    (tmp_path / "link").symlink_to(top / "a")
    (tmp_path / "plain").mkdir()
    main = Repository(top, top / ".git", top / ".git")
    linked = Repository(tmp_path / "linked", top / ".git/worktrees/linked", top / ".git")
    inner = Repository(nested, nested / ".git", nested / ".git")
    table = {
        top: main,
        top / "a/b": main,
        top / "not/yet/there": main,
        tmp_path / "link": main,
        tmp_path / "link/b": main,
        tmp_path / "linked": linked,
        tmp_path / "linked/a/b": linked,
        nested: inner,
        nested / "x": inner,
        tmp_path / "plain": None,
        Path("/"): None,
    }

    assert {folder: git.repository(folder) for folder in table} == table
    assert git.worktrees(top / ".git") == [tmp_path / "linked"]


def test_b7_a_submodule_is_a_repository_of_its_own(top, tmp_path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    run(library, "init", "-q")
    first = commit(library, {"x.md": "x"})
    run(top, "submodule", "add", "-q", str(library), "deps/lib")
    found = git.repository(top / "deps/lib")

    assert found == Repository(top / "deps/lib", top / ".git/modules/deps/lib", top / ".git/modules/deps/lib")
    assert git.head(found) == git.first_commit(found) == first


def test_a_forged_git_file_does_not_pose_as_another_repository(top, tmp_path) -> None:
    commit(top, {"x.md": "x"})
    run(top, "worktree", "add", "-q", str(tmp_path / "linked"))
    forged = tmp_path / "forged"
    forged.mkdir()
    own = forged / "own"
    own.mkdir()
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "commondir").write_text(str(top / ".git"))
    (own / "gitdir").write_text(str(forged / ".git"))
    for target in (top / ".git", top / ".git/worktrees/linked", own, tmp_path / "nowhere"):
        (forged / ".git").write_text(f"gitdir: {target}\n")
        assert git.repository(forged) is None
    (forged / ".git").write_text("no git file\n")
    assert git.repository(forged) is None
    (forged / ".git").unlink()
    (forged / ".git").symlink_to(top / ".git")
    assert git.repository(forged) is None
    (forged / ".git").unlink()
    os.mkfifo(forged / ".git")
    assert git.repository(forged) is None


def test_a_moved_or_removed_work_tree_is_not_listed(top, tmp_path) -> None:
    commit(top, {"x.md": "x"})
    for name in ("one", "two", "three"):
        run(top, "worktree", "add", "-q", str(tmp_path / name))
    (tmp_path / "one").rename(tmp_path / "moved")
    (tmp_path / "two/.git").unlink()

    assert git.worktrees(top / ".git") == [tmp_path / "three"]
    assert git.repository(tmp_path / "moved") is None
    assert git.worktrees(tmp_path / "nothing") == []


def test_head_follows_commits_branches_tags_and_packing(top, tmp_path) -> None:
    repo = git.repository(top)
    assert git.head(repo) is None
    first = commit(top, {"x.md": "1"})
    assert git.head(repo) == first
    second = commit(top, {"x.md": "2"})
    assert git.head(repo) == second
    run(top, "checkout", "-q", "--detach", first)
    assert git.head(repo) == first
    run(top, "checkout", "-q", "-b", "feature/a.b")
    run(top, "pack-refs", "--all")
    assert git.head(repo) == first
    run(top, "worktree", "add", "-q", str(tmp_path / "linked"), "main")
    assert git.head(git.repository(tmp_path / "linked")) == second
    third = commit(tmp_path / "linked", {"y.md": "3"})
    assert git.head(git.repository(tmp_path / "linked")) == third
    assert git.head(repo) == first


@pytest.mark.parametrize(
    "text", ["ref: ../../etc/passwd", "ref: refs/../../x", "ref: HEAD", "junk", "", "ref: refs/heads/\0"]
)
def test_a_head_that_makes_no_sense_is_none(top, text: str) -> None:
    (top / ".git/HEAD").write_text(text)

    assert git.head(git.repository(top)) is None


def test_a_ring_of_refs_ends(top) -> None:
    (top / ".git/refs/heads/main").write_text("ref: refs/heads/main\n")

    assert git.head(git.repository(top)) is None


def test_under_reftable_git_is_asked(top) -> None:
    first = commit(top, {"x.md": "1"})
    (top / ".git/reftable").mkdir()

    assert git.head(git.repository(top)) == first


def conflicting(top: Path) -> None:
    commit(top, {"x.md": "base\n"})
    run(top, "checkout", "-q", "-b", "other")
    commit(top, {"x.md": "theirs\n"}, day=2)
    run(top, "checkout", "-q", "main")
    commit(top, {"x.md": "ours\n"}, day=3)


@pytest.mark.parametrize(
    ("command", "what", "abort"),
    [
        (["merge", "other"], "merge", ["merge", "--abort"]),
        (["rebase", "other"], "rebase", ["rebase", "--abort"]),
        (["rebase", "--apply", "other"], "rebase", ["rebase", "--abort"]),
        (["cherry-pick", "other"], "cherry-pick", ["cherry-pick", "--abort"]),
        (["revert", "HEAD~1"], "revert", ["revert", "--abort"]),
    ],
)
def test_b3_work_in_progress_is_named_and_its_end_seen(top, command, what, abort) -> None:
    conflicting(top)
    repo = git.repository(top)
    assert git.busy(repo) is None
    run(top, *command, fails=True)
    assert git.busy(repo) == what
    run(top, *abort)
    assert git.busy(repo) is None


def test_b3_a_bisect_and_an_index_lock_count_too(top) -> None:
    conflicting(top)
    repo = git.repository(top)
    run(top, "bisect", "start", "HEAD", "HEAD~1")
    assert git.busy(repo) == "bisect"
    run(top, "bisect", "reset")
    (top / ".git/index.lock").touch()
    assert git.busy(repo) == "index.lock"


def test_b3_a_rebase_in_one_work_tree_leaves_the_others_at_rest(top, tmp_path) -> None:
    conflicting(top)
    run(top, "worktree", "add", "-q", str(tmp_path / "linked"), "other")
    run(tmp_path / "linked", "rebase", "main", fails=True)

    assert git.busy(git.repository(tmp_path / "linked")) == "rebase"
    assert git.busy(git.repository(top)) is None


def test_the_first_commit_is_the_same_in_a_clone_and_after_foreign_history_is_merged(top, tmp_path) -> None:
    assert git.first_commit(git.repository(top)) is None
    first = commit(top, {"x.md": "1"})
    commit(top, {"x.md": "2"}, day=2)
    run(top, "checkout", "-q", "--orphan", "foreign")
    commit(top, {"y.md": "1"}, day=3)
    run(top, "checkout", "-q", "main")
    run(top, "merge", "-q", "--allow-unrelated-histories", "-m", "both", "foreign", day=4)
    run(tmp_path, "clone", "-q", str(top), "clone")
    run(tmp_path, "clone", "-q", "--depth", "1", f"file://{top}", "shallow")

    assert git.first_commit(git.repository(top)) == first
    assert git.first_commit(git.repository(tmp_path / "clone")) == first
    assert git.first_commit(git.repository(tmp_path / "shallow")) is None


def test_dates_are_first_and_last_commit_and_leave_out_what_is_dirty(top) -> None:
    folder = top / ".mdmem"
    old = {
        ".mdmem/x.md": "1",
        ".mdmem/a/y.md": "1",
        ".mdmem/dirty.md": "1",
        "outside.md": "1",
        ".mdmem/ignored/i.md": "1",
    }
    commit(top, old | {".mdmem/gone.md": "1"}, day=1)
    (folder / "gone.md").unlink()
    commit(top, {".mdmem/x.md": "2", ".mdmem/caf\u00e9 \n].md": "1"}, day=3)
    run(top, "mv", ".mdmem/a/y.md", ".mdmem/a/z.md")
    run(top, "rm", "-q", "--cached", ".mdmem/ignored/i.md")
    commit(top, {".gitignore": "ignored/\n"}, day=5)
    (folder / "dirty.md").write_text("2")
    (folder / "new.md").write_text("untracked")
    run(top, "add", ".mdmem/new.md")
    (folder / "newer.md").write_text("untracked")
    got = git.dates(git.repository(top), folder)

    assert {rel: got[rel] for rel in got if (folder / rel).exists()} == {
        "x.md": ("2026-01-01T10:00:00Z", "2026-01-03T10:00:00Z"),
        "a/z.md": ("2026-01-05T10:00:00Z", "2026-01-05T10:00:00Z"),
        "caf\u00e9 \n].md": ("2026-01-03T10:00:00Z", "2026-01-03T10:00:00Z"),
    }


def test_dates_of_the_whole_work_tree_and_of_a_linked_one(top, tmp_path) -> None:
    commit(top, {"x.md": "1", "a/y.md": "1"}, day=1)
    run(top, "worktree", "add", "-q", str(tmp_path / "linked"))
    commit(tmp_path / "linked", {"x.md": "2"}, day=2)

    assert set(git.dates(git.repository(top), top)) == {"x.md", "a/y.md"}
    assert git.dates(git.repository(tmp_path / "linked"), tmp_path / "linked")["x.md"][1] == "2026-01-02T10:00:00Z"
    assert git.dates(git.repository(top), top)["x.md"][1] == "2026-01-01T10:00:00Z"


def test_c4_dates_know_files_whose_name_is_no_text(top) -> None:
    name = os.fsdecode(b"caf\xe9.md")
    (top / name).touch()
    commit(top, {"x.md": "1"})

    assert set(git.dates(git.repository(top), top)) == {name, "x.md"}


def test_dates_are_empty_without_commits_outside_and_without_git(top, tmp_path, monkeypatch) -> None:
    repo = git.repository(top)
    assert git.dates(repo, top) == {}
    commit(top, {"x.md": "1"})
    assert git.dates(repo, tmp_path) == {}
    assert git.dates(repo, tmp_path / "repository") == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git.dates(repo, top) == {}
    assert git.first_commit(repo) is None
    assert git.head(repo)


def test_a_commit_time_beyond_all_calendars_raises_nothing(top) -> None:
    commit(top, {"x.md": "1"})
    raw = run(top, "cat-file", "commit", "HEAD").replace(run(top, "log", "-1", "--format=%ct"), "99999999999999") + "\n"
    done = subprocess.run(
        ["git", "-C", str(top), "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        input=raw, env=CLEAN, capture_output=True, text=True, check=True,
    )  # fmt: skip
    run(top, "reset", "-q", "--hard", done.stdout.strip())

    assert set(git.dates(git.repository(top), top)) == {"x.md"}


def test_k12_nothing_that_a_repository_s_config_names_is_run(top) -> None:
    commit(top, {"x.md": "1", ".mdmem/y.md": "1"})
    trap = top / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {top}/RAN\ncat\n")
    trap.chmod(0o755)
    for name in ("post-index-change", "post-checkout", "reference-transaction"):
        (top / ".git/hooks" / name).write_text(trap.read_text())
        (top / ".git/hooks" / name).chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "gpg.program",
        "diff.external",
        "core.editor",
        "core.askPass",
        "core.sshCommand",
    ):
        run(top, "config", key, str(trap))
    run(top, "config", "log.showSignature", "true")
    os.utime(top / "x.md", (1, 1))
    repo = git.repository(top)

    assert git.dates(repo, top / ".mdmem")
    assert git.first_commit(repo)
    assert not (top / "RAN").exists()


def test_asking_changes_nothing_in_the_repository(top, monkeypatch) -> None:
    commit(top, {"x.md": "1"})
    os.utime(top / "x.md", (1, 1))  # git would like to refresh its index now
    before = {str(path): path.lstat().st_mtime_ns for path in sorted((top / ".git").rglob("*"))}
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/elsewhere/index")
    repo = git.repository(top)

    assert git.dates(repo, top)
    assert {str(path): path.lstat().st_mtime_ns for path in sorted((top / ".git").rglob("*"))} == before


def test_a_stranger_s_repository_is_not_asked(top) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to make another user's repository")
    commit(top, {"x.md": "1"})
    for path in (top, *top.rglob("*")):
        os.lchown(path, 4242, 4242)
    repo = git.repository(top)

    assert git.dates(repo, top) == {}
    assert git.first_commit(repo) is None
