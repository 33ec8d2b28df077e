"""A path in, an open SQLite database of ours out; and the lock that its one writer holds."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import util
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from mdmem.errors import LedgerError, LockError, MachineError

BUSY_MS = 5_000
HURRIED_MS = 30
_REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG)
FOREIGN_BUSY_MS = 1_000

Connection = apsw.Connection
# What a damaged or foreign file raises, when it is opened or much later. Text that is none is written by nobody.
DAMAGE = (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError)
DatabaseError = (apsw.Error, UnicodeDecodeError)


class ReplacedError(apsw.Error):
    """The database was exchanged for another while it was read: the question is to be asked again."""


# While a file of ours is opened or read, an error in SQL is damage too: a header of no known format, a table that is
# gone. Or not there yet: an index that is being made anew is empty for a moment. And a damaged length asks for more
# memory than there is.
UNUSABLE = (*DAMAGE, apsw.SQLError, apsw.NoMemError, ReplacedError)
_TABLE = re.compile(r"^CREATE (?:VIRTUAL )?TABLE (\w+)", re.MULTILINE)


class Kind(NamedTuple):
    """One of our two databases. `application_id` stands in the file's header ('mdIX', 'mdLG')."""

    name: str  # of its room too: there lie schema.sql, and version-N.sql, which leads there from the version before
    application_id: int
    version: int
    synchronous: str


INDEX = Kind("index", 0x6D644958, 3, "NORMAL")
LEDGER = Kind("ledger", 0x6D644C47, 3, "FULL")


def open_reader(kind: Kind, path: str, *, wait_s: float = 0.0) -> Connection:
    """A read-only connection. Raises apsw.CantOpenError when there is no file, nor one within `wait_s`: while it is
    made anew there is none for a moment.
    """
    give_up = time.monotonic() + wait_s
    while True:
        try:
            connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOMUTEX)
            break
        except apsw.CantOpenError:
            if time.monotonic() >= give_up:
                raise
            time.sleep(0.01)
    _pragmas(connection, kind, cache_kib=4_096)
    return connection


def open_writer(kind: Kind, path: str, *, hurried: bool = False) -> Connection:
    """The writing connection: made with its schema when new, 0600, WAL. `hurried`: it hardly waits for another that
    writes, and looks through nothing: for a hook, whose time is short whatever the ledger has grown to.

    An index of another version, or damaged, is set aside and made anew. An older ledger is migrated after a copy; a
    newer or damaged one raises LedgerError (a damaged one is moved aside first, so that the next start works).
    """
    _make_private(path)
    try:
        connection = _open_checked(kind, path, hurried=hurried)
    except UNUSABLE as error:
        set_aside(path, "damaged")
        if kind is LEDGER:
            raise LedgerError(
                "the ledger was damaged and has been moved aside: use counts and history start anew",
                where=path,
                hint="nothing is lost from your memories; start again to go on with an empty ledger",
            ) from error
        return open_writer(kind, path, hurried=hurried)
    return connection


def open_foreign(path: str) -> Connection:
    """Another program's database, to be read only, for a moment. Raises apsw.Error.

    In WAL mode one that nobody holds has no journal, and reading it would make one beside it: it is taken as it lies.
    """
    from urllib.parse import quote  # not wanted by every command

    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOMUTEX | apsw.SQLITE_OPEN_URI
    alone = "&immutable=1" if _is_wal(path) and not os.path.exists(f"{path}-wal") else ""
    connection = apsw.Connection(f"file:{quote(os.fsencode(path))}?mode=ro{alone}", flags=flags)
    try:
        connection.set_busy_timeout(FOREIGN_BUSY_MS)
        connection.execute("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _is_wal(path: str) -> bool:
    """Whether a database keeps a write-ahead log, by its header."""
    try:
        with open(path, "rb") as file:
            return file.read(20)[18:] == b"\x02\x02"
    except OSError:
        return False


def _open_checked(kind: Kind, path: str, *, hurried: bool) -> Connection:
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    try:
        _pragmas(connection, kind, cache_kib=8_192, busy_ms=HURRIED_MS if hurried else BUSY_MS)
        found = scalar(connection, "PRAGMA user_version")
        ours = scalar(connection, "PRAGMA application_id") == kind.application_id
        empty = scalar(connection, "SELECT count(*) FROM sqlite_schema") == 0
        if kind is LEDGER and ours and 0 < found < kind.version:
            _migrate(connection, kind, path, int(found))
        elif not empty and (not ours or found != kind.version):
            return _other_version(kind, path, connection, int(found) if ours else -1)
        if empty:
            _create(connection, kind)
        elif not has_tables(connection, kind):
            raise apsw.CorruptError("a table is missing")
        elif kind is LEDGER and not hurried and scalar(connection, "PRAGMA quick_check(1)") != "ok":
            raise apsw.CorruptError("quick_check failed")
    except BaseException:
        connection.close()
        raise
    return connection


def _other_version(kind: Kind, path: str, connection: Connection, found: int) -> Connection:
    connection.close()
    if kind is LEDGER and found > kind.version:
        raise LedgerError(
            f"the ledger is of version {found}; this mdmem knows version {kind.version}",
            where=path,
            hint="use the newer mdmem that wrote it; the file was not touched",
        )
    set_aside(path, f"version-{found}" if found >= 0 else "foreign")
    return open_writer(kind, path)


def _migrate(connection: Connection, kind: Kind, path: str, found: int) -> None:
    """Lead an older ledger to this version, all of it or nothing; a copy of it as it was stays beside it."""
    if scalar(connection, "PRAGMA quick_check(1)") != "ok":
        raise apsw.CorruptError("quick_check failed")
    aside = f"{path}.version-{found}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside)  # of a try that came no further
    _make_private(aside)
    connection.execute("VACUUM INTO ?", (aside,))
    with transaction(connection):
        for version in range(found + 1, kind.version + 1):
            connection.execute(_sql(kind, f"version-{version}.sql"))
        connection.execute(f"PRAGMA user_version = {kind.version}")


def _create(connection: Connection, kind: Kind) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before the first table, or never
    connection.execute("PRAGMA journal_mode = WAL")
    with transaction(connection):
        connection.execute(_schema(kind))
        connection.execute(f"PRAGMA application_id = {kind.application_id}")
        connection.execute(f"PRAGMA user_version = {kind.version}")


def is_of_another_version(connection: Connection, kind: Kind) -> bool:
    """Whether a database of ours was made by an older or a newer mdmem."""
    ours = scalar(connection, "PRAGMA application_id") == kind.application_id
    return bool(ours and scalar(connection, "PRAGMA user_version") != kind.version)


def has_tables(connection: Connection, kind: Kind) -> bool:
    """Whether every table of the schema is there."""
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    return set(_TABLE.findall(_schema(kind))) <= {row[0] for row in rows}


def _schema(kind: Kind) -> str:
    return _sql(kind, "schema.sql")


def _sql(kind: Kind, name: str) -> str:
    # Beside the room that speaks it. `importlib.resources` would say the same, and imports tempfile and zipfile.
    return (Path(__file__).parent / kind.name / name).read_text("utf-8")


def _pragmas(connection: Connection, kind: Kind, *, cache_kib: int, busy_ms: int = BUSY_MS) -> None:
    connection.set_busy_timeout(busy_ms)  # first: every later pragma may meet a lock
    connection.execute(f"PRAGMA foreign_keys = ON; PRAGMA synchronous = {kind.synchronous}")
    connection.execute(f"PRAGMA cache_size = -{cache_kib}; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA journal_size_limit = 8388608")


@contextlib.contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """One write transaction: all of it, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        # A full disk may have rolled it back already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def quick_check(connection: Connection) -> bool:
    """Whether SQLite finds the file sound. Reads all of it."""
    try:
        return bool(scalar(connection, "PRAGMA quick_check(1)") == "ok")
    except DAMAGE:
        return False


def checkpoint(connection: Connection) -> None:
    """Give back the pages that nothing fills, move the journal into the database file, and let go of its length."""
    connection.execute("PRAGMA incremental_vacuum").fetchall()  # it frees a page a step
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def shrink(connection: Connection) -> None:
    """Let go of the pages that a connection keeps in memory."""
    connection.execute("PRAGMA shrink_memory")


def load_vectors(connection: Connection) -> str | None:
    """Load sqlite-vec into a connection; why not, or None when it worked.

    By the path of its shared object: importing the package pulls in numpy (200 ms, 14 MB).
    """
    spec = util.find_spec("sqlite_vec")
    folders = list(spec.submodule_search_locations or []) if spec else []
    if not folders:
        return "the package sqlite-vec is not installed"
    try:
        connection.enable_load_extension(True)
        connection.load_extension(os.path.join(folders[0], "vec0"))
        connection.enable_load_extension(False)
    except apsw.Error as error:
        return f"sqlite-vec cannot be loaded: {error}"
    return None


def missing_parts() -> list[str]:
    """Which parts of SQLite that the index needs are missing here, in words; [] when all work."""
    connection = apsw.Connection(":memory:")
    try:
        vectors = load_vectors(connection)
        missing = [vectors] if vectors else []
        try:
            connection.execute("CREATE VIRTUAL TABLE t USING fts5 (x, content = '', contentless_delete = 1)")
        except apsw.Error as error:
            missing.append(f"full text search (FTS5) does not work: {error}")
    finally:
        connection.close()
    return missing


def set_aside(path: str, why: str) -> str:
    """Move a database and its journal files out of the way; the new path. Nothing is deleted but older such copies
    of an index, which can always be made again.
    """
    target = f"{path}.{why}"
    if why in ("damaged", "foreign") and "ledger" in os.path.basename(path):
        target = f"{target}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.replace(path + suffix, target + suffix)
    return target


def file_identity(path: str) -> tuple[int, int] | None:
    """(device, inode) of a database file: another value means that it was replaced under us."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def is_disk_trouble(error: BaseException) -> MachineError | None:
    """The words for an error of SQLite or the system that is the machine's: disk full, read-only, permission, I/O."""
    if isinstance(error, OSError) and error.errno in _REFUSALS:
        return MachineError(str(error.strerror), where=error.filename)
    words: list[tuple[type[apsw.Error], str, str]] = [
        (apsw.FullError, "the disk is full", "make room; nothing is lost, indexing goes on then"),
        (apsw.ReadOnlyError, "the state folder is read-only", "make it writable"),
        (apsw.PermissionsError, "permission denied", "the state folder must belong to you"),
        (apsw.CantOpenError, "the database cannot be opened", "look at the folder's permissions and free space"),
        (apsw.IOError, "the disk reported an error", "look at the disk's health"),
    ]
    return next((MachineError(what, hint=hint) for kind, what, hint in words if isinstance(error, kind)), None)


def marks(values: Collection[object]) -> str:
    """A placeholder for each value, for an `IN (...)`."""
    return ", ".join("?" * len(values))


def scalar(connection: Connection, sql: str, values: Sequence[Any] = ()) -> Any:  # noqa: ANN401  # an SQLite value
    """The first column of the first row; None when there is no row."""
    row = connection.execute(sql, values).fetchone()
    return row[0] if row else None


def as_int(value: object) -> int:
    """A column that the schema says is an integer."""
    if not isinstance(value, int):
        raise apsw.CorruptError(f"not an integer: {type(value).__name__}")
    return value


def as_bytes(value: object) -> bytes:
    """A column that the schema says is a blob."""
    if not isinstance(value, bytes):
        raise apsw.CorruptError(f"not a blob: {type(value).__name__}")
    return value


def _make_private(path: str) -> None:
    """The file exists and is 0600 before SQLite opens it: its WAL takes over the mode."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        if os.stat(path).st_mode & 0o077:
            os.chmod(path, 0o600)
    except OSError as error:
        raise MachineError(
            f"the database cannot be opened: {error.strerror}", where=path, hint="check the folder's permissions"
        ) from error


class WriterLock:
    """The lock of the one process that writes index and ledger: a flock held on a descriptor of its own.

    The lock is the truth; the pid in the file is only for people. The descriptor is close-on-exec, so that no child
    keeps the lock after us.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        return self._fd is not None

    def is_in_place(self) -> bool:
        """Whether the lock that is held is the one that another process would ask for."""
        if self._fd is None:
            return False
        held = os.fstat(self._fd)
        return file_identity(self.path) == (held.st_dev, held.st_ino)

    def take(self, owner: str, *, wait_s: float = 0.0, should_stop: Callable[[], bool] | None = None) -> None:
        """Take the lock, waiting at most `wait_s` seconds. Raises LockError, naming who holds it."""
        fd = self._open()
        deadline = time.monotonic() + wait_s
        while not _try_lock(fd):
            if time.monotonic() >= deadline or (should_stop and should_stop()):
                os.close(fd)
                raise self._held_by_other()
            time.sleep(0.01)
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps({"pid": os.getpid(), "owner": owner}).encode(), 0)
        self._fd = fd

    def release(self) -> None:
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise MachineError(
                f"the lock cannot be opened: {error.strerror}", where=self.path, hint="check the folder's permissions"
            ) from error

    def _held_by_other(self) -> LockError:
        holder = self.holder()
        who = f"{holder.get('owner', 'mdmem')} (pid {holder.get('pid', 'unknown')})" if holder else "another mdmem"
        return LockError(
            f"{who} is already at work", where=self.path, hint="see: mdmem status; stop it with: mdmem down"
        )

    def holder(self) -> dict[str, object]:
        """What the holder wrote of itself; {} when it can't be read."""
        try:
            with open(self.path, "rb") as file:
                found = json.loads(file.read(4096) or b"{}")
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise MachineError(f"the lock cannot be taken: {error.strerror}") from error
    return True
