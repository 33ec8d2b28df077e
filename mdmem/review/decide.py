"""A candidate as a person saw it and their decision in; a memory's file, or none, out; the candidate's own file goes.

In what order: what is made is safely on disk before the candidate goes, so that a kill between two steps leaves both,
and approving once more finds the memory and only finishes. Whoever decides holds a lock of the inbox meanwhile.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from mdmem import edit, files
from mdmem.candidates.inbox import ACTIONS, Candidate, Verdict, Waiting
from mdmem.document import Document, add_verified, parse, remove_fields, set_fields
from mdmem.edit.add import draft_of, file_for
from mdmem.edit.place import Guard, Written, anything, written
from mdmem.errors import ChangedError, MdmemError, NotFoundError, RefusedError, UsageError
from mdmem.files import write
from mdmem.ledger import Decided, stamp
from mdmem.review.marks import marks_of
from mdmem.scope import Scope, alone

OURS = "candidate"  # the map in a candidate's file that the memory does not get
_LOCK = ".deciding"  # a folder in the inbox: its files lock the inbox itself
_OF_THE_FILE = frozenset(("created", "verified", OURS))  # says nothing of what the memory is about
_ENDS = ("invalid_at", "superseded_by")


class Desk(NamedTuple):
    """What deciding needs of whoever builds the parts.

    `inbox`: its folder. `scope_of` raises where a scope is not known, or not trusted. `find`: the path in a scope
    folder of the memory that has exactly a key. `note`: takes down decisions made, and taken back; it tells a person
    itself where it can't. `gates`: what they say of a candidate as it is now. `by`: who approves, as OKF names an
    actor.
    """

    inbox: str
    scope_of: Callable[[Candidate], Scope]
    find: Callable[[Scope, str], str | None]
    note: Callable[[Sequence[Decided], Sequence[Decided]], None]
    gates: Callable[[Waiting], Mapping[str, Verdict]]
    now: Callable[[], datetime.datetime]
    by: str
    guard: Guard = anything


class Target(NamedTuple):
    """The memory that a candidate changes or supersedes, as it was when it was looked at."""

    rel: str
    data: bytes


class Shown(NamedTuple):
    """A candidate as a person is shown it. `trouble`: why it can't be approved as things are."""

    waiting: Waiting
    data: bytes
    scope: Scope | None
    target: Target | None
    trouble: MdmemError | None

    @property
    def becomes(self) -> bytes:
        """The bytes of the memory, without the days and names that approving adds. Raises as approving would."""
        text = text_of(self.data)
        if self.waiting.candidate.action != "UPDATE" or self.target is None:
            return text
        return _updated(self.target.data, text)


class Made(NamedTuple):
    """A file of a scope folder that a decision wrote: what it held before (None: it was not there), and since."""

    folder: str
    rel: str
    before: bytes | None
    after: bytes


class Done(NamedTuple):
    """A decision that was made, and all that it takes to undo it."""

    key: str
    decision: str
    data: bytes
    memory: Written | None
    made: tuple[Made, ...]
    noted: tuple[Decided, ...]


def look(desk: Desk, waiting: Waiting) -> Shown:
    """A candidate with its file's bytes, and the memory it is about. Raises NotFoundError where it waits no more."""
    found = files.read(Path(desk.inbox), f"{waiting.key}.md")
    if not isinstance(found, files.Read):
        raise _gone(waiting)
    try:
        _check_action(waiting.candidate)
        scope = desk.scope_of(waiting.candidate)
    except MdmemError as error:
        return Shown(waiting, found.data, None, None, error)
    try:
        return Shown(waiting, found.data, scope, _target(desk, scope, waiting.candidate), None)
    except MdmemError as error:
        return Shown(waiting, found.data, scope, None, error)


def approve(desk: Desk, shown: Shown, decision: str = "approve") -> Done:
    """Write the memory that a candidate proposes; then its file goes.

    Nothing is doubled: a memory that says the same already is the one. Raises ChangedError where the candidate or the
    memory it changes is not as it was shown, RefusedError (the gate for secrets, a key that is taken, mounts), what
    `shown.trouble` says, MachineError; the candidate then waits on.
    """
    if shown.trouble is not None or shown.scope is None:
        raise shown.trouble or _gone(shown.waiting)
    with alone(f"{desk.inbox}/{_LOCK}"):
        _check_still_waits(desk, shown)
        _check_gates(desk, shown.waiting)
        at = desk.now()
        memory, made = _WRITE[shown.waiting.candidate.action](desk, shown, shown.scope, at)
        write.remove(Path(desk.inbox), f"{shown.waiting.key}.md", expected=shown.data)
    marks = marks_of(shown.waiting.candidate)
    noted = (Decided(marks.own, decision, marks.evidence, stamp(at)),)
    desk.note(noted, ())
    return Done(shown.waiting.key, decision, shown.data, memory, made, noted)


def reject(desk: Desk, shown: Shown, *, forever: bool = False) -> Done:
    """Let a candidate go, and remember that; `forever`: also all of its kind, where its key says what that is."""
    decision, marks, at = "never" if forever else "reject", marks_of(shown.waiting.candidate), stamp(desk.now())
    wanted = (marks.own, marks.pattern) if forever else (marks.own,)
    noted = tuple(Decided(mark, decision, marks.evidence, at) for mark in wanted if mark)
    _check_still_waits(desk, shown)
    desk.note(noted, ())  # first: what is gone and not remembered would be proposed again
    try:
        with alone(f"{desk.inbox}/{_LOCK}"):
            _check_still_waits(desk, shown)
            write.remove(Path(desk.inbox), f"{shown.waiting.key}.md", expected=shown.data)
    except MdmemError:
        desk.note((), noted)
        raise
    return Done(shown.waiting.key, decision, shown.data, None, (), noted)


def undo(desk: Desk, done: Done) -> None:
    """Take a decision back: the candidate waits again, and the files are byte for byte as they were.

    Raises ChangedError, having done nothing, where a file has changed since: what a person wrote stays.
    """
    with alone(f"{desk.inbox}/{_LOCK}"):
        for made in done.made:
            _check_unchanged(made)
        _put_back(desk, done)
        for made in reversed(done.made):
            root, rel = Path(files.from_printable(made.folder)), files.from_printable(made.rel)
            if made.before is None:
                write.remove(root, rel, expected=made.after)
            else:
                write.replace(root, rel, made.before, expected=made.after)
    desk.note((), done.noted)


def text_of(data: bytes) -> bytes:
    """The future memory: a candidate's file without the map that says why it is proposed."""
    return remove_fields(data, [OURS])


# --- writing ------------------------------------------------------------------------------------------


def _add(desk: Desk, shown: Shown, scope: Scope, at: datetime.datetime) -> tuple[Written, tuple[Made, ...]]:
    return _put_new(desk, scope, text_of(shown.data), at)


def _update(desk: Desk, shown: Shown, scope: Scope, at: datetime.datetime) -> tuple[Written, tuple[Made, ...]]:
    target, text = _need(shown), text_of(shown.data)
    memory, data = edit.update(
        memory_folder(scope), target.rel, lambda before: _updated(before, text), expected=target.data,
        verified=(desk.by, stamp(at)), today=_day(at), guard=desk.guard,
    )  # fmt: skip
    made = (Made(memory.folder, memory.rel, target.data, data),) if data != target.data else ()
    return memory, made


def _supersede(desk: Desk, shown: Shown, scope: Scope, at: datetime.datetime) -> tuple[Written, tuple[Made, ...]]:
    """The new memory first: with its `supersedes` alone the old one has ended already."""
    target, text = _need(shown), text_of(shown.data)
    old = parse(target.data, target.rel)
    named = shown.waiting.candidate.target or ""
    known = parse(text, "").fields.get("supersedes") or []
    ends = [known] if isinstance(known, str) else [item for item in known if isinstance(item, str)]
    if named not in ends:
        text = set_fields(text, {"supersedes": [*ends, named]})
    memory, made = _put_new(desk, scope, text, at)
    if old.fields.get("superseded_by") == memory.key:
        return memory, made
    folder = memory_folder(scope)
    try:
        edit.change(folder, target.rel, set_={"superseded_by": memory.key}, expected=target.data, guard=desk.guard)
    except MdmemError:
        for new in made:
            write.remove(Path(scope.folder), files.from_printable(new.rel), expected=new.after)
        raise
    after = set_fields(target.data, {"superseded_by": memory.key})
    return memory, (*made, Made(folder, target.rel, target.data, after))


_WRITE = {"ADD": _add, "UPDATE": _update, "SUPERSEDE": _supersede}


def _put_new(desk: Desk, scope: Scope, text: bytes, at: datetime.datetime) -> tuple[Written, tuple[Made, ...]]:
    """A memory that says this: the one that is there already, else a new one."""
    there = _same_memory(scope, text)
    if there is not None:
        return there, ()
    key = parse(text, "").fields.get("key")
    taken = desk.find(scope, key) if isinstance(key, str) and key.strip() else None
    if taken is not None:
        return _taken(scope, str(key), taken, text), ()
    signed = add_verified(text, desk.by, stamp(at))
    memory = edit.add(scope, _decoded(signed), fields={}, today=_day(at), guard=desk.guard)
    found = files.read(Path(scope.folder), files.from_printable(memory.rel))
    if not isinstance(found, files.Read):
        raise NotFoundError("the memory was written, and is gone", where=memory.path, hint="see: mdmem list")
    return memory, (Made(memory.folder, memory.rel, None, found.data),)


def _taken(scope: Scope, key: str, rel: str, text: bytes) -> Written:
    """The memory that has the key already, if it says the same; else RefusedError."""
    found = files.read(Path(scope.folder), files.from_printable(rel))
    if isinstance(found, files.Read) and _is_same(parse(found.data, rel), parse(text, "")):
        return written(scope.folder, files.from_printable(rel), found.data)
    raise RefusedError(
        f"the key {key!r} is taken",
        where=f"{memory_folder(scope)}/{rel}",
        hint="edit the candidate: give it another key, or make it an UPDATE of that memory",
    )


def _same_memory(scope: Scope, text: bytes) -> Written | None:
    """A memory that says what this text does, under a name that approving would have given it."""
    root, doc = Path(scope.folder), parse(text, "")
    if not root.is_dir():
        return None
    stem = file_for(root, draft_of(scope, _decoded(text), {}).title)[: -len(".md")]
    series = re.compile(re.escape(files.folded(stem)) + r"(?:-\d+)?\.md")
    for name in sorted(os.listdir(root)):
        found = files.read(root, name) if series.fullmatch(files.folded(name)) else None
        if isinstance(found, files.Read) and _is_same(parse(found.data, name), doc):
            return written(scope.folder, name, found.data)
    return None


def _is_same(there: Document, ours: Document) -> bool:
    """Whether a memory that holds says all that ours would; what it says besides, a person may have added."""
    if there.broken or any(there.fields.get(key) for key in _ENDS) or there.fields.get("status") == "archived":
        return False
    said = {key: value for key, value in ours.fields.items() if key not in _OF_THE_FILE}
    same = all(there.fields.get(key) == value for key, value in said.items())
    return same and there.body.rstrip("\n") == ours.body.rstrip("\n")


def _updated(before: bytes, text: bytes) -> bytes:
    """A memory with the text and the fields that a candidate names; its key and its age are its own."""
    doc = parse(text, "")
    fields = {key: value for key, value in doc.fields.items() if key not in (*_OF_THE_FILE, "key")}
    return edit.said_anew(before, fields, doc.body)


# --- looking ------------------------------------------------------------------------------------------


def _target(desk: Desk, scope: Scope, candidate: Candidate) -> Target | None:
    """The memory that is changed; for an addition the one that is said to be like it, if that is still there."""
    rel = desk.find(scope, candidate.target) if candidate.target else None
    found = files.read(Path(scope.folder), files.from_printable(rel)) if rel is not None else None
    if rel is not None and isinstance(found, files.Read):
        return Target(rel, found.data)
    if candidate.action == "ADD":
        return None
    raise NotFoundError(
        f"the memory {candidate.target!r} that it would change is not there",
        where=scope.label,
        hint="reject the candidate, or edit it: action: ADD makes a new memory of it",
    )


def _check_action(candidate: Candidate) -> None:
    if candidate.action not in ACTIONS:
        raise UsageError(f"{candidate.action!r} is no action", hint=f"edit it: one of {', '.join(ACTIONS)}")
    if candidate.action != "ADD" and not candidate.target:
        raise UsageError("no memory is named that it would change", hint="edit it: add a target, or make it an ADD")


def memory_folder(scope: Scope) -> str:
    return files.printable(scope.folder)


def _need(shown: Shown) -> Target:
    if shown.target is None:
        raise _gone(shown.waiting)
    return shown.target


def _gone(waiting: Waiting) -> NotFoundError:
    return NotFoundError(f"no candidate {waiting.key!r} waits", hint="see: mdmem review --list")


def _check_still_waits(desk: Desk, shown: Shown) -> None:
    found = files.read(Path(desk.inbox), f"{shown.waiting.key}.md")
    if not isinstance(found, files.Read):
        raise _gone(shown.waiting)
    if found.data != shown.data:
        raise ChangedError(
            "the candidate has changed since it was shown",
            where=shown.waiting.path,
            theirs=found.data,
            ours=shown.data,
            hint="look at it again",
        )


def _check_gates(desk: Desk, waiting: Waiting) -> None:
    verdict = {**waiting.gates, **desk.gates(waiting)}.get("secret")
    if verdict is not None and not verdict.passed:
        raise RefusedError(verdict.reason, where=waiting.key, hint="edit it, so that it says where the secret is kept")


def _check_unchanged(made: Made) -> None:
    found = files.read(Path(files.from_printable(made.folder)), files.from_printable(made.rel))
    if not isinstance(found, files.Read) or found.data != made.after:
        raise ChangedError(
            "the memory has changed since it was approved",
            where=f"{made.folder}/{made.rel}",
            theirs=found.data if isinstance(found, files.Read) else b"",
            ours=made.before or b"",
            hint="it stays as it is; change it with mdmem edit, or end it with mdmem archive",
        )


def _put_back(desk: Desk, done: Done) -> None:
    root, name = Path(desk.inbox), f"{done.key}.md"
    try:
        write.create(root, name, done.data, private=True)
    except RefusedError:
        found = files.read(root, name)
        if not isinstance(found, files.Read) or found.data != done.data:
            raise


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RefusedError("the candidate is not UTF-8 text", hint="save it as UTF-8") from error


def _day(at: datetime.datetime) -> datetime.date:
    return at.astimezone().date()
