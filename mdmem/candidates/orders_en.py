"""An English sentence in, the lasting order in it out: never, always, from now on, must."""

from __future__ import annotations

import re
from typing import NamedTuple

from mdmem.candidates.own_words import QUOTED

SURE, LIKELY, WEAK = 1.0, 0.8, 0.5


class Order(NamedTuple):
    """`text`: as it was said; `about`: what its key is made of, the same for the same wish in other words."""

    text: str
    about: str
    confidence: float


def _any(*words: str) -> str:
    """An alternation of words, `_` standing for a space."""
    return "|".join(word.replace("_", " ") for text in words for word in text.split())


_ASKING = re.compile(
    r"(?:do(?! not| n)|when(?!ever| [^?,]+, (?:please |always |never |do))|"
    + _any(
        "why how what where which who whose is are was were does did can could should shall would will",
        "has have had isn't aren't don't_you didn't doesn't won't shouldn't am may_i any_idea",
    )
    + r")\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:(?:"
    + _any(
        "please pls also_note also and but so okay ok oh hey hi btw by_the_way note_that note important rule reminder",
        "one_more_thing one_thing remember_that remember again then well just finally in_general generally as_a_rule",
        "thanks i_want_you_to i_need_you_to i'd_like_you_to you_should you_must you_have_to you_need_to be_sure_to",
        "make_sure_to make_sure_that_you make_sure_you we_should we_must we_have_to let's lets",
        "don't_forget dont_forget do_not_forget for_the_future",
    )
    + r"|you(?= (?:always|never)))\b[\s,:!—–-]*)*",
    re.IGNORECASE,
)
_TYPOS = ((re.compile(r"\b(?:allways|alwyas|alwasy|alwys|aways)\b", re.IGNORECASE), "always"),
          (re.compile(r"\b(?:nevr|neevr|nver|nerver)\b", re.IGNORECASE), "never"))  # fmt: skip
# `As a standing rule: …`, `Rule for this repo, please keep it: …`: whatever follows is meant to last.
_RULE = re.compile(
    r"(?:as |here'?s |here is |and |but |new |another |one more |an? |the |my |our |general |standing |hard |house "
    r"|team |project |simple )*(?:rules?|policy|convention)(?: of thumb)?"
    r"(?: (?:from )?(?:now on|here on)"
    r"| (?:for|in) (?:(?:this|the|our|my|all)(?: of our| my)? (?:repo\w*|projects?|code ?base|team|future|code"
    r"|work\w*)"
    r"|everyone|everything|you|us|all of us|here))?"
    r"(?:, (?:please |pls )?(?:keep|remember|follow|note|mind)[\w ]{0,12})?\s*:\s+(?=[^\W\d_])",
    re.IGNORECASE,
)
# What says that something is meant to last; and where it is meant to hold, which a task of today may say, too.
_TIME = (
    r"(?:\b(?:from (?:now|here|today|this point) on|(?:in|for) (?:all|any) (?:of )?(?:your |the )?(?:future|later)"
    r"|every time after|all the times after|(?:now|today) (?:and|or) later|in (?:any|every|other"
    r"|later) (?:conversation|session)s?"
    r"|for as long as|until i (?:tell|say)|permanent(?:ly)?|from here on out|going forward|henceforth|for (?:the"
    r"|all) future|for good"
    r"|without exception|as an? (?:\w+ )?(?:rule|policy|habit)|as a matter of principle|(?:every|each) time"
    r"|(?:that|this|it|which)(?:'?s| is) (?:our|the|a)(?: \w+)? (?:convention|rule|policy|standard)"
    r"|(?:our|team) (?:convention|policy|standard)(?=[.,!;]|$)|how (?:we|i) (?:do (?:it|this|things)|work)"
    r"|make it a habit|here and later|by convention|we agreed|(?:one )?general (?:thing|request|rule)"
    r"|standing instructions?)|[,.] (?:always|ever)\W*$|\balways\W*$)"
)
_SPOTS = r"(?:repos?|repositor(?:y|ies)|projects?|code ?base|company|team|org|code|services?|tables)"
_PLACE = (
    r"\b(?:across (?:all|every)|everywhere|for all (?:my|our|new|future) "
    r"|in (?:this|our|my|every|all|the (?:whole|entire))"
    rf"(?: of)?(?: our| my| the| new)? (?:\w+ )?{_SPOTS}\b|(?:holds|goes|applies) (?:for|to) (?:all|every|the whole))"
)
_LASTS, _HOLDS = re.compile(_TIME, re.IGNORECASE), re.compile(_PLACE, re.IGNORECASE)
_LASTING_LEAD = re.compile(rf"[^:.!?]{{0,60}}(?:{_TIME}|{_PLACE})[^:.!?]{{0,25}}:\s+(?=[^\W\d_])", re.IGNORECASE)
# An order in form: what must not or must be, what we or I do or want, what holds for all, a verb at the beginning.
# Where only a place says that it lasts, no form that a story or a task may have, too.
_FIRM = (
    r"(?:do not|don'?t|never|always|avoid|prefer|stick (?:to|with))\b"
    r"|(?:we|i) (?:strictly )?(?:do not|don'?t|never|always|only|prefer)\b"
    r"|(?:nobody|no one|nothing|everything|everyone|each|every|all|any) .{2,60}? (?:must|should|has to|have to|may not"
    r"|gets? an?|goes? (?:into|in|through)) "
)
_FORMS = (
    r"(?:we|i) (?:use|write|want|like|keep|store|wrap|run|test|sign|review|support)\b"
    r"|no \w|you (?:are not|must not|may not|should not|shouldn'?t)\b|(?:nobody|no one|nothing|everything|everyone"
    r"|each|every|all|any) (?!time |day|week|now|the time)\w"
    r"|(?!(?:it|this|that|he|she|they|there|the|a|an)\b)[\w' -]{2,50}? "
    r"(?:must|have to|has to|needs? (?:to|an?)|should|may not|(?:is|are) (?:always|never|wrapped|written|stored|named"
    r"|kept|in|built)|always (?:start|go|end|use|come|live)|stays?|go(?:es)? (?:into|in|through)) "
    r"|(?:stop|use|keep|run|wrap|write|put|name|format|sort|document|commit|tag|sign|answer|reply|show|ask|tell|start"
    r"|begin|end|make|follow|respect|check|update|squash|rebase|pin|log|store|round|speak|spell|indent|leave|treat"
    r"|limit)\b"
)
_POLITELY = r"(?:(?:please|pls|so|just|then|in general,?|i'?d like you to) )*"
_IS_FIRM = re.compile(f"{_POLITELY}(?:{_FIRM})", re.IGNORECASE)
_IS_ORDER = re.compile(f"{_POLITELY}(?:{_FIRM}|{_FORMS})", re.IGNORECASE)
_HABIT = re.compile(  # said once, meant for ever
    r"(?:(?:please|pls) )*(?:no more [\w.'-]+ (?:in|on|for|to) |stop (?:adding|writing|putting|creating|answering"
    r"|saying"
    r"|apologi[sz]ing|asking|starting|ending|importing|inventing|calling) |(?:please |pls )?make it a habit to )",
    re.IGNORECASE,
)
# Not for ever: this task, this hour, until something.
_ONE_OFF = re.compile(
    r"\b(?:"
    + _any(
        "this_time for_now right_now just_now today tonight tomorrow yet temporarily for_the_moment at_the_moment",
        "just_this once_more meanwhile while_i while_we while_you",
    )
    + r"|now\b|this (?:week|morning|afternoon|session|pr|branch|task|change|commit|ticket|sprint|run|once|one)"
    r"|in this (?:pr|change|task)|until (?:i|we|the|it|then)\b|the (?:last|next|first) (?:one|time|commit)"
    r"|(?:so|before|until) i can|, (?:just|only) (?:explain|tell|show|answer|look|read)\b)",
    re.IGNORECASE,
)
# That it is not for this once alone is no sign that it is.
_FROM_NOW = re.compile(
    r"from (?:now|here|today) on(?: out)?|(?:now|today) (?:and|or) later|not (?:now|in this session|just this once)"
    r"|this time and every time|until i (?:tell|say)",
    re.IGNORECASE,
)
_POINTING = re.compile(
    rf"\b(?:{_any('this that these those it them here there him her above below')})\b", re.IGNORECASE
)
_UNNAMED = re.compile(r"\s+(?:this|that|these|those|it|them)\b", re.IGNORECASE)  # only the talk tells what it is about

# What follows "never" or "always" in a story rather than in an order.
_NO_ORDER = frozenset(
    """mind been be being had has was were got gotten seen heard knew known thought said saw went came found made worked
    had finished happened returned saved started loaded ran did does is are gets goes comes fails failed works returns
    shows throws hangs crashes quite really again before once good great nice bad a an the my mine happy ready available
    wrong right true false null there here hidden visible present called used set met tried wanted liked loved
    understood it this that i we you they he she everything nothing something can could may might will would
    should""".split()
)
_IDLE = frozenset(
    """worry bother forget mind care know think see understand get want need have like believe remember stop hesitate
    panic feel be seem look wait ask tell sorry""".split()
)
_BASE_FORMS = frozenset(
    """focus bias canvas alias process pass press address access discuss express miss guess cross need seed feed embed
    shed bring ping string proceed exceed speed bed wed ring sing spring sling cling""".split()
)
_DESCRIBED = re.compile(  # the subject of a "must" that describes, guesses, or tells what to build
    r"(?:"
    + _any(
        "it that this there he she they i something someone which what who these those yes the add implement make",
        "create write fix build show check ensure validate test change update rename explain translate display print",
    )
    + r")\b",
    re.IGNORECASE,
)
_VERB = r"(?P<verb>[A-Za-z][A-Za-z'-]*)"
_CUES = tuple(
    (re.compile(cue + _VERB, re.IGNORECASE), confidence)
    for cue, confidence in (
        (r"never (?:ever )?", SURE),
        (r"always ", SURE),
        (r"(?:do not|don'?t|do n't) ever ", SURE),
        (r"(?:must|should) (?:always|never) ", SURE),
        (
            r"(?:from (?:now|here|today) on(?: out)?|going forward|henceforth|in (?:the )?future)\b[,:]?\s+"
            r"(?:please |always |never |also |you (?:always |must |should )?)*",
            SURE,
        ),
        (
            r"(?:whenever|every time|each time|any time) .{3,120}?, (?:please |you (?:must|should) )?"
            r"(?:always |never |first )?",
            LIKELY,
        ),
        (r"(?:when|while) (?:you |\w+ing ).{2,80}?, (?:please )?(?:always|never) ", SURE),
        (r"before (?:every|each|any|all) .{3,80}?, (?:please |you must )?(?:always )?", LIKELY),
        (
            r"(?:all|every|each|any|no) [\w' /-]{2,60}? (?:must|may not|have to|has to) (?:always |never |not )?",
            LIKELY,
        ),
        (r"[A-Za-z][\w-]*(?: [\w-]+){0,3}s must (?:always |never |not )?", LIKELY),
        (r"[\w' /-]{2,60}? must (?:always|never) ", LIKELY),
    )
)
_BARE_CUES = tuple(
    re.compile(cue + _VERB, re.IGNORECASE)
    for cue in (r"must (?:not )?", r"we (?:always|never) ", r"(?:do not|don'?t) ")
)
_FILLERS = frozenset(
    "please pls ever directly just really simply also again the a an any our my your thanks ok".split()
)


def is_question(sentence: str) -> bool:
    return sentence.rstrip(" \"')").endswith(("?", "？")) or bool(_ASKING.match(sentence))


def order(sentence: str, where: re.Pattern[str]) -> Order | None:
    """`where`: what may stand before an order to say that it holds everywhere."""
    for typo, word in _TYPOS:
        sentence = typo.sub(word, sentence)
    named = _RULE.match(sentence) or _LASTING_LEAD.match(sentence)
    body = _LEAD.sub("", sentence[named.end() :] if named else sentence, count=1)
    if not body or QUOTED in body[:3] or _ONE_OFF.search(_FROM_NOW.sub("", body)) or is_question(body):
        return None
    core = where.sub("", body, count=1)
    for cue, confidence in _CUES:
        found = cue.match(core)
        if found and _commands(found, core):
            unclear = _UNNAMED.match(core, found.end())
            return Order(body, _about(body), WEAK if unclear else confidence)
    if _HABIT.match(core) or _is_lasting(sentence, core):
        return Order(body, _about(body), LIKELY)
    if any((found := cue.match(core)) and _commands_barely(found, core) for cue in _BARE_CUES):
        return Order(body, _about(body), LIKELY if named else WEAK)
    return Order(body, _about(body), LIKELY) if named and len(body.split()) >= 3 else None


def _is_lasting(sentence: str, order: str) -> bool:
    """An order with a word of time or habit, or one that is general by itself and says where it holds."""
    order = _BEFORE_IT.sub("", order, count=1)
    if _LASTS.search(sentence):
        return bool(_IS_ORDER.match(order))
    return bool(_HOLDS.search(sentence) and _IS_FIRM.match(order))


def _commands(found: re.Match[str], text: str) -> bool:
    verb, rest = found["verb"].lower(), text[found.end() :]
    if "must" in found[0].lower():
        story = verb == "have" and re.match(r"\s+(?:been|\w+ed|got|had|gone|run|broken|taken|done|made|lost)\b", rest)
        return not story and not _DESCRIBED.match(found[0])
    if not rest.strip(" .!,"):
        return False
    return verb not in _NO_ORDER and (not re.search(r"(?:[^s]s|ed|ing)\Z", verb) or verb in _BASE_FORMS)


def _commands_barely(found: re.Match[str], text: str) -> bool:
    """A plain "don't use axios" may mean ever or today; "don't do that" means today."""
    if found["verb"].lower() in _IDLE or _POINTING.search(text, found.end()):
        return False
    return _commands(found, text)


_BEFORE_IT = re.compile(
    r"(?:from (?:now|here|today) on(?: out)?|going forward|henceforth|in (?:the )?future)\b[,:]?\s+", re.IGNORECASE
)


def _about(text: str) -> str:
    """What "Never push to main directly, please." is about: never push to main."""
    text = _BEFORE_IT.sub("", text, count=1)
    first = re.split(r"[:;,.!—–(]|\s-\s|\bunless\b|\bbecause\b|\bsince\b|\bso that\b", text, maxsplit=1)[0]
    first = first if len(first.split()) >= 3 else text
    low = re.sub(r"\b(?:do not|don'?t)(?: ever)?\b|\bnever ever\b|\bmust (?:not|never)\b", "never", first.lower())
    words = [word for word in re.findall(r"[\w@./+'-]+", low) if word.strip("'.") not in _FILLERS]
    return " ".join(words[:10])
