"""Frontmatter text of the common shapes in, its fields and lines out; None on any doubt (then YAML decides).

Nine of ten files hold nothing but `key: value`, `key: [a, b]` and `- item` lines, and a YAML parser costs ten times
as much as this. A property test holds that the two never differ.
"""

from __future__ import annotations

import re

from mdmem.document.shape import Value

NULLS = frozenset(("", "~", "null", "Null", "NULL"))

# Line separators and marks that YAML reads as breaks, and what it refuses: not for us.
_STRANGE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_FIRST = r"[^\s\-?:,\[\]{}#&*!|>'\"%@`]"
_ENTRY = re.compile(
    rf"""([^\W\d][\w.\-]*):(?:
      \ +(?:({_FIRST}[^\n]*)|\[([^\[\]{{}}"'\#&*!|>%@`:?\n]*)\]\ *|"([^"\\\n]*)"\ *|'([^'\n]*)'\ *)(?:\n|\Z)
      |\ *\n((?:\ *-\ [^\n]*(?:\n|\Z))*)
      |\ *\Z)""",
    re.X,
)
_ITEMS = re.compile(rf"( *)- +(?:({_FIRST}[^\n]*)|\"([^\"\\\n]*)\" *|'([^'\n]*)' *)(?:\n|\Z)")


def read_simple(text: str) -> tuple[dict[str, Value], dict[str, int]] | None:
    """Fields of a block whose line ends are LF, and their lines from 0; None where the YAML parser should look."""
    if _STRANGE.search(text):
        return None
    fields: dict[str, Value] = {}
    lines: dict[str, int] = {}
    position, line, size = 0, 0, len(text)
    while position < size:
        found = _ENTRY.match(text, position)
        if found is None or found[1] in fields or len(found[1]) > 100:
            return None
        value = _value(found)
        if value is None:
            return None
        fields[found[1]] = value
        lines[found[1]] = line
        line += 1 if found.lastindex != 6 else 1 + found[6].count("\n")
        position = found.end()
    return fields, lines


def _value(found: re.Match[str]) -> Value | None:
    kind = found.lastindex
    if kind == 2:
        return _plain(found[2])
    if kind == 3:
        return _flow(found[3])
    if kind in (4, 5):
        return found[kind]
    return _items(found[6]) if kind == 6 and found[6] else ""


def _plain(text: str) -> str | None:
    text = text.rstrip(" ")
    if ": " in text or " #" in text or text[-1] == ":":
        return None
    return "" if text in NULLS else text


def _flow(text: str) -> list[Value] | None:
    if not text.strip(" "):
        return []
    items = [item.strip(" ") for item in text.split(",")]
    if any(item in NULLS or item[0] == "-" for item in items):
        return None
    return list(items)


def _items(text: str) -> list[Value] | None:
    values: list[Value] = []
    position, indent = 0, None
    while position < len(text):
        found = _ITEMS.match(text, position)
        if found is None or (indent is not None and found[1] != indent):
            return None
        indent = found[1]
        value = _plain(found[2]) if found.lastindex == 2 else found[found.lastindex or 0]
        if value is None:
            return None
        values.append(value)
        position = found.end()
    return values
