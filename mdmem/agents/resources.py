"""A page or a URI asked for in, memories as MCP resources out."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

from mdmem.agents.desk import Desk
from mdmem.agents.uris import find_place, uri_of
from mdmem.errors import NotFoundError, UsageError
from mdmem.index import fold
from mdmem.outputs.text import clean
from mdmem.scope import KINDS

PAGE = 100


class Page(NamedTuple):
    """Some of the memories, and where the next ones begin."""

    memories: list[dict[str, Any]]
    cursor: str | None


def list_page(desk: Desk, cursor: str | None) -> Page:
    """The caller's memories behind a cursor. What comes or goes between two pages moves no other memory."""
    after = _opened(cursor) if cursor else []
    memories = sorted(desk.ask("list")["memories"], key=_place)
    rest = [memory for memory in memories if _place(memory) > after]
    page = rest[:PAGE]
    shown = [
        {
            "uri": uri_of(memory),
            "name": clean(memory["key"]),
            "title": clean(memory["name"]),
            "description": clean(memory["description"]),
        }
        for memory in page
    ]
    return Page(shown, _closed(_place(page[-1])) if len(rest) > PAGE else None)


def read_text(desk: Desk, uri: str) -> str:
    """The file of the memory that a URI means: exactly that one, in exactly that scope. Raises NotFoundError."""
    place = find_place(uri)
    if place is None or place.scope not in KINDS:
        raise _missing(uri)
    found = desk.ask("find", key=place.key, scope=[place.scope])["memory"]
    if (found["scope_ref"], fold(found["key"])) != (place.scope_ref, fold(place.key)):
        raise _missing(uri)
    return clean(desk.ask("show", key=found["path"], scope=[place.scope])["text"], lines=True)


def _missing(uri: str) -> NotFoundError:
    return NotFoundError(f"there is no memory {uri[:200]!r}", hint="list the resources, or use search_memory")


def _place(memory: dict[str, Any]) -> list[str]:
    return [memory["scope"], memory["scope_ref"] or "", memory["path"]]


def _closed(place: list[str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def _opened(cursor: str) -> list[str]:
    try:
        place = json.loads(base64.urlsafe_b64decode(cursor))
    except ValueError:
        place = None
    if not isinstance(place, list) or [type(part) for part in place] != [str, str, str]:
        raise UsageError("this cursor is none that was given out", hint="begin again without one")
    return place
