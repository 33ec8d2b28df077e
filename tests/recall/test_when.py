"""The days that a question names."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.recall.when import days_of

TODAY = datetime.date(2026, 11, 29)  # a Sunday


def span(query: str, today: datetime.date | str = TODAY) -> tuple[str, ...] | None:
    found = days_of(query, datetime.date.fromisoformat(today) if isinstance(today, str) else today)
    return None if found is None else tuple(day.isoformat() for day in found)


SPANS = [
    ("what did we do today?", "2026-11-29", "2026-11-29"),
    ("Yesterday's deploy", "2026-11-28", "2026-11-28"),
    ("昨天部署了什么", "2026-11-28", "2026-11-28"),
    ("前天的会", "2026-11-27", "2026-11-27"),
    ("last week", "2026-11-16", "2026-11-22"),
    ("上周", "2026-11-16", "2026-11-22"),
    ("上个星期的会", "2026-11-16", "2026-11-22"),
    ("this week", "2026-11-23", "2026-11-29"),
    ("本周", "2026-11-23", "2026-11-29"),
    ("last month", "2026-10-01", "2026-10-31"),
    ("上个月", "2026-10-01", "2026-10-31"),
    ("this month", "2026-11-01", "2026-11-29"),
    ("previous year", "2025-01-01", "2025-12-31"),
    ("去年", "2025-01-01", "2025-12-31"),
    ("今年", "2026-01-01", "2026-11-29"),
    ("3 days ago", "2026-11-26", "2026-11-26"),
    ("三天前", "2026-11-26", "2026-11-26"),
    ("two weeks ago", "2026-11-12", "2026-11-18"),
    ("两周之前", "2026-11-12", "2026-11-18"),
    ("a month ago", "2026-10-15", "2026-11-14"),
    ("in the last 10 days", "2026-11-19", "2026-11-29"),
    ("最近三天", "2026-11-26", "2026-11-29"),
    ("过去两个月", "2026-09-30", "2026-11-29"),
    ("on 2026-05-03", "2026-05-03", "2026-05-03"),
    ("in 2026-05?", "2026-05-01", "2026-05-31"),
    ("2026年5月3号", "2026-05-03", "2026-05-03"),
    ("5月3号", "2026-05-03", "2026-05-03"),
    ("12月", "2025-12-01", "2025-12-31"),
    ("12月3日", "2025-12-03", "2025-12-03"),
    ("in May", "2026-05-01", "2026-05-31"),
    ("during December", "2025-12-01", "2025-12-31"),
    ("on 3rd of May, 2025", "2025-05-03", "2025-05-03"),
    ("since Sept 2026", "2026-09-01", "2026-09-30"),
    ("what changed recently?", "2026-11-15", "2026-11-29"),
    ("最近做了什么", "2026-11-15", "2026-11-29"),
    ("2026-13-40, or rather yesterday", "2026-11-28", "2026-11-28"),
]


@pytest.mark.parametrize(("query", "first", "last"), SPANS)
def test_a_question_names_its_days(query: str, first: str, last: str) -> None:
    assert span(query) == (first, last)


@pytest.mark.parametrize(
    "query",
    ["", "how do I deploy?", "2026-13-40", "2026-02-30", "13月", "2月30日", "version 1.2.3", "you may go",
     "the last word",
     "one day", "0 is false", "a week", "weekly", "on 31 feb 2026", "0000-01-01", "9999 years", "999 years agone",
     "ſix days ago", "yeſterday"],
)  # fmt: skip
def test_what_only_looks_like_days_names_none(query: str) -> None:
    assert span(query) is None


@pytest.mark.parametrize("query", ["on 2026-11-30", "in 2027-01", "on 3 May 2027", "2027年1月"])
def test_days_to_come_are_none(query: str) -> None:
    assert span(query) is None


def test_a_span_that_is_not_over_ends_today() -> None:
    assert span("2026-11") == ("2026-11-01", "2026-11-29")
    assert span("11月") == ("2026-11-01", "2026-11-29")


@pytest.mark.parametrize(
    ("query", "today", "first", "last"),
    [
        ("last month", "2024-03-31", "2024-02-01", "2024-02-29"),
        ("last month", "2023-03-01", "2023-02-01", "2023-02-28"),
        ("last month", "2026-01-15", "2025-12-01", "2025-12-31"),
        ("last week", "2026-01-01", "2025-12-22", "2025-12-28"),
        ("last week", "2026-01-05", "2025-12-29", "2026-01-04"),
        ("yesterday", "2024-03-01", "2024-02-29", "2024-02-29"),
        ("yesterday", "2026-01-01", "2025-12-31", "2025-12-31"),
        ("2月29日", "2024-02-29", "2024-02-29", "2024-02-29"),
        ("on 29 feb", "2025-01-01", "2024-02-29", "2024-02-29"),
        ("2024-02", "2026-01-01", "2024-02-01", "2024-02-29"),
        ("last year", "2024-02-29", "2023-01-01", "2023-12-31"),
    ],
)
def test_leap_days_and_the_edges_of_years(query: str, today: str, first: str, last: str) -> None:
    assert span(query, today) == (first, last)


@pytest.mark.parametrize("query", [row[0] for row in SPANS])
def test_on_the_first_and_last_days_there_are_it_is_no_error(query: str) -> None:
    for today in (datetime.date.min, datetime.date(1, 1, 9), datetime.date(1, 3, 1), datetime.date.max):
        found = days_of(query, today)
        assert found is None or found.first <= found.last <= today


PARTS = ["last ", "this ", "ago", " in ", "on ", "May", "2026", "-", "0", "5", "999 ", "year", "week", "s", "ſ", "ı",
         "上", "个",
         "月", "年", "周", "天", "前", "近", "号", "一", "fıve ", "days", " ", "٣", "₂"]  # fmt: skip


@given(st.text(max_size=60) | st.lists(st.sampled_from(PARTS), max_size=12).map("".join), st.dates())
def test_any_text_on_any_day_names_days_up_to_today_or_none(text: str, today: datetime.date) -> None:
    found = days_of(text, today)

    assert found is None or found.first <= found.last <= today
