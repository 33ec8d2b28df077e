"""Text in, tokens out: the one function that serves both writing and querying full text.

FTS5's own tokenizer (unicode61, porter, '_' a letter) comes after: it lower-cases, drops accents, splits at white
space and punctuation, and stems. What is done here before it:

- Chinese, Japanese and Korean runs are cut into single characters. A query's run becomes its overlapping pairs,
  each a phrase, and the whole run as one more phrase.
- Identifiers are kept whole and also split: `getUserById` -> get_user_by_id, get, user, by, id. The whole is the
  parts joined by '_', so that `user_id`, `user-id` and `userId` find each other.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata

MAX_TERMS = 64  # of one query: a pasted page is still a question

# Han with extensions and compatibility forms, kana, Hangul syllables and jamo, bopomofo, iteration marks.
_CJK_CHARS = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3031-\u3035\u3041-\u3096\u3099-\u30ff\u3105-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"[{_CJK_CHARS}]+")
# A word with something inside that a tokenizer would cut at: a sign between letters, or a change of case.
# Possessive, and never begun inside a word: a long word must not be tried from each of its letters.
_IDENTIFIER = re.compile(
    r"(?<!\w)(?:[A-Za-z0-9]++(?:[_.:/@\\-]++[A-Za-z0-9]++)++|[A-Z]?[a-z0-9]++[A-Z][A-Za-z0-9]*+"
    r"|[A-Z]{2,}+[a-z]{2,}+[A-Za-z0-9]*+)|_++\w*+"
)
_PART = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_SIGNED = re.compile(r"\b([cfCF])(\+\+|#)(?!\w)")
_SIGN_NAME = {"++": "plusplus", "#": "sharp"}
_SPACE = re.compile(r"\s")
# Where a word is not plain: a sign before a letter, a change of case, `++`, `c#`. Begins with one set of characters, so
# that the search runs over plain text at full speed.
_ODD = re.compile(
    r"[_.:/@\\A-Z+#-](?:(?<=_)|(?<=[.:/@\\-])(?=[A-Za-z0-9_])|(?<=[a-z0-9][A-Z])|(?<=[A-Z][A-Z])(?=[a-z][a-z])"
    r"|(?<=\+\+)|(?<=[cfCF]\#)(?!\w))"
)
# What NFKC changes and a query may meet: half and full width letters and digits, ligatures, circled and raised
# signs, square words, loose accents. (Full-width punctuation separates words as it is.)
_COMPATIBLE = re.compile(
    "[\u00aa\u00b2\u00b3\u00b9\u00ba\u0300-\u036f\u1100-\u11ff\u2070-\u209f\u2100-\u214f\u2150-\u218f\u2460-\u24ff"
    "\u2e80-\u2fdf\u3099-\u309a\u3200-\u33ff\uf900-\ufaff\ufb00-\ufb06\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc]"
)
_WORD = re.compile(r"\w+")

_STOP_EN = frozenset(
    """
    a about after all also am an and any are as at be because been before but by can could did do does doing for
    from had has have having he her here him his how i if in into is it its just let me more most my no nor not now
    of off on once only or other our out over own please s same shall she should so some such t than that the their
    them then there these they this those through to too under until up us very was we were what when where which
    while who whom whose why will with would you your yours d ll m re ve
    """.split()
)
# Function words of Chinese questions: cut out before pairs are made, so that a pair never joins across one by chance.
_STOP_ZH = re.compile(
    "什么|怎么样|怎么|怎样|如何|为什么|为何|哪里|哪儿|哪个|哪些|是否|请问|可以|能否|有没有|是不是|多少|几个|我们|你们|他们|咱们|这个|那个|这些|那些|一个|一下"
)
_STOP_ZH_CHARS = frozenset("的了吗呢吧啊呀嘛么")


def index_text(text: str) -> str:
    """A text as FTS5 is to see it when it is written."""
    if not text.isascii():
        if _COMPATIBLE.search(text):
            text = unicodedata.normalize("NFKC", text)
        text = _CJK_RUN.sub(_spread, text)
    pieces: list[str] = []
    at = 0
    for odd in _ODD.finditer(text):
        start = odd.start()
        if start < at:
            continue
        while start > at and not text[start - 1].isspace():
            start -= 1
        space = _SPACE.search(text, odd.end())
        end = space.start() if space else len(text)
        pieces += (text[at:start], _odd_word(text[start:end]))
        at = end
    return "".join((*pieces, text[at:])).replace("\0", " ") if pieces else text.replace("\0", " ")


@functools.lru_cache(4096)  # names, tags and paths come again and again in one folder
def _odd_word(word: str) -> str:
    return _IDENTIFIER.sub(_with_parts, _SIGNED.sub(_spell_sign, word))


def _spread(run: re.Match[str]) -> str:
    return f" {' '.join(run[0])} "


def _with_parts(match: re.Match[str]) -> str:
    parts = _parts(match[0])
    return " ".join(["_".join(parts), *parts]) if len(parts) > 1 else " ".join(parts)


def _parts(identifier: str) -> list[str]:
    """The parts of an identifier, lower case: `getHTTPById2` -> get, http, by, id2."""
    return [part.lower() for part in _PART.findall(identifier)]


def _spell_sign(match: re.Match[str]) -> str:
    return f"{match[1]}{_SIGN_NAME[match[2]]}"


def match_expression(query: str) -> str | None:
    """An FTS5 expression that finds what a query asks for; None when it holds nothing to look for.

    Only quoted tokens and OR stand in it: no operator or syntax error can come from a user. Stop words are dropped
    unless there is nothing else. Terms count once, at most MAX_TERMS of them; a run of three or more characters adds
    itself as a whole.
    """
    terms = list(dict.fromkeys(query_terms(query)))[:MAX_TERMS]
    return " OR ".join(f'"{term}"' for term in terms) or None


def query_terms(query: str) -> list[str]:
    """The terms of a query, in its order: words, whole identifiers and their parts, phrases of characters."""
    text = _SIGNED.sub(_spell_sign, unicodedata.normalize("NFKC", query.replace("\0", " ")))
    content = _terms(text, stop=True)
    return content or _terms(text, stop=False)


def _terms(text: str, *, stop: bool) -> list[str]:
    terms: list[str] = []
    for kind, piece in _pieces(_STOP_ZH.sub(" ", text) if stop else text):
        if kind == "cjk":
            terms.extend(_run_terms(piece, stop=stop))
        elif kind == "identifier":
            parts = _parts(piece)
            terms.extend(["_".join(parts), *(p for p in parts if not (stop and p in _STOP_EN))] if parts[1:] else parts)
        elif not (stop and piece.lower() in _STOP_EN):
            terms.append(piece.lower())
    return terms


def _pieces(text: str) -> list[tuple[str, str]]:
    """Runs of characters, identifiers, and plain words."""
    found: list[tuple[str, str]] = []
    at = 0
    for run in _CJK_RUN.finditer(text):
        found.extend(_latin_pieces(text[at : run.start()]))
        found.append(("cjk", run[0]))
        at = run.end()
    found.extend(_latin_pieces(text[at:]))
    return found


def _latin_pieces(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    for match in _IDENTIFIER.finditer(text):
        found.extend(("word", word) for word in _WORD.findall(text[at : match.start()]))
        found.append(("identifier", match[0]))
        at = match.end()
    found.extend(("word", word) for word in _WORD.findall(text[at:]))
    return found


def _run_terms(run: str, *, stop: bool) -> list[str]:
    """A run as phrases: its overlapping pairs, and from three characters on the whole of it as well."""
    chars = run.strip("".join(_STOP_ZH_CHARS)) if stop else run
    if len(chars) < 2:
        return [chars] if chars else []
    pairs = [f"{a} {b}" for a, b in itertools.pairwise(chars)]
    if stop:
        pairs = [p for p in pairs if not (p[0] in _STOP_ZH_CHARS or p[2] in _STOP_ZH_CHARS)] or pairs
    return [*pairs, " ".join(chars)] if 2 < len(chars) <= 16 else pairs


def is_wide(text: str) -> bool:
    """Whether a text is Chinese, Japanese or Korean for the most part: such a character says what three letters do."""
    if text.isascii():
        return False
    head = text[:4_000]
    return 4 * sum(len(run) for run in _CJK_RUN.findall(head)) > len(head)


def fold(text: str) -> str:
    """A key or name as it is compared: NFC, case folded, trimmed."""
    return unicodedata.normalize("NFC", text).strip().casefold()
