"""A block that strict YAML refuses in, the same block with clear one-line values quoted out.

Only whole top-level `key: value` lines are touched, only where the line alone is refused too, and only where what was
meant can't be mistaken; line numbers stay. Full-width colons after a key (`名称：部署`) become colons.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mdmem.document.keys import KNOWN_KEYS, canonical

# A block that a person wrote by hand; each line may cost a parse.
_MAX_LINES = 500
_KEY_LINE = re.compile(r"([^\W\d][\w.\-]*)(?: *：[ \t]*|:(?:[ \t]+|$))(.*)")
_CLOSED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\[[^\[\]]*\]|\{[^{}]*\})\s*\S""")


def repair(text: str, is_fine: Callable[[str], bool]) -> tuple[str, list[tuple[int, str, str]]] | None:
    """Quote the values that were meant as text; None where nothing could be done.

    `is_fine` tells whether strict YAML reads one line. Returns the new text and, for each value that had to be
    quoted, its row from 0, its key and its text.
    """
    lines = text.split("\n")
    if len(lines) > _MAX_LINES:
        return None
    quoted: list[tuple[int, str, str]] = []
    for row, line in enumerate(lines):
        found = _KEY_LINE.fullmatch(line)
        if found is None:
            continue
        key, value = found[1], found[2].strip()
        plain = f"{key}: {value}" if value else f"{key}:"
        if value and not _goes_on(lines, row) and not is_fine(plain) and _is_clear(value):
            quoted.append((row, key, value))
            plain = f"{key}: '{value.replace(chr(39), chr(39) * 2)}'"
        elif "：" not in line[: found.start(2)]:
            continue
        lines[row] = plain
    mended = "\n".join(lines)
    return None if mended == text else (mended, quoted)


def looks_like_keys(text: str) -> bool:
    """Whether each top-level line is `key: value`, full-width colons allowed, with a key we know among them."""
    top = [line for line in text.split("\n") if line.strip() and line[0] not in " \t#-"]
    found = [_KEY_LINE.fullmatch(line) for line in top]
    return bool(found) and all(found) and any(each and canonical(each[1]) in KNOWN_KEYS for each in found)


def has_key_line(text: str) -> bool:
    """Whether any line begins like `key:`; where none does, the text between two rules is prose."""
    return text.lstrip().startswith("{") or re.search(r"""^["']?[\w.\-]+["']?[ \t]*[:：]""", text, re.M) is not None


def _goes_on(lines: list[str], row: int) -> bool:
    """Whether the value of a line is continued below it."""
    for line in lines[row + 1 :]:
        if line.strip():
            return line[0] in " \t" or line.startswith("- ")
    return False


def _is_clear(value: str) -> bool:
    """An opening quote or bracket that is never closed may have swallowed other lines: not for us to guess."""
    if value.startswith("- ") or value[0] in "|>":
        return False
    return value[0] not in "\"'[{" or _CLOSED.match(value) is not None
