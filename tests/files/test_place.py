"""Which folder it is, what it lies on, and who may enter."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from mdmem.errors import MachineError, RefusedError
from mdmem.files import file_system, folder_identity, private_folder, real_folder

MOUNTS = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:40 / /home rw,relatime shared:5 - nfs4 server:/home rw
41 40 0:41 / /home/ann/local\040disk rw - btrfs /dev/vdb rw
42 27 0:42 / /mnt/c rw - 9p C: rw
43 27 0:43 / /mnt/phone rw - fuse.sshfs ann@phone:/ rw
44 27 0:44 / /var/lib/docker rw - overlay overlay rw
45 27 0:45 / /mnt/twice rw - ext4 /dev/vdc rw
46 45 0:46 / /mnt/twice rw - cifs //nas/share rw
47 27 0:47 / /mnt/ntfs rw - fuseblk /dev/vdd rw
48 27 0:48 / /mnt/odd\134name rw - virtiofs share rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind", "foreign"),
    [
        ("/", "ext4", False),
        ("/work/x", "ext4", False),
        ("/home", "nfs4", True),
        ("/home/ann/notes", "nfs4", True),
        ("/homes", "ext4", False),
        ("/home/ann/local disk/x", "btrfs", False),
        ("/mnt/c/Users", "9p", True),
        ("/mnt/phone/x", "fuse.sshfs", True),
        ("/var/lib/docker/x", "overlay", False),
        ("/mnt/twice/x", "cifs", True),
        ("/mnt/ntfs/x", "fuseblk", False),
        ("/mnt/odd\\name/x", "virtiofs", True),
    ],
)
def test_g3_e14_the_file_system_is_that_of_the_longest_last_mount(path: str, kind: str, foreign: bool) -> None:
    assert file_system(Path(path), MOUNTS) == (kind, foreign)


def test_nothing_known_is_not_foreign() -> None:
    assert file_system(Path("/x"), "") == ("", False)


def test_the_real_table_of_mounts_is_read(tmp_path) -> None:
    kind, foreign = file_system(tmp_path / "not/yet/there")

    assert kind
    assert not foreign
    assert file_system(Path("/proc/self"))[0] == "proc"


def test_e13_identity_follows_the_folder_and_not_its_name(tmp_path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "file").touch()
    first = folder_identity(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")

    assert first == folder_identity(tmp_path / "b")
    assert folder_identity(tmp_path / "link") is None
    assert folder_identity(tmp_path / "file") is None
    (tmp_path / "a").mkdir()
    assert folder_identity(tmp_path / "link") == folder_identity(tmp_path / "a") != first


def test_k11_a_scope_folder_that_is_a_link_is_not_the_repository_s(tmp_path) -> None:
    repo = tmp_path / "repo"
    (repo / "sub/.mdmem").mkdir(parents=True)
    (tmp_path / "user").mkdir()
    (repo / ".mdmem").symlink_to(tmp_path / "user")
    (repo / "through").symlink_to("sub")
    (tmp_path / "way").symlink_to("repo")

    assert real_folder(repo / "sub/.mdmem", repo)
    assert real_folder(repo, repo)
    assert real_folder(tmp_path / "way/sub/.mdmem", tmp_path / "way")
    assert not real_folder(repo / ".mdmem", repo)
    assert not real_folder(repo / "through/.mdmem", repo)
    assert not real_folder(repo / "gone", repo)
    assert not real_folder(repo / "../user", repo)
    assert not real_folder(tmp_path / "repository", repo)
    assert real_folder(Path("/tmp"), Path("/"))


def test_k7_a_private_folder_is_made_with_its_parents(tmp_path) -> None:
    before = os.umask(0)
    try:
        private_folder(tmp_path / "a/b/c")
    finally:
        os.umask(before)

    assert [stat.S_IMODE((tmp_path / rel).stat().st_mode) for rel in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_k7_a_loose_folder_of_our_own_is_tightened(tmp_path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)
    private_folder(tmp_path / "a")

    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    assert stat.S_IMODE(tmp_path.stat().st_mode) != 0


def test_a_link_of_our_own_leads_to_the_private_folder(tmp_path) -> None:
    (tmp_path / "real").mkdir(0o755)
    (tmp_path / "link").symlink_to("real")
    private_folder(tmp_path / "link")

    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o700


def test_k7_a_stranger_s_folder_or_link_is_refused(tmp_path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to make another user's folder")
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 4242, 4242)
    (tmp_path / "mine").mkdir()
    (tmp_path / "planted").symlink_to("mine")
    os.lchown(tmp_path / "planted", 4242, 4242)
    (tmp_path / "mine-to-theirs").symlink_to("theirs")
    for name in ("theirs", "planted", "mine-to-theirs"):
        with pytest.raises(RefusedError) as caught:
            private_folder(tmp_path / name)
        assert caught.value.hint

    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o755


def test_what_cannot_be_a_folder_is_said_in_words(tmp_path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file/x"):
        with pytest.raises(MachineError) as caught:
            private_folder(path)
        assert str(path) in str(caught.value)


def test_without_proc_the_system_s_own_list_of_mounts_is_asked(tmp_path, monkeypatch) -> None:
    import psutil  # before the platform changes its name

    assert psutil.disk_partitions(all=True)
    monkeypatch.setattr("sys.platform", "darwin")

    assert file_system(Path("/proc/self"))[0] == "proc"


def test_many_may_make_one_private_folder_at_once(tmp_path) -> None:
    failed: list[Exception] = []

    def make() -> None:
        try:
            private_folder(tmp_path / "a/b/c/d/e/f/g/h")
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=make) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
