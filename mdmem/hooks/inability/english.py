"""An English sentence in, the signs of each of its clauses out.

A clause is read by asking who its subject is, whether it holds a word of inability or of lack, and what follows.
"""

from __future__ import annotations

from collections.abc import Iterator

from mdmem.hooks.inability import english_words as words
from mdmem.hooks.inability.signs import Sign
from mdmem.hooks.inability.spelling import plain_english

_AROUND = (
    (Sign.UNDONE, words.UNDONE),
    (Sign.EARLY, words.EARLY),
    (Sign.THEN, words.THEN),
    (Sign.BUT, words.BUT),
)


def signs(text: str) -> list[int]:
    """The signs of each clause, in order."""
    plain = plain_english(text)
    if plain.endswith(("?", "？")) and words.ASKED.match(words.HEAD.sub("", plain)):
        return [Sign.VOID]
    if words.FORBIDDEN.search(plain):
        return [Sign.VOID]
    found: list[int] = []
    told = others = bool(words.TOLD.search(plain))  # whether somebody or something else is spoken of
    hypothetical = False  # whether a condition stands before
    for clause in _clauses(plain):
        if words.CONDITION.match(clause) or (hypothetical and clause.startswith(("and ", "or "))):
            found.append(Sign.VOID)
            hypothetical = hypothetical or not words.WISH.search(clause)
            continue
        sign = Sign.VOID if hypothetical else _read(clause, others or bool(found and words.RELATIVE.match(clause)))
        if told:
            sign &= ~(Sign.MAYBE | Sign.REASON | Sign.UNDONE)
        if words.CONCESSION.match(clause) or words.SCOPE.search(clause):
            sign |= Sign.VOID
        found.append(sign)
        others = told or _speaks_of_others(clause, others)
    return found


def _clauses(plain: str) -> Iterator[str]:
    return (clause for clause in (part.strip(" .!…?") for part in words.SPLIT.split(plain)) if clause)


def _speaks_of_others(clause: str, before: bool) -> bool:
    spoken = words.HEAD.sub("", clause).split()
    if not spoken or words.ME.search(clause):
        return False
    return before or len(spoken) > 3 or bool(words.REPORT.search(clause))


def _read(clause: str, others: bool) -> int:
    if words.NOTHING_WRONG.search(clause):
        return Sign.NONE
    bare = words.HEAD.sub("", clause)
    sign = _inability(bare, others) | _lack(bare, others)
    for what, pattern in _AROUND:
        if pattern.search(clause):
            sign |= what
    if words.HANDOVER.search(clause) and not words.NOT_HANDED.search(clause):
        sign |= Sign.MAYBE if words.ADDRESSED.search(clause) else Sign.UNDONE
    return sign | _success(clause) if not sign & (Sign.CANNOT | Sign.MAYBE) else sign


def _success(clause: str) -> int:
    if words.NEGATION.search(clause) or words.ASIDE.search(clause):
        return Sign.NONE
    if words.YOU.search(clause) and not words.ME.search(clause):
        return Sign.NONE  # `until you have built it`: what the person is to do
    done = Sign.DONE if words.DONE.search(clause) else Sign.NONE
    return done | Sign.WORKED if words.WORKED.search(clause) else done


def _inability(clause: str, others: bool) -> int:
    """What a clause says of what can't be done."""
    if words.NO_WAY.search(clause) and not words.PERSON.match(clause):
        return Sign.CANNOT
    if words.IMPOSSIBLE.search(clause):
        return Sign.CANNOT if words.PLACE.search(clause) else Sign.MAYBE
    found = words.CANNOT.search(clause)
    if found is None:
        return Sign.CANNOT if words.STUCK.search(clause) else Sign.NONE
    before, after = clause[: found.start()].rstrip(), clause[found.end() :]
    if words.TRADE.search(after) or words.PRINCIPLE.search(clause):
        return Sign.NONE
    if words.SPEAKER.search(before) or words.MINE.search(before) or not (before or others):
        return _deed(after, we=bool(words.WE.search(before)), placed=bool(words.PLACE.search(clause)))
    if words.PLACE.search(after) and not words.PERSON.search(before) and not words.HERE.search(after):
        return Sign.CANNOT
    return Sign.MAYBE if after.startswith(" be ") and words.UNDONE.search(clause) else Sign.NONE


def _deed(after: str, *, we: bool, placed: bool) -> int:
    """What follows `I can't`. `We` may be anybody."""
    if words.SEEING.match(after):
        return Sign.CANNOT
    if words.HARMLESS.match(after):
        return Sign.NONE
    if words.CODING.match(after):
        return Sign.MAYBE
    return Sign.CANNOT if placed or (words.WORLDLY.match(after) and not we) else Sign.MAYBE


def _lack(clause: str, others: bool) -> int:
    """What a clause says of what is missing."""
    place, barred = words.PLACE.search(clause), words.BARRED.search(clause)
    mine = (
        words.ME.search(clause)
        or words.MINE.search(clause)
        or (not others and clause.startswith(("have ", "lack ", "am ")))
    )
    denied = words.DENIED.search(clause)
    if (barred and mine) or ((place or words.AT_ME.search(clause)) and (barred or denied)):
        return Sign.CANNOT
    owner = words.OWNER.match(clause)
    if owner and not (mine or place or words.HELD.search(owner[1])):
        return Sign.NONE
    things = words.THINGS.sub(words.THING, clause)
    missing = words.LACK.search(things) or (words.NOT_SO.search(clause) and words.NEGATION.search(clause))
    theirs = words.PERSON.match(clause) and not (place and words.NOT_THERE.match(clause))
    if missing and not theirs and not words.USED.search(clause):
        return Sign.CANNOT if mine or place else Sign.REASON | Sign.BARE if words.BARE.match(things) else Sign.REASON
    if mine and words.WITHOUT_IT.search(clause):
        return Sign.CANNOT
    none_here = place and words.NONE_HERE.match(clause)
    return Sign.REASON if missing or barred or denied or none_here or words.REQUIRES.search(things) else Sign.NONE
