"""Text in; fence, frontmatter, fence and body out, as slices that join to the same text again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_OPEN = re.compile(r"---[^\S\r\n]*(\r\n?|\n|\Z)")
_CLOSE = re.compile(r"[\r\n](?:---|\.\.\.)[^\S\r\n]*(?:\r\n?|\n|\Z)")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+\Z")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ")


class Parts(NamedTuple):
    """The slices of a text; `"".join(parts)` is the text. Without a block all but `body` are empty."""

    open: str
    front: str
    close: str
    body: str


def split(text: str) -> Parts | None:
    """Split off the block that a fence on line 1 opens; None where a fence opens and none closes."""
    if not text.startswith("---"):
        return Parts("", "", "", text)
    opened = _OPEN.match(text)
    if opened is None:
        return Parts("", "", "", text)
    start = opened.end()
    closed = _CLOSE.search(text, start - 1) if opened[1] else None
    if closed is None:
        return None
    # The break before the closing fence ends the front's last line, or is the opening fence's own.
    fence = closed.start() + 1
    return Parts(text[:start], text[start:fence], text[fence : closed.end()], text[closed.end() :])


def lines_of(text: str) -> list[str]:
    """Lines with their ends kept; only LF, CRLF and CR end a line (str.splitlines knows too many)."""
    return _LINE.findall(text)


def iter_prose(text: str) -> Iterator[tuple[int, str]]:
    """Number (from 0) and text of each line outside code fences; line ends are left out, fence lines too."""
    fence = ""
    for number, line in enumerate(plain_newlines(text).split("\n")):
        found = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if not fence:
            if found:
                fence = found[1]
            else:
                yield number, line
        elif found and found[1].startswith(fence) and not line[found.end() :].strip():
            fence = ""


def plain_newlines(text: str) -> str:
    """Text with LF alone, so that line and column of every character stay."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def find_conflict(text: str) -> int | None:
    """The line, from 0, of the first of git's three conflict markers, if all stand in order outside code fences."""
    if _CONFLICT[0] not in text or _CONFLICT[2] not in text:
        return None
    first, wanted = 0, 0
    for number, line in iter_prose(text):
        if line.startswith(_CONFLICT[0]):
            first, wanted = number, 1
        elif wanted == 1 and line.rstrip() == _CONFLICT[1]:
            wanted = 2
        elif wanted == 2 and line.startswith(_CONFLICT[2]):
            return first
    return None
