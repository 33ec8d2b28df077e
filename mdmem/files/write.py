"""Bytes and a path in a scope folder in, a file that is safely on disk out. The guarded door: see docs/architecture.md.

All goes through a hidden temporary file in the same folder, fsync, one step that puts it in place, and fsync of the
folder. Nothing is said to be saved before the last of these returned; when one fails, the old bytes are still there
and the temporary file is gone. Every trouble is an error with words: RefusedError, ChangedError or MachineError.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mdmem.errors import ChangedError, LockError, MachineError, NotFoundError, Problem, RefusedError
from mdmem.files import ignore
from mdmem.files.folders import OPEN_FOLDER, OPEN_ROOT, LinkOnTheWayError, RootMissingError, opened
from mdmem.files.names import parts_of, printable
from mdmem.files.read import Read, read_at

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_COMPARED_BYTES = 64 * 1024 * 1024
_LOCK_TIMEOUT_S = 5.0
_LOCK_PAUSE_S = 0.005
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")

_WORDS: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", "free some space and try again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and try again"),
    errno.EROFS: ("the file system is read-only", "mount it writable, or keep this folder as a read-only mount"),
    errno.EACCES: ("permission denied", "give yourself permission to write in this folder"),
    errno.EPERM: ("the operation is not permitted", "look at the owner and attributes of this file and its folder"),
    errno.EIO: ("the disk reported an input/output error", "check the disk; do not rely on this file being saved"),
    errno.ENAMETOOLONG: ("the name is too long for this file system", "choose a shorter name"),
}


def inside(root: Path, rel: str) -> Path:
    """The one path check: the absolute path of `rel`, which is surely a place strictly below `root`.

    Raises RefusedError for "..", absolute paths, "~", NUL, empty parts, backslashes, drive and device names, names
    over 255 bytes, anything in `.git`, and a parent that is a link or a file. Existing or not does not matter.
    """
    parts = _checked(rel)
    parent = os.fspath(root)
    for part in parts[:-1]:
        parent = f"{parent}/{part}"
        try:
            mode = os.lstat(parent).st_mode
        except OSError:
            break  # not there (yet): opening it will tell
        if not stat.S_ISDIR(mode):
            raise _refused(rel, "a folder on the way is a symbolic link or a file")
    return Path(root, rel)


def create(root: Path, rel: str, data: bytes, *, private: bool) -> None:
    """Make a new file; folders on the way are made too, the scope folder itself is not.

    Mode 0600 and folders 0700 if `private`, else as open as the folder it comes to: the daemon's own umask is strict,
    and a repository's files are for whoever may read the repository. RefusedError if anything has that name already,
    NotFoundError if the scope folder is not there (an unmounted disk must not be written under).
    """
    with _at(root, rel, make=0o700 if private else 0o777) as (folder, name):
        with _temporary(folder, data, 0o600 if private else _open_mode(folder)) as temp:
            _put_new(folder, temp.named(), name, rel)
        _fsync_folder(folder)


def _open_mode(folder: int) -> int:
    """What a new file may have in this folder: reading for whom the folder is readable, writing for the owner."""
    return 0o600 | (stat.S_IMODE(os.fstat(folder).st_mode) & 0o044)


def replace(root: Path, rel: str, data: bytes, *, expected: bytes, private: bool = False) -> bool:
    """Give a file new bytes if it still holds `expected`; mode, owner and extended attributes stay.

    Returns False, touching nothing, where `data` is what it holds. ChangedError if it holds anything else, or is gone
    (`theirs` is then empty). The comparison is made once more immediately before the rename. With `private` a looser
    mode is tightened. A file without any write permission is a person's wish: RefusedError.
    """
    with _at(root, rel) as (folder, name):
        was = _still(folder, name, rel, expected, data)
        if data == expected:
            return False
        _check_writable(was, rel)
        with _temporary(folder, data, 0o600) as temp:
            _take_after(folder, temp.descriptor, name, private=private)
            _still(folder, name, rel, expected, data)
            os.replace(temp.named(), name, src_dir_fd=folder, dst_dir_fd=folder)
        _fsync_folder(folder)
        return True


def remove(root: Path, rel: str, *, expected: bytes) -> None:
    """Remove a file if it still holds `expected`, else ChangedError."""
    with _at(root, rel) as (folder, name):
        _check_writable(_still(folder, name, rel, expected, b""), rel)
        os.unlink(name, dir_fd=folder)
        _fsync_folder(folder)


def write_generated(root: Path, rel: str, data: bytes, *, expected: bytes | None, private: bool) -> bool:
    """`create` (where `expected` is None: no such file was seen) or `replace`; whether anything was written.

    Equal bytes are never written. ChangedError where the file is not as expected: look at it again first.
    """
    if expected is not None:
        return replace(root, rel, data, expected=expected, private=private)
    try:
        create(root, rel, data, private=private)
    except RefusedError:
        with _at(root, rel) as (folder, name):
            _still(folder, name, rel, data, data)
        return False
    return True


def sweep(root: Path, *, older_than_s: int = 3600) -> int:
    """Remove temporary files and cookies that a killed process left behind; how many there were.

    Looks into the folders that `scan` walks, follows no link, and leaves what may still be in use. What cannot be
    removed stays: no scan takes it for a memory.
    """
    limit_ns = time.time_ns() - older_than_s * 1_000_000_000
    swept = 0
    waiting = [os.fspath(root)]
    while waiting:
        path = waiting.pop()
        with contextlib.suppress(OSError):  # gone or unreadable: the scan reports it
            inner, here = _sweep_folder(path, OPEN_FOLDER if path != os.fspath(root) else OPEN_ROOT, limit_ns)
            waiting += inner
            swept += here
    return swept


def cookie(root: Path) -> str:
    """Make and at once remove a hidden, empty folder in the scope folder; its name. A living watch sees it pass by.

    A folder, because `git add` fails over a file that is gone when it looks, and may commit one that is not.
    """
    name = ignore.COOKIE_PREFIX + os.urandom(8).hex()
    with _in_words(name), opened(root, ()) as folder:
        os.mkdir(name, 0o700, dir_fd=folder)
        os.rmdir(name, dir_fd=folder)
    return name


def _checked(rel: str) -> list[str]:
    parts = parts_of(rel)
    if parts is None or not rel.strip():
        raise _refused(rel, "it is not a relative path without '..'")
    if "\\" in rel or rel[0] == "~" or _DRIVE.match(rel):
        raise _refused(rel, "'~', backslashes and drive letters are not accepted in a path")
    for part in parts:
        if _DEVICE.fullmatch(part.partition(".")[0].rstrip(" ")) or not part.strip(" ."):
            raise _refused(rel, f"'{printable(part)}' is no file name on some systems")
        if len(os.fsencode(part)) > 255:
            raise _refused(rel, "a name in it is longer than 255 bytes", "choose a shorter name")
        if part.rstrip(" .").lower() == ".git":
            raise _refused(rel, "git's own folder is not for memories")
    return parts


def _refused(rel: str, why: str, hint: str = "use a path inside the scope folder") -> RefusedError:
    return RefusedError(why, where=printable(rel) or "(empty path)", hint=hint)


class _Place(NamedTuple):
    folder: int
    name: str


@contextlib.contextmanager
def _at(root: Path, rel: str, make: int | None = None) -> Iterator[_Place]:
    """The open, locked folder of `rel`, and its last part; what goes wrong meanwhile comes out in words."""
    parts = _checked(rel)
    with _in_words(rel):
        if make is not None:
            _make_folders(root, parts[:-1], make)
        with opened(root, parts[:-1]) as folder:
            _lock(folder, rel)
            yield _Place(folder, parts[-1])


@contextlib.contextmanager
def _in_words(rel: str) -> Iterator[None]:
    try:
        yield
    except RootMissingError as error:
        raise NotFoundError(
            "the scope folder is not there", where=error.filename, hint="is its disk mounted?"
        ) from error
    except LinkOnTheWayError as error:
        raise _refused(error.rel, "it is a symbolic link, and links are not followed") from error
    except NotADirectoryError as error:
        raise _refused(rel, "a folder on the way is a file") from error
    except FileNotFoundError as error:
        raise NotFoundError("there is no such folder", where=printable(rel), hint="run mdmem sync") from error
    except OSError as error:
        words = (error.strerror or str(error), "look at this file and its folder")
        what, hint = _WORDS.get(error.errno or 0, words)
        raise MachineError(f"could not be written: {what}", where=printable(rel), hint=hint) from error


def _make_folders(root: Path, parents: list[str], mode: int) -> None:
    for depth, name in enumerate(parents):
        with opened(root, parents[:depth]) as folder:
            try:
                os.mkdir(name, mode, dir_fd=folder)
            except FileExistsError:
                continue
            _fsync_folder(folder)


def _lock(folder: int, rel: str) -> None:
    """Keep other commands of ours out of this folder until it is closed, so that no edit of two is lost (L10).

    Editors know nothing of this lock; against them there is the comparison just before the rename.
    """
    give_up = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up:
                raise LockError("another program keeps this folder locked", where=printable(rel)) from None
            time.sleep(_LOCK_PAUSE_S)
        except OSError as error:
            if error.errno in (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS):
                return  # network file systems without locks on folders
            raise
        else:
            return


def _still(folder: int, name: str, rel: str, expected: bytes, ours: bytes) -> os.stat_result:
    """The stat of a regular file that holds `expected`."""
    try:
        now = read_at(folder, name, rel, max_bytes=_MAX_COMPARED_BYTES)
        info = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise _changed(rel, "the file is gone", b"", ours) from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise _refused(rel, "it is a symbolic link, and links are not followed") from error
        raise
    if isinstance(now, Problem):
        raise _refused(rel, now.message, now.hint)
    if now.data != expected or not _same(now, info):
        raise _changed(rel, "the file has changed since it was read", now.data, ours)
    return info


def _check_writable(info: os.stat_result, rel: str) -> None:
    if not info.st_mode & 0o222:
        raise _refused(rel, "it is write-protected", "make it writable (chmod u+w) if it may be changed")


def _same(now: Read, info: os.stat_result) -> bool:
    return (now.found.device, now.found.inode, now.found.mtime_ns) == (info.st_dev, info.st_ino, info.st_mtime_ns)


def _changed(rel: str, what: str, theirs: bytes, ours: bytes) -> ChangedError:
    hint = "look at both, then try again"
    return ChangedError(what, where=printable(rel), theirs=theirs, ours=ours, hint=hint)


class _Temporary:
    """A new file in an open folder, without a name for as long as the system allows.

    A name would last for the whole of an fsync: time enough to be met by `git add`, which fails over a file that is
    gone when it looks, and commits one that is not.
    """

    def __init__(self, folder: int, mode: int) -> None:
        self._folder = folder
        self._name: str | None = None
        self.descriptor = self._nameless(mode)
        if self.descriptor < 0:
            self._name = ignore.TEMP_PREFIX + os.urandom(8).hex()
            self.descriptor = os.open(self._name, _NEW, mode, dir_fd=folder)
        os.fchmod(self.descriptor, mode)  # whatever the umask took

    def _nameless(self, mode: int) -> int:
        """A descriptor; -1 where there is no such thing (macOS, network disks), or no /proc to name it by."""
        try:
            descriptor = os.open(".", os.O_RDWR | os.O_CLOEXEC | os.O_TMPFILE, mode, dir_fd=self._folder)
        except AttributeError:
            return -1
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
                raise
            return -1
        if os.path.exists(f"/proc/self/fd/{descriptor}"):
            return descriptor
        os.close(descriptor)
        return -1

    def named(self) -> str:
        """Its name in the folder, given now if it has none."""
        if self._name is None:
            name = ignore.TEMP_PREFIX + os.urandom(8).hex()
            try:
                os.link(f"/proc/self/fd/{self.descriptor}", name, dst_dir_fd=self._folder, follow_symlinks=True)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                self._copy(name)
            self._name = name
        return self._name

    def _copy(self, name: str) -> None:
        """Where no link can be made: the same file once more, with a name."""
        nameless = self.descriptor
        self.descriptor = os.open(name, _NEW, 0o600, dir_fd=self._folder)
        try:
            self._name = name
            info, own = os.fstat(nameless), os.fstat(self.descriptor)
            _write_all(self.descriptor, os.pread(nameless, info.st_size, 0))
            if (own.st_uid, own.st_gid) != (info.st_uid, info.st_gid):
                os.fchown(self.descriptor, info.st_uid, info.st_gid)
            os.fchmod(self.descriptor, stat.S_IMODE(info.st_mode))
            _copy_attributes(nameless, self.descriptor)
            _fsync(self.descriptor)
        finally:
            os.close(nameless)

    def close(self) -> None:
        """Let go of it; its name goes too, unless it was renamed."""
        os.close(self.descriptor)
        if self._name is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._name, dir_fd=self._folder)


@contextlib.contextmanager
def _temporary(folder: int, data: bytes, mode: int) -> Iterator[_Temporary]:
    """A synced temporary file, gone afterwards unless it was renamed."""
    temp = _Temporary(folder, mode)
    try:
        _write_all(temp.descriptor, data)
        _fsync(temp.descriptor)
        yield temp
    finally:
        temp.close()


def _take_after(folder: int, descriptor: int, name: str, *, private: bool) -> None:
    """Give the temporary file the owner, mode and extended attributes of the file that it will replace."""
    source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        like, own = os.fstat(source), os.fstat(descriptor)
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
            os.fchown(descriptor, like.st_uid, like.st_gid)  # before the mode, as it clears bits of it
        os.fchmod(descriptor, stat.S_IMODE(like.st_mode) & (0o700 if private else 0o7777))
        _copy_attributes(source, descriptor)
        _fsync(descriptor)
    finally:
        os.close(source)


def _copy_attributes(source: int, target: int) -> None:
    if sys.platform != "linux":
        return
    try:
        names = os.listxattr(source)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EOPNOTSUPP):
            return
        raise
    for name in names:
        # security.* (labels) are given by the system itself; trusted.* is not ours to set.
        if name.startswith(("user.", "system.posix_acl")):
            os.setxattr(target, name, os.getxattr(source, name))


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _fsync(descriptor: int) -> None:
    full = getattr(fcntl, "F_FULLFSYNC", None)  # macOS: fsync alone leaves the bytes in the drive's cache
    if full is not None:
        try:
            fcntl.fcntl(descriptor, full)
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY):
                raise
        else:
            return
    os.fsync(descriptor)


def _fsync_folder(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise  # those four: a file system that has no such thing, and needs none


def _put_new(folder: int, temp: str, name: str, rel: str) -> None:
    """Give the temporary file its name, if no file has it: a link never replaces one."""
    try:
        os.link(temp, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError as error:
        raise _exists(rel) from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _claim(folder, temp, name, rel)


def _claim(folder: int, temp: str, name: str, rel: str) -> None:
    """Without hard links: take the name with an empty file of our own, then rename over that."""
    try:
        os.close(os.open(name, _NEW, 0o600, dir_fd=folder))
    except FileExistsError as error:
        raise _exists(rel) from error
    try:
        os.replace(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(name, dir_fd=folder)
        raise


def _exists(rel: str) -> RefusedError:
    return _refused(rel, "there is a file of this name already", "choose another name, or edit that one")


def _sweep_folder(path: str, flags: int, limit_ns: int) -> tuple[list[str], int]:
    inner: list[str] = []
    swept = 0
    folder = os.open(path, flags)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith((ignore.TEMP_PREFIX, ignore.COOKIE_PREFIX)):
                    swept += _sweep_entry(folder, entry, limit_ns)
                elif entry.is_dir(follow_symlinks=False) and not ignore.skip_folder(entry.name):
                    inner.append(f"{path}/{entry.name}")
    finally:
        os.close(folder)
    return inner, swept


def _sweep_entry(folder: int, entry: os.DirEntry[str], limit_ns: int) -> bool:
    if entry.stat(follow_symlinks=False).st_mtime_ns >= limit_ns:
        return False
    if entry.is_file(follow_symlinks=False):
        os.unlink(entry.name, dir_fd=folder)
        return True
    if entry.is_dir(follow_symlinks=False) and entry.name.startswith(ignore.COOKIE_PREFIX):
        os.rmdir(entry.name, dir_fd=folder)
        return True
    return False
