"""The store under damage, kills, other versions and locks: nothing but time is lost."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import apsw
import pytest

from mdmem import db as database
from mdmem.app import Answers, Local, Store
from mdmem.app.local import sync_all
from mdmem.db import INDEX, LEDGER, open_reader, open_writer
from mdmem.errors import LedgerError, LockError, MdmemError, SilentError
from mdmem.index import read
from tests.bed import Bed, git, memory
from tests.conftest import ROOT, wait_until
from tests.models.hash_embedder import HashEmbedder


def filled(bed: Bed, count: int = 60) -> None:
    for n in range(count):
        bed.put(f"d{n % 7}/m{n}.md", memory(f"words about thing{n} and `tool{n}` in 第{n}章", key=f"thing:{n}"))
    bed.sync()


# --- G1, G15: gone or replaced ------------------------------------------------------------------


def test_g1_a_deleted_index_is_noticed_and_made_anew(bed: Bed) -> None:
    filled(bed)
    before = bed.dump()
    os.unlink(bed.app.paths.index_db)
    assert bed.store.is_replaced()
    assert not bed.store.is_sound()

    bed.store.rebuild("its file was removed")
    bed.sync()
    assert bed.dump() == before
    assert bed.store.notice == "the index was made anew: its file was removed"


def test_g1_an_index_replaced_by_another_file_is_noticed(bed: Bed, tmp_path: Path) -> None:
    filled(bed)
    before = bed.dump()
    shutil.copy(bed.app.paths.index_db, tmp_path / "copy")
    os.replace(tmp_path / "copy", bed.app.paths.index_db)
    assert bed.store.is_replaced()

    bed.store.rebuild("its file was replaced")
    bed.sync()
    assert bed.dump() == before


def test_g15_with_the_index_gone_use_counts_and_files_stay_and_nothing_is_embedded_anew_but_by_time(
    bed: Bed, embedder: HashEmbedder
) -> None:
    filled(bed)
    bed.embed_all(embedder)
    bed.store.ledger.seen("user", None, "d1/m1.md", "2026-11-29T10:00:00Z")
    files = {p: p.read_bytes() for p in bed.folder.rglob("*") if p.is_file()}
    before = bed.dump()
    bed.close()
    for suffix in ("", "-wal", "-shm"):
        Path(bed.app.paths.index_db + suffix).unlink(missing_ok=True)
    bed.store = Store(bed.app)
    bed.sync()

    assert bed.dump() == before
    assert bed.store.ledger.use("user", None, "d1/m1.md").hit_count == 1
    assert {p: p.read_bytes() for p in bed.folder.rglob("*") if p.is_file()} == files


def test_a_rebuild_keeps_the_embedding_cache(bed: Bed, embedder: HashEmbedder) -> None:
    filled(bed)
    assert bed.embed_all(embedder) > 0
    bed.store.rebuild("asked for")
    bed.sync()

    assert bed.embed_all(embedder) == 0
    assert bed.found("thing7", "semantic", embedder=embedder)[0] == "d0/m7.md"


# --- G2: damage ---------------------------------------------------------------------------------


def answers(bed: Bed, query: str) -> dict[str, object]:
    """What a command answers that finds no daemon."""
    with Local(bed.app) as local:
        local.sync(None)
        return Answers(local).answer({"op": "search", "query": query, "mode": "keyword"})


def test_g2_bytes_flipped_at_50_places_never_stop_a_command_and_a_reindex_puts_all_right(bed: Bed) -> None:
    filled(bed)
    right = bed.dump()
    bed.close()
    path = Path(bed.app.paths.index_db)
    whole = path.read_bytes()
    places = random.Random(7)
    for n in range(50):
        offset = n * 2 if n < 20 else places.randrange(100, len(whole))  # the header is the worst place
        data = bytearray(whole)
        for at in range(offset, min(offset + 40, len(data))):
            data[at] ^= 0xFF
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        path.write_bytes(data)
        answer = answers(bed, "thing7")

        assert answer["ok"], (offset, answer)
        with Local(bed.app) as local:
            assert Answers(local).answer({"op": "reindex"})["ok"]
            assert local.store is not None
            assert read.dump(local.store.db) == right, offset
        assert [Path(str(h["path"])).name for h in answers(bed, "thing7")["hits"]] == ["m7.md"]  # type: ignore[attr-defined]
    bed.store = Store(bed.app)


@pytest.mark.parametrize("content", [b"", b"x", b"SQLite format 3\0", os.urandom(20_000)], ids=len)
def test_g2_an_index_of_zero_length_or_random_bytes_is_made_anew(bed: Bed, content: bytes) -> None:
    filled(bed)
    right = bed.dump()
    bed.close()
    Path(bed.app.paths.index_db).write_bytes(content)

    assert answers(bed, "thing7")["ok"]
    bed.store = Store(bed.app)
    assert bed.dump() == right


def test_g2_an_index_cut_short_is_made_anew(bed: Bed) -> None:
    filled(bed)
    right = bed.dump()
    bed.close()
    os.truncate(bed.app.paths.index_db, 3 * 4096)

    assert answers(bed, "thing7")["ok"]
    bed.store = Store(bed.app)
    assert bed.dump() == right


def test_g2_damage_met_in_a_sync_leads_to_a_rebuild_and_the_sync_is_done(bed: Bed) -> None:
    filled(bed)
    right = bed.dump()
    bed.store.checkpoint()
    size = os.path.getsize(bed.app.paths.index_db)
    with open(bed.app.paths.index_db, "r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    bed.close()
    bed.store = Store(bed.app)
    outcome = bed.sync()

    assert outcome.added == 60
    assert bed.dump() == right


@pytest.mark.parametrize("table", ["memory_edge", "memory_fts", "meta", "scope_folder"])
def test_g2_a_table_dropped_by_hand_is_damage(bed: Bed, table: str) -> None:
    filled(bed)
    right = bed.dump()
    bed.db.execute("PRAGMA foreign_keys = OFF")
    bed.db.execute(f"DROP TABLE {table}")
    assert not bed.store.is_sound()
    bed.reopen()
    bed.sync()

    assert bed.dump() == right


def test_g2_a_table_dropped_under_an_open_store_is_mended_by_the_next_sync(bed: Bed) -> None:
    filled(bed)
    bed.db.execute("DROP TABLE memory_edge")
    bed.put("new.md", "see [[thing:1]]")
    bed.sync()

    assert bed.found("see") == ["new.md"]
    assert bed.store.notice == "the index was made anew: it was damaged"


def test_an_error_that_is_no_damage_is_not_answered_by_a_rebuild(bed: Bed) -> None:
    filled(bed)
    bed.db.execute("CREATE TRIGGER no BEFORE INSERT ON memory_edge BEGIN SELECT RAISE(ABORT, 'no'); END")
    bed.put("new.md", "see [[thing:1]]")
    with pytest.raises(apsw.ConstraintError):
        bed.sync()
    assert bed.store.notice is None

    bed.db.execute("DROP TRIGGER no")
    bed.sync()
    assert bed.found("see") == ["new.md"]


def test_a_command_that_meets_damage_while_it_reads_mends_it_and_answers(bed: Bed) -> None:
    filled(bed)
    bed.close()
    with Local(bed.app) as local:
        assert local.store is not None
        local.sync(None)
        # The blocks of the full text alone: the sync before a search does not look at them.
        local.store.db.execute("UPDATE memory_fts_data SET block = X'FFFFFFFFFFFFFFFF' WHERE id >= 10")
        answer = Answers(local).answer({"op": "search", "query": "thing7", "mode": "keyword"})

        assert answer["ok"], answer
        assert len(answer["hits"]) == 1
        assert local.store.notice == "the index was made anew: it was damaged"
    bed.store = Store(bed.app)


class Hopeless:
    """A backend whose index stays damaged."""

    def __init__(self, app: object) -> None:
        self.app = app

    def status(self) -> dict[str, object]:
        raise apsw.CorruptError("still")


def test_an_index_that_stays_damaged_is_said_to_be_and_not_called_a_fault_of_ours(bed: Bed) -> None:
    answer = Answers(Hopeless(bed.app)).answer({"op": "status"})  # type: ignore[arg-type]

    assert answer["error"]["exit_code"] == 5
    assert "made anew" in answer["error"]["what"]


# --- G4: locks ----------------------------------------------------------------------------------


def test_g4_readers_are_not_stopped_by_a_writer_and_a_second_writer_waits(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(bed)
    bed.put("new.md", "newest words")
    holder = apsw.Connection(bed.app.paths.index_db)
    holder.execute("BEGIN IMMEDIATE")
    for n in range(20):
        reader = open_reader(INDEX, bed.app.paths.index_db)
        assert read.by_keys(reader, [1], [f"thing:{n}"])
        reader.close()
    done = threading.Event()
    failures: list[BaseException] = []

    def release() -> None:
        done.wait(0.5)
        try:
            holder.execute("ROLLBACK")
        except apsw.Error as error:
            failures.append(error)

    releasing = threading.Thread(target=release)
    releasing.start()
    bed.sync()
    releasing.join()
    holder.close()

    assert not failures
    assert bed.found("newest") == ["new.md"]


def test_g4_a_writer_that_waited_too_long_fails_and_does_not_rebuild(bed: Bed) -> None:
    filled(bed)
    bed.put("new.md", "newest words")
    bed.db.set_busy_timeout(50)
    holder = apsw.Connection(bed.app.paths.index_db)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(apsw.BusyError):
        bed.sync()
    holder.execute("ROLLBACK")
    holder.close()
    bed.sync()

    assert bed.found("newest") == ["new.md"]
    assert bed.store.notice is None


def test_g4_a_command_beside_another_writer_reads_and_says_that_it_cannot_write(bed: Bed) -> None:
    filled(bed)
    with Local(bed.app) as first, Local(bed.app, wait_s=0.0) as second:
        assert first.store is not None
        assert second.store is None
        answers_of = Answers(second)
        assert answers_of.answer({"op": "search", "query": "thing7"})["ok"]
        shown = answers_of.answer({"op": "show", "key": "thing:7"})
        assert shown["ok"]
        refused = answers_of.answer({"op": "sync"})
        assert refused["error"]["exit_code"] == LockError.exit_code
        assert second.use(read.list_entries(bed.db, [1])[0]) == {}


# --- G5, G6, G7: versions, upgrades, extension ------------------------------------------------------


@pytest.mark.parametrize("version", [0, 99])
def test_g5_an_index_of_another_version_is_set_aside_and_made_anew(bed: Bed, version: int) -> None:
    filled(bed)
    right = bed.dump()
    bed.db.execute(f"PRAGMA user_version = {version}")
    bed.reopen()
    bed.sync()

    assert bed.dump() == right
    assert os.path.exists(f"{bed.app.paths.index_db}.version-{version}")


def test_g5_an_upgrade_keeps_the_vectors_that_were_made(bed: Bed, embedder: HashEmbedder) -> None:
    filled(bed)
    assert bed.embed_all(embedder) > 0
    bed.db.execute("PRAGMA user_version = 1")
    bed.reopen()
    bed.sync()

    assert bed.embed_all(embedder) == 0
    assert bed.found("thing7", "semantic", embedder=embedder)[0] == "d0/m7.md"


def test_g5_a_newer_ledger_is_refused_with_both_versions_and_not_touched(bed: Bed) -> None:
    bed.store.ledger.seen("user", None, "a.md", "2026-11-29T10:00:00Z")
    bed.store.ledger.db.execute("PRAGMA user_version = 99")
    bed.close()
    before = Path(bed.app.paths.ledger_db).read_bytes()
    with pytest.raises(LedgerError, match=rf"version 99.*version {LEDGER.version}") as refused:
        Store(bed.app)

    assert Path(bed.app.paths.ledger_db).read_bytes() == before
    assert refused.value.hint
    with pytest.raises(LedgerError):
        Store(bed.app)
    connection = apsw.Connection(bed.app.paths.ledger_db)
    connection.execute(f"PRAGMA user_version = {LEDGER.version}")
    connection.close()
    bed.store = Store(bed.app)
    assert bed.store.ledger.use("user", None, "a.md").hit_count == 1


def test_g6_a_change_of_version_killed_at_any_step_ends_in_a_right_index(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(bed)
    right = bed.dump()

    class KilledError(BaseException):
        pass

    really = os.replace
    for step in range(4):
        bed.db.execute("PRAGMA user_version = 99")
        bed.close()
        left = [step]

        def replace(source: str, target: str, left: list[int] = left) -> None:
            if left[0] == 0:
                raise KilledError
            left[0] -= 1
            really(source, target)

        with monkeypatch.context() as patched:
            patched.setattr(database.os, "replace", replace)
            with contextlib.suppress(KilledError):
                Store(bed.app).close()
        bed.store = Store(bed.app)
        bed.sync()
        assert bed.dump() == right, step


def test_g7_without_the_extension_all_but_vectors_works_and_status_says_why(
    bed: Bed, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(bed)
    bed.embed_all(embedder)
    monkeypatch.setattr("mdmem.index.vectors.load_vectors", lambda connection: "sqlite-vec cannot be loaded: no")
    bed.reopen()
    bed.put("new.md", "newest words")
    (bed.folder / "d1" / "m1.md").unlink()
    bed.put("d2/m2.md", "changed")
    bed.sync()

    assert bed.store.syncer.vectors.missing
    assert bed.found("newest") == ["new.md"]
    bed.store.use_model(embedder.id, embedder.canary())
    bed.store.rebuild("asked for")
    bed.sync()
    assert bed.found("changed") == ["d2/m2.md"]
    bed.store.syncer.vectors.forget()
    assert not bed.store.syncer.vectors.compact()

    monkeypatch.undo()
    bed.reopen()
    bed.sync()
    bed.embed_all(embedder)
    assert read.vector_counts(bed.db)[0] == 0
    assert bed.found("newest words", "semantic", embedder=embedder)[0] == "new.md"


def test_g7_words_for_an_extension_that_is_missing_or_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = apsw.Connection(":memory:")
    with monkeypatch.context() as patched:
        patched.setattr(database.util, "find_spec", lambda name: None)
        assert database.load_vectors(connection) == "the package sqlite-vec is not installed"

    class Spec:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(database.util, "find_spec", lambda name: Spec())
    assert "cannot be loaded" in str(database.load_vectors(connection))
    connection.close()


# --- G8, G9, G11, G13: vectors -----------------------------------------------------------------------


def test_g8_another_model_or_dimension_starts_anew_and_the_first_costs_nothing_again(bed: Bed) -> None:
    filled(bed)
    small, large = HashEmbedder(64), HashEmbedder(128)
    count = bed.embed_all(small)
    assert bed.embed_all(large) == count
    assert bed.found("thing7", "semantic", embedder=large)[0] == "d0/m7.md"

    assert bed.embed_all(small) == 0
    assert bed.found("thing7", "semantic", embedder=small)[0] == "d0/m7.md"
    hits = bed.find("thing7", "semantic", embedder=large)
    assert [h.entry.path for h in hits] == ["d0/m7.md"], "a query of the wrong length is answered by words"


def test_h10_the_same_model_with_other_weights_embeds_all_anew(bed: Bed) -> None:
    filled(bed)
    first, second = HashEmbedder(), HashEmbedder(seed=1)
    second.id = first.id
    count = bed.embed_all(first)

    assert bed.embed_all(second) == count
    assert bed.embed_all(second) == 0


@pytest.mark.parametrize("vector", [b"", b"\x01" * 63, b"\x01" * 65])
def test_g9_a_vector_of_the_wrong_length_is_not_kept(bed: Bed, embedder: HashEmbedder, vector: bytes) -> None:
    from mdmem.index import Piece

    bed.put("a.md", "words")
    bed.sync()
    bed.store.use_model(embedder.id, embedder.canary())
    (row,) = read.waiting_pieces(bed.db, 10)

    assert bed.store.syncer.vectors.put([(Piece(*row), vector)]) == 0
    assert read.vector_counts(bed.db) == (1, 0, 0)


def test_a_vector_that_comes_too_late_for_its_text_is_not_kept_but_cached(bed: Bed, embedder: HashEmbedder) -> None:
    from mdmem.index import Piece

    bed.put("a.md", "old words")
    bed.sync()
    bed.store.use_model(embedder.id, embedder.canary())
    (row,) = read.waiting_pieces(bed.db, 10)
    bed.put("a.md", "new words")
    bed.sync()

    vectors = bed.store.syncer.vectors
    assert vectors.put([(Piece(*row), embedder.canary())]) == 0
    bed.put("a.md", "old words")
    bed.sync()
    assert read.vector_counts(bed.db) == (0, 1, 0)


def test_f10_a_failed_piece_is_parked_and_tried_again_when_its_time_has_come(bed: Bed, embedder: HashEmbedder) -> None:
    from mdmem.index import Piece

    bed.put("a.md", "words")
    bed.sync()
    bed.store.use_model(embedder.id, embedder.canary())
    (row,) = read.waiting_pieces(bed.db, 10)
    vectors = bed.store.syncer.vectors
    vectors.park([(Piece(*row), 1_000)])
    assert read.vector_counts(bed.db) == (0, 0, 1)

    vectors.unpark(999)
    assert read.vector_counts(bed.db) == (0, 0, 1)
    vectors.unpark(1_000)
    assert read.vector_counts(bed.db) == (1, 0, 0)
    assert read.waiting_pieces(bed.db, 10)[0][4] == 1


def test_g11_rows_deleted_by_hand_are_found_and_healed_at_the_next_start(bed: Bed, embedder: HashEmbedder) -> None:
    filled(bed)
    bed.embed_all(embedder)
    right = bed.dump()
    vectors = bed.store.syncer.vectors
    assert vectors.heal() == 0

    bed.db.execute("DELETE FROM memory_vec WHERE piece_id IN (SELECT id FROM memory_piece LIMIT 5)")
    bed.db.execute("DELETE FROM memory_piece WHERE id IN (SELECT id FROM memory_piece ORDER BY id DESC LIMIT 3)")
    assert vectors.heal() == 8
    bed.db.execute("DELETE FROM memory_fts WHERE rowid IN (SELECT id FROM memory_entry LIMIT 5)")
    assert not bed.store.is_sound()
    bed.reopen()
    bed.sync()

    assert bed.dump() == right
    assert bed.embed_all(embedder) == 0
    bed.db.execute("INSERT INTO memory_fts (rowid, name) VALUES (99999999999, 'nobody')")
    bed.reopen()
    bed.sync()
    assert bed.dump() == right


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_g13_ten_thousand_updates_leave_a_database_of_bounded_size(bed: Bed, embedder: HashEmbedder) -> None:
    filled(bed, 100)
    bed.embed_all(embedder)
    bed.store.checkpoint()
    first = os.path.getsize(bed.app.paths.index_db)
    for turn in range(100):
        for n in range(100):
            bed.put(f"d{n % 7}/m{n}.md", f"words of turn {turn} about thing{n}")
        bed.look()
        bed.embed_all(embedder)
    bed.db.execute("UPDATE embedding_cache SET used = '2020-01-01'")
    import datetime

    bed.store.tidy(datetime.datetime(2026, 11, 29, tzinfo=datetime.UTC))
    slots = bed.db.execute("SELECT sum(size) FROM memory_vec_chunks").fetchone()[0]

    assert slots <= 1_024
    assert os.path.getsize(bed.app.paths.index_db) < 3 * first
    assert bed.db.execute("SELECT count(*) FROM embedding_cache").fetchone()[0] == 100
    assert bed.found("thing7", "semantic", embedder=embedder)[0] == "d0/m7.md"


def test_vectors_are_written_anew_when_most_of_their_slots_are_holes(bed: Bed, embedder: HashEmbedder) -> None:
    filled(bed, 1_200)
    bed.embed_all(embedder)
    for path in list(bed.folder.rglob("m*.md"))[:1_100]:
        path.unlink()
    bed.sync()
    slots, held = "SELECT sum(size) FROM memory_vec_chunks", "SELECT * FROM memory_vec ORDER BY piece_id"
    before, vectors = bed.db.execute(slots).fetchone()[0], bed.db.execute(held).fetchall()

    assert bed.store.syncer.vectors.compact()
    assert bed.db.execute(slots).fetchone()[0] <= 512 < before
    assert bed.db.execute(held).fetchall() == vectors
    assert len(vectors) == 100
    assert len(bed.found("words", "semantic", embedder=embedder, limit=200)) == 100
    assert not bed.store.syncer.vectors.compact()


# --- F2, F3: stops and kills ----------------------------------------------------------------------------


def test_f3_a_first_index_stopped_on_the_way_is_never_complete_and_goes_on(bed: Bed) -> None:
    for n in range(1_000):
        bed.put(f"m{n}.md", f"words of thing{n} [[x{n}]]")
    for stop_at in (5, 450, 850):
        asked = [0]

        def should_stop(asked: list[int] = asked, stop_at: int = stop_at) -> bool:
            asked[0] += 1
            return asked[0] > stop_at

        outcome = bed.look(should_stop=should_stop)
        assert outcome.unclear is None
        assert not read.folders(bed.db)[0].complete
        assert bed.store.settle(bed.scope, outcome, should_stop) == outcome
        assert bed.store.update_manifest(bed.scope) is None
        assert not (bed.folder / "MEMORY.md").exists()
    held = read.count_entries(bed.db, 1)
    bed.reopen()
    outcome = bed.sync()

    assert held >= 400
    assert outcome.added == 1_000 - held
    assert read.folders(bed.db)[0].complete


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_f3_killed_in_the_first_index_at_10_to_90_percent_it_goes_on_and_ends_right(bed: Bed) -> None:
    for n in range(3_000):
        bed.put(f"d{n % 9}/m{n}.md", memory(f"words of thing{n} [[x{n}]] `tool{n % 50}`", key=f"k{n}"))
    bed.close()
    script = (
        "import sys; from pathlib import Path; from tests.bed import Bed\n"
        "b = Bed(Path(sys.argv[1])); print('open', flush=True); b.sync(); b.close()"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        with subprocess.Popen([sys.executable, "-c", script, str(bed.root)], env=env, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            reader = open_reader(INDEX, bed.app.paths.index_db)
            goal = max(int(share * 3_000), _count(reader))
            wait_until(lambda reader=reader, goal=goal: _count(reader) >= goal, "some files are indexed")  # type: ignore[misc]
            reader.close()
            child.send_signal(signal.SIGKILL)
    bed.store = Store(bed.app)
    bed.sync()
    mine = bed.dump()
    bed.store.rebuild("to compare")
    bed.sync()

    assert bed.dump() == mine
    assert len(bed.paths()) == 3_000


def _count(reader: apsw.Connection) -> int:
    return int(reader.execute("SELECT count(*) FROM memory_entry").fetchone()[0])  # type: ignore[index]


def test_f2_killed_between_commit_and_manifest_the_next_sync_writes_the_manifest(bed: Bed) -> None:
    filled(bed, 5)
    bed.put("new.md", "newest")
    bed.look()
    bed.reopen()
    assert "new.md" not in bed.manifest()

    bed.sync()
    assert "new.md" in bed.manifest()


# --- the rest of the store ---------------------------------------------------------------------------------


def test_other_aliases_in_the_config_make_the_entities_anew(bed: Bed) -> None:
    bed.put("a.md", memory("x", entities="[k8s]"))
    bed.sync()
    assert bed.db.execute("SELECT name FROM memory_entity").fetchall() == [("k8s",)]

    (bed.root / "config.toml").write_text('[recall.aliases]\nk8s = "kubernetes"\n')
    bed.close()
    bed.app.__dict__.pop("settings")
    bed.store = Store(bed.app)
    bed.sync()
    assert bed.db.execute("SELECT name FROM memory_entity").fetchall() == [("kubernetes",)]


def test_folders_that_are_no_scope_any_more_leave_with_all_they_held(bed: Bed) -> None:
    filled(bed, 5)
    agent = Path(bed.app.agents_folder) / "bob"
    bed.put("b.md", memory("bob's `special` [[link]]", entities="[onlybob]"), agent)
    bed.sync(None, bed.app.agent_scope("bob"))
    assert bed.store.drop_strangers(bed.app.roster().scopes) == 0

    shutil.rmtree(agent)
    assert bed.store.drop_strangers(bed.app.roster().scopes) == 1
    assert not [row for rows in bed.dump().values() for row in rows if "bob" in str(row)]


def test_e13_agents_whose_common_folder_is_away_are_not_forgotten(bed: Bed, tmp_path: Path) -> None:
    agents = Path(bed.app.agents_folder)
    bed.put("b.md", "words of bob", agents / "bob")
    bed.sync(None, bed.app.agent_scope("bob"))
    agents.rename(tmp_path / "away")

    assert bed.store.drop_strangers(bed.app.roster().scopes) == 0
    assert len(read.folders(bed.db)) == 1


def test_b3_while_git_is_at_work_the_index_goes_on_and_the_manifest_waits(bed: Bed, tmp_path: Path) -> None:
    root = tmp_path / "work"
    (root / ".mdmem").mkdir(parents=True)
    git(root, "init", "-q")
    scope, _ = bed.app.trust(str(root))
    bed.put("a.md", "first", Path(scope.folder))
    (root / ".git" / "index.lock").touch()
    bed.look(None, scope)

    assert bed.store.update_manifest(scope)
    assert bed.found("first") == ["a.md"]
    assert not (root / ".mdmem" / "MEMORY.md").exists()
    (root / ".git" / "index.lock").unlink()
    assert bed.store.update_manifest(scope) is None
    assert "a.md" in bed.manifest(scope)


def test_dates_come_from_git_and_the_mtime_where_a_file_is_dirty(bed: Bed, tmp_path: Path) -> None:
    root = tmp_path / "work"
    folder = root / ".mdmem"
    folder.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    scope, _ = bed.app.trust(str(root))
    bed.put("a.md", "first", folder)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a", "--date", "2020-01-01T00:00:00Z")
    dirty = bed.put("b.md", "dirty", folder)
    os.utime(dirty, (1_600_000_000, 1_600_000_000))
    sync_all(bed.store, None)
    committed = git(root, "log", "-1", "--format=%ct").strip()
    entries = {e.path: e for e in read.list_entries(bed.db, [f.id for f in read.folders(bed.db)])}

    assert entries["b.md"].created == entries["b.md"].updated == "2020-09-13T12:26:40Z"
    assert entries["a.md"].updated == time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(committed)))
    assert bed.store.head(scope) == git(root, "rev-parse", "HEAD").strip()
    assert bed.store.head(bed.scope._replace(folder="/nowhere")) is None


def test_a10_dates_of_git_settle_who_wins_a_key_as_a_fresh_build_would(bed: Bed, tmp_path: Path) -> None:
    root = tmp_path / "work"
    folder = root / ".mdmem"
    git(tmp_path, "init", "-q", "-b", "main", str(root))
    scope, _ = bed.app.trust(str(root))
    os.utime(bed.put("a.md", memory("x", key="k"), folder), (1_000_000_000, 1_000_000_000))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a")
    os.utime(bed.put("b.md", memory("y", key="k"), folder), (1_600_000_000, 1_600_000_000))
    sync_all(bed.store, None)

    assert {code for code in bed.codes() if code[1] == "same-key"} == {("b.md", "same-key")}, "a was committed just now"
    before = bed.dump()
    bed.store.rebuild("to compare")
    sync_all(bed.store, None)
    assert bed.dump() == before
    assert scope.ref == "work"


def test_settle_waits_and_looks_again_until_all_is_clear(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdmem.app.store.SECOND_LOOK_S", 0.0)
    paths = [bed.put(f"m{n}.md", "x") for n in range(50)]
    bed.sync()
    for path in paths[1:]:
        path.unlink()
    paths[0].write_text("")
    outcome = bed.store.settle(bed.scope, bed.look(), lambda: False)

    assert outcome.removed == 50
    assert not outcome.unclear


def test_tidy_lets_go_of_old_history(bed: Bed) -> None:
    import datetime

    bed.store.ledger.seen("user", None, "a.md", "2026-01-01T00:00:00Z")
    bed.store.ledger.follow("user", None, moved=[], removed=[("a.md", b"1")], added=[], now="2026-01-02T00:00:00Z")
    bed.store.tidy(datetime.datetime(2026, 1, 20, tzinfo=datetime.UTC))
    assert bed.store.ledger.db.execute("SELECT count(*) FROM memory_use").fetchone() == (1,)

    bed.store.tidy(datetime.datetime(2026, 2, 20, tzinfo=datetime.UTC))
    assert bed.store.ledger.db.execute("SELECT count(*) FROM memory_use").fetchone() == (0,)


def test_tidy_forgets_records_of_more_than_a_year_ago(bed: Bed) -> None:
    import datetime

    ledger, first = bed.store.ledger, datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    ledger.tailed(first.isoformat(), keys=[7])
    count = "SELECT count(*) FROM seen_record"
    bed.store.tidy(first + datetime.timedelta(days=364))
    assert ledger.db.execute(count).fetchone() == (1,)
    bed.store.tidy(first + datetime.timedelta(days=367))

    assert ledger.db.execute(count).fetchone() == (0,)


def test_errors_of_the_store_have_words() -> None:
    for error in (LedgerError("a"), SilentError("b")):
        assert isinstance(error, MdmemError)
    assert open_writer is database.open_writer


def test_tidying_is_done_once_a_day_over_restarts(bed: Bed) -> None:
    import datetime

    noon = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
    bed.put("a.md", "words")
    bed.sync()
    bed.store.tidy(noon)
    bed.reopen()
    bed.db.execute("INSERT INTO embedding_cache VALUES ('m', x'00', x'00', '2020-01-01')")
    bed.store.tidy(noon + datetime.timedelta(hours=23))
    held = bed.db.execute("SELECT count(*) FROM embedding_cache").fetchone()[0]
    bed.store.tidy(noon + datetime.timedelta(hours=25))

    assert held == 1
    assert bed.db.execute("SELECT count(*) FROM embedding_cache").fetchone()[0] == 0


def test_a_clock_that_was_a_year_ahead_once_does_not_end_the_tidying(bed: Bed) -> None:
    import datetime

    noon = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
    bed.store.tidy(noon + datetime.timedelta(days=365))
    bed.store.tidy(noon)

    assert bed.store.ledger.last("tidy") == noon.isoformat()
