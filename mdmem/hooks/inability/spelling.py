"""An English text in, one spelling of it out: lower case, short forms in full, the usual slips mended."""

from __future__ import annotations

import re

_NO_APOSTROPHE = re.compile(
    r"\b(ca|could|do|does|did|was|were|is|are|has|have|had|wo|would|should)nt\b|\b(i)(m|ve|ll)\b"
)
_NEGATED = re.compile(r"\b(ca|wo|sha|ai|[a-z]+?)n't\b")
_WHOLE = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_SHORT = re.compile(r"(?<=\w)'(m|ve|re|ll|d)\b|(?:(?<=\bthere)|(?<=\bhere)|(?<=\bit)|(?<=\bthat))'s\b")
_LONG = {"m": " am", "ve": " have", "re": " are", "ll": " will", "d": " would"}
_TYPOS = {
    "acces": "access",
    "unabel": "unable",
    "couldt": "could not",
    "permision": "permission",
    "permisions": "permissions",
    "credental": "credential",
    "credentals": "credentials",
}
_TYPO = re.compile(rf"\b(?:{'|'.join(_TYPOS)})\b")


def plain_english(text: str) -> str:
    """Lower case, `can not` for can't, cant and cannot, `i have` for I've."""
    text = text.lower().replace("’", "'").replace("‘", "'").replace("cannot", "can not")
    text = _NO_APOSTROPHE.sub(lambda m: f"{m[1]}n't" if m[1] else f"i'{m[3]}", text)
    text = _NEGATED.sub(lambda m: f"{_WHOLE.get(m[1], m[1])} not", text)
    text = _SHORT.sub(lambda m: _LONG[m[1]] if m[1] else " is", text)
    return _TYPO.sub(lambda m: _TYPOS[m[0]], text)
