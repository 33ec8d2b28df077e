"""A candidate in, its file in the inbox out, and back. A candidate is no memory: nothing here is indexed.

The file is the future memory, frontmatter and body, plus a `candidate:` map that says where it is to go and why.
Each is a file of its own with an unguessable temporary name on its way, so that any process may propose.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mdmem import files
from mdmem.document import compose, parse, slug
from mdmem.document.prose import first_sentence, title_of
from mdmem.document.quoting import key_text, scalar
from mdmem.errors import NotFoundError, Problem, RefusedError, UsageError
from mdmem.files import write
from mdmem.scope import KINDS

ACTIONS = ("ADD", "UPDATE", "SUPERSEDE")
MAX_BODY_BYTES = 64 * 1024
MAX_FIELDS_BYTES = 16 * 1024
MAX_EVIDENCE = 20
MAX_QUOTE = 4_000  # characters of one piece of evidence
MAX_WAITING = 500  # a program that proposes without end is stopped here; how few a person is shown is for others
_STEM_BYTES = 60

Fields = Mapping[str, str | list[str]]


class Evidence(NamedTuple):
    """A quoted line: who wrote it, in which session, and where it stands in the activity log."""

    text: str
    agent: str | None = None
    session: str | None = None
    path: str | None = None
    offset: int | None = None


class Verdict(NamedTuple):
    """What a gate said of a candidate."""

    passed: bool
    reason: str


class Candidate(NamedTuple):
    """A proposed memory. `fields` and `body` are those of the file it becomes; `target`: the key of the memory that it
    changes or supersedes; `proposed`: RFC 3339, UTC.
    """

    scope: str
    scope_ref: str | None
    fields: Fields
    body: str
    proposed: str
    action: str = "ADD"
    target: str | None = None
    evidence: tuple[Evidence, ...] = ()


class Waiting(NamedTuple):
    """A candidate in the inbox. `key` names it there: the file's name without `.md`."""

    key: str
    path: str
    candidate: Candidate
    gates: dict[str, Verdict]


class Inbox(NamedTuple):
    """All that waits, the newest first, and what lies there without being a candidate."""

    waiting: list[Waiting]
    problems: list[Problem]


def put(folder: str, candidate: Candidate, gates: Mapping[str, Verdict]) -> tuple[Waiting, bool]:
    """Let a candidate wait in the inbox `folder`; as it waits there, and whether it is new.

    The same proposal (see `fingerprint`) waits once: the one that was first stays as it is. Raises UsageError for one
    that is too long or fits no file, RefusedError for a full inbox, MachineError.
    """
    candidate = _bounded(candidate)
    mark = fingerprint(candidate)
    data = _render(candidate, gates)
    files.private_folder(Path(folder))
    names = _names(folder)
    known = next((name for name in names if name.endswith(f"-{mark}.md")), None)
    if known is not None:
        return read(folder, known.removesuffix(".md")), False
    if len(names) >= MAX_WAITING:
        raise RefusedError(f"{len(names)} candidates wait already", where=files.printable(folder), hint="mdmem review")
    key = f"{slug(_title(candidate), max_bytes=_STEM_BYTES)}-{mark}"
    try:
        write.create(Path(folder), f"{key}.md", data, private=True)
    except RefusedError:
        if f"{key}.md" not in _names(folder):
            raise
        return read(folder, key), False  # another process was faster
    return read(folder, key), True


def renew(folder: str, was: Waiting, now: Waiting) -> bool:
    """Write down what a candidate that waits says now; whether that was done.

    Not where its file is gone, or a person has worked on it: then it is theirs.
    """
    name = f"{was.key}.md"
    found = files.read(Path(folder), name) if name in _names(folder) else None
    if not isinstance(found, files.Read) or found.data != _render(was.candidate, was.gates):
        return False
    return write.replace(Path(folder), name, _render(_bounded(now.candidate), now.gates), expected=found.data)


def drop(folder: str, waiting: Waiting) -> bool:
    """Take a candidate out of the inbox that gives way; not where a person has worked on its file."""
    name = f"{waiting.key}.md"
    found = files.read(Path(folder), name) if name in _names(folder) else None
    if not isinstance(found, files.Read) or found.data != _render(waiting.candidate, waiting.gates):
        return False
    write.remove(Path(folder), name, expected=found.data)
    return True


def fingerprint(candidate: Candidate) -> str:
    """What makes two proposals the same one: where to, what is done to what, and the words; spaces do not count."""
    said = (candidate.scope, candidate.scope_ref or "", candidate.action, candidate.target or "",
            str(candidate.fields.get("key", "")), " ".join(candidate.body.split()))  # fmt: skip
    return hashlib.sha256("\0".join(said).encode("utf-8", "replace")).hexdigest()[:12]


def read(folder: str, key: str) -> Waiting:
    """The candidate of this key. Keys are looked up among the names that are there, never joined to a path.

    Raises NotFoundError.
    """
    found = _look(folder, f"{key}.md") if f"{key}.md" in _names(folder) else None
    if isinstance(found, Waiting):
        return found
    why = f"{found.path} {found.message}" if found else f"no candidate {key!r} waits"
    raise NotFoundError(why, hint="see: mdmem review --list")


def list_candidates(folder: str) -> Inbox:
    """Everything in the inbox `folder`. A file that holds no candidate is a problem, and stays where it is."""
    inbox = Inbox([], [])
    for name in _names(folder):
        found = _look(folder, name)
        if isinstance(found, Waiting):
            inbox.waiting.append(found)
        elif found is not None:
            inbox.problems.append(found)
    inbox.waiting.sort(key=lambda waiting: (waiting.candidate.proposed, waiting.key), reverse=True)
    return inbox


def count(folder: str) -> int:
    """How many files wait in the inbox `folder`."""
    return len(_names(folder))


def _names(folder: str) -> list[str]:
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False))
    except OSError:
        return []  # nothing was ever proposed
    return [name for name in names if files.is_memory_name(name)]


def _look(folder: str, name: str) -> Waiting | Problem | None:
    """The candidate of a file; None where it has gone meanwhile."""
    found = files.read(Path(folder), name)
    if not isinstance(found, files.Read):
        return found
    shown = files.printable(name)
    doc = parse(found.data, shown)
    tree = doc.fields.get("candidate")
    if doc.broken or not isinstance(tree, dict) or tree.get("scope") not in KINDS:
        hint = "move it where it belongs, or delete it"
        return Problem(shown, None, "no-candidate", "says nothing of where it is to go", hint)
    fields = {key: _field(value) for key, value in doc.fields.items() if key != "candidate"}
    candidate = Candidate(
        str(tree["scope"]),
        _text(tree, "scope_ref"),
        fields,
        doc.body,
        _text(tree, "proposed") or "",
        _text(tree, "action") or "ADD",
        _text(tree, "target"),
        tuple(_evidence(item) for item in _maps(tree.get("evidence"))),
    )
    gates = tree.get("gates")
    verdicts = gates.items() if isinstance(gates, dict) else ()
    return Waiting(
        shown.removesuffix(".md"),
        f"{files.printable(folder)}/{shown}",
        candidate,
        {gate: Verdict(said.get("passed") == "true", _text(said, "reason") or "")
         for gate, said in verdicts if isinstance(said, dict)},
    )  # fmt: skip


def _field(value: Any) -> str | list[str]:  # noqa: ANN401  # what a person may have made of it
    return [str(item) for item in value] if isinstance(value, list) else str(value)


def _maps(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401  # as above
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _evidence(tree: Mapping[str, Any]) -> Evidence:
    offset = _text(tree, "offset") or ""
    return Evidence(
        _text(tree, "text") or "",
        _text(tree, "agent"),
        _text(tree, "session"),
        _text(tree, "path"),
        int(offset) if offset.isascii() and offset.isdigit() else None,
    )


def _text(tree: Mapping[str, Any], name: str) -> str | None:
    value = tree.get(name)
    return value if isinstance(value, str) and value else None


def _bounded(candidate: Candidate) -> Candidate:
    """The candidate as a file can hold it. Raises UsageError for one that is too long, or about nothing."""
    if candidate.scope not in KINDS or candidate.action not in ACTIONS:
        raise UsageError(f"{candidate.scope!r} is no scope, or {candidate.action!r} no action")
    if not candidate.body.strip():
        raise UsageError("there is no text to remember", hint="say in a sentence or two what is to be remembered")
    if "\0" in candidate.body:
        raise UsageError("the text holds NUL bytes: this is not text", hint="give text")
    size = len(candidate.body.encode("utf-8", "replace"))
    if size > MAX_BODY_BYTES or len(str(candidate.fields).encode("utf-8", "replace")) > MAX_FIELDS_BYTES:
        raise UsageError(
            f"the proposal is longer than {MAX_BODY_BYTES // 1024} KiB", hint="propose several memories, one thing each"
        )
    evidence = tuple(item._replace(text=item.text[:MAX_QUOTE]) for item in candidate.evidence[:MAX_EVIDENCE])
    return candidate._replace(evidence=evidence)


def _render(candidate: Candidate, gates: Mapping[str, Verdict]) -> bytes:
    """The bytes of a candidate's file; what stands in its words can neither end the block nor add to it."""
    plain = compose({**candidate.fields, "type": candidate.fields.get("type", "fact")}, candidate.body)
    said = {
        "scope": candidate.scope,
        "scope_ref": candidate.scope_ref,
        "action": candidate.action,
        "target": candidate.target,
        "proposed": candidate.proposed,
    }
    block = ["candidate:", *_lines(said, "  ")]
    for at, item in enumerate(candidate.evidence):
        first, *rest = _lines(item._asdict(), "      ")
        block += [*([] if at else ["  evidence:"]), f"    - {first.lstrip()}", *rest]
    for at, (name, (passed, reason)) in enumerate(gates.items()):
        block += [*([] if at else ["  gates:"]), f"    {key_text(name)}:"]
        block += _lines({"passed": passed, "reason": reason}, "      ")
    # Of all that stands in the file: where it does not fit any more, a person has worked on it.
    mark = hashlib.sha256(plain + "\n".join(block).encode("utf-8", "replace")).hexdigest()[:12]
    block += _lines({"mark": mark}, "  ")
    head, fence, rest_of_file = plain.partition(b"\n---\n")
    data = head + b"\n" + "\n".join(block).encode("utf-8", "replace") + fence + rest_of_file
    doc, bare = parse(data, ""), parse(plain, "")
    if doc.body != bare.body or {k: v for k, v in doc.fields.items() if k != "candidate"} != bare.fields:
        raise UsageError("this proposal can't be written as a file", hint="use plain text, without control characters")
    return data


def _lines(said: Mapping[str, str | int | None], indent: str) -> list[str]:
    """A line for each thing that is said."""
    texts = {
        name: scalar(_whole(value)) if isinstance(value, str) else str(value).lower() for name, value in said.items()
    }
    return [f"{indent}{name}: {texts[name]}" for name, value in said.items() if value is not None and value != ""]


def _whole(text: str) -> str:
    """Text without the halves of characters, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _title(candidate: Candidate) -> str:
    named = candidate.fields.get("name")
    return (named if isinstance(named, str) else "") or title_of(candidate.body) or first_sentence(candidate.body)
