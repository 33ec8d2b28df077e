"""`desk`: an inbox, two scope folders and a ledger, all real, and the decisions made there."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from mdmem import files
from mdmem.candidates import inbox
from mdmem.candidates.inbox import Candidate, Evidence, Verdict, Waiting
from mdmem.document import memory_of, parse
from mdmem.errors import UntrustedError
from mdmem.ledger import Decided, Ledger
from mdmem.review.decide import Desk, Shown, look
from mdmem.scope import Scope

WHEN = "2026-11-30T10:00:00Z"
NOW = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)


def candidate(body: str = "Run make dist first.\n", **more: object) -> Candidate:
    fields = {"name": "How to release", "type": "procedure", "source": "inferred"}
    evidence = (Evidence("ran: make dist", "codex", "s1", "/logs/a.jsonl", 12),)
    return Candidate("project", "acme", fields, body, WHEN, evidence=evidence)._replace(**more)


def find_key(scope: Scope, key: str) -> str | None:
    """As the index would say it: the path of the memory with exactly this key."""
    for found in files.scan(Path(scope.folder)).found:
        read = files.read(Path(scope.folder), found.rel)
        assert isinstance(read, files.Read)
        memory, _ = memory_of(parse(read.data, found.rel), path=found.rel, scope=scope.kind)
        if memory.key == key:
            return found.rel
    return None


class Bench:
    """A desk, and what a test looks at."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.scopes = {
            "user": Scope("user", None, str(root / "user")),
            "project": Scope("project", "acme", str(root / "acme" / ".mdmem")),
        }
        (root / "acme" / ".mdmem").mkdir(parents=True, exist_ok=True)
        self.inbox = root / "inbox"
        self.ledger = Ledger(str(root / "ledger.db"))
        self.gates: Callable[[Waiting], Mapping[str, Verdict]] = lambda waiting: {}
        self.desk = Desk(
            str(self.inbox), self.scope_of, find_key, self.note, lambda waiting: self.gates(waiting), lambda: NOW,
            "human:ann",
        )  # fmt: skip

    def scope_of(self, one: Candidate) -> Scope:
        if one.scope_ref not in (None, "acme"):
            raise UntrustedError("not trusted here", hint="mdmem trust")
        return self.scopes[one.scope]

    def note(self, made: Sequence[Decided], taken_back: Sequence[Decided]) -> None:
        self.ledger.decided(made, taken_back)

    def put(self, *proposed: Candidate, gates: Mapping[str, Verdict] | None = None) -> list[Shown]:
        return [look(self.desk, inbox.put(str(self.inbox), one, gates or {})[0]) for one in proposed]

    def waiting(self) -> list[str]:
        return [one.key for one in inbox.list_candidates(str(self.inbox)).waiting]

    def memories(self, kind: str = "project") -> dict[str, str]:
        folder = Path(self.scopes[kind].folder)
        return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.md"))}

    def memory(self, rel: str, text: str, kind: str = "project") -> Path:
        path = Path(self.scopes[kind].folder, rel)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.ledger.close()
