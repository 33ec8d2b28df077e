"""Any sequence of proposals, decisions and undos: no memory is lost, none doubled, and undone is undone."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mdmem.candidates import inbox
from mdmem.candidates.inbox import Candidate
from mdmem.document import parse
from mdmem.errors import MdmemError
from mdmem.review.decide import Done, approve, look, reject, undo
from tests.review.conftest import Bench, candidate

BODIES = ("Run make dist.\n", "# How\n\nAsk ann.\n")
KEYS = ("", "deploy:a")
MINE = "Written by hand, and never to be touched.\n"


class Decisions(RuleBasedStateMachine):
    """Candidates come, are decided and taken back; a person writes in between."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.bench = Bench(Path(self.place.name))
        self.bench.memory("by-hand.md", MINE)
        self.done: list[tuple[Done, dict[str, str], dict[str, bytes]]] = []

    def teardown(self) -> None:
        self.bench.ledger.close()
        self.place.cleanup()

    def inbox_bytes(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.bench.inbox.glob("*.md")}

    def waiting(self) -> list[inbox.Waiting]:
        return inbox.list_candidates(str(self.bench.inbox)).waiting

    @rule(
        body=st.sampled_from(BODIES),
        key=st.sampled_from(KEYS),
        action=st.sampled_from(["ADD", "ADD", "UPDATE", "SUPERSEDE"]),
        about=st.sampled_from(["deploy:a", "run-make-dist", "nothing"]),
    )
    def propose(self, body: str, key: str, action: str, about: str) -> None:
        fields: dict[str, str | list[str]] = {"type": "procedure", **({"key": key} if key else {})}
        made: Candidate = candidate(body, fields=fields, action=action, target=None if action == "ADD" else about)
        inbox.put(str(self.bench.inbox), made, {})

    @precondition(lambda self: self.waiting())
    @rule(which=st.integers(0, 100), how=st.sampled_from(["approve", "approve", "reject", "never"]))
    def decide(self, which: int, how: str) -> None:
        one = self.waiting()[which % len(self.waiting())]
        before, files = self.bench.memories(), self.inbox_bytes()
        try:
            shown = look(self.bench.desk, one)
            if how == "approve":
                done = approve(self.bench.desk, shown)
            else:
                done = reject(self.bench.desk, shown, forever=how == "never")
        except MdmemError:
            assert self.bench.memories() == before
            assert self.inbox_bytes() == files
            return
        self.done.append((done, before, files))
        if how != "approve":
            assert self.bench.memories() == before
        assert f"{done.key}.md" not in self.inbox_bytes()
        assert before.keys() <= self.bench.memories().keys()

    @precondition(lambda self: self.done)
    @rule()
    def take_back(self) -> None:
        done, before, files = self.done.pop()
        waiting = self.inbox_bytes()
        undo(self.bench.desk, done)

        assert self.bench.memories() == before
        assert self.inbox_bytes() == waiting | {f"{done.key}.md": files[f"{done.key}.md"]}

    @precondition(lambda self: self.done and self.done[-1][0].decision == "approve")
    @rule()
    def approving_once_more_adds_nothing(self) -> None:
        """As after a kill just before the candidate's file went, or when it is proposed once more."""
        done, before = self.done[-1][0], self.bench.memories()
        (self.bench.inbox / f"{done.key}.md").write_bytes(done.data)
        again = approve(self.bench.desk, look(self.bench.desk, inbox.read(str(self.bench.inbox), done.key)))

        assert self.bench.memories() == before
        assert again.made == ()

    @rule(text=st.sampled_from(["More.\n", "---\nstatus: archived\n---\nOver.\n"]))
    def a_person_writes(self, text: str) -> None:
        """From here on nothing before is undone: what they wrote stays."""
        self.bench.memory(f"theirs-{len(self.bench.memories())}.md", text)
        self.done.clear()

    @invariant()
    def nothing_is_doubled(self) -> None:
        texts = [parse(text.encode(), name) for name, text in self.bench.memories().items()]
        held = [doc for doc in texts if not doc.fields.get("superseded_by") and doc.fields.get("type") == "procedure"]
        said = [(doc.body, str(doc.fields.get("key", "")), str(doc.fields.get("supersedes", ""))) for doc in held]
        added = [one for one in said if not one[2]]
        assert len(set(added)) == len(added)

    @invariant()
    def what_nobody_decided_about_stays(self) -> None:
        assert self.bench.memories()["by-hand.md"] == MINE


Decisions.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
TestDecisions = Decisions.TestCase
