"""Opening a database of ours, transactions, and the lock of the one writer."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from mdmem.db import (
    INDEX,
    LEDGER,
    WriterLock,
    file_identity,
    has_tables,
    is_disk_trouble,
    open_reader,
    open_writer,
    quick_check,
    scalar,
    set_aside,
    transaction,
)
from mdmem.errors import LockError, MachineError


def test_k7_a_database_and_its_journal_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        db = open_writer(INDEX, str(tmp_path / "index.db"))
        db.execute("INSERT INTO meta VALUES ('a', 1)")
        modes = {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()}
        db.close()
    finally:
        os.umask(before)

    assert set(modes.values()) == {0o600}
    assert set(modes) == {"index.db", "index.db-wal", "index.db-shm"}


def test_a_new_index_has_its_schema_version_and_journal(tmp_path: Path) -> None:
    db = open_writer(INDEX, str(tmp_path / "index.db"))

    assert scalar(db, "PRAGMA user_version") == INDEX.version
    assert scalar(db, "PRAGMA application_id") == INDEX.application_id
    assert scalar(db, "PRAGMA journal_mode") == "wal"
    assert scalar(db, "PRAGMA foreign_keys") == 1
    assert has_tables(db, INDEX)
    assert not has_tables(db, LEDGER)
    assert quick_check(db)
    db.close()


def test_a_reader_cannot_write_and_needs_a_file(tmp_path: Path) -> None:
    path = str(tmp_path / "index.db")
    with pytest.raises(apsw.CantOpenError):
        open_reader(INDEX, path)
    open_writer(INDEX, path).close()
    reader = open_reader(INDEX, path)
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("INSERT INTO meta VALUES ('a', 1)")
    reader.close()


def test_a_foreign_database_in_our_place_is_set_aside_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    foreign = apsw.Connection(str(path))
    foreign.execute("CREATE TABLE precious (x); INSERT INTO precious VALUES (1)")
    foreign.close()
    open_writer(INDEX, str(path)).close()

    kept = apsw.Connection(str(tmp_path / "index.db.foreign"))
    assert kept.execute("SELECT x FROM precious").fetchall() == [(1,)]
    kept.close()


def test_set_aside_takes_the_journal_along(tmp_path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"index.db{suffix}").write_text(suffix)
    target = set_aside(str(tmp_path / "index.db"), "old")

    assert sorted(p.name for p in tmp_path.iterdir()) == ["index.db.old", "index.db.old-shm", "index.db.old-wal"]
    assert target == str(tmp_path / "index.db.old")


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    db = open_writer(INDEX, str(tmp_path / "index.db"))

    def fail_after(sql: str) -> None:
        with transaction(db):
            db.execute(sql)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_after("INSERT INTO meta VALUES ('a', 1)")
    with pytest.raises(RuntimeError):
        fail_after("ROLLBACK")  # as a full disk does
    assert scalar(db, "SELECT count(*) FROM meta") == 0

    with transaction(db):
        db.execute("INSERT INTO meta VALUES ('a', 1)")
    assert scalar(db, "SELECT value FROM meta") == 1
    db.close()


def test_quick_check_of_a_damaged_file_is_false_and_no_error(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    db = open_writer(INDEX, str(path))
    db.execute("INSERT INTO meta SELECT value, zeroblob(3000) FROM json_each('[1,2,3,4,5,6,7,8,9]')")
    db.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(os.path.getsize(path) - 4096))
    found = apsw.Connection(str(path))

    assert not quick_check(found)
    found.close()


def test_the_machines_trouble_has_words_and_a_hint() -> None:
    for error in (
        apsw.FullError(),
        apsw.ReadOnlyError(),
        apsw.PermissionsError(),
        apsw.CantOpenError(),
        apsw.IOError(),
    ):
        trouble = is_disk_trouble(error)
        assert isinstance(trouble, MachineError)
        assert trouble.hint
    assert is_disk_trouble(apsw.BusyError()) is None
    full = is_disk_trouble(OSError(errno.ENOSPC, "No space left on device", "/m/state/x"))
    assert (full and full.exit_code, full and full.where) == (6, "/m/state/x")
    assert is_disk_trouble(FileNotFoundError(errno.ENOENT, "gone")) is None


def test_a_database_in_a_folder_that_is_not_there_is_the_machines_trouble(tmp_path: Path) -> None:
    with pytest.raises(MachineError) as told:
        open_writer(INDEX, str(tmp_path / "none" / "index.db"))

    assert told.value.where == str(tmp_path / "none" / "index.db")


def test_the_identity_of_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").touch()

    assert file_identity(str(tmp_path / "b")) is None
    assert file_identity(str(tmp_path / "a")) == file_identity(str(tmp_path / "a"))


# --- the lock -----------------------------------------------------------------------------------------


def test_f4_one_writer_holds_the_lock_and_the_next_is_told_who(tmp_path: Path) -> None:
    first, second = WriterLock(str(tmp_path / "run" / "lock")), WriterLock(str(tmp_path / "run" / "lock"))
    first.take("a test")
    assert first.held
    with pytest.raises(LockError, match=rf"a test \(pid {os.getpid()}\)") as told:
        second.take("another", wait_s=0.05)
    assert told.value.hint
    with pytest.raises(LockError):
        second.take("another", wait_s=60.0, should_stop=lambda: True)
    assert not second.held

    first.release()
    first.release()
    second.take("another")
    assert second.holder() == {"pid": os.getpid(), "owner": "another"}
    second.release()
    assert second.holder() == {}


@pytest.mark.parametrize("content", [b"not json", b"[1]", b"\xff"])
def test_f5_what_stands_in_the_lock_file_is_only_a_hint(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "lock"
    path.write_bytes(content)
    lock, other = WriterLock(str(path)), WriterLock(str(path))
    lock.take("a test")
    path.write_bytes(content)
    with pytest.raises(LockError, match="another mdmem is already at work"):
        other.take("another")

    assert other.holder() == {}
    lock.release()


def test_f6_a_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    lock = WriterLock(str(tmp_path / "lock"))
    lock.take("a test")
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as child:
        lock.release()
        again = WriterLock(str(tmp_path / "lock"))
        again.take("again")
        again.release()
        assert child.stdin is not None
        child.stdin.close()


def test_f5_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    script = (
        "import sys; from mdmem.db import WriterLock\n"
        f"lock = WriterLock({path!r}); lock.take('a child'); print('held', flush=True); sys.stdin.read()"
    )
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script], env=env, **pipes) as child:  # type: ignore[call-overload]
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(LockError, match="a child"):
            WriterLock(path).take("us")
        child.kill()
    assert json.loads(Path(path).read_text())["owner"] == "a child"

    lock = WriterLock(path)
    lock.take("us")
    lock.release()


def test_a_lock_that_cannot_be_opened_is_the_machines_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match="cannot be opened"):
        WriterLock(str(tmp_path / "file" / "lock")).take("us")
