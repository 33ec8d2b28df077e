"""A date as a person writes it in, an ISO day or an RFC 3339 time out; the impossible gives None."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, date, datetime, timedelta

_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_DATE = re.compile(
    r"""(?:(?P<y>\d{4})(?:(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})
           |\s*年\s*(?P<m2>\d{1,2})\s*月\s*(?P<d2>\d{1,2})\s*[日号]
           |(?P<m3>\d\d)(?P<d3>\d\d)))
        (?:(?:[Tt]|\s+|(?<=[日号]))
           (?:(?P<H>\d{1,2}):(?P<M>\d\d)(?::(?P<S>\d\d)(?:[.,](?P<f>\d{1,9}))?)?
             |(?P<H2>\d\d)(?P<M2>\d\d)(?:(?P<S2>\d\d)(?:[.,](?P<f2>\d{1,9}))?)?
             |(?P<H3>\d{1,2})[时点](?:(?P<M3>\d{1,2})分?)?)
           \s*(?P<z>[Zz]|UTC|GMT|[-+]\d\d(?::?\d\d)?)?)?""",
    re.X | re.ASCII,
)


def normalise_date(text: str) -> str | None:
    """Give "YYYY-MM-DD" for a day, "YYYY-MM-DDTHH:MM:SS[.f]" and an offset for a time; None for what is neither.

    A time without an offset is UTC. The offset stays as written, so that the day a person meant stays too.
    """
    found = _DAY.fullmatch(text)
    if found:
        return text if _is_day(int(found[1]), int(found[2]), int(found[3])) else None
    text = unicodedata.normalize("NFKC", text).strip() if len(text) < 100 else ""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    group = match.groupdict()
    year, month, day = int(group["y"]), *(int(_first(group, key)) for key in ("m", "d"))
    if not _is_day(year, month, day):
        return None
    iso = f"{year:04d}-{month:02d}-{day:02d}"
    if not (group["H"] or group["H2"] or group["H3"]):
        return iso
    time, offset = _time(group), _offset(group["z"])
    return f"{iso}T{time}{offset}" if time and offset else None


def moment(text: str) -> datetime:
    """The instant of a normalised date, a day standing for its first moment in UTC. Raises ValueError for others."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _first(group: dict[str, str | None], key: str) -> str:
    return next((value for value in (group.get(key + n) for n in ("", "2", "3")) if value), "0")


def _is_day(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _time(group: dict[str, str | None]) -> str | None:
    hour, minute, second = (int(_first(group, key)) for key in ("H", "M", "S"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = (group["f"] or group["f2"] or "")[:6].rstrip("0")
    return f"{hour:02d}:{minute:02d}:{second:02d}" + (f".{fraction}" if fraction else "")


def _offset(text: str | None) -> str | None:
    if text is None or text.upper() in ("Z", "UTC", "GMT"):
        return "Z"
    digits = text[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if minutes > 59 or timedelta(hours=hours, minutes=minutes) >= timedelta(hours=24):
        return None
    return "Z" if digits == "0000" else f"{text[0]}{digits[:2]}:{digits[2:]}"
