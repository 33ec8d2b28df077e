"""A memory in, the normalised names it is about out."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping

from mdmem.index.days import day_words
from mdmem.lazy import pattern
from mdmem.memory import Memory

MAX_ENTITIES = 64  # of one memory
MAX_BYTES = 120  # of one name
MAX_WORDS, MAX_NAMES = 48, 400  # of one query
MAX_LETTERS = 1_000  # of one word of a query: of its characters each begins three names

_NPM = re.compile(r"@([\w.-]+)/[\w./-]+")
# Words that tell a product from its package, not from another product: `Arco Design`, `react.js`, `aws-cli`.
# Who speaks, in the first line of a transcript: `Ann (1:56 pm on 8 May, 2023): ...`, `[10:02] Ann Lee: ...`,
# `5月3日 刘琳：...`. A time must stand beside it: `Note: ...` is nobody.
_SPEAKER = pattern(
    r"\s*(?P<before>[\[(（【]?\d[\d\s年月日号时分.,:/TZ-]{1,30}[\])）】]?\s*)?"
    r"(?P<name>[^\W\d_][\w.'’-]{0,30}(?: [^\W\d_][\w.'’-]{0,30}){0,2})"
    r"(?P<after>\s*[\[(（【][^\[\]()（）【】\n]{0,40}\d[^\[\]()（）【】\n]{0,40}[\])）】])?\s?[:：]"
)
_TAIL = re.compile(r"(?:[ _-](?:design|cli|sdk|js|ui)|\.js)$")
_WORDS = re.compile(r"[^\s,，。;；:：!！?？()（）\"“”]+")
_OWNING = re.compile(r"['’]s\b")
_SPACE = re.compile(r"\s+")


def normalise(name: str, aliases: Mapping[str, str]) -> str:
    """A name as it is compared: NFKC, lower case, the scope of an npm package, without a packaging word at its end.

    `aliases` (from the config) has the last word; its keys are matched before and after folding. '' when nothing is
    left.
    """
    folded = _folded(name)
    if folded in aliases:
        return aliases[folded].lower()
    short = _shortened(folded)
    return aliases.get(short, short).lower() if aliases else short


@functools.lru_cache(2048)
def _folded(name: str) -> str:
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", name)).strip().strip("`'\"").lower()


@functools.lru_cache(2048)
def _shortened(folded: str) -> str:
    if match := _NPM.fullmatch(folded):
        folded = match[1]
    return _TAIL.sub("", folded).encode("utf-8", "replace")[:MAX_BYTES].decode("utf-8", "ignore")


def entities_of(memory: Memory, aliases: Mapping[str, str]) -> list[str]:
    """The entities of a memory: those it names, then wikilinks, then code spans, then who speaks in it; each once, at
    most MAX_ENTITIES.
    """
    named = (*memory.entities, *memory.links, *memory.code_spans, *_speaker(memory.body))
    found = dict.fromkeys(filter(None, (normalise(name, aliases) for name in named)))
    return list(found)[:MAX_ENTITIES]


def _speaker(body: str) -> list[str]:
    found = _SPEAKER().match(body)
    if found is None:
        return []
    before, after = found["before"] or "", found["after"] or ""
    from mdmem.index.pieces import without_stamps  # a question has no use for it

    is_timed = (after and not without_stamps(after).strip()) or day_words(before) or ":" in before
    return [found["name"]] if is_timed else []


def named_in(query: str) -> list[str]:
    """What in a query may be the name of an entity: its words and their neighbours, up to three together; of a run of
    Chinese, Japanese or Korean characters every two to four of them. Normalised, without the aliases of a config.
    """
    words = [word[:MAX_LETTERS] for word in _WORDS.findall(_OWNING.sub("", query))[:MAX_WORDS]]
    spans = [" ".join(words[at : at + n]) for at in range(len(words)) for n in (1, 2, 3) if at + n <= len(words)]
    for word in words:
        if not word.isascii():
            spans += [word[at : at + n] for at in range(len(word)) for n in (2, 3, 4) if at + n <= len(word)]
    return list(dict.fromkeys(filter(None, (normalise(span, {}) for span in spans))))[:MAX_NAMES]
