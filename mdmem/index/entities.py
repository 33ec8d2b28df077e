"""A memory in, the normalised names it is about out."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping

from mdmem.memory import Memory

MAX_ENTITIES = 64  # of one memory
MAX_BYTES = 120  # of one name

_NPM = re.compile(r"@([\w.-]+)/[\w./-]+")
# Words that tell a product from its package, not from another product: `Arco Design`, `react.js`, `aws-cli`.
_TAIL = re.compile(r"(?:[ _-](?:design|cli|sdk|js|ui)|\.js)$")
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
    """The entities of a memory: those it names, then wikilinks, then code spans; each once, at most MAX_ENTITIES."""
    named = (*memory.entities, *memory.links, *memory.code_spans)
    found = dict.fromkeys(filter(None, (normalise(name, aliases) for name in named)))
    return list(found)[:MAX_ENTITIES]
