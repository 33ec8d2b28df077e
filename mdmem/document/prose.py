"""The body of a memory in; its title, first sentence, links and names in code spans out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from mdmem.document.shorten import shorten
from mdmem.document.split import iter_prose

MAX_DESCRIPTION = 160
# Only the beginning of a line can become a name or a description; lines of megabytes exist.
_MAX_LINE = 2000
_MAX_SPANS = 30
_MAX_SPAN_CHARS = 40

_HEADING = re.compile(r" {0,3}#{1,6}(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")
_LEAD = re.compile(r"\s*(?:>\s?|[-*+]\s+|\d{1,9}[.)]\s+)")
_BOX = re.compile(r"\[[ xX\-/]\]\s+")
_CATEGORY = re.compile(r"\[[\w \-]{1,40}\]\s+")
_NOT_WORDS = re.compile(r"\s*(?:\||<!--|</?\w|!\[[^\]]*\]\([^)]*\)\s*$|\[\^?[^\]]+\]:\s)")
_SENTENCE_END = re.compile(r"""[。！？]+[”’」』）"]*|[.!?]+["'”’)\]]*(?=\s+(?![a-z])|\s*$)""")
_LINK = re.compile(r"\[\[([^\[\]\n]{1,300})\]\]")
# A run of backticks that nothing closes is matched alone, so that no search begins inside it.
_SPAN = re.compile(r"(``*+)(?:([^\n]{1,200}?)(?<!`)\1(?!`))?")
_MARKUP = (
    (re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]"), r"\1"),
    (re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)"), r"\1"),
    (re.compile(r"(\*\*|__|~~|==)(?=\S)(.{1,500}?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]{1,500}?)(?<=[^\s*])\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<![\w_])_(?=[^\s_])([^_]{1,500}?)(?<=[^\s_])_(?![\w_])"), r"\1"),
    (re.compile(r"`+([^`]{1,500}?)`+"), r"\1"),
)


def title_of(body: str) -> str:
    """Text of the first heading outside code fences, `# like this` or underlined; "" where there is none."""
    if "#" not in body and "==" not in body and "--" not in body:
        return ""
    before, last = "", ""
    for _, whole in iter_prose(body):
        line = whole[:_MAX_LINE]
        heading = _heading(line)
        if last and not before and _UNDERLINE.fullmatch(line) and _is_paragraph(last):
            heading = last
        title = one_line(plain_words(heading)) if heading else ""
        if title:
            return title
        before, last = last, line.strip()
    return ""


def first_sentence(body: str) -> str:
    """The first sentence of the first text that is no heading, code, table or rule, at most 160 characters."""
    paragraph = one_line(plain_words(" ".join(_first_paragraph(body))))
    end = _SENTENCE_END.search(paragraph)
    return shorten(paragraph[: end.end()] if end else paragraph, MAX_DESCRIPTION)


def links_of(prose: str) -> tuple[str, ...]:
    """Targets of [[wikilinks]], in order, each once, without anchor, label or line's end."""
    if "[[" not in prose:
        return ()
    targets = (link_target(found) for found in _LINK.findall(_SPAN.sub("", prose)))
    return tuple(dict.fromkeys(target for target in targets if target))


def link_target(inside: str) -> str:
    r"""What stands before anchor and label in the inside of a [[wikilink]]; in a table the bar is written `\|`."""
    return inside.split("|", 1)[0].split("#", 1)[0].rstrip("\\").strip()


def spans_of(prose: str) -> tuple[str, ...]:
    """Short `code spans`, in order, each once: one backtick, at most 40 characters and single spaces; 30 at most."""
    if "`" not in prose:
        return ()
    spans: dict[str, None] = {}
    for ticks, inside in _SPAN.findall(prose):
        text = inside.strip(" ")
        if ticks == "`" and 0 < len(text) <= _MAX_SPAN_CHARS and " ".join(text.split()) == text:
            spans[text] = None
            if len(spans) == _MAX_SPANS:
                break
    return tuple(spans)


def without_code(body: str) -> str:
    """The body without its fenced code."""
    if "```" not in body and "~~~" not in body:
        return body
    return "\n".join(line for _, line in iter_prose(body))


def plain_words(text: str) -> str:
    """Text without markdown's emphasis, links and code marks."""
    for pattern, kept in _MARKUP if any(mark in text for mark in "*_[`~=") else ():
        text = pattern.sub(kept, text)
    return text


def one_line(text: str) -> str:
    """Text on one line, white space single, without control characters."""
    if not text:
        return text
    text = " ".join(text.split())
    return text if text.isprintable() else "".join(char for char in text if unicodedata.category(char) != "Cc")


def _heading(line: str) -> str:
    """The text of a line `# like this ##`, else ""."""
    found = _HEADING.match(line)
    if found is None:
        return ""
    text = line[found.end() :].strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else text


def _is_paragraph(line: str) -> bool:
    return not (_LEAD.match(line) or _HEADING.match(line) or _NOT_WORDS.match(line) or _RULE.fullmatch(line))


def _first_paragraph(body: str) -> Iterable[str]:
    """Lines of the first paragraph or list item, without list and quote marks."""
    found: list[str] = []
    for _, whole in iter_prose(body):
        line = whole[:_MAX_LINE]
        if found and _UNDERLINE.fullmatch(line) and line.strip():
            found = []  # what stood above was a heading
        elif not line.strip() or _HEADING.match(line) or _RULE.fullmatch(line) or _NOT_WORDS.match(line):
            if found:
                break
        elif found and _LEAD.match(line):
            break
        elif found or not line.startswith(("    ", "\t")):
            found.append(line if found else _without_lead(line))
        if sum(map(len, found)) > 4 * MAX_DESCRIPTION:
            break
    return found


def _without_lead(line: str) -> str:
    lead = _LEAD.match(line)
    while lead:
        line = line[lead.end() :]
        line = line[found.end() :] if (found := _BOX.match(line) or _CATEGORY.match(line)) else line
        lead = _LEAD.match(line)
    return line
