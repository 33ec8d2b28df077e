"""The ledger: use counts that follow their memory, and a file that is never lost silently."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from mdmem.db import LEDGER
from mdmem.errors import LedgerError, UsageError
from mdmem.ledger import Cursor, Decided, Injection, Ledger, Use, decided_of, find_decision
from tests.bed import Bed, memory

NOW = "2026-11-29T10:00:00Z"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(str(tmp_path / "ledger.db"))
    yield made
    made.close()


def follow(ledger: Ledger, **more: object) -> None:
    given: dict[str, object] = {"moved": [], "removed": [], "added": [], "now": NOW} | more
    ledger.follow("user", None, **given)  # type: ignore[arg-type]


def hits(ledger: Ledger, path: str, scope: str = "user", ref: str | None = None) -> int:
    return ledger.use(scope, ref, path).hit_count


def test_each_use_counts_and_the_last_is_known(ledger: Ledger) -> None:
    assert ledger.use("user", None, "a.md") == Use(0, None)
    ledger.seen("user", None, "a.md", "2026-11-28T10:00:00Z")
    ledger.seen("user", None, "a.md", NOW)
    ledger.seen("agent", "bob", "a.md", NOW)

    assert ledger.use("user", None, "a.md") == Use(2, NOW)
    assert hits(ledger, "a.md", "agent", "bob") == 1
    assert hits(ledger, "a.md", "agent", "eve") == 0


def test_a_rename_takes_the_history_along_over_an_older_one(ledger: Ledger) -> None:
    ledger.seen("user", None, "a.md", NOW)
    ledger.seen("user", None, "a.md", NOW)
    ledger.seen("user", None, "b.md", NOW)
    follow(ledger, removed=[("b.md", b"b")])
    follow(ledger, moved=[("a.md", "b.md")])

    assert (hits(ledger, "a.md"), hits(ledger, "b.md")) == (0, 2)


def test_what_comes_back_finds_its_history_by_path_before_content(ledger: Ledger) -> None:
    for path, count in (("a.md", 1), ("z.md", 2), ("m.md", 3)):
        for _ in range(count):
            ledger.seen("user", None, path, NOW)
    follow(ledger, removed=[("a.md", b"same"), ("z.md", b"same"), ("m.md", b"other")])
    assert hits(ledger, "m.md") == 0

    follow(ledger, added=[("m.md", b"same")])
    assert hits(ledger, "m.md") == 3
    follow(ledger, added=[("new.md", b"same")])
    assert hits(ledger, "new.md") == 1
    follow(ledger, added=[("stranger.md", b"unknown")])
    assert hits(ledger, "stranger.md") == 0


def test_history_is_kept_for_thirty_days(ledger: Ledger) -> None:
    ledger.seen("user", None, "a.md", NOW)
    ledger.seen("user", None, "kept.md", NOW)
    follow(ledger, removed=[("a.md", b"a")], now="2026-11-01T00:00:00Z")

    assert ledger.expire("2026-10-31T00:00:00Z") == 0
    assert ledger.expire("2026-11-02T00:00:00Z") == 1
    follow(ledger, added=[("a.md", b"a")])
    assert (hits(ledger, "a.md"), hits(ledger, "kept.md")) == (0, 1)


def test_a_scope_without_history_costs_one_question(ledger: Ledger) -> None:
    asked: list[str] = []
    ledger.db.exec_trace = lambda cursor, sql, bindings: asked.append(sql) or True  # type: ignore[func-returns-value]
    follow(ledger, added=[(f"m{n}.md", b"x") for n in range(1_000)])

    assert len(asked) == 1


@pytest.mark.parametrize("content", [b"random" * 1_000, b"SQLite format 3\0" + b"\xff" * 5_000])
def test_a_damaged_ledger_is_moved_aside_said_and_empty_at_the_next_start(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    with pytest.raises(LedgerError) as told:
        Ledger(str(path))

    assert told.value.hint
    (aside,) = [p for p in tmp_path.iterdir() if ".damaged-" in p.name and not p.name.endswith(("-wal", "-shm"))]
    assert aside.read_bytes() == content
    again = Ledger(str(path))
    assert again.use("user", None, "a.md") == Use(0, None)
    again.close()


def test_a_ledger_with_a_damaged_page_is_found_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(str(path))
    for n in range(500):
        ledger.seen("user", None, f"some/long/path/of/a/memory{n}.md", NOW)
    ledger.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 8192)
    with pytest.raises(LedgerError, match="moved aside"):
        Ledger(str(path))


def test_k7_the_ledger_and_its_journal_are_private(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.touch()
    path.chmod(0o644)
    ledger = Ledger(str(path))
    ledger.seen("user", None, "a.md", NOW)
    modes = {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()}
    ledger.close()

    assert set(modes.values()) == {0o600}
    assert "ledger.db-wal" in modes


# --- with files --------------------------------------------------------------------------------------


def test_use_follows_a_file_over_rename_removal_and_return(bed: Bed) -> None:
    path = bed.put("a.md", "text of a")
    bed.sync()
    bed.store.ledger.seen("user", None, "a.md", NOW)
    path.rename(bed.folder / "b.md")
    bed.sync()
    assert hits(bed.store.ledger, "b.md") == 1

    (bed.folder / "b.md").unlink()
    bed.sync()
    assert hits(bed.store.ledger, "b.md") == 0
    bed.put("sub/c.md", "text of a")
    bed.sync()
    assert hits(bed.store.ledger, "sub/c.md") == 1


def test_use_follows_an_id_that_a_person_wrote(bed: Bed) -> None:
    path = bed.put("a.md", memory("text", id="mine"))
    bed.sync()
    bed.store.ledger.seen("user", None, "a.md", NOW)
    path.unlink()
    bed.put("b.md", memory("another text", id="mine"))
    bed.sync()

    assert hits(bed.store.ledger, "b.md") == 1
    assert os.path.exists(bed.app.paths.ledger_db)


# --- what agents were given --------------------------------------------------------------------------


def given(path: str, sha256: bytes = b"1") -> Injection:
    return Injection("user", None, path, sha256, "always")


def opened(ledger: Ledger) -> list[tuple[object, ...]]:
    return ledger.db.execute("SELECT path, at, opened_at FROM injection ORDER BY id").fetchall()


def test_a_session_is_known_by_agent_and_name_until_it_is_forgotten(ledger: Ledger) -> None:
    ledger.injected("claude", "s1", [given("a.md"), given("b.md")], NOW)
    ledger.injected("claude", "s1", [given("a.md", b"2")], NOW)
    assert ledger.given("claude", "s1") == {("user", "", "a.md"): b"2", ("user", "", "b.md"): b"1"}
    assert ledger.given("claude", "s2") == ledger.given("codex", "s1") == {}

    ledger.injected("codex", "s1", [given("a.md")], NOW)
    ledger.forget_session("claude", "s1")
    assert ledger.given("claude", "s1") == {}
    assert len(ledger.given("codex", "s1")) == 1
    assert len(opened(ledger)) == 4


def test_what_is_opened_is_the_newest_injection_that_was_not(ledger: Ledger) -> None:
    for at in ("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"):
        ledger.injected("claude", "s1", [given("a.md"), given("b.md")], at)
    ledger.seen("user", None, "a.md", NOW)

    assert [row[2] for row in opened(ledger)] == [None, None, NOW, None]
    ledger.seen("agent", "bob", "b.md", NOW)
    assert [row[2] for row in opened(ledger)] == [None, None, NOW, None]


def test_injections_follow_a_rename_and_leave_after_thirty_days(ledger: Ledger) -> None:
    ledger.injected("claude", "s1", [given("old.md")], "2026-10-01T00:00:00Z")
    ledger.injected("claude", "s1", [given("a.md")], NOW)
    follow(ledger, moved=[("a.md", "b.md")])
    assert set(ledger.given("claude", "s1")) == {("user", "", "old.md"), ("user", "", "b.md")}

    ledger.expire("2026-11-01T00:00:00Z")
    assert set(ledger.given("claude", "s1")) == {("user", "", "b.md")}


# --- versions ------------------------------------------------------------------------------------------


def version_1(path: Path) -> None:
    """A ledger as the first version made it, with one use in it."""
    older(path, 1)


def older(path: Path, version: int) -> None:
    made = apsw.Connection(str(path))
    made.execute("PRAGMA journal_mode = WAL")
    made.execute((Path(__file__).parent / f"version-{version}.sql").read_text())
    made.execute("INSERT INTO memory_use VALUES ('user', '', 'a.md', NULL, 7, '2026-11-01T00:00:00Z', NULL)")
    made.execute("INSERT INTO timer VALUES ('tidy', '2026-11-01')")
    made.execute(f"PRAGMA application_id = {LEDGER.application_id}; PRAGMA user_version = {version}")
    made.close()


def schema(ledger: Ledger) -> list[tuple[object, ...]]:
    return ledger.db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").fetchall()


def test_a_ledger_of_version_1_keeps_its_history_and_leaves_a_copy(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    version_1(path)
    moved = Ledger(str(path))
    moved.injected("claude", "s1", [given("a.md")], NOW)

    assert schema(moved) == schema(ledger)
    assert moved.use("user", None, "a.md") == Use(7, "2026-11-01T00:00:00Z")
    assert moved.last("tidy") == "2026-11-01"
    moved.close()
    copy = tmp_path / "old.db.version-1"
    assert copy.stat().st_mode & 0o777 == 0o600
    old = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    assert old.execute("SELECT hit_count FROM memory_use").fetchall() == [(7,)]
    assert old.execute("PRAGMA user_version").fetchall() == [(1,)]
    old.close()
    again = Ledger(str(path))
    assert len(again.given("claude", "s1")) == 1
    again.close()


def test_the_newest_decision_holds_until_it_is_taken_back(ledger: Ledger) -> None:
    first, second = Decided("m", "reject", "tool", NOW), Decided("m", "approve", "stated", NOW)
    ledger.decided([first])
    ledger.decided([second, Decided("other", "never", "tool", NOW)])
    assert find_decision(ledger.db, "m") == second

    ledger.decided([], [second, Decided("unknown", "never", "tool", NOW)])
    assert find_decision(ledger.db, "m") == first
    assert find_decision(ledger.db, "unknown") is None


@pytest.mark.parametrize("rows", ["x", [1], [["m"]], [["m", "perhaps", "tool", NOW]], [["m", "reject", 1, NOW]]])
def test_what_is_no_list_of_decisions_is_refused(rows: object) -> None:
    with pytest.raises(UsageError):
        decided_of(rows)
    assert decided_of(None) == []


def test_a_ledger_of_version_2_learns_to_keep_cursors(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    older(path, 2)
    moved = Ledger(str(path))
    moved.tailed(NOW, cursor=Cursor(b"/a.jsonl", "codex", 1, 2, 300, 4), keys=[-5], found=[b"{}"])

    assert schema(moved) == schema(ledger)
    assert moved.use("user", None, "a.md") == Use(7, "2026-11-01T00:00:00Z")
    assert moved.cursor(b"/a.jsonl") == Cursor(b"/a.jsonl", "codex", 1, 2, 300, 4)
    assert moved.seen_records([-5, 6]) == {-5}
    assert [found for _, found in moved.waiting()] == [b"{}"]
    moved.close()


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    version_1(path)
    spoiled = apsw.Connection(str(path))
    spoiled.execute("CREATE TABLE other (x); CREATE INDEX injection_memory ON other (x)")  # the last step will fail
    spoiled.close()
    with pytest.raises(LedgerError, match="moved aside"):
        Ledger(str(path))

    kept = tmp_path / "old.db.damaged"
    old = apsw.Connection(str(kept), flags=apsw.SQLITE_OPEN_READONLY)
    assert old.execute("PRAGMA user_version").fetchall() == [(1,)]
    assert old.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'injection'").fetchall() == [(0,)]
    old.close()


def test_a_damaged_ledger_of_version_1_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    version_1(path)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(LedgerError, match="moved aside"):
        Ledger(str(path))
