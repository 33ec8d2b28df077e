"""A text in, the YAML that every loader reads back as that same text out: plain where that is safe, else quoted."""

from __future__ import annotations

import re

from mdmem.document.dates import normalise_date
from mdmem.document.keys import DATE_KEYS

# Words that some YAML version takes for a boolean, nothing or a number.
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf", "infinity"])
_UNSAFE = re.compile(r": |:$| #|[\"'\\`]")
_ESCAPED = re.compile(
    '["\\\\\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\uffff]'
)
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d))?", re.ASCII)
_SHARE = re.compile(r"[01](?:\.\d{1,6})?", re.ASCII)
_KEY = re.compile(r"[^\W\d][\w\-]{0,99}")


def scalar(text: str, *, key: str = "", always: bool = False) -> str:
    """One value of a block line. Dates of date keys and the number of `confidence` are plain, as people write them."""
    if not always and (_is_plain(text) or _is_typed(text, key)):
        return text
    return _quoted(text)


def flow_list(items: list[str]) -> str:
    """A list on one line: `[aws, "s3, old"]`."""
    return "[" + ", ".join(_item(item) for item in items) + "]"


def key_text(key: str) -> str:
    """A key as it stands before its colon."""
    return key if _KEY.fullmatch(key) and key.lower() not in _WORDS else _quoted(key)


def _item(text: str) -> str:
    return text if _is_plain(text) and not re.search(r"[,\[\]{}:?]", text) else _quoted(text)


def _is_plain(text: str) -> bool:
    """Begins with a letter, prints, and holds nothing that any loader could take for more than text."""
    if not text or not text[0].isalpha() or text[-1].isspace() or text.lower() in _WORDS:
        return False
    return text.isprintable() and not _UNSAFE.search(text) and not _ESCAPED.search(text)


def _is_typed(text: str, key: str) -> bool:
    if key == "confidence":
        return _SHARE.fullmatch(text) is not None
    return key in DATE_KEYS and _ISO.fullmatch(text) is not None and normalise_date(text) == text


def _quoted(text: str) -> str:
    if "'" not in text and ("\\" in text or '"' in text) and not _ESCAPED.search(re.sub(r'["\\]', "", text)):
        return f"'{text}'"
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    code = ord(char)
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
