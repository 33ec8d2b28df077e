"""Days as words: the same ones for every form and language, and none for what only looks like a date."""

from __future__ import annotations

import datetime
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.index.days import MAX_DAYS, asked_words, day_words, words_between

WHOLE = {"day20260503", "day0503", "month202605", "month05"}
YEARLESS = {"day0503", "month05"}
MONTH = {"month202605", "month05"}

FORMS = [
    ("2026-05-03", WHOLE),
    ("2026/5/3", WHOLE),
    ("2026.05.03", WHOLE),
    ("at 2026-05-03T10:00:00Z", WHOLE),
    ("2026年5月3日", WHOLE),
    ("在2026年05月03號，", WHOLE),
    ("3 May 2026", WHOLE),
    ("3rd of May, 2026", WHOLE),
    ("May 3, 2026", WHOLE),
    ("(MAY 3rd 2026)", WHOLE),
    ("(10:02 am on 3 May, 2026)", WHOLE),
    ("5月3号", YEARLESS),
    ("于5月3日部署", YEARLESS),
    ("May 3", YEARLESS),
    ("May 3rd.", YEARLESS),
    ("on 3 May", YEARLESS),
    ("2026-05", MONTH),
    ("2026年5月", MONTH),
    ("May 2026", MONTH),
    ("5月", {"month05"}),
]


@pytest.mark.parametrize(("text", "words"), FORMS)
def test_every_form_of_a_day_has_the_same_words(text: str, words: set[str]) -> None:
    assert set(day_words(text)) == words


@pytest.mark.parametrize(("name", "month"), [("September", 9), ("Sept.", 9), ("sep", 9), ("ſept", 9), ("July", 7),
                                             ("jul", 7), ("december", 12), ("Jan", 1)])  # fmt: skip
def test_months_go_by_many_names(name: str, month: int) -> None:
    assert day_words(f"{name} 8, 2023")[0] == day_words(f"8 {name}, 2023")[0] == f"day2023{month:02}08"


@pytest.mark.parametrize(
    "text",
    ["", "v1.2.3", "1.5.2023.4", "10.0.3.5", "192.168.5.3", "3/5", "1/2 of it", "2026-13-40", "2026-00-10", "13月40日",
     "2023-05-03-17", "2004.1.2.3", "12345-05-03", "room 2026", "may", "in March", "5 mayors", "call 555-05-03",
     "may 12:30", "40 May", "0.2026-05"],
)  # fmt: skip
def test_versions_addresses_fractions_and_impossible_days_are_none(text: str) -> None:
    assert day_words(text) == []
    assert asked_words(text) == []


def test_a_question_asks_with_the_word_that_says_most() -> None:
    assert asked_words("on May 3, 2026, or on 5月3号, or 2026-05, or 5月, May 3?") == [
        "day20260503", "day0503", "month202605", "month05",
    ]  # fmt: skip


def test_a_memory_has_the_words_of_its_first_days_alone() -> None:
    first = datetime.date(2026, 1, 1)
    days = [first + datetime.timedelta(days=n) for n in range(MAX_DAYS + 5)]
    found = day_words(", ".join(map(str, days)))

    assert [word for word in found if word.startswith("day2")] == [f"day{day:%Y%m%d}" for day in days[:MAX_DAYS]]
    assert len(found) == len(set(found))


def test_a_span_is_its_days_or_its_months() -> None:
    def between(first: str, last: str) -> list[str]:
        return words_between(datetime.date.fromisoformat(first), datetime.date.fromisoformat(last))

    assert between("2024-02-28", "2024-03-01") == ["day20240228", "day20240229", "day20240301"]
    assert between("2026-05-03", "2026-05-03") == ["day20260503"]
    assert between("2025-11-20", "2026-01-02") == ["month202511", "month202512", "month202601"]
    assert len(between("2026-01-01", "2026-02-01")) == 32
    assert len(between("1990-01-01", "2026-01-01")) == 24


@given(st.dates(datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)))
def test_any_day_is_the_same_in_both_languages(day: datetime.date) -> None:
    english, chinese = f"{day:%B} {day.day}, {day.year}", f"{day.year}年{day.month}月{day.day}日"

    assert day_words(english) == day_words(chinese) == day_words(f"x {day.isoformat()} y")
    assert asked_words(f"{day.day} {day:%b} {day.year}") == words_between(day, day)


DATED = st.lists(
    st.sampled_from(["2026", "1999", "13", "5", "3", "٣", "²", "-", "/", ".", " ", "年", "月", "日", "号", "May",
                     "ſept", "ma", "of", "th", ",", ":", "aprıl", "İ", "\0", "x"]),
    max_size=14,
).map("".join)  # fmt: skip


@given(st.text(max_size=60) | DATED)
def test_any_text_has_words_of_real_months_or_none(text: str) -> None:
    for word in day_words(text):
        assert word.startswith(("day", "month"))
        assert 1 <= int(word[-4:-2] if word.startswith("day") else word[-2:]) <= 12
    assert set(asked_words(text)) <= set(day_words(text)) or len(day_words(text)) >= 2 * MAX_DAYS


@pytest.mark.parametrize("part", ["2026-", "1", "1 ", "3 of ", "3rd of Ma", "May 3", "20", "5月", "2026年", "2026.5."])
def test_a_long_text_costs_little(part: str) -> None:
    begun = time.process_time()
    day_words(part * (100_000 // len(part)))
    asked_words(part * (100_000 // len(part)))

    assert time.process_time() - begun < 5.0
