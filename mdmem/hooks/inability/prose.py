"""A message in markdown in, the sentences that its author says out: no code, no quotes of others, no logs."""

from __future__ import annotations

import re
from typing import NamedTuple

CODE, QUOTE = "\ufffc", "\ufffd"  # stand for code and for a quotation: something, but no words


class Sentence(NamedTuple):
    """One sentence: as it was written, and with CODE and QUOTE in place of what is not its author's own words."""

    text: str
    said: str
    item: int  # which item of a list it is in, 0 for none
    quoted: bool = False  # whether it is an item, or a row, of what a document or a program says by now


_FENCE = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,})")
_INLINE_CODE = re.compile(r"(?<!`)(`++)[^`\n]++\1")
_LINK = re.compile(r"\]\([^()\s]*\)|https?://[^\s)\]，。；]+")
# Quotation marks that come in pairs, and straight ones around at least two words or any Chinese.
_QUOTED = re.compile(
    r"“[^“”\n]*”|「[^「」\n]*」|『[^『』\n]*』|«[^«»\n]*»|\"[^\"\n]*\"|(?<![\w\"'])'[^'\n]{2,}'(?!\w)|‘[^‘’\n]*’(?!\w)"
)
# A line that a program wrote: `error: …`, `fatal: …`, `[12:01:02] …`, `2026-11-29 12:00 …`, `npm ERR! …`, `$ …`.
_LOG = re.compile(
    r"(?:\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d:\d\d|\w+ ERR!|[$#%] \w|Traceback |\w*Error: |\w*Exception: |(?:error|fatal"
    r"|warning|debug|info)(?::| \[))",
)
_QUOTING = re.compile(r"[>＞]\s*")
# A note in the author's own words, though it is set as a quotation: `> [!WARNING]`, `> **Note**`.
_NOTE = re.compile(r"\[![A-Za-z]+\]|\*\*(?:note|warning|caution|important|注意|说明|提示|警告)|⚠|ℹ", re.IGNORECASE)
_MARKER = re.compile(r"^(?:[-*+•·]|\d{1,3}[.)、]|#{1,6}|\[[ xX]\]|[☐☑✅❌⚠🚫️])\s*")
# `I added a section to the README:`, and a list of what stands in it.
_WRITTEN = re.compile(
    r"\b(?:readme|faq|changelog|runbook|troubleshooting|(?:sub)?sections?|chapter|docs?|documentation|guide"
    r"|error messages?|messages? (?:is|are|now|read)|release notes|wording|copy|labels?|strings|translations?)\b"
    r"|文档|文件里|章节|一[节章]|常见问题|说明里|提示语|文案|报错信息|错误信息|错误提示|译文|词条",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|~~")
# A full stop ends a sentence before a space alone: `package.json` and `v1.2` have some inside. Chinese ends anywhere.
_END = re.compile(
    r"(?<=[.!?…])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)\s+|(?<=[。！？])\s+|(?<=[。！？!?])(?=[^\s。！？!?])"
)
_SPACE = re.compile(r"\s+")
_MASKED = re.compile(f"{CODE}+|{QUOTE}+")

# What is masked, by what, and a sign that each has in it.
_MASKS = (
    (_INLINE_CODE, CODE, "`"),
    (_LINK, " ", "/("),
    (_QUOTED, QUOTE, "“「『«\"'‘"),
    (_EMPHASIS, " ", "*_~"),
)


def sentences(message: str) -> list[Sentence]:
    """The sentences, in order; of a list or a heading each line is at least one."""
    found: list[Sentence] = []
    written = False
    for item, text in _paragraphs(message):
        said = text
        listed = item > 0 or text.startswith("|")
        if not listed:
            written = text.endswith((":", "：")) and bool(_WRITTEN.search(_END.split(text)[-1]))
        for pattern, stand_in, signs in _MASKS:
            if any(sign in said for sign in signs):
                said = _masked(pattern, stand_in, said)
        at = 0
        for end in [*(stop.end() for stop in _END.finditer(said)), len(said)]:
            if said[at:end].strip():
                found.append(_sentence(text[at:end], said[at:end], item)._replace(quoted=written and listed))
            at = end
    return found


def _masked(pattern: re.Pattern[str], stand_in: str, text: str) -> str:
    """Of the same length, so that a place in it is the same place in the text."""
    return pattern.sub(lambda match: stand_in * len(match[0]), text)


def _sentence(text: str, said: str, item: int) -> Sentence:
    return Sentence(_tidy(text), _MASKED.sub(lambda run: run[0][0], _tidy(said)), item)


def _tidy(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _paragraphs(message: str) -> list[tuple[int, str]]:
    """Lines that are prose, each with the list item that it is; those that an editor wrapped are joined, those of lists
    and tables stay apart.
    """
    found: list[tuple[int, str]] = []
    fence = ""
    joins = noted = False
    for raw in message.splitlines():
        line = raw.strip()
        opened = _FENCE.match(raw)
        if fence:
            if opened and opened[1].startswith(fence) and line == opened[1]:
                fence = ""
            continue
        if opened:
            fence, joins = opened[1], False
            continue
        quoting = _QUOTING.match(line)
        if quoting:
            line = line[quoting.end() :]
            noted = noted or bool(_NOTE.match(line))
        else:
            noted = False
        if not line or (quoting and not noted) or _LOG.match(line) or raw.startswith(("\t", "        ")):
            joins = False
            continue
        text = _MARKER.sub("", line)
        if joins and text == line and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {text}")
        else:
            found.append((0 if text == line or line[0] == "#" else len(found) + 1, text))
        joins = line[0] not in "#|"
    return found
