"""What the ledger knows of probes: since when one fails, what a rename does, what is let go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mdmem.ledger import LastProbe, Ledger, Probed, find_allowed, find_probes
from tests.bed import Bed, memory

NOW = "2026-11-29T10:00:00Z"
LATER = "2026-11-30T10:00:00Z"
A = ("user", "", "a.md")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(str(tmp_path / "ledger.db"))
    yield made
    made.close()


def result(path: str = "a.md", *, ok: bool, at: str = NOW, sha256: bytes = b"1") -> Probed:
    return Probed("user", None, path, sha256, ok, 0 if ok else 1, at, 5)


def known(ledger: Ledger, path: str = "a.md") -> LastProbe | None:
    return find_probes(ledger.db).get(("user", "", path))


def test_the_first_failure_since_it_was_verified_is_kept(ledger: Ledger) -> None:
    ledger.probed([result(ok=True, at="2026-11-01T00:00:00Z"), result(ok=False), result(ok=False, at=LATER)])
    assert known(ledger) == LastProbe(b"1", False, 1, LATER, 5, NOW, None)

    ledger.probed([result(ok=False, at="2026-12-01T00:00:00Z", sha256=b"2")])
    assert known(ledger) == LastProbe(b"2", False, 1, "2026-12-01T00:00:00Z", 5, "2026-12-01T00:00:00Z", None)
    ledger.probed([result(ok=True, at="2026-12-02T00:00:00Z")])
    assert known(ledger) == LastProbe(b"1", True, 0, "2026-12-02T00:00:00Z", 5, None, None)


def test_a_doubt_lasts_until_it_is_verified_and_one_from_before_that_says_nothing(ledger: Ledger) -> None:
    ledger.doubted("user", None, "a.md", "2026-11-29T12:00:00.5+02:00")
    assert known(ledger) == LastProbe(None, None, None, None, None, None, NOW)
    ledger.doubted("user", None, "a.md", LATER)
    ledger.probed([result(ok=False)])
    assert known(ledger) == LastProbe(b"1", False, 1, NOW, 5, NOW, NOW)

    ledger.probed([result(ok=True, at=LATER)])
    ledger.doubted("user", None, "a.md", NOW)
    assert known(ledger) == LastProbe(b"1", True, 0, LATER, 5, None, None)
    ledger.doubted("user", None, "a.md", "2026-12-01T00:00:00Z")
    assert known(ledger) == LastProbe(b"1", True, 0, LATER, 5, None, "2026-12-01T00:00:00Z")


def test_what_a_person_allowed_is_known_by_its_hash(ledger: Ledger) -> None:
    ledger.allow_probes([b"1", b"2"], NOW)
    ledger.allow_probes([b"1"], LATER)

    assert find_allowed(ledger.db, [b"1", b"3"]) == {b"1": NOW}
    assert find_allowed(ledger.db, [b"%d" % n for n in range(1_200)]) == {b"1": NOW, b"2": NOW}


def test_a_result_follows_a_rename_and_waits_thirty_days_for_a_file_that_went(bed: Bed) -> None:
    path = bed.put("a.md", memory("text of a", probe="true"))
    bed.sync()
    bed.store.ledger.probed([result(ok=False)])
    path.rename(bed.folder / "b.md")
    bed.sync()
    ledger = bed.store.ledger
    assert (known(ledger), known(ledger, "b.md")) == (None, LastProbe(b"1", False, 1, NOW, 5, NOW, None))

    held = (bed.folder / "b.md").read_text()
    (bed.folder / "b.md").unlink()
    bed.sync()
    assert find_probes(ledger.db) == {}
    bed.put("b.md", held)
    bed.sync()
    assert known(ledger, "b.md") is not None
    (bed.folder / "b.md").unlink()
    bed.sync()
    ledger.expire("9999-01-01")
    assert ledger.db.execute("SELECT count(*) FROM probe").fetchall() == [(0,)]
