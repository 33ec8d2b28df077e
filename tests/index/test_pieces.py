"""What is embedded of a memory."""

from __future__ import annotations

import time

import pytest

from mdmem.index import pieces_of
from mdmem.index.pieces import without_stamps
from mdmem.memory import Memory


def memory(body: str, name: str = "m00017", description: str = "") -> Memory:
    return Memory("k", name, description, body, "fact", 1.0, "stated")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Ann (1:56 pm on 8 May, 2023): Hey", "Ann: Hey"),
        ("[2024-05-08T13:56:00Z] built", " built"),
        ("（2023年5月8日 下午3点）你好", "你好"),
        ("D (Monday, 3rd of June 2024, 10:00 a.m.) hi", "D hi"),
        ("said on 8 May 2023 that", "said on 8 May 2023 that"),
    ],
)
def test_a_stamp_of_date_and_time_is_not_embedded(text: str, left: str) -> None:
    assert without_stamps(text) == left


@pytest.mark.parametrize(
    "text",
    ["see [1] and (42) of (2024)", "f(x, 10)", "(at 10)", "(may 2)", "[12345678]", "[2024](x)", "call(10, 20, 30)",
     "issue [2023-01-02](http://x)", "(the 4th)", "（三）"],
)  # fmt: skip
def test_other_brackets_stay(text: str) -> None:
    assert without_stamps(text) == text


def test_many_brackets_cost_little() -> None:
    begun = time.process_time()
    without_stamps("(1 " * 50_000 + "(" * 100_000 + "(1:" * 50_000)

    assert time.process_time() - begun < 5.0


@pytest.mark.parametrize("name", ["m00017", "conv-26-D1:3", "D1:3", "memory 12"])
def test_a_name_of_numbers_is_not_embedded(name: str) -> None:
    assert pieces_of(memory("She likes tea.", name)) == ["She likes tea."]


@pytest.mark.parametrize("name", ["deploy blyck", "部署博客", "node 22 upgrade"])
def test_a_name_of_words_is(name: str) -> None:
    assert pieces_of(memory("She likes tea.", name)) == [f"{name}\nShe likes tea."]


def test_a_name_that_the_text_holds_is_not_said_twice() -> None:
    assert pieces_of(memory("# Deploy Blyck\n\nrun it", "Deploy Blyck")) == ["# Deploy Blyck\n\nrun it"]
