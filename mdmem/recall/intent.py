"""A query in, how much each voice counts for it out. By rules, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Mapping

VOICES = ("lexical", "semantic", "temporal", "graph")

# How much a voice counts in `hybrid`. Lexical and semantic as measured (docs/benchmarks.md); the graph adds to what
# they found; time speaks only where the question names days.
USUAL = {"lexical": 0.5, "semantic": 0.5, "temporal": 0.4, "graph": 0.25}
LIFT = 1.5
WEAKER = {"use": 0.5}  # models that find less by meaning, and what their voice is worth; measured

# Quoted text, and names as programs have them: `deploy:blyck`, `user_id`, `getUserById`, `v1.2`, `--flag`, `ABC-12`.
_LITERAL = re.compile(
    r"[\"`“”「」『』]|\w[_:/@\\]\w|[a-z0-9][A-Z]|[A-Za-z0-9]\.[A-Za-z0-9]|(?:^|\s)--?[a-z]|\b[A-Z]{2,}[_-]?\d"
)
_CONNECTED = re.compile(
    r"\b(?:why|because|related?|relates|connect(?:s|ed|ions?)?|depend(?:s|enc(?:y|ies))?|reasons?|led to)\b"
    r"|为什么|为何|相关|有关|关系|关联|原因|导致|依赖",
    re.IGNORECASE,
)


def weights_of(query: str, chosen: Mapping[str, float], model: str = "") -> dict[str, float]:
    """Voice -> its weight for this query. `chosen`: what a person set, as a share of the usual (0: left out); `model`:
    what made the vectors.
    """
    weights = {voice: usual * chosen.get(voice, 1.0) for voice, usual in USUAL.items()}
    weights["semantic"] *= next((share for name, share in WEAKER.items() if model.startswith(name)), 1.0)
    if _LITERAL.search(query):
        weights["lexical"] *= LIFT
    if _CONNECTED.search(query):
        weights["graph"] *= LIFT
    return weights
