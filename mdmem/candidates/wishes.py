"""A person's message in, what they want to hold from now on out: "never …", "always …", 以后…, "remember: …".

Precision before all: a wrong rule is obeyed for ever. A sentence must be an order, must mean more than this task, must
be the person's own words (not pasted, quoted or in code), and must not be a question or a description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mdmem.candidates import orders_en, orders_zh
from mdmem.candidates.orders_en import SURE, WEAK
from mdmem.candidates.own_words import BULLET, QUOTED, own_words, quoting, without_bullet
from mdmem.document.slugs import slug

_MAX_MESSAGE, _MAX_TOLD, _MAX_RULE, _MIN_RULE = 20_000, 16_000, 400, 4
_MAX_KEY_BYTES = 90


@dataclass(frozen=True, slots=True)
class Wish:
    """`text`: as it was said; `type`: rule or fact; `everywhere`: it says that it holds in all projects."""

    key: str
    text: str
    type: str
    confidence: float
    everywhere: bool = False


def find(message: str) -> list[Wish]:
    """The lasting wishes of one message, in their order, each once."""
    found: dict[str, Wish] = {}
    words, quotes = own_words(message[:_MAX_MESSAGE])
    told, words = _told(words.strip())
    for text in told:
        wish = _remembered(text, quotes)
        if wish and _MIN_RULE <= len(wish.text) <= _MAX_TOLD:
            found.setdefault(wish.key, wish)
    for sentence in _sentences(words):
        wish = _explicit(sentence, quotes) or _ordered(sentence)
        if wish and wish.confidence < SURE and _is_spec(wish.text, words):
            wish = replace(wish, confidence=WEAK)
        wish = wish and replace(wish, text=quoting(wish.text, quotes))
        if wish and _MIN_RULE <= len(wish.text) <= _MAX_RULE:
            found.setdefault(wish.key, wish)
    return list(found.values())


_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；!?;\n])|\n+")
_POLITE = r"(?:and |but |also |please )?"
_CUE_AFTER = re.compile(
    r"(?:,|;|—|–| -)?\s+(?:and|but|also|so|then|plus)\s+(?=(?:please\s+|also\s+)*"
    r"(?:never|always|don'?t ever|do not ever|from now on|make sure (?:to|you) (?:always|never))\b)"
    rf"|(?:,|;|—|–| - |:)\s*{_POLITE}(?=(?:please )?"
    r"(?:never|always|don'?t ever|do not ever|from now on|going forward)\b)",
    re.IGNORECASE,
)
_STORY = re.compile(r"(?:it|he|she|they|i|we|this|that|the|there|my|our|because|when|if|since)\b", re.IGNORECASE)
_HAN, _WORD = re.compile(r"[\u4e00-\u9fff]"), re.compile(r"[A-Za-z]+")
_EVERYWHERE = re.compile(
    r"\b(?:in (?:all|every|any)(?: of)?(?: my)? (?:projects?|repos?(?:itor(?:y|ies))?)|everywhere"
    r"|across (?:all )?(?:projects|repos))\b|所有(?:的)?(?:项目|仓库)|任何(?:项目|仓库)|每个(?:项目|仓库)",
    re.IGNORECASE,
)
_WHERE = re.compile(rf"(?:{_EVERYWHERE.pattern}),? (?:please )?", re.IGNORECASE)  # "in all my projects, always …"


def _sentences(text: str) -> Iterator[str]:
    for piece in _END.split(text):
        sentence = without_bullet(piece).strip(" \t\r\n*_-—–")
        if not sentence or (not _is_chinese(sentence) and orders_en.is_question(sentence)):
            continue
        yield _from_cue(sentence)


def _from_cue(sentence: str) -> str:
    """Of "tag it, and always sign the tags" and "修一下这个，以后都用 x" the second half, unless the whole is an order
    or tells a story.
    """
    chinese = _is_chinese(sentence)
    cut = (orders_zh.CUE if chinese else _CUE_AFTER).search(sentence)
    if not cut or (not chinese and (not cut.start() or _STORY.match(sentence))):
        return sentence
    return sentence if _REMEMBER.match(sentence) or _ordered(sentence) else sentence[cut.end() :]


def _is_chinese(text: str) -> bool:
    han = len(_HAN.findall(text))
    return han > 0 and han * 3 >= len(_WORD.findall(text))


_REMEMBER = re.compile(
    r"(?:please |and |also |ok,? |另外|还有|请|麻烦|对了|，|,|\s)*"
    r"(?:(?:remember|note to self|keep in mind|memori[sz]e)(?: this| that)?\s*[:：]|remember that\b"
    r"|(?:put|save|store|keep|add|write) (?:this|that|it) (?:in|to|into) (?:your |the )?memory\s*[:：]"
    r"|(?:请|帮我)?把?(?:这条|这个|这一条|下面这条)?(?:存|记|写)(?:到|进|入)(?:你的)?记忆(?:里|中|库)?\s*[:：，,]"
    r"|(?:记住|記住|记下来?|記下來?|记一下|記一下|牢记|牢記)(?:了|一下|这[条点个])?\s*[:：，,、\s]|[记記]住(?=[^了吗嗎没沒\s]{4,}))\s*",
    re.IGNORECASE,
)


# What follows in the same breath, and is for now: "remember: staging is at x. Also fix the test."
_FOR_NOW = re.compile(
    r"(?:also|then|now|next|and now|after that|please|can|could|would|ok|okay|let'?s)\b|另外|然后|现在|接着|请|顺便|帮",
    re.IGNORECASE,
)


def _told(words: str) -> tuple[list[str], str]:
    """What a message that begins with `remember:` says is to be remembered, one text each, and what else it says: its
    first paragraph, or each point of a list there.
    """
    begin = _REMEMBER.match(words)
    if not begin or not begin[0].rstrip().endswith((":", "：")):
        return [], words
    paragraph, _, after = words[begin.end() :].partition("\n\n")
    lines = [line for line in paragraph.split("\n") if line.strip()]
    if lines and all(BULLET.match(line) for line in lines):
        return [without_bullet(line).strip() for line in lines], after
    cut = next((end.end() for end in _END.finditer(paragraph) if _FOR_NOW.match(paragraph, end.end())), len(paragraph))
    return [" ".join(paragraph[:cut].split())], f"{paragraph[cut:]}\n\n{after}"


def _remembered(text: str, quotes: list[str]) -> Wish | None:
    """The whole of what a person told, a rule where its first sentence is one."""
    first = next((piece.strip() for piece in _END.split(text) if piece.strip()), "")
    if not first or orders_en.is_question(first) or orders_zh.QUESTION.search(first):
        return None
    rule = _ordered(first)
    whole, about = quoting(text, quotes), rule.key.partition(":")[2] if rule else quoting(first, quotes)
    return _wish("rule" if rule else "fact", whole, about, SURE)


_MODAL = re.compile(r"\b(?:must|have to|has to|needs? to|should)\b|必须|每次|不能|不得", re.IGNORECASE)
_WORK = re.compile(
    r"[\s.,;:!。，；、]*(?:(?:please|now|then|so|and|can you|could you) )*(?:implement|build|add|change|convert|migrate"
    r"|enforce|apply|make|wire|adjust|cover|do it|where\b.*\benforced|how\b)\b"
    r"|[\s。，；]*[^。]{0,12}(?:实现|做出来|加上|加个|改一下|查一下|补上)",
    re.IGNORECASE,
)

_WORK_INSIDE = re.compile(
    r",\s*(?:so |and |then |please )*(?:implement|convert|add|build|change|migrate|enforce|apply|fix)\b", re.IGNORECASE
)


def _is_spec(text: str, words: str) -> bool:
    """What something must do, with the order to make it do so right behind: what is to be built, not how to work."""
    at = words.find(text)
    if at < 0 or not _MODAL.search(text) or re.search(r"\balways\b", text, re.IGNORECASE):
        return False
    return bool(_WORK.match(words, at + len(text)) or _WORK_INSIDE.search(text))


def _explicit(sentence: str, quotes: list[str]) -> Wish | None:
    found = _REMEMBER.match(sentence)
    rest = sentence[found.end() :].strip(" ：:，,") if found else ""
    if found and QUOTED in rest and found[0].rstrip().endswith((":", "：")):
        rest = quoting(rest, quotes)  # `remember: the "blue" cluster is production`: said in so many words
    if not rest or QUOTED in rest or orders_en.is_question(rest) or orders_zh.QUESTION.search(rest):
        return None
    rule = _ordered(rest)
    if rule:
        return Wish(rule.key, rule.text, "rule", SURE, rule.everywhere)
    return _wish("fact", rest, rest, SURE)


def _ordered(sentence: str) -> Wish | None:
    order = orders_zh.order(sentence) if _is_chinese(sentence) else orders_en.order(sentence, _WHERE)
    return _wish("rule", order.text, order.about, order.confidence) if order else None


def _wish(kind: str, text: str, about: str, confidence: float) -> Wish:
    text = text.strip().strip("，,;；:：、").strip()
    return Wish(
        f"{kind}:{slug(about, max_bytes=_MAX_KEY_BYTES)}", text, kind, confidence, bool(_EVERYWHERE.search(text))
    )
