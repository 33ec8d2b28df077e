"""Text in, a word for each day that it names out: the same for `8 May 2023`, `May 8th`, `2023-05-08` and `5月8号`.

So that a question finds the day in whatever form and language the memory has it. A day of a known year has four words,
`day20230508`, `day0508`, `month202305`, `month05`; one without a year `day0508` and `month05`; a month of a year
`month202305` and `month05`.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterator

from mdmem.lazy import pattern

MAX_DAYS = 16  # of one memory

_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_NAME = (
    r"\b(?P<{}>jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august|september"
    r"|october|november|december)\b"
)
_DAY = r"(?P<{}>\d{{1,2}})(?:st|nd|rd|th)?"
_YEAR = r"(?P<{}>(?:19|20)\d\d)"
# Each form has groups y, m, d with a number of its own behind; what it does not say is not there.
_FROM_NUMBER = pattern(
    rf"{_YEAR.format('y0')}[-/.](?P<m0>\d{{1,2}})(?:[-/.](?P<d0>\d{{1,2}}))?(?![\d-]|[/.]\d)"
    rf"|(?:{_YEAR.format('y1')}年)?(?P<m1>\d{{1,2}})月(?:(?P<d1>\d{{1,2}})[日号號])?"
    rf"|{_DAY.format('d2')}(?: of)? {_NAME.format('m2')}\.?(?:,? {_YEAR.format('y2')}\b)?",
    re.IGNORECASE,
)
_FROM_NAME = pattern(
    rf"{_NAME.format('m3')}\.? {_DAY.format('d3')}\b(?!:)(?:,? {_YEAR.format('y3')}\b)?"
    rf"|{_NAME.format('m4')}\.?,? {_YEAR.format('y4')}\b",
    re.IGNORECASE,
)
_NAME_BEFORE = pattern(rf"{_NAME.format('m')}\.?,? $", re.IGNORECASE)
_LONGEST_NAME = 12
_NUMBER = re.compile(r"(?<![\d.-])\d")
MAX_NUMBERS = 4_000  # that are looked at: a table of figures holds no more days than its head


def day_words(text: str) -> list[str]:
    """The words of every day that a text names, each once, at most MAX_DAYS days."""
    found: dict[str, None] = {}
    days = 0
    for match in _dates(text):
        words = _words(match)
        if words:
            found |= dict.fromkeys(words)
            days += 1
            if days == MAX_DAYS:
                break
    return list(found)


def asked_words(query: str) -> list[str]:
    """Of every day that a query names the one word that says most."""
    return list(dict.fromkeys(words[0] for words in map(_words, _dates(query)) if words))


def words_between(first: datetime.date, last: datetime.date) -> list[str]:
    """The words of the days in a span; of its months where it is longer than a month."""
    if (last - first).days > 31:
        months = {(day.year, day.month) for day in _each(first, last)}
        return [f"month{year:04}{month:02}" for year, month in sorted(months)][:24]
    return [f"day{day:%Y%m%d}" for day in _each(first, last)]


def _dates(text: str) -> Iterator[re.Match[str]]:
    """Every date of a text. Each has a number in it: all else of the text is passed over at full speed."""
    end = 0
    for number in itertools.islice(_NUMBER.finditer(text), MAX_NUMBERS):
        at = number.start()
        if at < end:
            continue
        match = _FROM_NUMBER().match(text, at)
        if match is None and text[at - 1 : at] == " ":
            name = _NAME_BEFORE().search(text, max(0, at - _LONGEST_NAME), at)
            match = _FROM_NAME().match(text, name.start()) if name else None
        if match is not None:
            end = match.end()
            yield match


def _each(first: datetime.date, last: datetime.date) -> list[datetime.date]:
    return [first + datetime.timedelta(days=n) for n in range(min((last - first).days, 800) + 1)]


def _words(match: re.Match[str]) -> list[str]:
    """What a date says, the most telling word first; nothing where it is no date: 2023-13-40."""
    parts = {name[0]: text for name, text in match.groupdict().items() if text}
    # casefold: to a pattern that ignores case, a long s is an s.
    month = int(parts["m"]) if parts["m"].isdigit() else _NAMES.index(parts["m"][:3].casefold()) + 1
    year, day = parts.get("y"), int(parts.get("d") or 0)
    if not 1 <= month <= 12 or not 0 <= day <= 31:
        return []
    words = [f"day{year}{month:02}{day:02}"] if year and day else []
    words += [f"day{month:02}{day:02}"] if day else []
    words += [f"month{year}{month:02}"] if year else []
    return [*words, f"month{month:02}"]
