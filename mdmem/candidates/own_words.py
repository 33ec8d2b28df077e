"""A message in, what of it the person typed out: without code, quotations, logs, documents and what hooks put there."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_FORMATTING = frozenset("b i u s em strong code kbd mark sub sup span del ins small".split())
_MAX_INLINE = 200
_OPENING = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?>")
_INLINE_CODE = re.compile(r"`[^`\n]*`")
# A mark that opens again ends what stood open: else a row of them would be looked through once for each.
_QUOTES = re.compile(r"\"[^\"\n]*\"|“[^“”\n]*”|「[^「」\n]*」|『[^『』\n]*』|‘[^‘’\n]*’|(?<!\w)'[^'\n]{8,}'(?!\w)")
QUOTED = "\ufffc"  # stands where something quoted stood; the character behind it says which
_FIRST, _MOST = 0xE000, 0x1900  # such characters are nobody's: the private use area
_OF = re.compile(f"{QUOTED}([\ue000-\uf8ff])")
_PASTED = re.compile(
    r"(?:\b(?:error|errors|output|logs?|says?|said|reads?|file|docs?|readme|guidelines?|message|got|gives?|trace\w*"
    r"|wrote|rules? (?:we|they|i) (?:get|have|use)|spec\w*|requirements?|criteria|diff|snippet|comment|review"
    r"|ticket|contents?|from \S+)\b[^:\n]{0,40}"
    r"|(?:报错|日志|输出|内容|如下|文件|文档|说明|提示|写着|显示|原文|评论|是这样|验收标准|需求|规格|验收条件)[^:：\n]{0,12})[:：]\s*$",
    re.IGNORECASE,
)
_LOG_LINE = re.compile(
    r"\s*(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\[[\w: .-]+\]|(?:ERROR|WARN\w*|INFO|DEBUG|FATAL|TRACE)\b|Traceback"
    r"|npm (?:WARN|ERR!)|File \"|at \S+\(|[$>%|#]|[+-]{3}|@@|\d+[:|\t]|//|/\*|\*/|<|[{}\[\]]|import "
    r"|from \S+ import|def |class "
    r"|function |const |let |var |\w+\(.*\)[;{]?\s*$|\S+=\S+\s*$|\w[\w.]*(?:Error|Exception)\b)"
)
BULLET = re.compile(r"\s*(?:[-*•]\s+|\d{1,3}[.)]\s+|\d{1,3}、\s*)")


def without_bullet(line: str) -> str:
    bullet = BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def own_words(message: str) -> tuple[str, list[str]]:
    """Without code, quotations, elements, logs and what follows "the file says:"; and the quotations, see `quoting`."""
    quotes: list[str] = []

    def masked(quote: re.Match[str]) -> str:
        quotes.append(quote[0])
        return QUOTED + chr(_FIRST + (len(quotes) - 1) % _MOST)

    return _QUOTES.sub(masked, _typed(message.replace(QUOTED, " "))), quotes


def quoting(text: str, quotes: list[str]) -> str:
    """A part of own words, with the quotations that stood there."""
    return _OF.sub(lambda which: quotes[ord(which[1]) - _FIRST], text)


def _typed(message: str) -> str:
    text = _without_elements(_FENCE.sub("\n", re.sub(r"[^\S\n]+", " ", message)))
    kept: list[str] = []
    pasted = -1  # up to this block; and from "the file says:" on only the last one is theirs again
    blocks = re.split(r"\n[ \t]*\n", text)
    for n, block in enumerate(blocks):
        if n <= pasted or (pasted >= 0 and n < len(blocks) - 1):
            if re.match(r"#{1,6} ", block):
                return "\n".join(kept)  # a document was pasted: nothing tells where it ends
            continue
        lines = block.split("\n")
        for line in lines:
            if re.match(r"#{1,6} ", line) and len(blocks) > 2:
                return "\n".join(kept)  # a document begins
            if _LOG_LINE.match(line) and not BULLET.match(line):
                continue
            kept.append(line)
            if _PASTED.search(line.strip()):
                pasted = n + (line is lines[-1])
                break
        kept.append("")
    text = "\n".join(kept)
    if len(kept) > 40:  # nobody types that much: the first and last words are theirs
        theirs = [block for block in re.split(r"\n\s*\n", text) if block.strip()]
        text = "\n\n".join((theirs[0], theirs[-1])) if len(theirs) > 1 else ""
    return text


def _without_elements(text: str) -> str:
    """What hooks, rules files and programs put into a message stands in elements; `<name>` alone is a placeholder."""
    kept: list[str] = []
    at = 0
    for opening in _OPENING.finditer(text):
        if opening.start() < at:
            continue
        closing = text.find(f"</{opening[1]}>", opening.end())
        begins_line = not text[: opening.start()].rpartition("\n")[2].strip()
        if closing < 0 and not (begins_line and text.startswith("\n", opening.end())):
            continue
        kept.append(text[at : opening.start()])
        at = len(text) if closing < 0 else closing + len(opening[1]) + 3
        inside = text[opening.end() : closing] if closing >= 0 else "\n"
        if opening[1].lower() in _FORMATTING and "\n" not in inside:
            kept.append(inside)  # `<b>never</b>`: to leave it out would turn what was said into its opposite
        elif opening[1].isalnum() and "\n" not in inside and len(inside) < _MAX_INLINE:
            kept.append(f"“{text[opening.start() : at]}”")  # spoken of, as `tags like <main>x</main>`
    return "".join((*kept, text[at:]))
