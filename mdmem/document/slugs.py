"""A title in, the stem of a file name out."""

from __future__ import annotations

import unicodedata

# Names that are not memories, whatever their case (the manifest, and what other tools keep for themselves).
RESERVED = frozenset(("memory", "readme", "index", "log"))
_HASH_LENGTH = 8


def slug(title: str, *, max_bytes: int = 120) -> str:
    """A readable stem in any script: letters and digits of the title in lower case, joined by '-'.

    At most `max_bytes` of UTF-8 (8 or more), cut between letters; a cut name, and one of a title without letters,
    carries a short hash of the title. Never empty, reserved, or begun with '.' or '-'.
    """
    stem = _words(unicodedata.normalize("NFC", title))
    if not stem:
        return f"memory-{_hash(title)}"[: max(max_bytes, _HASH_LENGTH)]
    if stem in RESERVED:
        stem = f"about-{stem}"
    if len(stem.encode()) <= max_bytes:
        return stem
    kept = _cut(stem, max_bytes - _HASH_LENGTH - 1)
    return f"{kept}-{_hash(title)}" if kept else _hash(title)


def _words(title: str) -> str:
    """Lower first, then NFC again: lowering may take a letter apart. Invisible letters vanish, others part words."""
    out: list[str] = []
    for char in unicodedata.normalize("NFC", title.lower()):
        category = unicodedata.category(char)
        if category[0] in "LN" or char == "_" or (category[0] == "M" and out and out[-1] != "-"):
            out.append(char)
        elif category not in ("Cf", "Mn", "Mc", "Me") and out and out[-1] != "-":
            out.append("-")
    return unicodedata.normalize("NFC", "".join(out).strip("-"))


def _cut(stem: str, max_bytes: int) -> str:
    kept = stem.encode()[: max(max_bytes, 0)].decode("utf-8", "ignore")
    # A mark belongs to the letter before it: give up both rather than part them.
    while kept and unicodedata.category(stem[len(kept)])[0] == "M":
        kept = kept[:-1]
    return kept.rstrip("-")


def _hash(title: str) -> str:
    import hashlib  # 10 ms, for the few titles that need it

    return hashlib.blake2b(title.encode("utf-8", "surrogatepass"), digest_size=_HASH_LENGTH // 2).hexdigest()
