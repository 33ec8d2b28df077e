"""The inbox: a candidate goes in and comes out the same, once, and is no memory."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdmem.app import Answers
from mdmem.candidates import inbox
from mdmem.candidates.inbox import Candidate, Evidence, Verdict
from mdmem.errors import NotFoundError, RefusedError, UsageError
from tests.app.test_answers import ask
from tests.bed import Bed
from tests.beds import bed, embedder

__all__ = ["bed", "embedder"]

WHEN = "2026-11-30T10:00:00Z"


def candidate(body: str = "Run make dist first.\n", **more: object) -> Candidate:
    fields = {"name": "How to release", "type": "procedure", "entities": ["make", "dist: x"]}
    return Candidate("project", "acme", fields, body, WHEN)._replace(**more)


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    evidence = (
        Evidence("ran: make dist\n---\ncandidate: {}", "codex", "s1", "/logs/a.jsonl", 0),
        Evidence("ok"),
        Evidence(" "),
    )
    put = candidate(action="SUPERSEDE", target="old:release", evidence=evidence)
    gates = {"secret": Verdict(True, "nothing found"), "transient": Verdict(False, "'today' in the name")}
    waiting, new = inbox.put(str(tmp_path / "inbox"), put, gates)

    assert new
    assert waiting.candidate == put
    assert waiting.gates == gates
    assert inbox.read(str(tmp_path / "inbox"), waiting.key) == waiting
    assert inbox.list_candidates(str(tmp_path / "inbox")) == inbox.Inbox([waiting], [])
    assert waiting.key.startswith("how-to-release-")


def test_its_file_is_private_and_reads_as_the_future_memory(tmp_path: Path) -> None:
    waiting, _ = inbox.put(str(tmp_path / "inbox"), candidate(), {})
    path = Path(waiting.path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.read_text().startswith("---\nname: How to release\ntype: procedure\n")
    assert path.read_text().endswith("---\nRun make dist first.\n")


def test_the_same_proposal_waits_once(tmp_path: Path) -> None:
    first, new = inbox.put(str(tmp_path), candidate(), {})
    again, again_new = inbox.put(
        str(tmp_path), candidate("Run  make dist\nfirst.", proposed="2026-12-01T00:00:00Z"), {}
    )
    other, other_new = inbox.put(str(tmp_path), candidate(scope_ref="other"), {})

    assert (new, again_new, other_new) == (True, False, True)
    assert again == first
    assert other.key != first.key
    assert len(inbox.list_candidates(str(tmp_path)).waiting) == 2


def test_many_processes_at_once_make_one_candidate(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: inbox.put(str(tmp_path), candidate(), {}), range(40)))

    assert len({waiting.key for waiting, _ in done}) == 1
    assert sum(new for _, new in done) == 1
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        candidate(" \n"),
        candidate("x" * (inbox.MAX_BODY_BYTES + 1)),
        candidate(fields={"name": "x" * (inbox.MAX_FIELDS_BYTES + 1)}),
        candidate("a\0b"),
        candidate(scope="nobody"),
        candidate(action="DELETE ALL"),
    ],
)
def test_what_fits_no_file_is_refused_in_words(tmp_path: Path, wrong: Candidate) -> None:
    with pytest.raises(UsageError):
        inbox.put(str(tmp_path), wrong, {})

    assert os.listdir(tmp_path) == []


def test_a_full_inbox_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "MAX_WAITING", 2)
    kept, _ = inbox.put(str(tmp_path), candidate("a"), {})
    inbox.put(str(tmp_path), candidate("b"), {})

    with pytest.raises(RefusedError, match="2 candidates wait"):
        inbox.put(str(tmp_path), candidate("c"), {})
    assert inbox.put(str(tmp_path), candidate("a"), {}) == (kept, False)


def test_keys_are_looked_up_and_never_joined_to_a_path(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("---\ncandidate: {scope: user}\n---\nno\n")
    folder = tmp_path / "inbox"
    inbox.put(str(folder), candidate(), {})
    (folder / "link.md").symlink_to(tmp_path / "secret.md")

    for key in ("../secret", str(tmp_path / "secret"), "link", "", ".", "\0", "x/../../secret"):
        with pytest.raises(NotFoundError):
            inbox.read(str(folder), key)


def test_what_is_no_candidate_is_a_problem_and_stays(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("A note of mine.\n")
    (tmp_path / "half.md").write_text("---\ncandidate: {scope: everyone}\n---\nx\n")
    (tmp_path / "README.md").write_text("About this folder.\n")
    (tmp_path / "odd.md").write_text(
        "---\ntype: [a, {b: c}]\ncandidate:\n  scope: user\n  evidence: no\n  gates: 3\n---\nx\n"
    )
    found = inbox.list_candidates(str(tmp_path))

    assert [problem.path for problem in found.problems] == ["half.md", "mine.md"]
    assert {problem.code for problem in found.problems} == {"no-candidate"}
    assert [waiting.key for waiting in found.waiting] == ["odd"]
    assert inbox.list_candidates(str(tmp_path / "none")) == inbox.Inbox([], [])


def test_nothing_in_the_inbox_is_indexed_or_recalled(bed: Bed, here: Answers) -> None:
    put, _ = inbox.put(bed.app.inbox_folder, candidate("The walrus password is four words long.\n"), {})
    ask(here, "sync")

    assert ask(here, "search", query="walrus", mode="keyword")["hits"] == []
    assert ask(here, "list", include_invalid=True)["memories"] == []
    assert not here.answer({"op": "show", "key": put.path})["ok"]


words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(quotes=st.lists(words, max_size=4), reason=words, body=words.filter(str.strip), name=words)
def test_no_words_can_add_to_a_candidate(
    tmp_path_factory: pytest.TempPathFactory, quotes: list[str], reason: str, body: str, name: str
) -> None:
    folder = str(tmp_path_factory.mktemp("i"))
    put = candidate(body, evidence=tuple(Evidence(quote, agent="a") for quote in quotes))
    put = put._replace(fields={**put.fields, "description": name})
    try:
        waiting, _ = inbox.put(folder, put, {"g": Verdict(False, reason)})
    except UsageError:
        return
    found = waiting.candidate

    assert found.fields == put.fields
    assert [item.text for item in found.evidence] == quotes
    assert waiting.gates == {"g": Verdict(False, reason)}
    assert (found.scope, found.scope_ref, found.action, found.target) == ("project", "acme", "ADD", None)
    assert found.body.split() == body.split() or "\x85" in body or not body.isprintable()


@pytest.fixture
def here(bed: Bed):
    """Answers without a daemon."""
    from mdmem.app import Local

    bed.close()
    with Local(bed.app) as local:
        yield Answers(local)
    bed.store = type(bed.store)(bed.app)
