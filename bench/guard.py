"""Does the inability guard speak when it should, and only then?

    python bench/guard.py

The messages are tests/hooks/closing_messages.jsonl, by the part that they were written for (see docs/benchmarks.md).
The whole guard is asked over a store of tests/hooks/guarded_memories.jsonl, without an embedder: `memory` of a message
names the memories that help, [] where none does, and null where it may be told of one or not (such are not counted).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mdmem.app import Answers, Local  # noqa: E402
from mdmem.hooks.guard import guard  # noqa: E402
from mdmem.hooks.inability import inability  # noqa: E402
from tests.bed import Bed, memory  # noqa: E402

HOOKS = ROOT / "tests" / "hooks"
Message = dict[str, Any]


class Score(NamedTuple):
    """What was said rightly, wrongly, and not."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    n: int = 0

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HOOKS / name).read_text("utf-8").splitlines()]


def score(messages: Iterable[Message], judge: Callable[[Message], bool]) -> Score:
    """How well a judgement fits what the messages are labelled."""
    total = Score()
    for message in messages:
        found, is_so = judge(message), message["says"]
        total = Score(
            total.right + (found and is_so), total.wrong + (found and not is_so), total.missed + (is_so and not found),
            total.n + 1,
        )  # fmt: skip
    return total


def memory_text(one: dict[str, Any]) -> str:
    """The file of one of the memories."""
    return memory(one["description"], **{key: value for key, value in one.items() if key != "description"})


def fill(bed: Bed) -> None:
    for one in read("guarded_memories.jsonl"):
        bed.put(f"{one['key'].replace(':', '-')}.md", memory_text(one))
    bed.sync()


def told_key(told: str | None) -> str | None:
    """Which memory a text of the guard is about."""
    return told.split("] ", 1)[1].split(" (", 1)[0] if told else None


def guarded(answers: Answers, messages: Iterable[Message]) -> Score:
    """Right: told of a memory that helps. Wrong: of another, or of any where none does."""
    total = Score()
    for message in messages:
        wanted = message.get("memory", [])
        if wanted is None:
            continue
        key = told_key(guard(answers.answer, message["text"], "", {"cwd": "/", "agent": None}))
        total = Score(
            total.right + (key in wanted), total.wrong + (key is not None and key not in wanted),
            total.missed + (bool(wanted) and key not in wanted), total.n + 1,
        )  # fmt: skip
    return total


def says(message: Message) -> bool:
    return inability(message["text"]) is not None


def row(name: str, found: Score, ms: float) -> str:
    rates = f"{found.precision:.3f} | {found.recall:.3f}"
    return f"| {name} | {found.n} | {found.wrong} | {found.missed} | {rates} | {ms:.2f} |"


def main() -> None:
    messages = read("closing_messages.jsonl")
    print("| messages | n | wrong | missed | precision | recall | ms a message |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    groups = [(key, value) for key in ("part", "lang", "kind") for value in dict.fromkeys(m[key] for m in messages)]
    for key, value in [*groups, ("all", None)]:
        those = [message for message in messages if value in (None, message.get(key))]
        start = time.process_time()
        found = score(those, says)
        print(row(f"{key}: {value}" if value else key, found, (time.process_time() - start) * 1e3 / len(those)))
    with tempfile.TemporaryDirectory() as folder:
        bed = Bed(Path(folder) / "m")
        fill(bed)
        bed.close()
        with Local(bed.app) as local:
            start = time.process_time()
            found = guarded(Answers(local), messages)
            print(row("the whole guard", found, (time.process_time() - start) * 1e3 / len(messages)))


if __name__ == "__main__":
    main()
