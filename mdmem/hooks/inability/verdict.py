"""A message in; the sentences that say that something could not be done, weighed with their neighbours, out."""

from __future__ import annotations

import re
from functools import reduce
from operator import or_

from mdmem.hooks.inability.prose import Sentence, sentences
from mdmem.hooks.inability.signs import Sign, may_say

NEAR = 1  # how many sentences away a reason may stand
LATER = 2  # how many sentences later it may turn out well
MAX_SENTENCE = 1_000  # characters of a sentence that are read

_HAN = re.compile(r"[\u4e00-\u9fff]")


def inability(message: str) -> str | None:
    """The sentences in which a closing message says that the assistant can't or could not do what it was to do, for
    want of access, rights, tools or a network; None where it says no such thing. Any text gets an answer.
    """
    found = sentences(message)
    reader = _Reader(found)
    said = [one.text for at, one in enumerate(found) if not one.quoted and may_say(one.said) and reader.says(at)]
    return "\n".join(said) or None


def _read(text: str) -> list[int]:
    # A grammar is some 20 ms of patterns to compile: only that of the message's own language is loaded.
    if _HAN.search(text):
        from mdmem.hooks.inability import chinese

        return chinese.signs(text)
    from mdmem.hooks.inability import english

    return english.signs(text)


class _Reader:
    """Reads each sentence once, and only those that are asked for."""

    def __init__(self, found: list[Sentence]) -> None:
        self.said = [one.said[:MAX_SENTENCE] for one in found]
        self.found = found
        self._signs: dict[int, list[int]] = {}

    def says(self, at: int) -> bool:
        """Whether a sentence says that something can't be done, and nothing around it undoes that."""
        if len(self.found) == 1 and len(self.signs(at)) == 1 and self.signs(at)[0] & Sign.BARE:
            return True
        firm = Sign.NONE
        for place, sign in enumerate(self.signs(at)):
            if sign & (Sign.CANNOT | Sign.MAYBE | Sign.REASON | Sign.UNDONE) and not self._is_undone(at, place):
                firm |= sign
        if firm & Sign.CANNOT:
            return True
        return bool(firm & (Sign.MAYBE | Sign.UNDONE)) and self._has_reason(at)

    def signs(self, at: int) -> list[int]:
        if at not in self._signs:
            text = self.said[at]
            self._signs[at] = _read(text)
        return self._signs[at]

    def _all(self, at: int) -> int:
        held = (sign for sign in self.signs(at) if not sign & Sign.VOID)
        return reduce(or_, held, Sign.NONE)

    def _has_reason(self, at: int) -> bool:
        near = range(max(at - NEAR, 0), min(at + NEAR + 1, len(self.said)))
        return any(self._all(n) & (Sign.REASON | Sign.CANNOT) for n in near if self._belong(at, n))

    def _belong(self, one: int, other: int) -> bool:
        """Whether two sentences may be about the same thing: those of two items of a list are not."""
        first, second = self.found[one].item, self.found[other].item
        return first == second or not (first and second)

    def _is_undone(self, at: int, place: int) -> bool:
        """Whether what a clause says did not hold, or turned out well in the end."""
        signs = self.signs(at)
        if signs[place] & Sign.VOID:
            return True
        # What another clause has to make an inability of is undone by any success; what is said outright is not.
        early = any(sign & Sign.EARLY for sign in signs[: place + 1]) or not signs[place] & Sign.CANNOT
        if _turns_out(signs[place + 1 :], early=early):
            return True
        for following in map(self.signs, range(at + 1, min(at + 1 + LATER, len(self.said)))):
            if _turns_out(following, early=early):
                return True
        return False


def _turns_out(signs: list[int], *, early: bool) -> bool:
    """Whether a deed is told that was done after all, with a word that joins it to what was said before."""
    then, but = early, False
    for sign in signs:
        then, but = then or bool(sign & Sign.THEN), but or bool(sign & Sign.BUT)
        # `but the code is pushed` may be of something else than what failed; `but it worked` is not.
        turned = (then and sign & (Sign.DONE | Sign.WORKED)) or (but and sign & Sign.WORKED)
        if turned and not sign & Sign.VOID:
            return True
    return False
