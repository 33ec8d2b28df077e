"""Text of a memory in, text that can neither end, begin nor imitate a tag of the block out.

Encoded as numeric references, never deleted: cleaning by deletion can build the very tag that it removes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

MARKER = "mdmem-block"  # the one element that wraps every block, so that readers of logs know it

# What reads as an angle bracket, beside what NFKD takes apart into one. Not 《》, which are plain Chinese punctuation,
# nor « », which are plain French.
_ANGLES = frozenset("<>‹›⟨⟩\u3008\u3009˂˃˱˲ᐸᐳᚲ❬❭❮❯❰❱≺≻⋖⋗⧼⧽⦑⦒⪡⪢\U0001d236\U0001d237\U00016f3f")
_BRACKETS = frozenset("[⁅❲〔【〖〘〚⟦⟬⦋⦍⦏⎡⎢⎣「『")
_HIDDEN_KINDS = frozenset(("Cc", "Cf", "Co", "Cs", "Zl", "Zp"))
# Seen as nothing, though their category does not say so: joiners, fillers, variation selectors, the empty Braille cell,
# and what Unicode keeps free for more of the kind.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
# One search settles plain text. Large alphabets that hold nothing to encode are passed over.
_SUSPECT = re.compile(
    r"[\x00-\x1f\x7f<>&\[]|[^\x00-\x7f\u00c0-\u024f\u0391-\u0482\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]"
)
_REFERENCE = re.compile(r"[&＆﹠](?=[#＃﹟]|[a-z][a-z0-9]{0,31};|lt|gt|amp|quot|nbsp|shy)", re.IGNORECASE)
_TITLE = "memoryprovenance"
_NOT_LETTERS = re.compile(r"[^a-z]+")
# Letters that look like one of the title's, in alphabets that neither NFKD nor case folding brings to Latin.
_LOOKS = {
    char: latin
    for latin, chars in {
        "a": "АаΑαᴀᎪ",
        "c": "СсϹϲςᴄᏟ",
        "e": "ЕеЭэΕεєᴇᎬ",
        "m": "МмΜμᴍᎷ",
        "n": "ПпΝηᴎɴոՈᏁ",
        "o": "ОоΟοσᴏօՕ",
        "p": "РрΡρᴘᏢ",
        "r": "ГгЯяᴦʀᏒᏤ",
        "v": "ѴѵνᴠᏙυ",
        "y": "УуҮүΥγʏᎩ",
    }.items()
    for char in chars
}


def encode(text: str, *, lines: bool = False) -> str:
    """Text as it may stand in the block. `lines`: newlines and tabs stay; else they are encoded too."""
    if not _SUSPECT.search(text):
        return text
    begins = _imitations(text)
    references = {found.start() for found in _REFERENCE.finditer(text)} if _REFERENCE.search(text) else set()

    def one(found: re.Match[str]) -> str:
        char, at = found[0], found.start()
        if at in references:
            return "&amp;" if char == "&" else _number(char)
        if at not in begins and (_is_plain(char) or (lines and char in "\n\t")):
            return char
        if at and char in "\ufe0e\ufe0f" and _is_symbol(text[at - 1]):
            return char
        return _number(char)

    return _SUSPECT.sub(one, text)


def _number(char: str) -> str:
    return f"&#x{ord(char):X};"


@lru_cache(4_096)
def _is_plain(char: str) -> bool:
    """Whether a character is shown, and as no angle bracket."""
    if unicodedata.category(char) in _HIDDEN_KINDS or _HIDDEN.match(char):
        return False
    return char not in _ANGLES and _ANGLES.isdisjoint(unicodedata.normalize("NFKD", char))


def _is_symbol(char: str) -> bool:
    """Whether a variation selector behind a character chooses how a symbol is drawn, and is no hidden mark."""
    return unicodedata.category(char) in ("So", "Sm") and char > "\x7f" and _is_plain(char)


def _imitations(text: str) -> set[int]:
    """Where a bracket stands that the block's last line could be taken to begin with.

    Compared are letters alone, folded: no accents, spaces or marks between them, nor another alphabet, make a
    difference.
    """
    if text.isascii() and _TITLE not in _NOT_LETTERS.sub("", text.lower()):
        return set()
    letters = list(_letters(text))
    folded = "".join(letter for _, letter in letters)
    found: set[int] = set()
    at = folded.find(_TITLE)
    while at >= 0:
        first = letters[at - 1][0] + 1 if at else 0
        found.update(n for n in range(first, letters[at][0]) if _is_bracket(text[n]))
        at = folded.find(_TITLE, at + 1)
    return found


def _letters(text: str) -> Iterator[tuple[int, str]]:
    return ((at, letter) for at, char in enumerate(text) for letter in _fold(char))


@lru_cache(4_096)
def _fold(char: str) -> str:
    """The letters of a character, in Latin where they look it; nothing for what is no letter."""
    if _HIDDEN.match(char):
        return ""
    parts = (_LOOKS.get(part) or part.casefold() for part in unicodedata.normalize("NFKD", char))
    return "".join(letter for part in parts for letter in part if letter.isalpha())


@lru_cache(1_024)
def _is_bracket(char: str) -> bool:
    return char in _BRACKETS or "[" in unicodedata.normalize("NFKC", char)
