"""A candidate as it is shown in, the lines of the question about it out: what, why, where to, and what it resembles.

Text of the candidate stands revealed behind a margin of its own, so that it can imitate none of our lines. Our own
signs are ASCII: they must be readable anywhere.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mdmem.candidates.inbox import Candidate, Evidence, Waiting
from mdmem.document import parse
from mdmem.errors import MdmemError
from mdmem.outputs.reveal import reveal, width, wrapped
from mdmem.outputs.text import Paint
from mdmem.review.decide import Shown
from mdmem.review.marks import evidence_of, key_start, text_of, type_of
from mdmem.review.order import confidence_of, is_weak

MIN_COLUMNS = 40
_MAX_EVIDENCE = 5
_MAX_QUOTE_LINES = 6
_MAX_OTHERS = 10
_SHORT = 25  # characters of a kind that fit among the keys to press
_CONTEXT = 2  # lines around a change
_SAID_ABOVE = frozenset(("name", "type", "key", "source", "confidence", "description"))
_DOING = {"ADD": "new memory", "UPDATE": "change of a memory", "SUPERSEDE": "new memory in place of another"}

HELP = (
    "a  approve: the memory is written as shown",
    "A  approve the whole group: the others are shown, and you are asked once more",
    "e  edit it in your editor; then it is shown again",
    "r  reject: not proposed again, unless evidence of another kind turns up",
    "n  never: refused for ever, and with it, in this scope, all of its type whose",
    "   keys begin alike",
    "s  skip: it waits on, and so do those grouped with it",
    "u  undo the last answer of this run",
    "q  quit: what is undecided waits on",
)


def question(shown: Shown, others: Sequence[Waiting], place: str, columns: int, paint: Paint) -> list[str]:
    """All lines of one question. `others`: those that are grouped with it; `place`: which question this is."""
    columns = max(columns, MIN_COLUMNS)
    candidate = shown.waiting.candidate
    lines = [_rule(f"{place}  {_doing(candidate)}", columns, paint)]
    lines += _head(shown.waiting, columns, paint)
    lines += ["", paint("what", "key"), *_what(shown, columns)]
    lines += ["", paint("why", "key"), *_why(candidate.evidence, columns, paint)]
    lines += [*_gates(shown.waiting, columns, paint), "", paint("where to", "key"), *_where(shown, columns)]
    if shown.target is not None:
        lines += ["", paint(_resembles(candidate), "key"), *_changes(shown, columns, paint)]
    if others:
        lines += ["", paint(f"and {len(others)} more like this", "key"), *_others(others, columns)]
    if shown.trouble is not None:
        lines += ["", *error_lines(shown.trouble, columns, paint)]
    return [*lines, ""]


def key_lines(shown: Shown, others: Sequence[Waiting], columns: int, *, undoable: bool) -> list[str]:
    """The keys that may be pressed, a few to a line."""
    candidate, count = shown.waiting.candidate, len(others) + 1
    kind = reveal(f"{type_of(candidate)} {key_start(candidate)}*")
    keys = [
        "a approve",
        f"A all {count}" if others else "",
        "e edit",
        "r reject",
        f"n never {kind}" if key_start(candidate) and len(kind) <= _SHORT else "n never",
        f"s skip {count}" if others else "s skip",
        "u undo" if undoable else "",
        "q quit",
        "? help",
    ]
    lines = [""]
    for key in filter(None, keys):
        if lines[-1] and width(lines[-1]) + 2 + width(key) > columns:
            lines.append("")
        lines[-1] += f"  {key}" if lines[-1] else key
    return lines


def error_lines(error: MdmemError, columns: int, paint: Paint) -> list[str]:
    """Why something was not done, and what to do."""
    words = [f"not done: {error}", *([f"try: {error.hint}"] if error.hint else [])]
    return [paint(line, "bad") for text in words for line in wrapped(reveal(text), columns)]


def summary(waiting: Waiting, columns: int, paint: Paint) -> list[str]:
    """A candidate in a listing: its key, what it is, and its one line."""
    candidate = waiting.candidate
    facts = f"{reveal(candidate.action)} {_scope(candidate)} . {reveal(type_of(candidate))} . {_belief(candidate)}"
    weak = paint("  [weak]", "warn") if is_weak(waiting) else ""
    failed = [name for name, verdict in waiting.gates.items() if not verdict.passed and name != "confidence"]
    refused = paint(f"  [not passed: {', '.join(map(reveal, failed))}]", "warn") if failed else ""
    lines = [paint(reveal(waiting.key), "key"), f"   {facts}{weak}{refused}"]
    return [*lines, *(f"   {line}" for line in wrapped(_title(waiting), columns - 3))]


def candidate_json(waiting: Waiting) -> dict[str, Any]:
    """A candidate as `review --list --json` has it."""
    candidate = waiting.candidate
    return {
        "key": waiting.key,
        "action": candidate.action,
        "target": candidate.target,
        "scope": candidate.scope,
        "scope_ref": candidate.scope_ref,
        "type": type_of(candidate),
        "name": text_of(candidate, "name") or None,
        "body": candidate.body,
        "confidence": confidence_of(candidate),
        "source": evidence_of(candidate),
        "proposed": candidate.proposed or None,
        "path": waiting.path,
        "weak": is_weak(waiting),
        "evidence": [one._asdict() for one in candidate.evidence],
        "gates": {name: verdict._asdict() for name, verdict in waiting.gates.items()},
    }


# --- parts --------------------------------------------------------------------------------------------


def _rule(text: str, columns: int, paint: Paint) -> str:
    line = f"-- {text} "
    return paint(line + "-" * max(columns - width(line), 0), "dim")


def _head(waiting: Waiting, columns: int, paint: Paint) -> Iterator[str]:
    candidate = waiting.candidate
    yield from (paint(line, "key") for line in wrapped(_title(waiting), columns))
    facts = [
        reveal(type_of(candidate)),
        _belief(candidate),
        f"proposed {reveal(candidate.proposed)[:10] or 'some time'}",
    ]
    key = text_of(candidate, "key")
    yield from wrapped(", ".join([f"key {reveal(key)}", *facts] if key else facts), columns)
    if is_weak(waiting):
        yield paint("weak: met in one session only", "warn")


def _title(waiting: Waiting) -> str:
    candidate = waiting.candidate
    named = text_of(candidate, "name") or text_of(candidate, "description") or candidate.body.strip().partition("\n")[0]
    return reveal(" ".join(named.split()) or waiting.key)


def _belief(candidate: Candidate) -> str:
    return f"{evidence_of(candidate)}, confidence {confidence_of(candidate):g}"


def _what(shown: Shown, columns: int) -> Iterator[str]:
    candidate = shown.waiting.candidate
    described = text_of(candidate, "description")
    if described:
        yield from _quoted(f"description: {described}", columns)
    for name, value in candidate.fields.items():
        if name not in _SAID_ABOVE:
            yield from _quoted(f"{name}: {value if isinstance(value, str) else ', '.join(value)}", columns)
    yield from _quoted(candidate.body.strip("\n"), columns)


def _quoted(text: str, columns: int, margin: str = "| ", more: str = ": ") -> Iterator[str]:
    """Text behind a margin; another one where a line goes on."""
    for line in reveal(text, lines=True).split("\n"):
        first, *rest = wrapped(line.expandtabs(4), columns - 2)
        yield f"{margin}{first}".rstrip()
        yield from (f"{more}{piece}".rstrip() for piece in rest)


def _why(evidence: Sequence[Evidence], columns: int, paint: Paint) -> Iterator[str]:
    if not evidence:
        yield "  no evidence was given"
    for one in evidence[:_MAX_EVIDENCE]:
        session = f"session {one.session}" if one.session else None
        said = [word for word in (one.agent, session) if word]
        at = f" at {one.offset}" if one.offset is not None else ""
        if one.path:
            said.append(f"{one.path}{at}")
        yield from (f"  {line}" for line in wrapped(reveal(", ".join(said)) or "said without a log", columns - 2))
        lines = list(_quoted(one.text.strip("\n"), columns, "> "))
        yield from lines[:_MAX_QUOTE_LINES]
        if len(lines) > _MAX_QUOTE_LINES:
            yield paint(f"  ... {len(lines) - _MAX_QUOTE_LINES} more lines", "dim")
    if len(evidence) > _MAX_EVIDENCE:
        yield paint(f"  ... and {len(evidence) - _MAX_EVIDENCE} more", "dim")


def _gates(waiting: Waiting, columns: int, paint: Paint) -> Iterator[str]:
    passed = [name for name, verdict in waiting.gates.items() if verdict.passed]
    if passed:
        yield from (paint(f"  {line}", "dim") for line in wrapped(f"passed: {reveal(', '.join(passed))}", columns - 2))
    for name, verdict in waiting.gates.items():
        if not verdict.passed:
            text = reveal(f"not passed: {name}: {verdict.reason}")
            yield from (paint(f"  {line}", "warn") for line in wrapped(text, columns - 2))


def _where(shown: Shown, columns: int) -> Iterator[str]:
    candidate = shown.waiting.candidate
    folder = reveal(shown.scope.folder) if shown.scope else "not known here"
    place = f"{folder}/{reveal(shown.target.rel)}" if shown.target and candidate.action == "UPDATE" else folder
    yield from (f"  {line}" for line in wrapped(f"{_scope(candidate)}: {place}", columns - 2))


def _doing(candidate: Candidate) -> str:
    return _DOING.get(candidate.action, reveal(candidate.action))


def _scope(candidate: Candidate) -> str:
    return reveal(f"{candidate.scope} {candidate.scope_ref}" if candidate.scope_ref else candidate.scope)


def _resembles(candidate: Candidate) -> str:
    said = {"UPDATE": "what changes in", "SUPERSEDE": "instead of"}.get(candidate.action, "resembles")
    return f"{said} {reveal(candidate.target or '')}"


def _changes(shown: Shown, columns: int, paint: Paint) -> Iterator[str]:
    """A unified diff between the memory that is there and what is proposed."""
    old = shown.target.data if shown.target else b""
    try:
        new = shown.becomes
    except MdmemError as error:
        yield from error_lines(error, columns, paint)
        return
    if shown.waiting.candidate.action != "UPDATE":  # two files: of interest is what they say
        old, new = (parse(data, "").body.encode() for data in (old, new))
    before, after = (data.decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n") for data in (old, new))
    diff = list(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=_CONTEXT))[2:]
    if not diff:
        yield "  nothing: it says the same"
    styles = {"+": "good", "-": "bad", "@": "dim"}
    for line in diff:
        style = styles.get(line[:1])
        for piece in _quoted(line, columns):
            yield paint(piece, style) if style else piece


def _others(others: Sequence[Waiting], columns: int) -> Iterator[str]:
    for one in others[:_MAX_OTHERS]:
        key = text_of(one.candidate, "key")
        first, *rest = wrapped(f"{reveal(key)}  {_title(one)}" if key else _title(one), columns - 2)
        yield f"  {first}" + (" ..." if rest and width(first) <= columns - 6 else "")
    if len(others) > _MAX_OTHERS:
        yield f"  ... and {len(others) - _MAX_OTHERS} more"


def tally(approved: int, rejected: int, left: int) -> str:
    """What came of a run, in one line."""
    words: Iterable[str] = (
        f"{approved} approved" if approved else "",
        f"{rejected} rejected" if rejected else "",
        f"{left} {'waits' if left == 1 else 'wait'}" if left else "nothing waits any more",
    )
    return ", ".join(word for word in words if word)
