"""A message in, what of it the person typed out: without code, quotations, logs, documents and what hooks put there."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_OPENING = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?>")
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_QUOTES = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|‘[^’\n]*’|(?<!\w)'[^'\n]{8,}'(?!\w)")
QUOTED = "\ufffc"  # stands where something quoted stood
_PASTED = re.compile(
    r"(?:\b(?:error|errors|output|logs?|says?|said|reads?|file|docs?|readme|guidelines?|message|got|gives?|trace\w*"
    r"|wrote|diff|snippet|comment|review|ticket|contents?|from \S+)\b[^:\n]{0,40}"
    r"|(?:报错|日志|输出|内容|如下|文件|文档|说明|提示|写着|显示|原文|评论|是这样)[^:：\n]{0,12})[:：]\s*$",
    re.IGNORECASE,
)
_LOG_LINE = re.compile(
    r"\s*(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\[[\w: .-]+\]|(?:ERROR|WARN\w*|INFO|DEBUG|FATAL|TRACE)\b|Traceback"
    r"|File \"|at \S+\(|[$>%|#]|[+-]{3}|@@|\d+[:|\t]|//|/\*|\*/|<|[{}\[\]]|import |from \S+ import|def |class "
    r"|function |const |let |var |\w+\(.*\)[;{]?\s*$|\S+=\S+\s*$|\w[\w.]*(?:Error|Exception)\b)"
)
BULLET = re.compile(r"\s*(?:[-*•]|\d+[.)、])\s+")


def own_words(message: str) -> str:
    """Without code, quotations, elements, logs and what follows "the file says:"."""
    text = _without_elements(_FENCE.sub("\n", re.sub(r"[^\S\n]+", " ", message)))
    kept: list[str] = []
    pasted = -1  # up to this block; and from "the file says:" on only the last one is theirs again
    blocks = re.split(r"\n[ \t]*\n", text)
    for n, block in enumerate(blocks):
        if n <= pasted or (pasted >= 0 and n < len(blocks) - 1):
            continue
        lines = block.split("\n")
        for line in lines:
            if re.match(r"#{1,6} ", line) and len(blocks) > 2:
                return _QUOTES.sub(QUOTED, "\n".join(kept))  # a document begins
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
    return _QUOTES.sub(QUOTED, text)


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
    return "\n".join((*kept, text[at:]))
