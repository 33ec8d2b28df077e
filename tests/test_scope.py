"""Scopes: ids, the one rule from a working directory to a project, and scopes.toml."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mdmem.errors import ConfigError, MachineError, UsageError
from mdmem.scope import Project, Projects, Scope, check_ref, project_root
from tests.bed import git


@pytest.mark.parametrize("ref", ["bob", "a", "claude-code", "a.b_c@d+e", "部署", "x" * 64, "9"])
def test_ids_that_are_safe_as_a_folder_name(ref: str) -> None:
    assert check_ref(ref) == ref


@pytest.mark.parametrize(
    "ref", ["", ".", "..", "../x", "a/b", "/abs", "a\0b", "~", "~root", "-x", ".hidden", "a b", "x" * 65, "a\n", "con:"]
)
def test_k6_ids_that_could_lead_elsewhere_are_refused(ref: str) -> None:
    with pytest.raises(UsageError) as told:
        check_ref(ref)
    assert told.value.hint


def test_labels_and_privacy() -> None:
    assert [Scope("user", None, "/u").label, Scope("agent", "bob", "/a").label] == ["user", "agent:bob"]
    assert [Scope(k, None, "/x").private for k in ("user", "project", "agent")] == [True, False, True]


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A repository with a worktree, a submodule, a nested repository, links, and a folder with memories but no git."""
    top = tmp_path.resolve()
    main = top / "main"
    (main / "src" / "deep").mkdir(parents=True)
    git(main, "init", "-q", "-b", "main")
    (main / "src" / "a").write_text("a")
    git(main, "add", "-A")
    git(main, "commit", "-qm", "a")
    git(main, "worktree", "add", "-q", str(top / "tree"), "-b", "side")
    other = top / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "b").write_text("b")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "b")
    git(main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    (main / "nested" / "in").mkdir(parents=True)
    git(main / "nested", "init", "-q")
    (top / "plain" / ".mdmem").mkdir(parents=True)
    (top / "plain" / "x" / "y").mkdir(parents=True)
    (main / "part" / ".mdmem").mkdir(parents=True)
    (main / "part" / "z").mkdir()
    (top / "nothing").mkdir()
    (top / "link").symlink_to(main / "src")
    return top


@pytest.mark.parametrize(
    ("start", "root"),
    [
        ("main", "main"),
        ("main/src/deep", "main"),
        ("main/.git", "main"),
        ("tree", "tree"),
        ("tree/src", "tree"),
        ("main/sub", "main/sub"),
        ("main/nested/in", "main/nested"),
        ("main/part/z", "main/part"),
        ("plain/x/y", "plain"),
        ("plain/.mdmem", "plain"),
        ("link", "main"),
        ("link/deep", "main"),
        ("main/src/gone/since", "main"),
        ("nothing", None),
    ],
)
def test_b7_every_start_folder_leads_to_one_root(places: Path, start: str, root: str | None) -> None:
    found = project_root(str(places / start))

    assert found == (None if root is None else str(places / root))


def test_b7_reader_and_writer_agree_in_every_start_folder(places: Path, tmp_path: Path, home: object) -> None:
    from tests.bed import Bed

    bed = Bed(tmp_path / "m")
    for root in ("main", "plain"):
        (places / root / ".mdmem").mkdir(exist_ok=True)
        bed.app.trust(str(places / root))
    for start in ("main", "main/src/deep", "link", "link/deep", "plain/x/y", "main/.git"):
        cwd = str(places / start)
        seen = [s.folder for s in bed.app.caller(cwd) if s.kind == "project"]
        assert seen == [bed.app.target("project", cwd, None).folder], start
    (places / "tree" / ".mdmem").mkdir()
    tree = bed.app.project_of(str(places / "tree" / "src"))
    assert tree is not None
    assert (tree.ref, tree.folder) == ("main", str(places / "tree" / ".mdmem"))
    assert bed.app.project_of(str(places / "main" / "sub")) is None
    bed.close()


# --- scopes.toml ---------------------------------------------------------------------------------------


def test_a_project_is_written_at_once_with_the_persons_comments_kept(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "scopes.toml"
    projects = Projects(str(path))
    assert projects.all() == []
    first, new = projects.put("/work/acme", trusted=True, repository="abc", inode=7, born=0)
    path.write_text(path.read_text() + "# my own comment\n")
    second, _ = projects.put("/other/acme", trusted=False, repository="", inode=0, born=0)

    assert new
    assert first == Project("acme", "/work/acme", True, "abc", 7)
    assert second.ref != "acme"
    assert second.ref.startswith("acme-")
    assert "# my own comment" in path.read_text()
    assert Projects(str(path)).all() == [first, second]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["scopes.toml"]


def test_a_project_keeps_its_ref_and_an_equal_one_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "scopes.toml"
    projects = Projects(str(path))
    first, _ = projects.put("/work/acme", trusted=True, repository="", inode=0, born=0)
    before = path.stat().st_ino
    again, new = projects.put("/work/acme", trusted=True, repository="", inode=0, born=0)
    assert (again, new, path.stat().st_ino) == (first, False, before)

    changed, new = projects.put("/work/acme", trusted=False, repository="", inode=0, born=0)
    assert (changed.ref, changed.trusted, new) == ("acme", False, False)
    root, _ = projects.put("/", trusted=True, repository="", inode=0, born=0)
    assert root.ref == "root"


def test_an_edit_by_hand_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "scopes.toml"
    projects = Projects(str(path))
    projects.put("/work/acme", trusted=True, repository="", inode=0, born=0)
    path.write_text(path.read_text().replace("true", "false"))

    assert not projects.all()[0].trusted
    assert projects.find("/nowhere") is None


@pytest.mark.parametrize(
    "text",
    [
        "[[project]",
        "project = 3",
        "[[project]]\nref = 'a'",
        "[[project]]\nref='a'\nroot='/a'\ninode='x'",
        "project = ['a']",
    ],
)
def test_a_broken_file_is_a_config_error_that_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scopes.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as told:
        Projects(str(path)).all()
    assert told.value.where == str(path)


def test_trust_is_only_the_word_true(tmp_path: Path) -> None:
    path = tmp_path / "scopes.toml"
    path.write_text("[[project]]\nref='a'\nroot='~/a'\ntrusted='yes'\n")
    (project,) = Projects(str(path)).all()

    assert not project.trusted
    assert os.path.isabs(project.root)


def test_a_file_that_cannot_be_read_or_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "scopes.toml").mkdir()
    with pytest.raises(ConfigError):
        Projects(str(tmp_path / "scopes.toml")).all()
    (tmp_path / "file").touch()
    with pytest.raises((MachineError, ConfigError)):
        Projects(str(tmp_path / "file" / "scopes.toml")).put("/a", trusted=True, repository="", inode=0, born=0)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError):
        Projects(str(tmp_path / "bytes.toml")).all()
