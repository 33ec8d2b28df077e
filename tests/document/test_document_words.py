"""Dates as people write them, and file names from titles."""

from __future__ import annotations

import unicodedata
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdmem.document import normalise_date, slug
from mdmem.document.dates import moment


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-11-02", "2026-11-02"),
        ("2026/11/2", "2026-11-02"),
        ("2026.11.02", "2026-11-02"),
        ("20261102", "2026-11-02"),
        ("2026年11月2日", "2026-11-02"),
        ("２０２６年１１月２日", "2026-11-02"),
        (" 2026-11-02 ", "2026-11-02"),
        ("2026-11-02T10:00:00Z", "2026-11-02T10:00:00Z"),
        ("2026-11-02 10:00", "2026-11-02T10:00:00Z"),
        ("2026-11-02t9:05", "2026-11-02T09:05:00Z"),
        ("2026-11-02T10:00:00.1230Z", "2026-11-02T10:00:00.123Z"),
        ("2026-11-02T10:00:00,5", "2026-11-02T10:00:00.5Z"),
        ("2026-11-02T10:00+08:00", "2026-11-02T10:00:00+08:00"),
        ("2026-11-02 10:00:00 -0530", "2026-11-02T10:00:00-05:30"),
        ("2026-11-02T10:00+08", "2026-11-02T10:00:00+08:00"),
        ("2026-11-02T10:00+00:00", "2026-11-02T10:00:00Z"),
        ("2026-11-02 10:00 UTC", "2026-11-02T10:00:00Z"),
        ("20261102T100000Z", "2026-11-02T10:00:00Z"),
        ("20261102T1000", "2026-11-02T10:00:00Z"),
        ("2026-11-02 00:00", "2026-11-02T00:00:00Z"),
        ("2026年11月2日 10:30", "2026-11-02T10:30:00Z"),
        ("2026年11月2日10时30分", "2026-11-02T10:30:00Z"),
        ("2028-02-29", "2028-02-29"),
        ("2026-02-30", None),
        ("2026-02-29", None),
        ("2026/2/30", None),
        ("2026-13-01", None),
        ("0000-01-01", None),
        ("2026-11", None),
        ("2026", None),
        ("2026-11/02", None),
        ("2026-11-02T24:00", None),
        ("2026-11-02T10:60", None),
        ("2026-11-02T10:00:61Z", None),
        ("2026-11-02T10:00+25:00", None),
        ("2026-11-02T10:00+08:75", None),
        ("2026-11-02T", None),
        ("2026-11-0210:00", None),
        ("yesterday", None),
        ("12:30", None),
        ("", None),
        ("9" * 5000, None),
    ],
)
def test_d13_dates_are_read_as_written_or_not_at_all(text: str, iso: str | None) -> None:
    assert normalise_date(text) == iso
    if iso:
        assert normalise_date(iso) == iso
        assert moment(iso).tzinfo is not None


@settings(deadline=None, max_examples=100)
@given(st.datetimes(), st.integers(-1439, 1439))
def test_any_time_of_the_calendar_keeps_its_instant(day: datetime, offset_min: int) -> None:
    time = day.replace(tzinfo=timezone(timedelta(minutes=offset_min)))
    iso = normalise_date(time.isoformat())

    assert iso is not None
    assert moment(iso) == time


@settings(deadline=None, max_examples=200)
@given(st.text(st.sampled_from("0123456789-/.:TZ +年月日时"), max_size=30))
def test_no_text_makes_reading_a_date_raise(text: str) -> None:
    iso = normalise_date(text)

    assert iso is None or moment(iso)


@pytest.mark.parametrize(
    ("title", "stem"),
    [
        ("Deploy blyck from this machine", "deploy-blyck-from-this-machine"),
        ("  C++ & C#: what's new?  ", "c-c-what-s-new"),
        ("部署：从这台机器", "部署-从这台机器"),
        ("../../etc/passwd", "etc-passwd"),
        ("-rf .hidden", "rf-hidden"),
        ("Cafe\u0301", "caf\u00e9"),
        ("हिन्दी में", "हिन्दी-में"),
        ("snake_case v1.2", "snake_case-v1-2"),
        ("a\0b\nc", "a-b-c"),
        ("zero\u200bwidth \u202eturned", "zerowidth-turned"),
        ("MEMORY", "about-memory"),
        ("ReadMe", "about-readme"),
        ("Index", "about-index"),
        ("log", "about-log"),
        ("logs", "logs"),
    ],
)
def test_a_title_gives_a_readable_stem(title: str, stem: str) -> None:
    assert slug(title) == stem


@pytest.mark.parametrize("title", ["", "🚀", "???", "...", "---", "\u0301", "\u202e"])
def test_c5_a_title_without_letters_gives_a_name_of_its_own(title: str) -> None:
    assert slug(title).startswith("memory-")
    assert slug(title) != slug(title + "!")


@pytest.mark.parametrize("letter", ["a", "é", "名", "𠀀", "नी", "a\u0323\u0301"])
@pytest.mark.parametrize("count", [1, 2, 50, 130, 2000])
def test_c3_long_titles_are_cut_by_bytes_at_a_letter(letter: str, count: int) -> None:
    title = letter * count
    stem = slug(title)

    assert len(stem.encode()) <= 120
    assert len((stem + ".md").encode()) <= 255
    if len(stem.encode()) == len(unicodedata.normalize("NFC", title).encode()):
        return
    kept, _, tail = stem.rpartition("-")
    assert len(tail) == 8
    assert unicodedata.normalize("NFC", letter * (len(kept) // len(unicodedata.normalize("NFC", letter)))) == kept
    assert slug(title + letter) != stem


def test_c3_a_tiny_limit_still_gives_a_name() -> None:
    assert len(slug("a long title here", max_bytes=8)) == 8
    assert len(slug("🚀", max_bytes=8)) == 8
