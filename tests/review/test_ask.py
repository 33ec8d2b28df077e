"""Questions and answers, with a script in the person's place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from mdmem.candidates import inbox
from mdmem.candidates.inbox import Evidence, Verdict
from mdmem.outputs.text import plain
from mdmem.review.ask import Review
from mdmem.review.screen import question, summary, tally
from tests.review.conftest import Bench, candidate


class Script:
    """Presses keys in order, then quits; before each, a test may do something."""

    def __init__(self, keys: str, before: dict[int, Callable[[], None]] | None = None) -> None:
        self.keys, self.before, self.lines = list(keys), before or {}, [""]
        self.pressed = 0

    def columns(self) -> int:
        return 80

    def tell(self, lines: Iterable[str]) -> None:
        self.lines += lines

    def choose(self, prompt: Sequence[str], keys: str) -> str:
        self.before.get(self.pressed, lambda: None)()
        key = self.keys[self.pressed] if self.pressed < len(self.keys) else "q"
        self.pressed += 1
        assert key in keys + "q", f"{key} is not offered: {prompt}"
        return key

    def edit(self, folder: str, rel: str) -> None:
        path = Path(folder, rel)
        path.write_text(path.read_text().replace("make dist", "make all"))

    @property
    def said(self) -> str:
        return "\n".join(self.lines)


def run(bench: Bench, keys: str, before: dict[int, Callable[[], None]] | None = None) -> Script:
    script = Script(keys, before)
    Review(bench.desk, script, plain, inbox.list_candidates(str(bench.inbox)).waiting).run()
    return script


def deploy(name: str):
    fields = {"name": f"Deploy {name}", "type": "capability", "key": f"deploy:{name}", "source": "tool"}
    return candidate(f"Run deploy {name}.\n", fields=fields)


def test_what_was_decided_elsewhere_meanwhile_is_not_asked_about(bench: Bench) -> None:
    first, second = bench.put(candidate(), deploy("a"))
    Path(first.waiting.path).unlink()
    script = Script("a")
    Review(bench.desk, script, plain, [first.waiting, second.waiting]).run()

    assert list(bench.memories()) == ["deploy-a.md"]
    assert "How to release" not in script.said


def test_one_that_goes_while_it_is_asked_about_is_said_to_be_gone(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    script = run(bench, "a", {0: lambda: Path(shown.waiting.path).unlink()})

    assert "not done: no candidate" in script.said
    assert bench.memories() == {}


def test_one_that_changes_while_it_is_asked_about_is_shown_anew(bench: Bench) -> None:
    (shown,) = bench.put(candidate())
    path = Path(shown.waiting.path)
    script = run(bench, "aa", {0: lambda: path.write_text(path.read_text() + "Another line.\n")})

    assert "not done" in script.said
    assert script.said.count("| Another line.") == 1
    assert "Another line." in bench.memories()["how-to-release.md"]


def test_of_a_group_those_that_could_be_approved_are_and_the_others_wait(bench: Bench) -> None:
    bench.put(deploy("a"), deploy("b"), deploy("c"))
    bench.memory("taken.md", "---\nkey: deploy:b\n---\nBy hand.\n")
    script = run(bench, "AAu", {})

    assert "is taken" in script.said
    assert sorted(bench.memories()) == ["taken.md"]
    assert len(bench.waiting()) == 3
    assert "undone" in script.said


def test_an_undo_that_is_refused_says_so_and_the_run_goes_on(bench: Bench) -> None:
    bench.put(deploy("a"), deploy("b"))
    mine = Path(bench.scopes["project"].folder, "deploy-a.md")
    script = run(bench, "aua", {1: lambda: mine.write_text("Mine.\n")})

    assert "has changed since it was approved" in script.said
    assert mine.read_text() == "Mine.\n"
    assert sorted(bench.memories()) == ["deploy-a.md", "deploy-b.md"]


def test_an_edit_goes_through_the_gates_again_and_a_secret_is_not_approved(bench: Bench) -> None:
    bench.put(candidate())
    bench.gates = lambda waiting: {"secret": Verdict("make all" not in waiting.candidate.body, "an AWS key")}
    script = run(bench, "ear")

    assert "not passed: secret: an AWS key" in script.said
    assert bench.memories() == {}
    assert bench.waiting() == []


def test_an_edited_one_is_noted_as_edited(bench: Bench) -> None:
    bench.put(candidate())
    run(bench, "ea")

    assert bench.ledger.db.execute("SELECT decision FROM decision").fetchall() == [("edit",)]
    assert "make all" in bench.memories()["how-to-release.md"]


def test_one_of_a_place_that_is_not_trusted_can_be_rejected(bench: Bench) -> None:
    bench.put(candidate(scope_ref="elsewhere"))
    script = run(bench, "ar")

    assert script.said.count("not done: not trusted here") == 3  # in both questions, and as the answer
    assert "not known here" in script.said
    assert bench.waiting() == []


# --- screens ------------------------------------------------------------------------------------------


def test_much_evidence_is_cut_and_all_of_the_text_is_shown(bench: Bench) -> None:
    evidence = tuple(Evidence("\n".join(f"line {n}" for n in range(9)), "codex", f"s{k}") for k in range(7))
    gates = {"confidence": Verdict(False, "0.3 is under 0.6")}
    body = "".join(f"text {n}\n" for n in range(300))
    (shown,) = bench.put(candidate(body, evidence=evidence), gates=gates)
    lines = question(shown, [shown.waiting] * 12, "1 waits", 20, plain)

    assert [f"| text {n}" for n in range(300)] == [line for line in lines if line.startswith("| text")]
    assert lines.count("  ... 3 more lines") == 5
    assert "  ... and 2 more" in lines
    assert "weak: met in one session only" in lines
    assert max(map(len, lines)) <= 40


def test_what_has_no_evidence_and_no_name_is_shown_as_such(bench: Bench) -> None:
    (shown,) = bench.put(candidate(fields={"type": "fact"}, evidence=()))
    lines = question(shown, [], "1 waits", 80, plain)

    assert "  no evidence was given" in lines
    assert lines[1] == "Run make dist first."
    assert summary(shown.waiting, 80, plain)[-1] == "   Run make dist first."


def test_what_resembles_another_is_shown_beside_it(bench: Bench) -> None:
    bench.memory("old.md", "---\nkey: old\n---\nRun make first.\n")
    (addition,) = bench.put(candidate(target="old"))
    (same,) = bench.put(candidate("Run make first.\n", target="old", action="SUPERSEDE"))
    lines = question(addition, [], "1 waits", 80, plain)

    assert lines[lines.index("resembles old") :][1:4] == [
        "| @@ -1 +1 @@",
        "| -Run make first.",
        "| +Run make dist first.",
    ]
    assert "  nothing: it says the same" in question(same, [], "1 waits", 80, plain)


def test_a_target_that_can_no_longer_be_changed_by_line_is_said(bench: Bench) -> None:
    bench.memory("old.md", "---\n{key: old}\n---\nOld.\n")
    (shown,) = bench.put(candidate(target="old", action="UPDATE"))
    lines = question(shown, [], "1 waits", 80, plain)

    assert any(line.startswith("not done: ") for line in lines)


def test_the_last_line_counts() -> None:
    assert tally(0, 0, 0) == "nothing waits any more"
    assert tally(2, 1, 1) == "2 approved, 1 rejected, 1 waits"
