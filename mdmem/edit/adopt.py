"""A MEMORY.md that a person keeps by hand in; its list lines as memories, and the rest above the marker, out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mdmem import files
from mdmem.document import parse
from mdmem.document.split import iter_prose, lines_of, split
from mdmem.edit.add import draft_of, file_for
from mdmem.edit.place import Written, create_free, prepare, written
from mdmem.errors import MachineError, MdmemError, NotFoundError, Problem, RefusedError, UsageError
from mdmem.files import write
from mdmem.scope import Scope

_MANIFEST = "MEMORY.md"
_MAX_BYTES = 4 * files.MAX_FILE_BYTES
_ITEM = re.compile(r" {0,3}[-*+][ \t]+(\S.*)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")
_STARTS_BLOCK = re.compile(r" {0,3}(?:[-*+>|]|#{1,6}[ \t]|\d{1,9}[.)][ \t]|`{3}|~{3}|<|=+[ \t]*$)")
_FENCE = re.compile(r"^[ \t]*(?:`{3}|~{3})", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LINK = re.compile(r"!?\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]\(\s*<?([^()<>]*(?:\([^()]*\)[^()<>]*)*)>?\s*\)")
_WIKILINK = re.compile(r"!?\[\[([^\[\]|#]+)[^\[\]]*\]\]")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|#|//")


class _Item(NamedTuple):
    """One list item: its lines, from `first` to before `end`, and its text without mark and indentation."""

    first: int
    end: int
    text: str


def adopt(scope: Scope, *, marker: str) -> list[Written]:
    """Take over a MEMORY.md without our marker: its list items become memories, one each.

    An item that links to a memory file stays as it is; so does all other text, byte for byte, above `marker`, which is
    the last line afterwards. All memories are on disk before MEMORY.md loses their lines; on any failure those already
    made are taken back. No backup is left: every line is in MEMORY.md or in a memory, and a scope folder holds
    nothing else (a stray copy of all memories would be committed, and read by whoever looks for them).
    An item that can't be a memory stays too. [] where there is nothing to adopt, or the marker is there already.
    """
    root = prepare(scope)
    data = _read(root)
    if data is None or marker.encode() in data or not data.strip():
        return []
    text = data.decode("utf-8", "surrogateescape")
    lines = lines_of(text)
    made: list[tuple[str, bytes, bool]] = []
    try:
        for item in _items(root, text, lines):
            placed = _place(scope, root, item.text)
            if placed:
                made.append(placed)
                lines[item.first : item.end] = [""] * (item.end - item.first)
        write.replace(root, _MANIFEST, _closed(lines, text, marker), expected=data, private=scope.private)
    except MdmemError:
        _take_back(root, made)
        raise
    done = {rel: written(scope.folder, rel, bytes_) for rel, bytes_, _ in made}
    return list(done.values())


def _read(root: Path) -> bytes | None:
    found = files.read(root, _MANIFEST, max_bytes=_MAX_BYTES)
    if isinstance(found, Problem):
        if not root.is_dir():
            raise NotFoundError("the scope folder is not there", where=str(root), hint="is its disk mounted?")
        kind = MachineError if found.code == "unreadable" else RefusedError
        raise kind(f"MEMORY.md {found.message}", where=_MANIFEST, hint=found.hint)
    if found is None:
        return None
    codes = {problem.code for problem in parse(found.data, _MANIFEST).problems}
    if b"\0" in found.data or codes & {"binary", "conflict-markers"}:
        what = "holds git's conflict markers" if "conflict-markers" in codes else "is not UTF-8 text"
        raise RefusedError(f"MEMORY.md {what}", where=_MANIFEST, hint="correct it by hand first")
    return found.data


def _items(root: Path, text: str, lines: list[str]) -> Iterator[_Item]:
    """The list items that are to become memories, each with the indented lines that belong to it."""
    import textwrap  # only adoption pays for it

    prose = _prose_lines(text)
    row = 0
    while row < len(lines):
        found = _ITEM.fullmatch(_bare(lines[row])) if row in prose else None
        if found is None or _RULE.fullmatch(_bare(lines[row])):
            row += 1
            continue
        end = _end_of(lines, row)
        item = f"{found[1]}\n{textwrap.dedent(''.join(lines[row + 1 : end]))}"
        following = _bare(lines[end]) if end < len(lines) else ""
        if not _stays(root, item, following):
            yield _Item(row, end, item.rstrip() + "\n")
        row = end


def _prose_lines(text: str) -> set[int]:
    """Numbers of the lines outside frontmatter, code fences and comments."""
    parts = split(text)
    front = len(lines_of("".join(parts[:3]))) if parts and parts.open else 0
    hidden = {
        row
        for found in _COMMENT.finditer(text)
        for row in range(len(lines_of(text[: found.start()] + "x")) - 1, len(lines_of(text[: found.end()])))
    }
    return {row for row, _ in iter_prose(text) if row >= front} - hidden


def _end_of(lines: list[str], row: int) -> int:
    """The line after an item: indented lines, and empty ones between those, are its own."""
    end = row + 1
    for number in range(row + 1, len(lines)):
        bare = _bare(lines[number])
        if bare.strip() and not bare.startswith((" ", "\t")):
            break
        if bare.strip():
            end = number + 1
    return end


def _stays(root: Path, item: str, following: str) -> bool:
    """Whether an item is better left to the person: half of a paragraph, undecodable bytes, links to memories."""
    goes_on = following.strip() and not _STARTS_BLOCK.match(following)
    if goes_on or len(_FENCE.findall(item)) % 2 or not _is_text(item):
        return True
    first, *rest = map(_bare, lines_of(item))
    inner = (found[1] for found in (_ITEM.fullmatch(line.lstrip()) for line in rest) if found)
    return any(_links_to_memory(root, text) for text in (first, *inner))


def _links_to_memory(root: Path, item: str) -> bool:
    """Whether an item begins with a link to a file of markdown, there or not: a dead link is no knowledge."""
    wiki, link = _WIKILINK.match(item), _LINK.match(item)
    if wiki:
        return _is_there(root, wiki[1].strip() + ".md") or _is_there(root, wiki[1].strip())
    if link is None or _ADDRESS.match(link[1]):
        return False
    from urllib.parse import unquote  # as above

    target = unquote(link[1].split("#")[0].split(' "')[0].strip(), errors="surrogateescape")
    return target.lower().endswith(".md") or _is_there(root, target)


def _is_there(root: Path, rel: str) -> bool:
    try:
        return write.inside(root, rel).is_file()
    except (RefusedError, OSError):
        return False


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _place(scope: Scope, root: Path, text: str) -> tuple[str, bytes, bool] | None:
    """Path and bytes of the memory of an item, and whether it was made now; None if none can be made of it.

    One with the same bytes is taken for the item's own: an adoption that was cut short goes on where it was.
    """
    try:
        draft = draft_of(scope, text, {})
        rel = file_for(root, draft.title)
        found = files.read(root, rel)
        if isinstance(found, files.Read) and found.data == draft.at(rel):
            return rel, found.data, False
        return (*create_free(root, rel, draft.at, private=scope.private), True)
    except (UsageError, RefusedError):
        return None


def _closed(lines: list[str], text: str, marker: str) -> bytes:
    newline = "\r\n" if "\r\n" in text else "\n"
    own = "".join(lines)
    if own and not own.endswith(("\n", "\r")):
        own += newline
    if own and not own.endswith(newline * 2):
        own += newline
    return (own + marker + newline).encode("utf-8", "surrogateescape")


def _take_back(root: Path, made: list[tuple[str, bytes, bool]]) -> None:
    for rel, data, is_new in made:
        if is_new:
            write.remove(root, rel, expected=data)


def _bare(line: str) -> str:
    return line.rstrip("\r\n")
