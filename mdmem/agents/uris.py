"""Memories in, `mdmem://` URIs out, and back: `mdmem://user/KEY`, `mdmem://project/REF/KEY`, `mdmem://agent/REF/KEY`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

SCHEME = "mdmem://"
TEMPLATES = {
    "mdmem://user/{key}": "A memory of the user's, seen in every project",
    "mdmem://project/{ref}/{key}": "A memory of the project that you work in",
    "mdmem://agent/{ref}/{key}": "A memory that is your own",
}


class Place(NamedTuple):
    """What a URI means."""

    scope: str
    scope_ref: str | None
    key: str


def uri_of(memory: Mapping[str, Any]) -> str:
    """The URI of a memory. All of a key is one part of it: its slashes are encoded too."""
    parts = [memory["scope"], *([memory["scope_ref"]] if memory["scope_ref"] else []), memory["key"]]
    return SCHEME + "/".join(quote(part, safe="", errors="replace") for part in parts)


def find_place(uri: str) -> Place | None:
    """What a URI means, also where a client has taken the encoding off a key's slashes; None for what is no URI."""
    if not uri.startswith(SCHEME):
        return None
    scope, *rest = uri[len(SCHEME) :].split("/")
    ref = None if scope == "user" else unquote(rest.pop(0)) if rest else ""
    key = unquote("/".join(rest))
    return Place(scope, ref, key) if key and ref != "" else None
