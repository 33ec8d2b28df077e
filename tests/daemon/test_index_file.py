"""Part G of the failure catalogue: the index file lost, replaced, damaged or held, under a running daemon."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from pathlib import Path

import pytest

from mdmem.daemon.live import Readers
from mdmem.db import INDEX, DatabaseError, ReplacedError, has_tables, open_reader, open_writer
from tests.conftest import Daemon, Home, wait_until
from tests.daemon.live import assert_like_fresh, await_found, found, running, status


def fill(home: Home, count: int = 200) -> None:
    for n in range(count):
        home.put(f"m{n}.md", f"---\nname: m{n}\n---\ncommonword number{n} {'text ' * 30}\n")


def state(home: Home) -> Path:
    return home.mdmem / "state"


@pytest.mark.parametrize("names", ["index.db*", "index.db", "index.db-wal"])
def test_g1_the_index_removed_during_use_is_made_anew(home: Home, daemon: Daemon, names: str) -> None:
    fill(home)
    daemon.sync()
    for path in state(home).glob(names):
        path.unlink()
    home.put("new.md", "newword\n")
    await_found(daemon, "newword", limit_s=10)
    await_found(daemon, "number7", limit_s=10)
    assert_like_fresh(home, daemon)
    assert "raceback" not in daemon.stderr()


def test_g1_a_search_right_after_the_removal_is_answered_rightly(home: Home, daemon: Daemon) -> None:
    fill(home)
    daemon.sync()
    for path in state(home).glob("index.db*"):
        path.unlink()
    assert found(daemon, "number7")


@pytest.mark.parametrize("content", [b"", b"\x00" * 4096, b"not a database at all\n" * 500, None], ids=str)
def test_g1_and_g2_another_file_in_its_place_is_set_aside(home: Home, daemon: Daemon, content: bytes | None) -> None:
    fill(home)
    daemon.sync()
    new = state(home) / "new"
    if content is None:
        import sqlite3

        db = sqlite3.connect(new)
        db.execute("CREATE TABLE somebody (else_ TEXT)")
        db.commit()
        db.close()
    else:
        new.write_bytes(content)
    new.replace(state(home) / "index.db")
    home.put("new.md", "newword\n")
    await_found(daemon, "newword", limit_s=10)
    await_found(daemon, "number7", limit_s=10)
    assert_like_fresh(home, daemon)


def test_g2_bytes_flipped_under_a_running_daemon_are_noticed_and_healed(home: Home) -> None:
    rng = random.Random(4)
    fill(home, 300)
    with running(home) as daemon:
        for _ in range(4):
            daemon.sync()
            db = open_reader(INDEX, str(state(home) / "index.db"))
            db.close()
            with (state(home) / "index.db").open("r+b") as file:
                size = file.seek(0, os.SEEK_END)
                for _ in range(50):
                    file.seek(rng.randrange(size))
                    file.write(bytes([rng.randrange(256)]))
            daemon.ask("search", query="commonword")
            for n in range(300):
                home.put(f"m{n}.md", f"---\nname: m{n}\n---\ncommonword number{n} again {rng.random()}\n")
            daemon.sync()
        daemon.ask("reindex")
        wait_until(lambda: bool(found(daemon, "number7")), "searches are right again")
        assert daemon.ask("ping")["ok"]


@pytest.mark.parametrize("damage", ["flip", "cut", "random", "empty"])
def test_g2_damage_found_at_the_start_is_healed(home: Home, damage: str) -> None:
    fill(home)
    with running(home) as daemon:
        daemon.sync()
    path = state(home) / "index.db"
    data = bytearray(path.read_bytes())
    rng = random.Random(7)
    if damage == "flip":
        for _ in range(200):
            data[rng.randrange(100, len(data))] ^= 0xFF
    path.write_bytes(
        {"flip": bytes(data), "cut": bytes(data[: len(data) // 2]), "random": rng.randbytes(50_000), "empty": b""}[
            damage
        ]
    )
    with running(home) as daemon:
        await_found(daemon, "number7", limit_s=15)
        wait_until(lambda: status(daemon)["index"]["memories"] == 200, "all are there")
        wait_until(lambda: _sound(home), "the index is whole")
        assert_like_fresh(home, daemon)


def _sound(home: Home) -> bool:
    from mdmem.db import quick_check

    db = open_reader(INDEX, str(state(home) / "index.db"))
    try:
        return quick_check(db)
    finally:
        db.close()


def test_g4_a_write_lock_of_another_program_holds_up_no_search_and_loses_no_change(home: Home, daemon: Daemon) -> None:
    import sqlite3

    home.put("a.md", "alphaword\n")
    await_found(daemon, "alphaword")
    other = sqlite3.connect(state(home) / "index.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        home.put("b.md", "betaword\n")
        slowest = 0.0
        for _ in range(20):
            started = time.monotonic()
            assert found(daemon, "alphaword")
            slowest = max(slowest, time.monotonic() - started)
        assert slowest < 1.0
    finally:
        other.execute("ROLLBACK")
        other.close()
    await_found(daemon, "betaword")


def test_g14_a_long_reader_does_not_make_the_journal_grow_for_ever(home: Home, daemon: Daemon) -> None:
    fill(home, 50)
    daemon.sync()
    reader = open_reader(INDEX, str(state(home) / "index.db"))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memory_entry").fetchall()
    for round_ in range(15):
        for n in range(50):
            home.put(f"m{n}.md", f"round{round_} number{n} {'text ' * 100}\n")
        daemon.sync()
    reader.execute("COMMIT")
    reader.close()
    for round_ in range(3):
        home.put("m0.md", f"last{round_}\n")
        daemon.sync()
    wait_until(lambda: (state(home) / "index.db-wal").stat().st_size <= 8_400_000, "the journal is small again")


def test_g15_losing_the_index_loses_no_history(home: Home, daemon: Daemon) -> None:
    home.put("a.md", "---\nkey: alpha\n---\ntext\n")
    daemon.sync()
    daemon.ask("show", key="alpha")
    for path in state(home).glob("index.db*"):
        path.unlink()
    wait_until(lambda: bool(found(daemon, "text")), "it is found again")
    assert daemon.ask("show", key="alpha")["memory"]["hit_count"] == 2


def test_f3_a_state_folder_removed_whole_is_made_again(home: Home, daemon: Daemon) -> None:
    fill(home, 20)
    daemon.sync()
    shutil.rmtree(state(home))
    threading.Event().wait(1.5)
    home.put("b.md", "betaword\n")
    wait_until(lambda: daemon.process.poll() is not None or _finds(daemon, "betaword"), "it ends or mends")
    assert daemon.process.poll() is None


def _finds(daemon: Daemon, word: str) -> bool:
    answer = daemon.ask("search", query=word, mode="keyword")
    return bool(answer.get("hits"))


def test_g1_what_reads_an_index_while_another_takes_its_place_meets_an_error_of_databases(tmp_path: Path) -> None:
    """Every thread that reads knows those: one of another kind would end its work, or be logged as a fault of ours."""
    path, other = str(tmp_path / "index.db"), str(tmp_path / "other.db")
    for each in (path, other):
        open_writer(INDEX, each).close()
    readers = Readers(path)

    def read_while_replaced() -> None:
        with readers() as db:
            os.replace(other, path)
            db.execute("SELECT 1 FROM a_table_that_went")

    with pytest.raises(DatabaseError) as caught:
        read_while_replaced()
    assert caught.type is ReplacedError

    with readers() as db:
        assert has_tables(db, INDEX)
    readers.close()
