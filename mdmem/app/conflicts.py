"""A caller's scope folders in, the pairs of memories that can't both hold out."""

from __future__ import annotations

from typing import Any

from mdmem.db import Connection
from mdmem.index import fold, read
from mdmem.outputs.json import place_json


def conflicts_of(db: Connection, folder_ids: tuple[int, ...], hidden_domains: frozenset[str]) -> list[dict[str, Any]]:
    """Which memory counts, which does not, and why; `waits`: a person has still to say, and both are recalled.

    A pair of which the caller may not see both is not told.
    """
    pairs = read.conflicts(db)
    entries = read.entries(db, {entry_id for pair in pairs for entry_id in pair[:2]})
    told = []
    for winner_id, loser_id, reason, waits in pairs:
        pair = entries.get(winner_id), entries.get(loser_id)
        seen = [e for e in pair if e and e.folder_id in folder_ids and fold(e.domain or "") not in hidden_domains]
        if len(seen) == 2:
            winner, loser = ({**place_json(e), "description": e.description} for e in seen)
            told.append({"winner": winner, "loser": loser, "reason": reason, "waits": waits})
    return told
