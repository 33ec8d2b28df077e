"""One memory in, what can be reached from it in a few steps out: the JSON object of `graph --json`."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

from mdmem.db import Connection
from mdmem.index import graph, read
from mdmem.index.read import Entry
from mdmem.outputs.json import absolute, place_json
from mdmem.recall import why_invalid

MAX_HOPS = 3


class View(NamedTuple):
    """What a walk may see: the caller's scope folders, without hidden domains, and, unless asked, what holds now."""

    folder_ids: tuple[int, ...]
    hidden_domains: frozenset[str]
    include_invalid: bool
    now: datetime.datetime


def walk(db: Connection, start: Entry, view: View, hops: int) -> dict[str, Any]:
    """Every memory within `hops` steps, in the order in which they are reached, and what joins them.

    The memory asked for is there even if it holds no longer. What may not be seen leads nowhere either.
    """
    reached: dict[int, Entry] = {start.id: start}
    edges: dict[graph.Neighbour, None] = {}
    lost: list[tuple[int, str, str]] = []
    newest = [start.id]
    for _ in range(hops):
        found = graph.neighbours(db, newest, view.folder_ids, hidden_domains=view.hidden_domains)
        lost += graph.missing(db, newest, view.folder_ids)
        edges |= dict.fromkeys(found)
        ends = dict.fromkeys(i for edge in found for i in (edge.from_id, edge.to_id) if i not in reached)
        entries = read.entries(db, ends)
        new = {i: entries[i] for i in ends if i in entries and _may_be_seen(entries[i], view)}
        reached |= new
        newest = list(new)
    seen = {i: absolute(entry) for i, entry in reached.items()}
    return {
        "key": start.key,
        "nodes": [_node(entry, view.now) for entry in reached.values()],
        "edges": [
            *(
                _edge(seen[e.from_id], seen[e.to_id], e.kind, e.via)
                for e in edges
                if {e.from_id, e.to_id} <= seen.keys()
            ),
            *(_edge(seen[i], None, kind, target) for i, kind, target in lost),
        ],
    }


def _may_be_seen(entry: Entry, view: View) -> bool:
    return view.include_invalid or why_invalid(entry, view.now) is None


def _node(entry: Entry, now: datetime.datetime) -> dict[str, Any]:
    return {**place_json(entry), "name": entry.name, "type": entry.type, "invalid": why_invalid(entry, now)}


def _edge(start: str, end: str | None, kind: str, via: str) -> dict[str, Any]:
    return {"from": start, "to": end, "kind": kind, "via": via, "missing": end is None}
