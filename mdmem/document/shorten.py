"""Text cut to a length."""

from __future__ import annotations

import unicodedata


def shorten(text: str, limit: int) -> str:
    """Text of at most `limit` characters, cut between words where there are any, and never inside a letter."""
    if len(text) <= limit:
        return text
    cut = limit - 1
    space = text.rfind(" ", limit // 2, cut + 1)
    if space > 0:
        cut = space
    while cut > 1 and (unicodedata.category(text[cut])[0] == "M" or "\u200d" in text[cut - 1 : cut + 1]):
        cut -= 1
    return text[:cut].rstrip(" ,;:，、；：") + "…"
