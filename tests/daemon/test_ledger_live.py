"""A ledger that is damaged or cannot be written: answers are given all the same, and the index follows the files."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from mdmem.app import Answers, Local
from tests import beds
from tests.bed import Bed
from tests.conftest import Daemon, Home, wait_until
from tests.daemon.live import found, status

bed = beds.bed
RULE = "---\ntype: rule\n---\nThe zebra sleeps.\n"


def damage(ledger: Path) -> None:
    """Overwrite every page but the first, with nothing left in the journal that could hide it."""
    with contextlib.closing(sqlite3.connect(ledger)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = ledger.read_bytes()
    with ledger.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (len(data) - 4096))


@pytest.mark.parametrize("first", ["search", "inject", "show", "sync"])
def test_a_damaged_ledger_is_moved_aside_and_the_index_stays(home: Home, daemon: Daemon, first: str) -> None:
    path = home.put("a.md", RULE)
    daemon.sync()
    daemon.ask("show", key="a")
    index, ledger = home.mdmem / "state" / "index.db", home.mdmem / "state" / "ledger.db"
    before = index.stat().st_ino
    damage(ledger)
    if first == "sync":
        (home.user / "b.md").write_bytes(path.read_bytes())
        path.unlink()
        assert daemon.sync()["ok"]
    else:
        turn = {"query": "what did we say of the zebra yesterday", "key": "a", "session": "s"}
        assert daemon.ask(first, **turn)["ok"]
    home.put("c.md", "A zebra calf.\n")
    wait_until(lambda: str(home.user / "c.md") in found(daemon, "zebra"), "what is new is found")

    assert index.stat().st_ino == before
    assert "the ledger was damaged" in status(daemon)["index"]["notice"]
    assert [p.name for p in ledger.parent.iterdir() if p.name.startswith("ledger.db.damaged-")]
    assert daemon.ask("show", key="c")["memory"]["hit_count"] == 1


def test_a_memory_is_shown_where_its_use_cannot_be_counted(bed: Bed) -> None:
    bed.put("a.md", RULE)
    bed.sync()
    bed.close()
    with Local(bed.app) as local:
        assert local.store is not None
        local.store.ledger.db.execute("PRAGMA query_only = 1")
        answer = Answers(local).answer({"op": "show", "key": "a"})
    bed.store = type(bed.store)(bed.app)

    assert (answer["ok"], answer["memory"]["hit_count"]) == (True, 0)
