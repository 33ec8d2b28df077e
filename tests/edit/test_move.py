"""A memory in another scope: the same bytes, there before they are gone here."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mdmem import files
from mdmem.edit import move
from mdmem.errors import ChangedError, MachineError, NotFoundError, RefusedError, UsageError
from mdmem.files import write
from tests.edit.conftest import TODAY, put, tree

DATA = b"---\r\nname: 'X'  # c\r\n---\r\ntext, no newline"


def test_a_memory_moves_with_its_bytes_and_its_folders(user, project) -> None:
    put(user, "ops/x.md", DATA)
    done = move(user, "ops/x.md", project, today=TODAY)

    assert tree(user.folder) == {}
    assert tree(project.folder) == {"ops/x.md": DATA}
    assert done == (project.folder, "ops/x.md", "ops/x", f"{project.folder}/ops/x.md")


def test_a_name_that_is_taken_is_numbered(user, project) -> None:
    put(user, "x.md", DATA)
    put(project, "X.md", "other")
    done = move(user, "x.md", project, today=TODAY)

    assert done.rel == "x-2.md"
    assert tree(project.folder) == {"X.md": b"other", "x-2.md": DATA}


def test_an_agents_first_memory_makes_its_folder(project, agent) -> None:
    put(project, "x.md", DATA)
    path = Path(move(project, "x.md", agent, today=TODAY).path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_name_that_is_no_text_moves_too(user, project) -> None:
    raw = os.fsdecode(b"caf\xe9.md")
    put(user, raw, DATA)
    move(user, files.printable(raw), project, today=TODAY)

    assert tree(project.folder) == {raw: DATA}


@pytest.mark.parametrize("way", ["from", "to"])
def test_a_mount_is_never_written(user, mount, way: str) -> None:
    put(user, "y.md", DATA)
    with pytest.raises(RefusedError, match="mount"):
        _ = move(mount, "x.md", user, today=TODAY) if way == "from" else move(user, "y.md", mount, today=TODAY)

    assert tree(mount.folder) == {"x.md": b"theirs\n"}
    assert tree(user.folder) == {"y.md": DATA}


def test_a_memory_is_not_moved_onto_itself(user) -> None:
    put(user, "x.md", DATA)
    with pytest.raises(UsageError, match="already"):
        move(user, "x.md", user, today=TODAY)

    assert tree(user.folder) == {"x.md": DATA}


def test_a_memory_is_not_moved_to_where_no_scan_would_find_it(user, project) -> None:
    put(user, "private/x.md", DATA)
    put(project, ".mdmemignore", "private/\n")
    with pytest.raises(UsageError, match=r"\.mdmemignore"):
        move(user, "private/x.md", project, today=TODAY)

    assert tree(user.folder) == {"private/x.md": DATA}


def test_k6_a_folder_that_is_a_link_there_is_not_followed(user, project, tmp_path) -> None:
    put(user, "ops/x.md", DATA)
    (tmp_path / "away").mkdir()
    Path(project.folder, "ops").symlink_to(tmp_path / "away")
    with pytest.raises(RefusedError, match="link"):
        move(user, "ops/x.md", project, today=TODAY)

    assert tree(tmp_path / "away") == {}
    assert tree(user.folder) == {"ops/x.md": DATA}


def test_a_name_that_is_too_long_to_be_numbered_stays_here(user, project) -> None:
    name = "n" * 252 + ".md"
    put(user, name, DATA)
    put(project, name, "other")
    with pytest.raises(RefusedError, match="255"):
        move(user, name, project, today=TODAY)

    assert tree(user.folder) == {name: DATA}


@pytest.mark.parametrize("rel", ["../x.md", "/x.md", "MEMORY.md", "x\0.md"])
def test_k6_what_is_no_memory_of_the_folder_is_refused(user, project, rel: str) -> None:
    put(user, "MEMORY.md", DATA)
    with pytest.raises(RefusedError):
        move(user, rel, project, today=TODAY)


def test_a_memory_that_is_not_there_is_said_so(user, project) -> None:
    with pytest.raises(NotFoundError):
        move(user, "x.md", project, today=TODAY)


def test_case_73_a_memory_that_cant_be_written_there_stays_here(user, project, monkeypatch) -> None:
    put(user, "x.md", DATA)

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write.os, "fsync", fail)
    with pytest.raises(MachineError):
        move(user, "x.md", project, today=TODAY)

    assert (tree(user.folder), tree(project.folder)) == ({"x.md": DATA}, {})


def test_l10_a_file_that_changes_while_it_moves_stays_with_its_change(user, project, monkeypatch) -> None:
    path = put(user, "x.md", DATA)
    honest = write.create

    def create(*args, **more) -> None:
        honest(*args, **more)
        path.write_bytes(b"newer")

    monkeypatch.setattr(write, "create", create)
    with pytest.raises(ChangedError):
        move(user, "x.md", project, today=TODAY)

    assert (tree(user.folder), tree(project.folder)) == ({"x.md": b"newer"}, {})


def test_e6_a_write_protected_memory_stays_where_it_is(user, project) -> None:
    put(user, "x.md", DATA).chmod(0o444)
    with pytest.raises(RefusedError, match="write-protected"):
        move(user, "x.md", project, today=TODAY)

    assert (tree(user.folder), tree(project.folder)) == ({"x.md": DATA}, {})


def test_a_copy_that_cant_be_taken_back_is_named(user, project, monkeypatch) -> None:
    put(user, "x.md", DATA)

    def fail(*args, **more) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(write.os, "unlink", fail)
    monkeypatch.setattr(write, "_temporary", _kept_temporary)
    with pytest.raises(MachineError, match="both places") as caught:
        move(user, "x.md", project, today=TODAY)

    assert "x.md" in (caught.value.where or "")


class _kept_temporary:  # noqa: N801  # stands for a function
    """A temporary file that is not removed afterwards: the test forbids that."""

    def __init__(self, folder: int, data: bytes, mode: int) -> None:
        self.name, self.folder, self.data, self.mode = ".mdmem-tmp-test", folder, data, mode

    def __enter__(self) -> _kept_temporary:
        descriptor = os.open(self.name, os.O_WRONLY | os.O_CREAT, self.mode, dir_fd=self.folder)
        os.write(descriptor, self.data)
        os.close(descriptor)
        return self

    def named(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        return
