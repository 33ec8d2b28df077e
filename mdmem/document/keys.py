"""The frontmatter keys that mean something to mdmem, and the other spellings they are read under."""

from __future__ import annotations

TEXT_KEYS = ("name", "description", "key", "domain", "topic", "proof", "probe", "id")
LIST_KEYS = ("supersedes", "derived_from", "entities", "tags", "aliases", "for")
DATE_KEYS = frozenset(("valid_from", "invalid_at", "expires", "created", "updated"))
CHOICE_KEYS = ("type", "source", "status", "stability")
KNOWN_KEYS = frozenset((*TEXT_KEYS, *LIST_KEYS, *DATE_KEYS, *CHOICE_KEYS, "confidence", "superseded_by"))

_SPELLINGS = {
    "title": "name",
    "tag": "tags",
    "alias": "aliases",
    "名称": "name",
    "标题": "name",
    "描述": "description",
    "类型": "type",
    "标签": "tags",
}


def canonical(key: str) -> str:
    """The key that a spelling stands for: `title` is `name`, `Valid-From` is `valid_from`; others stay as they are."""
    if key in KNOWN_KEYS:
        return key
    low = key.strip().lower().replace("-", "_").replace(" ", "_")
    low = _SPELLINGS.get(low, low)
    return low if low in KNOWN_KEYS else key
