"""Relative paths in, relative paths out: checked parts, a printable form and back, a folded form for comparison."""

from __future__ import annotations

import os
import re
import unicodedata

_LITERAL_ESCAPE = re.compile(r"\\(?=x[0-9A-F]{2})")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\x([0-9A-F]{2})")


def parts_of(rel: str) -> list[str] | None:
    """The parts of a relative POSIX path, or None where it cannot name something strictly below a folder.

    None for: empty, absolute, `.`, `..` or empty parts, NUL, characters that no file name can hold.
    """
    parts = rel.split("/")
    if "\0" in rel or any(part in ("", ".", "..") for part in parts):
        return None
    try:
        os.fsencode(rel)
    except UnicodeEncodeError:
        return None
    return parts


def printable(rel: str) -> str:
    r"""The form of a path for people, SQLite and UTF-8 streams: bytes that are no text become `\xE9`.

    One to one for every name that a folder can list (a literal `\xE9` in a name becomes `\x5CxE9`); see
    `from_printable`. Never raises, and the result always encodes. Control characters stay: escape them at the terminal.
    """
    if rel.isascii() and "\\" not in rel:
        return rel
    return _LONE_SURROGATE.sub(_escaped, _LITERAL_ESCAPE.sub(r"\\x5C", rel))


def from_printable(text: str) -> str:
    """The path that `printable` was given: what the file system knows the file by."""
    return _ESCAPE.sub(_unescaped, text) if "\\x" in text else text


def folded(rel: str) -> str:
    """The form under which two names are one on a disk that is blind to case or to the spelling of accents."""
    return rel.lower() if rel.isascii() else unicodedata.normalize("NFC", unicodedata.normalize("NFC", rel).lower())


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04X}"


def _unescaped(match: re.Match[str]) -> str:
    byte = int(match[1], 16)
    if byte == 0x5C:
        return "\\"
    return chr(0xDC00 + byte) if byte >= 0x80 else match[0]
