"""Moments as the ledger, candidates and logs write them."""

from __future__ import annotations

import datetime


def stamp(at: datetime.datetime | None = None) -> str:
    """A moment, or the present one: RFC 3339 in UTC, by the second."""
    return (at or datetime.datetime.now(datetime.UTC)).astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
