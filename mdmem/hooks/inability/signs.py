"""What a clause may say about an inability, in any language; and which texts may say anything of the kind."""

from __future__ import annotations


class Sign:
    """The signs that a grammar finds in one clause, as bits of an int: there are many clauses, and an enum is slow."""

    NONE = 0
    CANNOT = 1  # the assistant can't do a deed, lacks what it takes, or hands the deed to the person
    MAYBE = 2  # something can't be done: an inability of the assistant if a reason stands near
    REASON = 4  # access, a tool or a connection is missing or was denied, whoever it is that needs it
    UNDONE = 8  # a deed was not done: an inability if a reason stands near
    DONE = 16  # a deed was done
    WORKED = 32  # what was tried went well, or another way was taken
    EARLY = 64  # this was so at first
    THEN = 128  # this came of it, or afterwards
    BUT = 256  # this stands against it
    BARE = 1024  # an inability or a lack of nobody in particular: the assistant's, where that is all the message says
    VOID = 512  # a condition, a question, or a concession: what the clause says did not stop the assistant


# No sentence without one of these says what can't be done: most are passed over by it. Searching for a few words one
# by one is ten times as fast as a pattern of them.
_WORDS = (
    "not", "n't", "n’t", "nt ", "no ", "none", "neither", "nothing", "never", "unable", "lack", "missing", "without",
    "yourself", "manually", "by hand", "by you", "prevent", "block", "stuck", "refus", "reject", "denied", "denies",
    "fail", "impossible", "incapable", "someone", "beyond", "only", "stopp", "forbid", "insufficient", "wall",
    "dead end", "roadblock", "out of", "on you", "limited", "cut off", "unreach", "401", "403", "hidden", "alone",
    "behind", "leave", "redirect", "bounce", "outside", "zero", "skip", "nobody", "switched off", "turned off",
)  # fmt: skip
_CHARACTERS = frozenset("没沒无無不未缺失拒限禁自手需请請麻")


def may_say(text: str) -> bool:
    """Whether a text holds a word that every inability is said with."""
    low = text.lower()
    return any(word in low for word in _WORDS) or not (low.isascii() or _CHARACTERS.isdisjoint(low))
