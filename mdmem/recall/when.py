"""A query in, the days it speaks of out: `last week`, `3 days ago`, `in May 2026`, `上周`, `2026-11-03`."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable
from typing import NamedTuple

from mdmem.lazy import pattern

_Day = datetime.date
LATELY_DAYS = 14


class Days(NamedTuple):
    """A span of days, both ends included."""

    first: datetime.date
    last: datetime.date


_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "few": 4}
_COUNTS |= {"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "几": 4}
_LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365, "天": 1, "周": 7, "星期": 7, "个月": 30, "年": 365}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_COUNT, _UNIT = r"(\d{1,3}|an?|one|two|three|four|five|six|few)", r"(day|week|month|year)s?"
_COUNT_ZH, _UNIT_ZH = r"(\d{1,3}|[一两二三四五六几])", r"(天|周|星期|个月|年)"
_DAY_OF = r"(?:(\d{1,2})(?:st|nd|rd|th)? (?:of )?)?"
_MONTH = (
    r"(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august|september|october"
    r"|november|december)"
)

# Every rule has a digit or one of these in it; most questions have none, and need no pattern.
_WORDS = (
    "ago", "last", "past", "previous", "this", "today", "yesterday", "recent", "lately", "these days", "jan", "feb",
    "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
)  # fmt: skip
_SIGNS = frozenset("前近去这本上今昨月年周")


def days_of(query: str, today: datetime.date) -> Days | None:
    """The days that a query names; None where it names none. A span never ends after today."""
    plain = query.casefold()
    if not any(char.isdigit() or char in _SIGNS for char in plain) and not any(word in plain for word in _WORDS):
        return None
    for compiled, read in _RULES:
        match = compiled().search(query)
        if match:
            try:
                found = read([part or "" for part in match.groups()], today)
            except (LookupError, ValueError, OverflowError):
                continue  # 2026-13-40 names no day; nor does `yeſterday`, which is one to the pattern alone
            return Days(found.first, min(found.last, today)) if found.first <= today else None
    return None


def _ago(parts: list[str], today: _Day) -> Days:
    """About so long ago: half a unit to either side, the day itself for days."""
    count, unit = _length(parts)
    around = datetime.timedelta(days=unit // 2)
    middle = today - datetime.timedelta(days=count * unit)
    return Days(middle - around, middle + around)


def _past(parts: list[str], today: _Day) -> Days:
    count, unit = _length(parts)
    return Days(today - datetime.timedelta(days=count * unit), today)


def _length(parts: list[str]) -> tuple[int, int]:
    count, unit = parts[0].lower(), parts[1].lower()
    return (int(count) if count.isdigit() else _COUNTS[count]), _LENGTHS[unit]


def _named(parts: list[str], today: _Day) -> Days:
    """`last week`, `上个月`, `this year`."""
    is_last = parts[0].lower() in ("last", "previous", "上", "上个", "去")
    unit = parts[1].lower()
    if unit in ("week", "周", "星期"):
        monday = today - datetime.timedelta(days=today.weekday() + (7 if is_last else 0))
        return Days(monday, monday + datetime.timedelta(days=6))
    if unit in ("month", "月"):
        first = today.replace(day=1)
        first = (first - datetime.timedelta(days=1)).replace(day=1) if is_last else first
        return _month(first.year, first.month)
    year = today.year - is_last
    return Days(_Day(year, 1, 1), _Day(year, 12, 31))


def _day(parts: list[str], today: _Day) -> Days:
    back = {"today": 0, "今天": 0, "yesterday": 1, "昨天": 1, "前天": 2}[parts[0].lower()]
    day = today - datetime.timedelta(days=back)
    return Days(day, day)


def _iso(parts: list[str], today: _Day) -> Days:
    year, month = int(parts[0]), int(parts[1])
    if not parts[2]:
        return _month(year, month)
    day = _Day(year, month, int(parts[2]))
    return Days(day, day)


def _month_name(parts: list[str], today: _Day) -> Days:
    """`in May`, `on 8 May 2026`: the last one there was, where no year is named."""
    day, month = parts[0], _MONTHS.index(parts[1][:3].lower()) + 1
    year = int(parts[2]) if parts[2] else today.year - ((month, int(day or 1)) > (today.month, today.day))
    if not day:
        return _month(year, month)
    found = _Day(year, month, int(day))
    return Days(found, found)


def _month_zh(parts: list[str], today: _Day) -> Days:
    month, day = int(parts[0]), int(parts[1] or 0)
    year = today.year - ((month, day or 1) > (today.month, today.day))
    return Days(_Day(year, month, day), _Day(year, month, day)) if day else _month(year, month)


def _month(year: int, month: int) -> Days:
    return Days(_Day(year, month, 1), _Day(year, month, calendar.monthrange(year, month)[1]))


def _lately(parts: list[str], today: _Day) -> Days:
    return Days(today - datetime.timedelta(days=LATELY_DAYS), today)


_RULES: list[tuple[Callable[[], re.Pattern[str]], Callable[[list[str], datetime.date], Days]]] = [
    (pattern(text, re.IGNORECASE), read)
    for text, read in (
        (r"(?<!\d)(\d{4})-(\d\d)(?:-(\d\d))?(?![\d-])", _iso),
        (r"(?<!\d)(\d{4})年(\d{1,2})月(?:(\d{1,2})[日号])?", _iso),
        (rf"\b{_COUNT} {_UNIT} ago\b", _ago),
        (rf"{_COUNT_ZH}{_UNIT_ZH}(?:之|以)?前", _ago),
        (rf"\b(?:last|past|previous) {_COUNT} {_UNIT}\b", _past),
        (rf"(?:最近|过去|近){_COUNT_ZH}{_UNIT_ZH}", _past),
        (r"\b(this|last|previous) (week|month|year)\b", _named),
        (r"(这|这个|本|上|上个)(周|星期|月)", _named),
        (r"(今|去)(年)", _named),
        (r"\b(today|yesterday)\b", _day),
        (r"(今天|昨天|前天)", _day),
        (rf"\b(?:in|during|since|on|from) {_DAY_OF}{_MONTH}\b(?:,? (\d{{4}})\b)?", _month_name),
        (r"(?<!\d)(\d{1,2})月(?:(\d{1,2})[日号]|份?(?!\d))", _month_zh),
        (r"\b(?:recent|recently|lately|these days)\b|最近|近来|近期", _lately),
    )
]
