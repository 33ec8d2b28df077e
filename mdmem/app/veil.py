"""An answer in, the same without the name of a hidden memory that took the place of a visible one out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mdmem.db import Connection
from mdmem.index import read
from mdmem.outputs.json import absolute

HIDDEN = "a memory that is not shown here"


def veil(db: Connection, folder_ids: tuple[int, ...], hidden_domains: frozenset[str], answer: dict[str, Any]) -> None:
    """What a visible file says itself, in `superseded_by`, stays."""
    replaced = read.replaced_by_hidden(db, folder_ids, hidden_domains)
    paths = {absolute(entry): str(entry.superseded_by) for entry in read.entries(db, replaced).values()}
    for memory in _memories(answer):
        key = paths.get(memory["path"])
        for name in ("superseded_by", "invalid", "warning"):
            if key and memory.get(name):
                memory[name] = memory[name].replace(key, HIDDEN)


def _memories(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Wherever an answer tells of one."""
    for name in ("hits", "memories", "nodes"):
        yield from answer.get(name, ())
    if "memory" in answer:
        yield answer["memory"]
