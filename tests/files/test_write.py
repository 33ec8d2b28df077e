"""Writing: all or nothing, only over what was seen, and never outside the folder."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.errors import ChangedError, LockError, MachineError, MdmemError, NotFoundError, RefusedError
from mdmem.files import scan, write


@pytest.fixture
def root(tmp_path) -> Path:
    folder = tmp_path / "scope"
    folder.mkdir()
    return folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def tree(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


OUTSIDE = [
    "", " ", "..", "../x.md", "a/../../x.md", "a/..", "/etc/passwd", "//x", "./x.md", ".", "a//x.md", "a/", "x\0.md",
    "~", "~/x.md", "~root/x.md", "..\\x.md", "a\\b.md", "C:x.md", "c:/x.md", "\\\\host\\share\\x.md", "x\ud800.md",
    "CON", "con.md", "a/NUL.md", "aux.tar.md", "com1.md", "LPT9", "a/ /x.md", "a/.../x.md", "con .md",
    ".git/hooks/post-checkout", ".GIT/config", "a/.git/x.md", "n" * 253 + ".md",
]  # fmt: skip


@pytest.mark.parametrize("rel", OUTSIDE)
def test_k6_no_path_leads_out_of_the_folder_through_any_door(root, rel: str) -> None:
    doors = [
        lambda: write.inside(root, rel),
        lambda: write.create(root, rel, b"x", private=False),
        lambda: write.replace(root, rel, b"x", expected=b""),
        lambda: write.remove(root, rel, expected=b""),
        lambda: write.write_generated(root, rel, b"x", expected=None, private=False),
    ]
    for door in doors:
        with pytest.raises(RefusedError) as caught:
            door()
        assert caught.value.where
        assert caught.value.hint
    assert tree(root.parent) == ["scope"]


@given(
    st.text(alphabet=st.characters(), max_size=20) | st.from_regex(r"(\.\./|/|\\|~|a|\.|:|con){0,6}", fullmatch=True)
)
def test_k6_what_passes_the_check_lies_below_the_folder(rel: str) -> None:
    root = Path("/nowhere/scope")
    try:
        path = write.inside(root, rel)
    except RefusedError:
        return

    assert os.path.normpath(path).startswith("/nowhere/scope/")
    assert os.path.normpath(path) == str(path)


@pytest.mark.parametrize(
    "rel", ["x.md", "a/b c/d.md", "部署/发布.md", "..x.md", "a/.gitattributes", "console.md", "😀.md"]
)
def test_ordinary_paths_pass_the_check(root, rel: str) -> None:
    assert write.inside(root, rel) == root / rel


@pytest.mark.parametrize("parent", ["link", "a/link", "file"])
def test_e2_nothing_is_written_through_a_link_or_a_file(root, parent: str) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "x.md").write_bytes(b"theirs")
    (root / "a").mkdir()
    (root / "link").symlink_to(outside)
    (root / "a/link").symlink_to(outside)
    (root / "file").touch()
    rel = f"{parent}/x.md"
    for door in (
        lambda: write.inside(root, rel),
        lambda: write.create(root, f"{parent}/new.md", b"x", private=False),
        lambda: write.create(root, f"{parent}/deeper/new.md", b"x", private=False),
        lambda: write.replace(root, rel, b"x", expected=b"theirs"),
        lambda: write.remove(root, rel, expected=b"theirs"),
    ):
        with pytest.raises(RefusedError):
            door()

    assert tree(outside) == ["x.md"]
    assert (outside / "x.md").read_bytes() == b"theirs"


def test_b12_a_link_in_the_last_place_is_refused_and_its_target_untouched(root) -> None:
    target = root.parent / "target.md"
    target.write_bytes(b"theirs")
    (root / "MEMORY.md").symlink_to(target)
    for door in (
        lambda: write.create(root, "MEMORY.md", b"x", private=False),
        lambda: write.replace(root, "MEMORY.md", b"x", expected=b"theirs"),
        lambda: write.remove(root, "MEMORY.md", expected=b"theirs"),
        lambda: write.write_generated(root, "MEMORY.md", b"x", expected=None, private=False),
        lambda: write.write_generated(root, "MEMORY.md", b"x", expected=b"theirs", private=False),
    ):
        with pytest.raises(RefusedError):
            door()

    assert target.read_bytes() == b"theirs"
    assert tree(root) == ["MEMORY.md"]


@pytest.mark.parametrize("kind", ["folder", "fifo", "write-protected"])
def test_b12_what_cannot_be_a_manifest_is_refused(root, kind: str) -> None:
    path = root / "MEMORY.md"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.write_bytes(b"old")
        path.chmod(0o444)
    with pytest.raises(RefusedError):
        write.write_generated(root, "MEMORY.md", b"new", expected=b"old", private=False)

    assert tree(root) == ["MEMORY.md"]


def test_a_new_file_holds_its_bytes_and_leaves_nothing_else(root) -> None:
    write.create(root, "a/b/x.md", b"words\r\n", private=False)

    assert (root / "a/b/x.md").read_bytes() == b"words\r\n"
    assert tree(root) == ["a", "a/b", "a/b/x.md"]
    assert (root / "a/b/x.md").stat().st_nlink == 1


def test_k7_private_files_and_folders_are_for_their_owner_alone(root) -> None:
    write.create(root, "a/x.md", b"x", private=True)

    assert (mode(root / "a"), mode(root / "a/x.md")) == (0o700, 0o600)


@pytest.mark.parametrize(
    ("mask", "folder", "file"), [(0o022, 0o755, 0o644), (0o077, 0o700, 0o600), (0o002, 0o775, 0o644)]
)
def test_other_files_and_folders_follow_the_umask(root, mask: int, folder: int, file: int) -> None:
    before = os.umask(mask)
    try:
        write.create(root, "a/x.md", b"x", private=False)
    finally:
        os.umask(before)

    assert (mode(root / "a"), mode(root / "a/x.md")) == (folder, file)


def test_a_new_file_never_takes_the_place_of_another(root) -> None:
    (root / "x.md").write_bytes(b"theirs")
    with pytest.raises(RefusedError, match="already"):
        write.create(root, "x.md", b"ours", private=False)

    assert (root / "x.md").read_bytes() == b"theirs"
    assert tree(root) == ["x.md"]


def test_of_many_who_create_one_file_exactly_one_succeeds(root) -> None:
    won: list[bytes] = []

    def create(data: bytes) -> None:
        try:
            write.create(root, "a/x.md", data, private=False)
        except RefusedError:
            return
        won.append(data)

    threads = [threading.Thread(target=create, args=(b"%d" % number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [(root / "a/x.md").read_bytes()] == won


def test_e13_nothing_is_written_where_the_scope_folder_is_not_there(root) -> None:
    for door in (
        lambda: write.create(root / "unmounted", "a/x.md", b"x", private=True),
        lambda: write.replace(root / "unmounted", "x.md", b"x", expected=b""),
        lambda: write.cookie(root / "unmounted"),
    ):
        with pytest.raises(NotFoundError):
            door()

    assert tree(root) == []


def test_a_replaced_file_keeps_mode_owner_and_attributes(root) -> None:
    path = root / "x.md"
    path.write_bytes(b"old")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
    os.setxattr(path, "user.note", b"kept")
    before = path.stat()
    inode = before.st_ino

    assert write.replace(root, "x.md", b"new", expected=b"old")
    after = path.stat()
    assert path.read_bytes() == b"new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.getxattr(path, "user.note") == b"kept"
    assert after.st_ino != inode
    assert tree(root) == ["x.md"]


def test_k7_a_private_replacement_tightens_the_mode(root) -> None:
    (root / "x.md").write_bytes(b"old")
    (root / "x.md").chmod(0o644)
    write.replace(root, "x.md", b"new", expected=b"old", private=True)

    assert mode(root / "x.md") == 0o600


def test_equal_bytes_are_not_written(root) -> None:
    path = root / "x.md"
    path.write_bytes(b"same")
    path.chmod(0o444)
    before = path.stat()

    assert write.replace(root, "x.md", b"same", expected=b"same") is False
    assert write.write_generated(root, "x.md", b"same", expected=b"same", private=False) is False
    assert write.write_generated(root, "x.md", b"same", expected=None, private=False) is False
    assert path.stat() == before


def test_l10_a_file_that_changed_is_not_overwritten_and_both_are_shown(root) -> None:
    (root / "x.md").write_bytes(b"theirs")
    for door in (
        lambda: write.replace(root, "x.md", b"ours", expected=b"seen"),
        lambda: write.write_generated(root, "x.md", b"ours", expected=b"seen", private=False),
    ):
        with pytest.raises(ChangedError) as caught:
            door()
        assert (caught.value.theirs, caught.value.ours) == (b"theirs", b"ours")
    with pytest.raises(ChangedError):
        write.remove(root, "x.md", expected=b"seen")
    with pytest.raises(ChangedError):
        write.write_generated(root, "x.md", b"ours", expected=None, private=False)

    assert (root / "x.md").read_bytes() == b"theirs"
    assert tree(root) == ["x.md"]


def test_a_file_that_is_gone_is_not_brought_back(root) -> None:
    with pytest.raises(ChangedError) as caught:
        write.replace(root, "x.md", b"ours", expected=b"seen")

    assert caught.value.theirs == b""
    assert tree(root) == []


def test_l10_a_change_while_the_new_bytes_are_written_is_noticed(root, monkeypatch) -> None:
    path = root / "x.md"
    path.write_bytes(b"seen")
    real = write._fsync

    def meanwhile(descriptor: int) -> None:
        path.write_bytes(b"edit")
        real(descriptor)

    monkeypatch.setattr(write, "_fsync", meanwhile)
    with pytest.raises(ChangedError) as caught:
        write.replace(root, "x.md", b"ours", expected=b"seen")

    assert caught.value.theirs == b"edit"
    assert path.read_bytes() == b"edit"
    assert tree(root) == ["x.md"]


def test_l10_no_edit_of_two_writers_is_lost(root) -> None:
    path = root / "x.md"
    path.write_bytes(b"")

    def append(sign: bytes) -> None:
        left = 25
        while left:
            seen = path.read_bytes()
            try:
                write.replace(root, "x.md", seen + sign, expected=seen)
            except ChangedError:
                continue
            left -= 1

    threads = [threading.Thread(target=append, args=(sign,)) for sign in (b"a", b"b", b"c", b"d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(path.read_bytes()) == sorted(b"a" * 25 + b"b" * 25 + b"c" * 25 + b"d" * 25)


def test_a_folder_kept_locked_is_reported_in_time(root, monkeypatch) -> None:
    monkeypatch.setattr(write, "_LOCK_TIMEOUT_S", 0.02)
    descriptor = os.open(root, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with pytest.raises(LockError):
            write.create(root, "x.md", b"x", private=False)
    finally:
        os.close(descriptor)
    write.create(root, "x.md", b"x", private=False)

    assert tree(root) == ["x.md"]


def test_e3_a_replaced_hard_link_leaves_the_other_name_alone(root) -> None:
    (root / "x.md").write_bytes(b"one")
    os.link(root / "x.md", root / "y.md")
    write.replace(root, "x.md", b"two", expected=b"one")

    assert (root / "y.md").read_bytes() == b"one"


def test_remove_takes_away_only_what_was_seen(root) -> None:
    (root / "x.md").write_bytes(b"seen")
    write.remove(root, "x.md", expected=b"seen")

    assert tree(root) == []


def test_c3_a_name_over_the_limit_is_refused_before_anything_is_said_to_be_saved(root) -> None:
    with pytest.raises(RefusedError, match="255"):
        write.create(root, "é" * 130 + ".md", b"x", private=False)
    write.create(root, "é" * 126 + ".md", b"x", private=False)

    assert len(tree(root)) == 1


def test_c4_a_file_whose_name_is_no_text_can_be_edited(root) -> None:
    name = os.fsdecode(b"caf\xe9.md")
    (root / name).write_bytes(b"old")

    assert write.replace(root, name, b"new", expected=b"old")
    with pytest.raises(ChangedError) as caught:
        write.replace(root, name, b"new", expected=b"old")
    assert str(caught.value).encode().startswith(b"caf\\xE9.md")


def test_f1_only_old_leftovers_are_swept_and_only_ours(root) -> None:
    for folder in (root, root / "a", root / ".git", root.parent / "outside"):
        folder.mkdir(exist_ok=True)
        for name in (".mdmem-tmp-0", ".mdmem-tmp-new", ".mdmem-cookie-1", ".mdmem-other", "x.md"):
            (folder / name).touch()
            if not name.endswith("new"):
                os.utime(folder / name, (1, 1))
    (root / "link").symlink_to(root.parent / "outside")
    (root / ".mdmem-tmp-link").symlink_to("x.md")
    (root / ".mdmem-tmp-folder").mkdir()

    assert [found.rel for found in scan(root).found] == ["a/x.md", "x.md"]
    assert write.sweep(root) == 4
    assert write.sweep(root) == 0
    assert not (root / "a/.mdmem-tmp-0").exists()
    assert (root / "a/.mdmem-tmp-new").exists()
    assert (root / ".git/.mdmem-tmp-0").exists()
    assert (root.parent / "outside/.mdmem-tmp-0").exists()
    assert write.sweep(root, older_than_s=-60) == 2


def test_sweeping_a_missing_folder_sweeps_nothing(root) -> None:
    assert write.sweep(root / "gone") == 0


def test_a_cookie_is_gone_at_once_and_never_the_same(root) -> None:
    names = {write.cookie(root) for _ in range(5)}

    assert len(names) == 5
    assert all(name.startswith(".mdmem-cookie-") for name in names)
    assert tree(root) == []


def test_k16_temporary_names_cannot_be_guessed_and_modes_are_never_loose(root, monkeypatch) -> None:
    seen: list[tuple[str, int]] = []
    real = write._Temporary.named

    def watch(temporary: write._Temporary) -> str:
        name = real(temporary)
        seen.append((name, mode(root / name)))
        return name

    monkeypatch.setattr(write._Temporary, "named", watch)
    for number in range(3):
        write.create(root, f"{number}.md", b"x", private=True)
    write.replace(root, "0.md", b"y", expected=b"x")

    assert len({name for name, _ in seen}) == 4
    assert {bits for _, bits in seen} == {0o600}


@pytest.mark.parametrize("nameless", [True, False])
def test_b3_a_temporary_file_has_no_name_for_git_to_meet_while_it_is_synced(root, monkeypatch, nameless) -> None:
    named: list[str] = []
    real = write._fsync
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)  # as on macOS

    def watch(descriptor: int) -> None:
        named.extend(name for name in os.listdir(root) if name.startswith(".mdmem-tmp-"))
        real(descriptor)

    monkeypatch.setattr(write, "_fsync", watch)
    write.create(root, "x.md", b"x", private=True)
    write.replace(root, "x.md", b"y", expected=b"x")

    assert (root / "x.md").read_bytes() == b"y"
    assert os.listdir(root) == ["x.md"]
    assert bool(named) != (nameless and hasattr(os, "O_TMPFILE"))


def test_every_error_says_where_and_what_to_do(root) -> None:
    (root / "x.md").write_bytes(b"x")
    raised: list[MdmemError] = []
    for door in (
        lambda: write.create(root, "x.md", b"", private=False),
        lambda: write.create(root, "../x", b"", private=False),
        lambda: write.create(root, "x.md/y.md", b"", private=False),
        lambda: write.replace(root, "x.md", b"", expected=b"y"),
        lambda: write.replace(root, "gone/x.md", b"", expected=b"y"),
    ):
        with pytest.raises(MdmemError) as caught:
            door()
        raised.append(caught.value)

    assert all(error.where and error.hint and error.what for error in raised)


@pytest.mark.parametrize("command", ["F_GETFD", "no such command"])
def test_where_the_drive_has_a_cache_of_its_own_that_is_flushed_too(root, monkeypatch, command: str) -> None:
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", getattr(fcntl, command, 1 << 20), raising=False)
    write.create(root, "x.md", b"x", private=False)

    assert (root / "x.md").read_bytes() == b"x"


def test_attributes_are_left_where_python_cannot_copy_them(root, monkeypatch) -> None:
    (root / "x.md").write_bytes(b"old")
    os.setxattr(root / "x.md", "user.note", b"lost")
    monkeypatch.setattr("sys.platform", "darwin")

    assert write.replace(root, "x.md", b"new", expected=b"old")
    assert os.listxattr(root / "x.md") == []


def test_e8_a_drive_that_fails_to_flush_its_cache_is_said(root, monkeypatch) -> None:
    # A read lease on a file open for writing is refused by the kernel, as a flush would be by a failing drive.
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", fcntl.F_SETLEASE, raising=False)
    with pytest.raises(MachineError):
        write.create(root, "x.md", b"x", private=False)

    assert tree(root) == []


def test_attributes_that_are_the_system_s_own_are_not_copied(root) -> None:
    (root / "x.md").write_bytes(b"old")
    try:
        os.setxattr(root / "x.md", "trusted.note", b"1")
    except PermissionError:
        pytest.skip("needs root to set such an attribute")
    write.replace(root, "x.md", b"new", expected=b"old")

    assert os.listxattr(root / "x.md") == []
