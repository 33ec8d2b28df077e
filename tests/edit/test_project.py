"""A project's scope folder, made once and left alone after."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mdmem import files
from mdmem.edit import init_project
from mdmem.errors import MachineError, NotFoundError, RefusedError
from mdmem.files import write
from tests.edit.conftest import tree

LINE = b"MEMORY.md merge=union linguist-generated\n"


def test_a_project_gets_a_folder_that_merges_well(tmp_path) -> None:
    folder, created = init_project(str(tmp_path))

    assert (folder, created) == (str(tmp_path / ".mdmem"), True)
    assert tree(folder) == {".gitattributes": LINE, ".gitignore": b".mdmem-*\n"}
    assert files.scan(Path(folder)).found == []


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o755), (0o077, 0o700), (0o002, 0o775)])
def test_the_folders_mode_follows_the_umask(tmp_path, mask: int, mode: int) -> None:
    old = os.umask(mask)
    try:
        folder, _ = init_project(str(tmp_path))
    finally:
        os.umask(old)

    assert stat.S_IMODE(os.stat(folder).st_mode) == mode
    assert stat.S_IMODE(os.stat(f"{folder}/.gitattributes").st_mode) == 0o644 & ~mask


def test_what_a_person_made_of_it_stays(tmp_path) -> None:
    folder, _ = init_project(str(tmp_path))
    Path(folder, ".gitattributes").write_bytes(b"* text=auto\n")
    Path(folder, "x.md").write_bytes(b"x")
    before = tree(folder)

    assert init_project(str(tmp_path)) == (folder, False)
    assert tree(folder) == before


def test_a_clone_without_the_attributes_gets_them(tmp_path) -> None:
    (tmp_path / ".mdmem").mkdir()

    assert init_project(str(tmp_path)) == (str(tmp_path / ".mdmem"), False)
    assert tree(tmp_path / ".mdmem") == {".gitattributes": LINE, ".gitignore": b".mdmem-*\n"}


@pytest.mark.parametrize("target", ["elsewhere", "missing"])
def test_k11_a_link_is_refused(tmp_path, target: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / ".mdmem").symlink_to(tmp_path / target)
    with pytest.raises(RefusedError, match="symbolic link"):
        init_project(str(tmp_path / "repo"))

    assert tree(tmp_path / "elsewhere") == {}
    assert not (tmp_path / "missing").exists()


def test_k11_a_link_to_a_folder_that_is_made_already_is_refused_too(tmp_path) -> None:
    init_project(str(tmp_path))
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / ".mdmem").symlink_to(tmp_path / ".mdmem")
    with pytest.raises(RefusedError, match="symbolic link"):
        init_project(str(tmp_path / "repo"))


def test_a_link_in_place_of_the_attributes_is_not_written_through(tmp_path) -> None:
    (tmp_path / ".mdmem").mkdir()
    (tmp_path / ".mdmem" / ".gitattributes").symlink_to(tmp_path / "away")
    init_project(str(tmp_path))

    assert not (tmp_path / "away").exists()


def test_a_file_of_that_name_is_refused(tmp_path) -> None:
    (tmp_path / ".mdmem").write_bytes(b"")
    with pytest.raises(RefusedError):
        init_project(str(tmp_path))


def test_a_root_that_is_not_there_is_said_so(tmp_path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for root in ("missing", "file"):
        with pytest.raises(NotFoundError):
            init_project(str(tmp_path / root))


def test_e6_a_root_that_cant_be_written_is_said_so(tmp_path, monkeypatch) -> None:
    def read_only(*args: object, **more: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(write.os, "mkdir", read_only)
    with pytest.raises(MachineError, match="read-only"):
        init_project(str(tmp_path))

    assert tree(tmp_path) == {}


def test_a_root_reached_through_a_link_is_fine(tmp_path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "real")
    init_project(str(tmp_path / "way"))

    assert init_project(str(tmp_path / "way")) == (str(tmp_path / "way" / ".mdmem"), False)
