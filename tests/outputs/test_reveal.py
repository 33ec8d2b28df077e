"""What can't be seen is shown; what writing needs is left alone; lines fit their columns."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.outputs.reveal import reveal, width, wrapped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2066b\u200f", "a\\u2066b\\u200f"),
        ("a\u200bb", "a\\u200bb"),
        ("a\u200db", "a\\u200db"),
        ("a\u200cb", "a\\u200cb"),
        ("pass\u00adword", "pass\\xadword"),
        ("x\U000e0041\U000e0042", "x\\U000e0041\\U000e0042"),
        ("\U0001f3f4\U000e0041", "\U0001f3f4\\U000e0041"),
        ("filler\u3164 \u115f\uffa0\u2800", "filler\\u3164 \\u115f\\uffa0\\u2800"),
        ("a\ufe0f b\ufe01", "a\\ufe0f b\\ufe01"),
        ("葛\U000e0100\U000e0101", "葛\U000e0100\\U000e0101"),
        ("👍\ufe0f\ufe0f", "👍\ufe0f\\ufe0f"),
        ("👩\u200d\u200d💻", "👩\\u200d\\u200d💻"),
        ("क\u200d\u200dष", "क\\u200d\\u200dष"),
        ("private \ue000, none \u0378, half \ud800", "private \\ue000, none \\u0378, half \\ud800"),
        ("end\u200d", "end\\u200d"),
        ("\u2028\u2029\ufeff\u180e\u2060\u034f", "\\u2028\\u2029\\ufeff\\u180e\\u2060\\u034f"),
    ],
)
def test_k13_what_hides_is_shown(text: str, shown: str) -> None:
    assert reveal(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain", "naïve Straße", "中文，日本語、한국어", "👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 ❤️‍🔥 🧑🏽‍🚀 ✔️ ©️ ↔️ ☺︎",
        "1️⃣ #️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇫🇷", "क्‍ष क्‌ष ന്‍റെ শ্রী‌র",
        "می‌خواهم کتاب‌ها", "葛󠄀城", "e\u0301 a\u0308", "a\u00a0b\u3000c",
    ],
)  # fmt: skip
def test_k13_what_writing_needs_is_left_alone(text: str) -> None:
    assert reveal(text) == text


def test_lines_stay_lines_where_they_are_asked_for() -> None:
    assert reveal("a\r\nb\tc\rd", lines=True) == "a\nb\tc\\rd"
    assert reveal("é\r\nb\tc\rd", lines=True) == "é\nb\tc\\rd"
    assert reveal("é\nb") == "é\\nb"


@given(st.text(max_size=60))
def test_k4_no_text_holds_a_command_afterwards(text: str) -> None:
    shown = reveal(text, lines=True)

    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in shown if char not in "\n\t")
    shown.encode()  # halves of characters would raise


def test_a_line_needs_as_many_columns_as_a_terminal_gives_it() -> None:
    assert width("abc") == 3
    assert width("中文a") == 5
    assert width("e\u0301") == 1


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=200), st.integers(4, 80))
def test_a_wrapped_line_loses_nothing_but_spaces_at_its_ends(text: str, columns: int) -> None:
    pieces = list(wrapped(text, columns))

    assert all(width(piece) <= columns for piece in pieces)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
