"""A memory and a moment in, whether it holds then out."""

from __future__ import annotations

import datetime

from mdmem.index.read import Candidate, Entry, Standing

_LAST_DAY = datetime.datetime(9999, 12, 30, tzinfo=datetime.UTC)


def why_invalid(entry: Entry | Candidate, at: datetime.datetime) -> str | None:
    """Why a memory does not hold at a moment, in a few words; None when it holds.

    A bare day counts from its first moment for `valid_from` and `invalid_at`, to its last for `expires` (all UTC).
    """
    if entry.status == "archived":
        return "archived"
    if entry.status == "retired":
        return "retired"
    if entry.superseded_by:
        return f"superseded by {entry.superseded_by}"
    return why_not_at(entry, at)


def why_not_at(entry: Entry | Candidate | Standing, at: datetime.datetime) -> str | None:
    """The same as far as dates decide it."""
    if _after(entry.valid_from, at):
        return f"not valid before {entry.valid_from}"
    if entry.invalid_at and not _after(entry.invalid_at, at):
        return f"ended {entry.invalid_at}"
    if entry.expires and not _after(entry.expires, at, whole_day=True):
        return f"expired {entry.expires}"
    return None


def moment(text: str, *, whole_day: bool = False) -> datetime.datetime:
    """An ISO day or RFC 3339 time as an aware UTC datetime; `whole_day`: the end of a bare day."""
    found = datetime.datetime.fromisoformat(text)
    if found.tzinfo is None:
        found = found.replace(tzinfo=datetime.UTC)
    if whole_day and len(text) == 10:
        # 9999-12-31 is how many people write "for ever", and the day after it is no date.
        found = min(found, _LAST_DAY) + datetime.timedelta(days=1)
    return found


def _after(text: str | None, at: datetime.datetime, *, whole_day: bool = False) -> bool:
    return text is not None and moment(text, whole_day=whole_day) > at
