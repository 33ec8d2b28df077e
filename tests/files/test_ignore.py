"""Names: what can be a memory, what a program left behind, and what a person wants left out."""

from __future__ import annotations

import os

import pytest

from mdmem.files import is_memory_name, load_rules, matters, scan, skip_folder
from mdmem.files.ignore import BY_PRODUCTS, SYNC_CONFLICT, is_conflict_copy, original_of, stub_of

LEFT_BY = {
    "a1 vim": [".x.md.swp", ".x.md.swo", "4913", "x.md~"],
    "a2 emacs": [".#x.md", "#x.md#", "x.md~", "x.md.~1~"],
    "a4 nano": ["x.md~", ".x.md.swp", "x.md.save"],
    "a4 jetbrains": ["x.md___jb_tmp___", "x.md___jb_old___"],
    "a4 kate": [".x.md.kate-swp", "x.md~"],
    "a4 gnome": [".goutputstream-AB12CD"],
    "a5 obsidian": [".x.md.tmp"],
    "a6 icloud": [".x.md.icloud"],
    "a7 syncthing": [".syncthing.x.md.tmp", "~syncthing~x.md.tmp"],
    "office": ["~$x.md", ".~lock.x.md#"],
    "rsync": [".x.md.Ab3dEf"],
    "agents": ["x.md.tmp.4711.1795990000", "x.md.tmp"],
    "git": ["x_BACKUP_4711.md", "x_BASE_4711.md", "x_LOCAL_4711.md", "x_REMOTE_4711.md", "x.md.orig", "x.md.rej"],
    "f1 mdmem": [".mdmem-tmp-0123456789abcdef", ".mdmem-cookie-0123456789abcdef"],
}

CONFLICTS = [
    "x.sync-conflict-20260102-123456-ABCDEFG.md",
    "x (Ann's conflicted copy 2026-01-02).md",
    "x (conflicted copy 2026-01-02 123456).md",
    "x (Conflicted copy phone 202601021234).md",
    "x (Case Conflict).md",
    "x (Case Conflict 1).md",
    "x (Unicode Encoding Conflict).md",
    "x (王的冲突副本 2026-01-02).md",
    "x_conflict-20260102-123456.md",
    "x (SFConflict ann@example.org 2026-01-02-12-34-56).md",
    "x [conflicted].md",
    "x_disk_Jan-02-123456-2026_Conflict.md",
    "x.Conflict.md",
]

KEPT = [
    "x.md",
    "X.MD",
    "x 2.md",
    "x (2).md",
    "-dash.md",
    "😀.md",
    "#1.md",
    "merge.conflict.md",
    "conflict.md",
    "how to resolve a conflicted copy.md",
    "conflicts (git).md",
    "部署.md",
    "a\nb.md",
    "a](b.md",
    "100%.md",
    "x_LOCAL.md",
    "memory-of-x.md",
    "~x.md",
]


@pytest.mark.parametrize("program", LEFT_BY)
def test_a_program_s_by_products_are_no_memories(program: str) -> None:
    assert [name for name in LEFT_BY[program] if is_memory_name(name)] == []


@pytest.mark.parametrize("name", CONFLICTS)
def test_a6_a7_conflict_copies_are_known_by_name(name: str) -> None:
    assert is_conflict_copy(name)
    assert not is_memory_name(name)
    assert matters(name)


@pytest.mark.parametrize("name", KEPT)
def test_c5_ordinary_and_nasty_names_are_memories(name: str) -> None:
    assert is_memory_name(name)
    assert matters(name)


@pytest.mark.parametrize("name", ["MEMORY.md", "memory.md", "README.md", "ReadMe.md", "index.md", "log.md", "LOG.MD"])
def test_reserved_names_are_no_memories_in_any_case(name: str) -> None:
    assert not is_memory_name(name)


@pytest.mark.parametrize("name", ["x.txt", "x.markdown", "md", ".md", "x.md.png", "x"])
def test_other_files_are_no_memories_and_do_not_matter(name: str) -> None:
    assert not is_memory_name(name)
    assert not matters(name)


def test_every_program_in_the_lists_has_an_example_here() -> None:
    assert len(SYNC_CONFLICT) <= len(CONFLICTS)
    for pattern in [*SYNC_CONFLICT.values(), *BY_PRODUCTS.values()]:
        names = CONFLICTS + [name for names in LEFT_BY.values() for name in names]
        assert any(__import__("re").fullmatch(pattern, name, __import__("re").I) for name in names), pattern


def test_an_online_stub_names_its_file() -> None:
    assert stub_of(".x.md.icloud") == "x.md"
    assert stub_of(".README.md.icloud") is None
    assert stub_of("x.md.icloud") is None
    assert matters(".x.md.icloud")
    assert matters(".mdmemignore")


def test_a_numbered_name_tells_its_original() -> None:
    assert original_of("x 2.md") == "x.md"
    assert original_of("x.md") is None
    assert original_of("x 1.md") is None


@pytest.mark.parametrize("name", [".obsidian", ".trash", ".git", ".stversions", ".venv", "node_modules", "__pycache__"])
def test_b9_hidden_and_dependency_folders_are_not_looked_into(name: str) -> None:
    assert skip_folder(name)


@pytest.mark.parametrize("name", ["build", "vendor", "docs", "x.md", "env"])
def test_folders_that_a_person_may_have_named_are_looked_into(name: str) -> None:
    assert not skip_folder(name)


def test_rules_are_gitignore_s(tmp_path) -> None:
    (tmp_path / ".mdmemignore").write_text("# mine\ndrafts/\n*.tmp.md\n!keep.tmp.md\n/only-here.md\n")
    rules = load_rules(tmp_path)

    assert rules.skips("drafts", True)
    assert not rules.skips("drafts", False)
    assert rules.skips("a/drafts", True)
    assert rules.skips("a/x.tmp.md", False)
    assert not rules.skips("a/keep.tmp.md", False)
    assert rules.skips("only-here.md", False)
    assert not rules.skips("a/only-here.md", False)


def test_without_an_ignore_file_nothing_is_skipped_and_the_stamp_is_empty(tmp_path) -> None:
    assert load_rules(tmp_path).stamp == ""
    assert not load_rules(tmp_path).skips("x.md", False)
    assert load_rules(tmp_path / "missing").stamp == ""


def test_the_stamp_follows_the_bytes_of_the_ignore_file(tmp_path) -> None:
    file = tmp_path / ".mdmemignore"
    file.write_text("a\n")
    first = load_rules(tmp_path).stamp
    os.utime(file, (1, 1))
    touched = load_rules(tmp_path).stamp
    file.write_text("b\n")

    assert first == touched
    assert load_rules(tmp_path).stamp not in ("", first)


def test_c2_a_rule_fits_either_spelling_of_a_name(tmp_path) -> None:
    (tmp_path / ".mdmemignore").write_text("caf\u00e9.md\n", encoding="utf-8")
    rules = load_rules(tmp_path)

    assert rules.skips("caf\u00e9.md", False)
    assert rules.skips("cafe\u0301.md", False)


def test_c4_a_rule_may_name_a_file_that_is_no_text(tmp_path) -> None:
    (tmp_path / ".mdmemignore").write_bytes(b"\xef\xbb\xbfx\xe9.md\n")

    assert load_rules(tmp_path).skips(os.fsdecode(b"x\xe9.md"), False)


def test_a_line_that_cannot_be_read_is_a_problem_and_the_others_count(tmp_path) -> None:
    (tmp_path / ".mdmemignore").write_text("a.md\n!\n[z-a]\nb.md\n")
    rules = load_rules(tmp_path)

    assert [(p.path, p.line, p.code) for p in rules.problems] == [
        (".mdmemignore", 2, "ignore-line"),
        (".mdmemignore", 3, "ignore-line"),
    ]
    assert rules.skips("b.md", False)
    assert {p.line for p in scan(tmp_path).problems} == {2, 3}


def test_k17_a_pattern_that_would_take_minutes_is_refused(tmp_path) -> None:
    (tmp_path / ".mdmemignore").write_text("*a*a*a*a*a*a*a*b\n")
    rules = load_rules(tmp_path)

    assert "stars" in rules.problems[0].message
    assert not rules.skips("a" * 250, False)


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "huge"])
def test_an_ignore_file_that_cannot_be_read_changes_nothing(tmp_path, kind: str) -> None:
    path = tmp_path / ".mdmemignore"
    (tmp_path / "secret.md").touch()
    if kind == "link":
        path.symlink_to("/etc/passwd")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"#" * 70_000)
    seen = scan(tmp_path)

    assert seen.state == "unreadable"
    assert seen.found == []
    assert seen.unreadable == {""}
    assert [(p.path, p.code) for p in seen.problems] == [(".mdmemignore", "unreadable")]
