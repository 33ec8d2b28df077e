"""Candidates that wait in, a person's answers asked for one by one, decisions out. Knows no terminal: see `Person`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from mdmem.candidates import inbox
from mdmem.candidates.inbox import Waiting
from mdmem.errors import MdmemError, NotFoundError
from mdmem.outputs.reveal import reveal
from mdmem.outputs.text import Paint
from mdmem.review.decide import Desk, Done, Shown, approve, look, reject, undo
from mdmem.review.marks import marks_of
from mdmem.review.order import groups
from mdmem.review.screen import HELP, error_lines, key_lines, question


class Person(Protocol):
    """Whoever decides. A test may answer for them."""

    def columns(self) -> int:
        """How wide they see."""

    def tell(self, lines: Iterable[str]) -> None: ...
    def choose(self, prompt: Sequence[str], keys: str) -> str:
        """One of `keys`; `q` where there is nobody to answer."""

    def edit(self, folder: str, rel: str) -> None:
        """Have a file edited. Raises MdmemError where that can't be."""


class _Step(NamedTuple):
    """What one answer did, for undoing it; a group that was skipped has no decisions."""

    group: list[Waiting]
    done: list[Done]


class Review:
    """One run: the questions that are left, and what was decided."""

    def __init__(self, desk: Desk, person: Person, paint: Paint, waiting: Iterable[Waiting]) -> None:
        self.desk = desk
        self.person = person
        self.paint = paint
        self._todo = groups(waiting)
        self._steps: list[_Step] = []
        self._edited: set[str] = set()
        self._asked = 0

    @property
    def done(self) -> list[Done]:
        """The decisions that stand."""
        return [one for step in self._steps for one in step.done]

    def run(self) -> None:
        """Ask until nothing is left, or the person has enough."""
        while self._todo:
            shown = self._next()
            if shown is not None and not self._ask(shown):
                return

    def _next(self) -> Shown | None:
        """The first question, looked at afresh; None where its candidate was decided elsewhere."""
        group = self._todo[0]
        try:
            group[0] = self._with_gates(inbox.read(self.desk.inbox, group[0].key))
            return look(self.desk, group[0])
        except NotFoundError:
            self._drop(group[0])
            return None

    def _with_gates(self, waiting: Waiting) -> Waiting:
        """An edited candidate goes through the gates again."""
        if waiting.key not in self._edited:
            return waiting
        return waiting._replace(gates={**waiting.gates, **self.desk.gates(waiting)})

    def _ask(self, shown: Shown) -> bool:
        """One question and what follows from its answer; False for quitting."""
        others, undoable = self._todo[0][1:], bool(self._steps)
        left = sum(map(len, self._todo))
        place = f"{left} {'waits' if left == 1 else 'wait'}"
        columns = self.person.columns()
        self.person.tell(question(shown, others, place, columns, self.paint))
        keys = "aernsq?" + ("A" if others else "") + ("u" if undoable else "")
        answer = self.person.choose(key_lines(shown, others, columns, undoable=undoable), keys)
        if answer == "q":
            return False
        try:
            self._act(answer, shown)
        except MdmemError as error:
            self.person.tell([*error_lines(error, self.person.columns(), self.paint), ""])
        return True

    def _act(self, answer: str, shown: Shown) -> None:
        acts: dict[str, Callable[[Shown], None]] = {
            "a": self._approve,
            "A": self._approve_all,
            "e": self._edit,
            "r": lambda shown: self._decided([shown.waiting], [reject(self.desk, shown)]),
            "n": self._never,
            "s": self._skip,
            "u": self._undo,
            "?": lambda shown: self.person.tell([*HELP, ""]),
        }
        acts[answer](shown)

    # --- answers ----------------------------------------------------------------

    def _approve(self, shown: Shown) -> None:
        self._decided([shown.waiting], [self._approved(shown)])

    def _approved(self, shown: Shown) -> Done:
        return approve(self.desk, shown, "edit" if shown.waiting.key in self._edited else "approve")

    def _approve_all(self, first: Shown) -> None:
        """Nothing is approved that was not on the screen: the others are shown, and asked about once more."""
        rest = [look(self.desk, one) for one in self._todo[0][1:]]
        for at, shown in enumerate(rest, 2):
            place = f"{at} of {len(rest) + 1}"
            self.person.tell(question(shown, (), place, self.person.columns(), self.paint))
        if self.person.choose([f"A approve all {len(rest) + 1}  q back"], "Aq") != "A":
            return
        done: list[Done] = []
        approved: list[Waiting] = []
        try:
            for shown in [first, *rest]:
                done.append(self._approved(shown))
                approved.append(shown.waiting)
        finally:
            self._decided(approved, done)

    def _edit(self, shown: Shown) -> None:
        self.person.edit(self.desk.inbox, f"{shown.waiting.key}.md")
        self._edited.add(shown.waiting.key)
        inbox.read(self.desk.inbox, shown.waiting.key)  # says what is wrong with it, if it is no candidate any more

    def _never(self, shown: Shown) -> None:
        """Refuse it for ever, and with it those that wait and are of its kind."""
        pattern = marks_of(shown.waiting.candidate).pattern
        alike = [one for one in self._todo[0][1:] if pattern and marks_of(one.candidate).pattern == pattern]
        done: list[Done] = []
        try:
            for one in [shown, *(look(self.desk, one) for one in alike)]:
                done.append(reject(self.desk, one, forever=True))
        finally:
            self._decided([shown.waiting, *alike][: len(done)], done)

    def _skip(self, shown: Shown) -> None:
        self._steps.append(_Step(self._todo.pop(0), []))

    def _undo(self, shown: Shown) -> None:
        step = self._steps[-1]
        while step.done:
            undo(self.desk, step.done[-1])
            step.done.pop()
        self._steps.pop()
        self._todo = _first(step.group, self._todo)
        self.person.tell(["undone" if step.group else "", ""])

    def _decided(self, waiting: list[Waiting], done: list[Done]) -> None:
        if not done:
            return
        self._steps.append(_Step(waiting, done))
        for one in waiting:
            self._drop(one)
        self.person.tell([*map(self._told, done), ""])

    def _drop(self, one: Waiting) -> None:
        group = [other for other in self._todo[0] if other.key != one.key]
        self._todo[:1] = [group] if group else []

    def _told(self, done: Done) -> str:
        if done.memory is not None:
            return f"{self.paint('approved', 'good')} {reveal(done.memory.path)}"
        word = "refused for ever" if done.decision == "never" else "rejected"
        return f"{self.paint(word, 'warn')} {reveal(done.key)}"


def _first(group: list[Waiting], todo: list[list[Waiting]]) -> list[list[Waiting]]:
    """The questions with a group put back before them, joined to those that it was taken from."""
    if todo and len(groups([*group, *todo[0]])) == 1:
        return [[*group, *todo[0]], *todo[1:]]
    return [group, *todo]
