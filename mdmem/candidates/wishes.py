"""A person's message in, what they want to hold from now on out: "never …", "always …", 以后…, "remember: …".

Precision before all: one wrong rule is obeyed for ever. A sentence must be an order, must mean more than this task, must
be the person's own words (not pasted, quoted or in code), and must not be a question or a description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from mdmem.document.slugs import slug

_MAX_MESSAGE, _MAX_RULE, _MIN_RULE = 20_000, 400, 4
SURE, LIKELY, WEAK = 1.0, 0.8, 0.5


@dataclass(frozen=True, slots=True)
class Wish:
    """`text`: as it was said; `everywhere`: it says that it holds in all projects."""

    key: str
    text: str
    type: str
    confidence: float
    everywhere: bool = False


def find(message: str) -> list[Wish]:
    """The lasting wishes of one message, in their order, each once."""
    found: dict[str, Wish] = {}
    for sentence in _sentences(_own_words(message[:_MAX_MESSAGE])):
        wish = _explicit(sentence) or _ordered(sentence)
        if wish and _MIN_RULE <= len(wish.text) <= _MAX_RULE:
            found.setdefault(wish.key, wish)
    return list(found.values())


# --- whose words ------------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_OPENING = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?>")
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_QUOTES = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|‘[^’\n]*’|(?<!\w)'[^'\n]{8,}'(?!\w)")
_QUOTED = "\ufffc"  # stands where something quoted stood
_PASTED = re.compile(
    r"(?:\b(?:error|errors|output|logs?|says?|said|reads?|file|docs?|readme|guidelines?|message|got|gives?|trace\w*|wrote|"
    r"diff|snippet|comment|review|ticket|contents?|from \S+)\b[^:\n]{0,40}"
    r"|(?:报错|日志|输出|内容|如下|文件|文档|说明|提示|写着|显示|原文|评论|是这样)[^:：\n]{0,12})[:：]\s*$",
    re.IGNORECASE,
)
_LOG_LINE = re.compile(
    r"\s*(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\[[\w: .-]+\]|(?:ERROR|WARN\w*|INFO|DEBUG|FATAL|TRACE)\b|Traceback|File \"|at \S+\(|"
    r"[$>%|#]|[+-]{3}|@@|\d+[:|\t]|//|/\*|\*/|<|[{}\[\]]|import |from \S+ import|def |class |function |const |let |var |"
    r"\w+\(.*\)[;{]?\s*$|\S+=\S+\s*$|\w[\w.]*(?:Error|Exception)\b)"
)


def _own_words(message: str) -> str:
    """Without code, quotations, elements, logs and what follows "the file says:"."""
    text = _without_elements(_FENCE.sub("\n", message))
    kept: list[str] = []
    pasted = -1  # up to this block; and from "the file says:" on only the last one is theirs again
    blocks = re.split(r"\n[ \t]*\n", text)
    for n, block in enumerate(blocks):
        if n <= pasted or (pasted >= 0 and n < len(blocks) - 1):
            continue
        lines = block.split("\n")
        for line in lines:
            if re.match(r"#{1,6} ", line) and len(blocks) > 2:
                return _QUOTES.sub(_QUOTED, "\n".join(kept))  # a document begins
            if _LOG_LINE.match(line) and not _BULLET.match(line):
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
    return _QUOTES.sub(_QUOTED, text)


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


# --- sentences --------------------------------------------------------------------------------------------------------

_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；!?;\n])|\n+")
_BULLET = re.compile(r"\s*(?:[-*•]|\d+[.)、])\s+")
_CUE_AFTER = re.compile(
    r"(?:,|;|—|–| -)?\s+(?:and|but|also|so|then|plus)\s+(?=(?:please\s+|also\s+)*(?:never|always|don'?t ever|do not ever"
    r"|from now on|make sure (?:to|you) (?:always|never))\b)|(?:,|;|—|–| - |:)\s*(?:and |but |also |please )?"
    r"(?=(?:please )?(?:never|always|don'?t ever|do not ever|from now on|going forward)\b)",
    re.IGNORECASE,
)


def _sentences(text: str) -> Iterator[str]:
    for piece in _END.split(text):
        sentence = _BULLET.sub("", piece or "", count=1).strip(" \t\r\n*_-—–")
        if not sentence:
            continue
        if _is_chinese(sentence):
            yield sentence
            continue
        if _is_question(sentence):
            continue
        cut = _CUE_AFTER.search(sentence)
        if (
            cut
            and cut.start()
            and not _ordered(sentence)
            and not _explicit(sentence)
            and _leads(sentence[: cut.start()])
        ):
            yield sentence[cut.end() :]
        else:
            yield sentence


def _leads(before: str) -> bool:
    """What stands before "and never …" is an order or a greeting, not the story of something."""
    return not re.match(
        r"(?:it|he|she|they|i|we|this|that|the|there|my|our|because|when|if|since)\b", before, re.IGNORECASE
    )


def _is_chinese(text: str) -> bool:
    return bool(re.search(r"[\u4e00-\u9fff]", text)) and len(re.findall(r"[\u4e00-\u9fff]", text)) * 3 >= len(
        re.findall(r"[A-Za-z]+", text)
    )


_ASKING = re.compile(
    r"(?:why|how|what|when|where|which|who|whose|is|are|was|were|do(?! not| n)|does|did|can|could|should|shall|would|will|has|have|had"
    r"|isn't|aren't|don't you|didn't|doesn't|won't|shouldn't|am|may i|any idea)\b",
    re.IGNORECASE,
)


def _is_question(sentence: str) -> bool:
    return sentence.rstrip(" \"')").endswith(("?", "？")) or bool(_ASKING.match(sentence))


# --- explicit ---------------------------------------------------------------------------------------------------------

_REMEMBER = re.compile(
    r"(?:please |and |also |ok,? |另外|还有|请|麻烦|对了|，|,|\s)*"
    r"(?:(?P<en>(?:remember|note to self|keep in mind|memori[sz]e)(?: this| that)?\s*[:：]|remember that\b)"
    r"|(?P<zh>(?:请)?(?:记住|记下来?|记一下|牢记)(?:了|一下|这[条点个])?\s*[:：，,、\s]|记住(?=[^了吗没\s]{4,})))\s*",
    re.IGNORECASE,
)


def _explicit(sentence: str) -> Wish | None:
    found = _REMEMBER.match(sentence)
    rest = sentence[found.end() :].strip(" ：:，,") if found else ""
    if not rest or _QUOTED in rest or _is_question(rest) or _ZH_QUESTION.search(rest):
        return None
    rule = _ordered(rest)
    if rule:
        return Wish(rule.key, rule.text, "rule", SURE, rule.everywhere)
    text = _trimmed(rest)
    return Wish(f"fact:{_slug(text)}", text, "fact", SURE, _everywhere(text))


# --- orders -----------------------------------------------------------------------------------------------------------

_LEAD = re.compile(
    r"(?:(?:please|pls|also|and|but|so|ok(?:ay)?|oh|hey|hi|btw|by the way|note|important|one (?:more )?thing|rule|remember"
    r"|again|then|well|just|finally|in general|generally|as a rule|thanks|also note|note that|remember that|reminder"
    r"|i want you to|i need you to|i'd like you to|you (?:should|must|have to|need to)|you(?= (?:always|never))"
    r"|make sure (?:to|you|that you)|be sure to|we (?:should|must|have to)|let'?s)\b[\s,:!—–-]*)*",
    re.IGNORECASE,
)
_EN_ONE_OFF = re.compile(
    r"\b(?:this time|for now|right now|just now|now\b|today|tonight|tomorrow|this (?:week|morning|afternoon|session|pr|branch|task|change"
    r"|commit|ticket|sprint|run|once|one)|yet|until (?:i|we|the|it|then)\b|temporarily|for the moment|at the moment|in this (?:pr|change|task)"
    r"|just this|once more|while (?:i|we|you)|meanwhile|the (?:last|next|first) (?:one|time|commit)|(?:so|before|until) i can)",
    re.IGNORECASE,
)
_FROM_NOW = re.compile(r"from (?:now|here|today) on(?: out)?", re.IGNORECASE)
_EN_DEICTIC = re.compile(r"\b(?:this|that|these|those|it|them|here|there|him|her|above|below)\b", re.IGNORECASE)
_UNNAMED = re.compile(r"\s+(?:this|that|these|those|it|them)\b", re.IGNORECASE)  # what it is about, only the talk tells
_NO_ORDER = frozenset(
    """mind been be being had has was were got gotten seen heard knew known thought said saw went came found made worked had
    finished happened returned saved started loaded ran did does is are gets goes comes fails failed works returns shows
    throws hangs crashes quite really again before once good great nice bad a an the my mine happy ready available wrong
    right true false null there here hidden visible present called used set met tried it this that i we you they he she there everything nothing something can could may might will would should wanted liked loved understood""".split()
)
_VERB = r"(?P<verb>[A-Za-z][A-Za-z'-]*)"
_EN = (
    (re.compile(rf"never(?: ever)? {_VERB}", re.IGNORECASE), LIKELY + 0.2),
    (re.compile(rf"always {_VERB}", re.IGNORECASE), LIKELY + 0.2),
    (re.compile(rf"(?:do not|don'?t|dont|do n't) ever {_VERB}", re.IGNORECASE), SURE),
    (re.compile(rf"(?:must|should) (?:always|never) {_VERB}", re.IGNORECASE), SURE),
    (
        re.compile(
            rf"(?:from now on|from here on(?: out)?|from today on|going forward|henceforth|in (?:the )?future)\b[,:]?\s+(?:please )?{_VERB}",
            re.IGNORECASE,
        ),
        SURE,
    ),
    (
        re.compile(
            rf"(?:whenever|every time|each time|any time) .{{3,120}}?, (?:please |you (?:must|should) )?(?:always |never |first )?{_VERB}",
            re.IGNORECASE,
        ),
        LIKELY,
    ),
    (
        re.compile(
            rf"before (?:every|each|any|all) .{{3,80}}?, (?:please |you must )?(?:always )?{_VERB}", re.IGNORECASE
        ),
        LIKELY,
    ),
    (
        re.compile(
            rf"(?:all|every|each|any|no) [\w' /-]{{2,60}}? (?:must|must not|may not|have to|has to) (?:always |never |not )?{_VERB}",
            re.IGNORECASE,
        ),
        LIKELY,
    ),
    (re.compile(rf"[A-Za-z][\w-]*(?: [\w-]+){{0,3}}s must (?:always |never |not )?{_VERB}", re.IGNORECASE), LIKELY),
    (re.compile(rf"[\w' /-]{{2,60}}? must (?:always|never) {_VERB}", re.IGNORECASE), LIKELY),
    (re.compile(rf"must (?:not )?{_VERB}", re.IGNORECASE), WEAK),
    (re.compile(rf"we (?:always|never) {_VERB}", re.IGNORECASE), WEAK),
    (re.compile(rf"(?:do not|don'?t|dont) {_VERB}", re.IGNORECASE), WEAK),
)
_EN_MUST_SUBJECT = re.compile(
    r"(?:it|that|this|there|he|she|they|i|something|someone|which|what|who|these|those|yes|the|add|implement|make|create|write"
    r"|fix|build|show|check|ensure|validate|test|change|update|rename|explain|translate|display|print)\b",
    re.IGNORECASE,
)
_IDLE = frozenset(
    """worry bother forget mind care know think see understand get want need have like believe remember stop hesitate panic
    feel be seem look have wait ask tell sorry""".split()
)


def _ordered(sentence: str) -> Wish | None:
    if _is_chinese(sentence):
        return _ordered_chinese(sentence)
    body = _LEAD.sub("", sentence, count=1)
    if not body or _QUOTED in body[:30] or _EN_ONE_OFF.search(_FROM_NOW.sub("", body)) or _is_question(body):
        return None
    order = _WHERE.sub("", body, count=1)
    for n, (pattern, confidence) in enumerate(_EN):
        found = pattern.match(order)
        if found and _is_order(found["verb"], found[0], order[found.end() :], bare=n >= len(_EN) - 3):
            rest = order[found.end() :]
            if not rest.strip(" .!,") and n < 4:
                return None
            unclear = bool(_UNNAMED.match(rest))
            text = _trimmed(body)
            return Wish(f"rule:{_english_key(text)}", text, "rule", WEAK if unclear else confidence, _everywhere(text))
    return None


def _is_order(verb: str, cue: str, rest: str, *, bare: bool) -> bool:
    low = verb.lower()
    if "must" in cue.lower():
        has_story = low == "have" and re.match(
            r"\s+(?:been|\w+ed|got|had|gone|run|broken|taken|done|made|lost)\b", rest
        )
        return not (has_story or _EN_MUST_SUBJECT.match(cue)) and not (bare and low in ("be", "have"))
    if low in _NO_ORDER or (bare and low in _IDLE):
        return False
    if bare and _EN_DEICTIC.search(rest):
        return False
    return not re.search(r"(?:[^s]s|ed|ing)\Z", low) or low in _BASE_FORMS


_BASE_FORMS = frozenset(
    """focus bias canvas alias process pass press address access discuss express miss guess cross need seed feed embed shed
    bring ping string proceed exceed speed bed wed ring sing spring sling cling cached""".split()
) | {"exclude", "include"}


def _english_key(text: str) -> str:
    """The same wish in other words: "Never push to main directly, please." is never-push-to-main."""
    first = re.split(r"[:;,.!—–(]|\s-\s|\bunless\b|\bbecause\b|\bsince\b|\bso that\b", text, maxsplit=1)[0]
    first = first if len(first.split()) >= 3 else text
    low = re.sub(r"\b(?:do not|don'?t|dont)(?: ever)?\b|\bnever ever\b|\bmust (?:not|never)\b", "never", first.lower())
    words = [word for word in re.findall(r"[\w@./+'-]+", low) if word.strip("'.") not in _FILLERS]
    return _slug(" ".join(words[:10]))


_FILLERS = frozenset(
    "please pls ever directly just really simply also again the a an any our my your thanks ok".split()
)


# --- Chinese ----------------------------------------------------------------------------------------------------------

_ZH_LEAD = re.compile(
    r"(?:另外|还有|并且|而且|但是?|不过|请|麻烦|拜托|注意|记住|对了|好的?|嗯|那|然后|最后|重要|提醒一下|你|您|大家|[，,：:、\s])*"
)
_ZH_QUESTION = re.compile(
    r"[?？]|[吗呢嘛么](?:[。！!，,\s]|\Z)|为什么|为啥|怎么|是不是|能不能|要不要|会不会|可不可以|有没有|是否|难道|什么时候|多少|哪[个里些]"
)
_ZH_ONE_OFF = re.compile(
    r"这次|这一次|本次|今天|今晚|明天|现在|目前|暂时|临时|先不要|先别|等一下|等会儿?|待会|马上|刚才|刚刚|这个(?:文件|分支|任务|PR|函数|改动|问题|提交)|这段|这里|那个|再说|再看|再弄|再改|再加|再考虑|再做"
)
_ZH_STORY = re.compile(
    r"(?:他|她|它|他们|有人|同事|老板|客户|文档|报错|日志|提示|系统|编译器)[^，。]{0,6}(?:说|提示|显示|写着|写了|里写|要求|报)|原来|好像|应该是|可能|估计|据说|看起来|似乎|居然|竟然|怪不得|之前总|必须是[^要]|才能|一直没|了一?下?$"
)
_ZH_TASK = re.compile(
    r"(?:给|帮|把|加|添加|新增|增加|实现|写一?个|做一?个|弄|改成|修|设计|支持|加上)"
)  # what is to be built
_ZH_STRONG = re.compile(
    r"永远(?:不要|别|不能|不准|不许|不得|不)|绝对(?:不要|别|不能|不准|不许|不可以|不可)|绝不(?:要|能|可|允许)?|千万(?:不要|别|不能)|严禁|禁止|一律(?:不|用|要|走|先|使用|采用|改|放|写|按|以|由|加|禁|必须)?|不准|不许|不得|坚决不"
)
_ZH_LASTING = re.compile(r"(?:以后|今后|往后|从现在起|从今(?:以后|天起|往后)|从现在开始|从此)(?:[都就也请，,\s])*")
_ZH_MUST = re.compile(
    r"必须|务必|一定要|都要|都得|始终|总是要|每次[^，。]{1,20}[都要先必]|每个[^，。]{1,20}(?:都要|必须|都得)|所有[^，。]{1,20}(?:都要|必须|都得|不能|不要)|任何[^，。]{1,20}(?:都要|必须|都得|不能|不要)"
)
_ZH_BARE = re.compile(r"(?:不要|别(?!的|人|名|处|墅|急|担心|怕|慌|忘|管|客气|闹|提|扯|逗|着急|太)|勿)")
_ZH_LATER = re.compile(
    r"(?:再|可能|会|应该|能|可以|有时间|有空|也许|大概|打算|想|还|报|就(?:能|会|可以|好)|的|出|没|不(?:会|用|能|行|再))"
)
_ZH_FOLLOWS = re.compile(r"紧|用|客气|好意思|急|担心|怕|慌|管它|管这|错|一样|行|过|然|同|是|对|够|了")


def _ordered_chinese(sentence: str) -> Wish | None:
    body = sentence[_zh_lead_end(sentence) :].strip()
    if (
        not body
        or _QUOTED in body
        or _ZH_QUESTION.search(body)
        or _ZH_STORY.search(body)
        or _ZH_ONE_OFF.search(_ZH_LASTING.sub("", body))
        or _ZH_TASK.match(body)
    ):
        return None
    confidence = _chinese_confidence(body)
    if not confidence:
        return None
    text = _trimmed(body)
    return Wish(f"rule:{_slug(_chinese_key(text))}", text, "rule", confidence, _everywhere(text))


def _zh_lead_end(sentence: str) -> int:
    found = _ZH_LEAD.match(sentence)
    return found.end() if found else 0


def _chinese_confidence(body: str) -> float:
    if lasting := _ZH_LASTING.match(body):
        rest = body[lasting.end() :]
        return SURE if len(rest) >= 3 and not _ZH_LATER.match(rest) else 0.0
    if _ZH_STRONG.search(body):
        return SURE
    if found := _ZH_MUST.search(body):
        return LIKELY if len(body) - found.end() >= 2 and not re.match(r"(?:我|我们|这|那|它|他)", body) else 0.0
    if found := _ZH_BARE.match(body):
        rest = body[found.end() :]
        return WEAK if len(rest) >= 3 and not _ZH_FOLLOWS.match(rest) else 0.0
    return 0.0


def _chinese_key(text: str) -> str:
    first = re.split(r"[，,。；;：:（(]", text, maxsplit=1)[0]
    return first if len(first) >= 5 else text


# --- common -----------------------------------------------------------------------------------------------------------

_EVERYWHERE = re.compile(
    r"\b(?:in (?:all|every|any)(?: of)?(?: my)? (?:projects?|repos?(?:itor(?:y|ies))?)|everywhere|across (?:all )?(?:projects|repos))\b"
    r"|所有(?:的)?(?:项目|仓库)|任何(?:项目|仓库)|每个(?:项目|仓库)",
    re.IGNORECASE,
)
_WHERE = re.compile(rf"(?:{_EVERYWHERE.pattern}),? (?:please )?", re.IGNORECASE)  # "in all my projects, always …"
_slug = partial(slug, max_bytes=90)


def _everywhere(text: str) -> bool:
    return bool(_EVERYWHERE.search(text))


def _trimmed(text: str) -> str:
    return text.strip().strip("，,;；:：、").strip()
