"""The memories of a scope folder in, its MEMORY.md out: the same files always give the same bytes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from mdmem import files
from mdmem.errors import MdmemError, Problem
from mdmem.files import write
from mdmem.memory import TYPES
from mdmem.scope import Scope

NAME = "MEMORY.md"
MARKER = "<!-- mdmem: the lines below are generated from the memories in this folder; write your own above this one -->"
MAX_LINES = 200
MAX_BYTES = 25_000  # what Claude Code loads of it
MAX_LINE = 150  # characters of a generated line; a path is never cut
MIN_NAME = 8  # characters of a name, however long its path

_CONFLICT = re.compile(rb"^(<{7}|={7}|>{7}|\|{7})(?: |\r?$)", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_SPECIAL = re.compile(r"[\\\[\]`]|<(?=[A-Za-z/!?])")


_HEADINGS = {f"## {kind.heading}" for kind in TYPES.values()} | {MARKER, "No memories yet."}
_GENERATED = re.compile(
    r"- \[.*\]\([\w/.~+,=@%-]+\.md\)(?: — .*)?|- [0-9]+ memor(?:y|ies) of type \w+: list them with `.*`"
    r"|(?:<{7}|={7}|>{7}|\|{7})(?: .*)?",
    re.IGNORECASE | re.DOTALL,
)


class Line(NamedTuple):
    """One memory as the manifest lists it. `path` is relative, POSIX, as the file system has it."""

    path: str
    name: str
    description: str


Listing = Callable[[str], Sequence[Line]]


def render(own: str, counts: Mapping[str, int], listing: Listing, *, newline: str = "\n") -> str:
    """The whole text of a manifest.

    `own`: the person's text above the marker, as it is. `counts`: type -> number of memories; `listing(type)` gives
    them by path, and is asked only for types that are shown whole. Past 200 lines or 25 KB the least always-needed
    types are folded into one line each; feedback and rules go last.
    """
    order = sorted((t for t in counts if counts[t]), key=lambda t: (TYPES[t].fold_rank, t))
    shown: dict[str, list[str]] = {}
    for type_name in order:
        if counts[type_name] <= MAX_LINES:
            shown[type_name] = [_line(line) for line in listing(type_name)]
    text = _assemble(own, order, shown, counts, newline)
    for type_name in reversed(order):
        if _fits(text):
            break
        shown.pop(type_name, None)
        text = _assemble(own, order, shown, counts, newline)
    return text


def _assemble(
    own: str, order: Sequence[str], shown: Mapping[str, Sequence[str]], counts: Mapping[str, int], newline: str
) -> str:
    lines = [MARKER]
    if not order:
        lines += ["", "No memories yet."]
    for type_name in order:
        lines += ["", f"## {TYPES[type_name].heading}", ""]
        lines += shown.get(type_name) or [_folded(type_name, counts[type_name])]
    return own + newline.join(lines) + newline


def _folded(type_name: str, count: int) -> str:
    memories = "memory" if count == 1 else "memories"
    return f"- {count} {memories} of type {type_name}: list them with `mdmem list --type {type_name}`"


def _fits(text: str) -> bool:
    return text.count("\n") <= MAX_LINES and len(text.encode("utf-8", "surrogateescape")) <= MAX_BYTES


def _line(line: Line) -> str:
    target = _target(line.path)
    room = max(MAX_LINE - len(f"- []({target})"), MIN_NAME)
    link = f"- [{_cut(_escape(line.name), room) or 'memory'}]({target})"
    description = _flat(line.description).replace("](", "]\\(")
    if not description or len(link) + 4 > MAX_LINE or _is_same(line.name, line.description):
        return link
    return f"{link} — {_cut(description, MAX_LINE - len(link) - 3)}"


def _is_same(name: str, description: str) -> bool:
    """Whether a description only says the name again: every agent would read it twice."""
    said, again = (_flat(text).rstrip(".。!！ ").casefold() for text in (name, description))
    return said == again


def _escape(name: str) -> str:
    """A name as plain text in a link: what would end the link, or reach over its end (code, tags), is escaped."""
    return _SPECIAL.sub(r"\\\g<0>", _flat(name))


def _flat(text: str) -> str:
    """One line of plain text: control characters, line breaks and bidi overrides become spaces."""
    return " ".join(_CONTROL.sub(" ", text).split())


def _cut(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    return text[: max(room - 1, 0)].rstrip("\\ ") + "…"


def _target(path: str) -> str:
    """A path as a link target: letters of every script stay readable, what would end or bend the link is encoded."""
    raw = os.fsencode(path)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return quote(raw, safe="/")
    return "".join(c if c.isalnum() or c in "/-_.~+,=@" else quote(c, safe="") for c in text)


class Existing(NamedTuple):
    """The MEMORY.md that is there: its bytes (None: there is none), and the person's part of it."""

    data: bytes | None
    own: str
    newline: str


def read_existing(folder: Path) -> Existing | Problem:
    """Look at the MEMORY.md of a folder; a Problem when it is not ours to write."""
    path = folder / NAME
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return Problem(
            NAME, None, "manifest-not-a-file", "MEMORY.md is a folder or a link", "remove it, and it is made anew"
        )
    found = files.read(folder, NAME, max_bytes=4 * files.MAX_FILE_BYTES)
    if found is None:
        return Existing(None, "", "\n")
    if isinstance(found, Problem):
        return found._replace(code="manifest-unreadable")
    return split_own(found.data)


def split_own(data: bytes) -> Existing | Problem:
    """The person's part of a manifest: everything above the marker line, and what stands below it but is none of ours.

    Agents add lines at the end of the file, and a merge may put them there: such a line moves above the marker.
    Without a marker it is the person's whole, unless only a merge of two generated ones left markers in it.
    """
    text = data.decode("utf-8", "surrogateescape")
    newline = "\r\n" if "\r\n" in text else "\n"
    at = text.find(MARKER)
    if at < 0:
        if not text.strip():
            return Existing(data, "", newline)
        return Problem(
            NAME, None, "manifest-not-ours", "MEMORY.md was not written by mdmem, and is left as it is",
            "let mdmem take it over with: mdmem init --adopt",
        )  # fmt: skip
    own = text[:at]
    if _CONFLICT.search(own.encode("utf-8", "surrogateescape")):
        own = _resolve_own(own)
    strays = _strays(text[at + len(MARKER) :])
    if strays:
        end = "" if not own or own.endswith("\n") else newline
        own += end + newline.join([*strays, "", ""])
    return Existing(data, own, newline)


def _strays(below: str) -> list[str]:
    """The lines that a manifest of ours can't have, with an empty line where some stood between them."""
    kept: list[str] = []
    empty = False
    for line in (line.rstrip("\r") for line in below.split("\n")):
        if _is_generated(line):
            empty = not line
        else:
            kept += ["", line] if empty and kept else [line]
            empty = False
    return kept


def _is_generated(line: str) -> bool:
    bare = line.rstrip()
    return not bare or bare in _HEADINGS or _GENERATED.fullmatch(bare) is not None


def _resolve_own(own: str) -> str:
    """Conflict markers above the marker: if they only open the conflict in the generated part, they go with it."""
    lines = own.splitlines(keepends=True)
    opened = [i for i, line in enumerate(lines) if line.startswith("<<<<<<<")]
    closed = [i for i, line in enumerate(lines) if line.startswith(">>>>>>>")]
    if opened and len(opened) == len(closed) + 1:
        return "".join(lines[: opened[-1]] + [li for li in lines[opened[-1] + 1 :] if not li.startswith("=======")])
    return own


def update(scope: Scope, counts: Mapping[str, int], listing: Listing) -> tuple[bool, Problem | None]:
    """Bring the MEMORY.md of a scope folder up to date; whether it was written, and what kept it from being."""
    folder = Path(scope.folder)
    existing = read_existing(folder)
    if isinstance(existing, Problem):
        return False, existing
    if existing.data is None and not any(counts.values()):
        return False, None  # nothing to say yet
    text = render(existing.own, counts, listing, newline=existing.newline)
    try:
        written = write.write_generated(
            folder, NAME, text.encode("utf-8", "surrogateescape"), expected=existing.data, private=scope.private
        )
    except MdmemError as error:
        return False, Problem(NAME, None, "manifest-not-written", str(error.what), error.hint or "")
    too_long = None
    if not _fits(text):
        too_long = Problem(
            NAME, None, "manifest-too-long", f"MEMORY.md is over {MAX_LINES} lines or {MAX_BYTES:,} bytes",
            "shorten your own text above the marker line",
        )  # fmt: skip
    return written, too_long
