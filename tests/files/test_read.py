"""Reading one file: whole, unmixed, through no link, and without ever waiting."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from mdmem.errors import Problem
from mdmem.files import MAX_FILE_BYTES, Read, read, scan
from mdmem.files.read import _all_of


def test_bytes_come_with_the_stat_that_scan_gives(tmp_path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.md").write_bytes(b"\xff\x00words\r\n")

    assert read(tmp_path, "a/x.md") == Read(b"\xff\x00words\r\n", scan(tmp_path).found[0])


def test_an_empty_file_reads_as_nothing(tmp_path) -> None:
    (tmp_path / "x.md").touch()

    assert read(tmp_path, "x.md").data == b""


@pytest.mark.parametrize("rel", ["gone.md", "gone/x.md", "file/x.md", "n" * 300 + ".md"])
def test_what_is_gone_is_none(tmp_path, rel: str) -> None:
    (tmp_path / "file").touch()

    assert read(tmp_path, rel) is None


def test_e13_a_file_of_a_missing_folder_is_not_gone(tmp_path) -> None:
    assert read(tmp_path / "unmounted", "x.md").code == "unreadable"


@pytest.mark.parametrize("rel", ["", "../x.md", "/etc/passwd", "a/../../x", "x\0.md", "x\ud800.md"])
def test_k6_a_path_that_leaves_the_folder_is_a_problem(tmp_path, rel: str) -> None:
    (tmp_path / "x.md").touch()
    (tmp_path / "in").mkdir()

    assert read(tmp_path / "in", rel).code == "outside"


@pytest.mark.parametrize("rel", ["link.md", "folder/secret.md", "a/deep/secret.md"])
def test_e2_no_link_is_followed_at_any_depth(tmp_path, rel: str) -> None:
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "secret.md").write_text("secret")
    root = tmp_path / "in"
    (root / "a").mkdir(parents=True)
    (root / "link.md").symlink_to(secret / "secret.md")
    (root / "folder").symlink_to(secret)
    (root / "a/deep").symlink_to(secret)
    got = read(root, rel)

    assert isinstance(got, Problem)
    assert got.code == "symlink"
    assert got.path == rel.removesuffix("/secret.md")


def test_the_root_may_be_reached_through_a_link(tmp_path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/x.md").write_text("x")
    (tmp_path / "link").symlink_to("real")

    assert read(tmp_path / "link", "x.md").data == b"x"


def test_e4_a_fifo_socket_or_folder_is_a_problem_at_once(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo.md")
    os.mkdir("folder.md")
    start = time.monotonic()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
        got = [read(tmp_path, name) for name in ("fifo.md", "socket.md", "folder.md")]

    assert [problem.code for problem in got] == ["not-a-file"] * 3
    assert "FIFO" in got[0].message
    assert time.monotonic() - start < 1


def test_d6_a_file_over_the_cap_is_not_read(tmp_path) -> None:
    with (tmp_path / "big.md").open("wb") as file:
        file.truncate(1 << 30)
    (tmp_path / "fits.md").write_bytes(b"x" * MAX_FILE_BYTES)

    assert read(tmp_path, "big.md").code == "too-large"
    assert len(read(tmp_path, "fits.md").data) == MAX_FILE_BYTES
    assert read(tmp_path, "fits.md", max_bytes=9).code == "too-large"


def test_c4_a_name_that_is_no_text_is_read(tmp_path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xe9.md", "wb") as file:
        file.write(b"words")

    assert read(tmp_path, os.fsdecode(b"\xe9.md")).data == b"words"


def test_a_file_rewritten_while_it_is_read_is_read_again_or_reported(tmp_path) -> None:
    path = tmp_path / "x.md"
    versions = [bytes([65 + number]) * 300_000 for number in range(4)]
    path.write_bytes(versions[0])
    stop = threading.Event()

    def rewrite() -> None:
        with path.open("r+b", buffering=0) as file:
            while not stop.is_set():
                for version in versions:
                    for start in range(0, len(version), 50_000):
                        os.pwrite(file.fileno(), version[start : start + 50_000], start)
                    stop.wait(0.002)

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        got = [read(tmp_path, "x.md") for _ in range(100)]
    finally:
        stop.set()
        writer.join()

    assert all(isinstance(one, Read) or one.code == "changing" for one in got)
    assert any(isinstance(one, Read) for one in got)


def test_no_descriptor_is_left_open(tmp_path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.md").write_text("x")
    (tmp_path / "l").symlink_to("a")
    before = len(os.listdir("/proc/self/fd"))
    for rel in ("a/x.md", "a/gone.md", "l/x.md", "gone/x.md", "a"):
        read(tmp_path, rel)
    scan(tmp_path)

    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_comes_in_pieces_is_read_whole() -> None:
    # The kernel gives this one page by page, as a network file system may give any file.
    descriptor = os.open("/proc/self/smaps", os.O_RDONLY)
    try:
        data = _all_of(descriptor, 20_000)
        beyond = _all_of(descriptor, 50_000_000)
    finally:
        os.close(descriptor)

    assert len(data) >= 20_000
    assert 20_000 < len(beyond) < 50_000_000


def test_a_file_whose_size_never_fits_its_bytes_is_reported_as_changing() -> None:
    assert read(Path("/proc/self"), "smaps").code == "changing"
