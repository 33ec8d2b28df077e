"""Entries and hits in, the JSON objects of docs/json.md out."""

from __future__ import annotations

import os
from typing import Any

from mdmem.index.read import Entry
from mdmem.recall import Hit


def place_json(entry: Entry) -> dict[str, Any]:
    """Which memory it is."""
    return {"key": entry.key, "scope": entry.scope, "scope_ref": entry.scope_ref, "path": absolute(entry)}


def memory_json(entry: Entry) -> dict[str, Any]:
    """The keys that every listing of memories has."""
    more = entry.more
    return {
        **place_json(entry),
        "name": entry.name,
        "description": entry.description,
        "type": entry.type,
        "status": entry.status or "active",
        "confidence": entry.confidence,
        "source": entry.source,
        "domain": entry.domain,
        "topic": entry.topic,
        "created": entry.created,
        "updated": entry.updated,
        "valid_from": entry.valid_from,
        "invalid_at": entry.invalid_at,
        "expires": entry.expires,
        "superseded_by": entry.superseded_by,
        "entities": more.get("entities", []),
        "tags": more.get("tags", []),
        "broken": bool(entry.broken),
    }


def hit_json(hit: Hit, mode: str, degraded: list[str]) -> dict[str, Any]:
    """A memory, and why it was recalled."""
    why = hit.why
    return {
        **memory_json(hit.entry),
        "score": round(hit.score, 6),
        "rank": hit.rank,
        "mode": mode,
        "degraded": degraded,
        "invalid": hit.invalid,
        "why": {
            "lexical": why.lexical,
            "semantic": why.semantic,
            "temporal": why.temporal,
            "graph": why.graph,
            "relevance": round(why.relevance, 6),
            "recency": round(why.recency, 6),
            "confidence": why.confidence,
            "exact_key": why.exact_key,
            "via": why.via,
        },
    }


def absolute(entry: Entry) -> str:
    """The path of a memory's file, printable."""
    return f"{entry.folder}/{entry.path}"


def raw_rel(entry: Entry) -> str:
    """The path inside the scope folder, as the file system has it."""
    return os.fsdecode(entry.path_raw) if entry.path_raw is not None else entry.path
