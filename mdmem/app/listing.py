"""A memory in, whether a listing takes it out. Pure."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from mdmem.index import fold
from mdmem.index.read import Entry
from mdmem.recall import why_invalid


class Filter(NamedTuple):
    """What a listing is narrowed to; nothing said narrows nothing."""

    types: frozenset[str]
    status: str | None
    source: str | None
    domain: str
    tags: frozenset[str]
    entities: tuple[str, ...]
    ended_too: bool
    hidden_domains: frozenset[str]

    def takes(self, entry: Entry, now: datetime.datetime) -> bool:
        """Whether a memory is listed; which entities it is about is asked of the index."""
        domain = fold(entry.domain or "")
        return (
            entry.folder_state == "ok"
            and domain not in self.hidden_domains
            and (not self.types or entry.type in self.types)
            and self.status in (None, entry.status or "active")
            and self.source in (None, entry.source)
            and (not self.domain or domain == self.domain)
            and self.tags <= {fold(str(tag)) for tag in entry.more.get("tags", []) if self.tags}
            and (self.ended_too or why_invalid(entry, now) is None)
        )
