"""A folder in; which folder it really is, what kind of file system it lies on, and whether it is private out."""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from mdmem.errors import MachineError, RefusedError

# Another machine, or another kernel, changes these behind ours, and no event tells of it; their locks and shared
# memory cannot be relied on either (SQLite's WAL needs both). Host folders shown to a guest (9p, virtiofs, vboxsf,
# drvfs, fakeowner ...) count for that reason. FUSE counts whole: most of it is remote, and none promises events.
# Not foreign: overlay (changes made through the mount raise events; writing into the layers below it is undefined by
# the kernel's own documents, and the periodic scan finds even that), bind mounts, tmpfs, fuseblk (a local NTFS disk).
FOREIGN = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "coda", "ceph", "glusterfs", "lustre", "beegfs", "gpfs"}
    | {"gfs2", "ocfs2", "orangefs", "9p", "drvfs", "virtiofs", "vboxsf", "prl_fs", "vmhgfs", "fakeowner", "webdav"}
    | {"afpfs", "ftp", "davfs", "fuse", "macfuse", "osxfuse"}
)


def folder_identity(root: Path) -> tuple[int, int] | None:
    """(device, inode) of the folder that `root` leads to; None where there is none, or it cannot be reached."""
    try:
        info = root.stat()
    except OSError:
        return None
    return (info.st_dev, info.st_ino) if stat.S_ISDIR(info.st_mode) else None


def birth(path: Path) -> tuple[int, int] | None:
    """(inode, when or as which it was made) of what `path` leads to; None where there is nothing.

    A file system gives the inode of what was removed to the next that is made: ext4 nearly always does. The second
    number tells those apart: the time of birth, or the generation that the kernel counts for an inode. 0: not known.
    """
    try:
        info = path.stat()
    except OSError:
        return None
    born = getattr(info, "st_birthtime", None)
    return info.st_ino, _generation(path) if born is None else int(born * 1e6)


def _generation(path: Path) -> int:
    import struct

    size = struct.calcsize("l")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        # FS_IOC_GETVERSION; the kernel fills four bytes, whatever the size in its number says
        return int.from_bytes(fcntl.ioctl(descriptor, 0x8000_7601 | size << 16, bytes(size))[:4], sys.byteorder)
    except OSError:
        return 0
    finally:
        os.close(descriptor)


def real_folder(root: Path, top: Path) -> bool:
    """Whether `root` is a real folder below `top` (or `top` itself), with no link on the way from there.

    A repository must not bring a scope folder that is a link to somewhere else.
    """
    path, base = os.path.normpath(root), os.path.normpath(top).rstrip("/")
    if path != base and not path.startswith(base + "/"):
        return False
    real = os.path.realpath(base or "/").rstrip("/") + path[len(base) :]
    return Path(path).is_dir() and os.path.realpath(path) == real


def file_system(path: Path, mountinfo: str | None = None) -> tuple[str, bool]:
    """The type of the file system that `path` lies on, and whether it is remote or foreign (see `FOREIGN`).

    On foreign ones events are missing or incomplete, and WAL is unsafe. `path` need not exist yet. ("", False) where
    nothing is known. `mountinfo` is the text of /proc/self/mountinfo, for tests.
    """
    real = os.path.realpath(path)
    kind = ""
    longest = -1
    for mount, name in _mounts() if mountinfo is None else _parsed(mountinfo):
        covers = real == mount or real.startswith(mount.rstrip("/") + "/")
        if covers and len(mount) >= longest:  # the last of equals: a later mount hides the earlier
            kind, longest = name, len(mount)
    return kind, kind in FOREIGN or kind.startswith("fuse.")


def _mounts() -> Iterable[tuple[str, str]]:
    if sys.platform == "linux":
        try:
            with open("/proc/self/mountinfo", "rb") as file:
                return _parsed(os.fsdecode(file.read()))
        except OSError:
            return []
    import psutil  # slow to import, and needed only where there is no /proc

    return [(part.mountpoint, part.fstype) for part in psutil.disk_partitions(all=True)]


def _parsed(mountinfo: str) -> list[tuple[str, str]]:
    """(mount point, type) of each line; see proc_pid_mountinfo(5)."""
    mounts = []
    for line in mountinfo.split("\n"):
        fields, dash, rest = line.partition(" - ")
        words = fields.split(" ")
        if dash and len(words) > 4:
            mounts.append((_unescaped(words[4]), rest.split(" ")[0]))
    return mounts


def _unescaped(mount: str) -> str:
    for code, sign in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        mount = mount.replace(code, sign)
    return mount


def private_folder(path: Path) -> None:
    """Make sure of a folder that only this user can enter (0700); missing parents are made so too.

    A looser mode of our own folder is tightened. RefusedError for a folder or link of another user's, or something
    that is no folder; MachineError where it cannot be made.
    """
    try:
        _make_private(os.fspath(path))
        if os.lstat(path).st_uid not in (os.geteuid(), 0):
            raise _not_ours(path, "belongs to another user")
        _tighten(path)
    except OSError as error:
        hint = "choose another folder, or look at its owner and permissions"
        raise MachineError(error.strerror or str(error), where=os.fspath(path), hint=hint) from error


def shared_folder(path: Path) -> None:
    """The same for a folder that a person chose: where other things lie in it, its mode is theirs to decide. MDMEM_HOME
    may be anything, `/srv` even; what is private lies in folders of its own below.
    """
    try:
        others = [name for name in os.listdir(path) if not name.startswith(_OURS)]
    except OSError:
        others = []
    if not others:
        private_folder(path)


_OURS = ("user", "agents", "inbox", "state", "run", "config.toml", "scopes.toml", ".")


def _make_private(path: str) -> None:
    missing = []
    while path and not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        try:
            Path(folder).mkdir(0o700)
        except FileExistsError:
            continue  # somebody was faster; who, is looked at next


def _tighten(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        info = os.fstat(descriptor)
        if info.st_uid != os.geteuid():
            raise _not_ours(path, "belongs to another user")
        if info.st_mode & 0o077:
            os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)


def _not_ours(path: Path, why: str) -> RefusedError:
    return RefusedError(why, where=os.fspath(path), hint="choose a folder of your own, or remove this one")
