"""Text that somebody else wrote in; the same with all that hides or steers made visible, and cut to columns, out.

For a person who is to decide about a text: what they can't see must not be in it unsaid. Joiners and selectors that
writing needs (emoji, Indic and Arabic scripts, Chinese variants) are left alone, one at a time, where they belong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from mdmem.outputs.text import clean, escape

_ZWNJ, _ZWJ, _TEXT, _EMOJI, _KEYCAP = "\u200c", "\u200d", "\ufe0e", "\ufe0f", "\u20e3"
# Letters and marks that show nothing: fillers, a joiner of marks, inherent vowels, an empty pattern of dots.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTORS = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# Flags of regions: a black flag, then the region in tag letters, then their end.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
# Scripts in which a joiner between two letters changes how they are written.
_JOINING = re.compile("[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua800-\uabff]")
_HIDING = frozenset(("Cf", "Co", "Cn", "Cs", "Cc"))


def reveal(text: str, *, lines: bool = False) -> str:
    r"""Text as a person may judge it: what can't be seen stands escaped (`\u202e`). `lines`: newlines and tabs stay."""
    if lines:
        text = text.replace("\r\n", "\n")
    if text.isascii():
        return clean(text, lines=lines)
    kept = {at for flag in _FLAG.finditer(text) for at in range(*flag.span())}
    return "".join(char if at in kept or not _hides(text, at) else escape(char, lines) for at, char in enumerate(text))


def _hides(text: str, at: int) -> bool:
    char = text[at]
    if char in (_ZWJ, _ZWNJ):
        return not _joins(text[at - 1 : at], text[at + 1 : at + 2], char)
    if _SELECTORS.match(char):
        return not _selects(text[at - 1 : at], text[at + 1 : at + 2], char)
    return char in _BLANK or unicodedata.category(char) in _HIDING or char in "\u2028\u2029"


def _joins(before: str, after: str, joiner: str) -> bool:
    if not before or not after:
        return False
    if joiner == _ZWJ and _is_pictured(after) and (_is_pictured(before) or before == _EMOJI):
        return True
    written = unicodedata.category(before)[0] in "LM" and unicodedata.category(after)[0] in "LM"
    return written and bool(_JOINING.match(before) and _JOINING.match(after))


def _selects(before: str, after: str, selector: str) -> bool:
    if selector in (_TEXT, _EMOJI):
        return _is_pictured(before) or (before != "" and before in "#*0123456789" and after == _KEYCAP)
    return before != "" and unicodedata.category(before) == "Lo" and not _SELECTORS.match(before)


def _is_pictured(char: str) -> bool:
    """Roughly: signs that may be drawn as an emoji, and the tones of skin."""
    return char != "" and (unicodedata.category(char) in ("So", "Sk", "Sm") or char in "\u203c\u2049\u3030\u303d")


# --- columns ------------------------------------------------------------------------------------------


def width(text: str) -> int:
    """How many columns a terminal needs for a line."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    return 0 if unicodedata.category(char) in ("Mn", "Me", "Cf") else 1


def wrapped(line: str, columns: int) -> Iterator[str]:
    """A line in pieces of at most so many columns, cut behind a space where there is one; no character is lost."""
    while width(line) > columns:
        end = _fitting(line, columns)
        space = line.rfind(" ", 1, end + 1)
        end = space + 1 if space > end // 2 else end
        yield line[:end].rstrip(" ")
        line = line[end:]
    yield line


def _fitting(line: str, columns: int) -> int:
    """How many characters fit; one at least, or there would be no end."""
    taken = 0
    for at, char in enumerate(line):
        taken += _columns(char)
        if taken > columns:
            return max(at, 1)
    return len(line)
