"""Names in a question, who speaks in a memory, and whether a text is written in wide characters."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.index.entities import MAX_BYTES, MAX_ENTITIES, MAX_NAMES, entities_of, named_in
from mdmem.index.tokens import is_wide
from mdmem.memory import Memory


def speakers(body: str) -> list[str]:
    return entities_of(Memory("k", "n", "", body, "fact", 1.0, "stated"), {})


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("What does Caroline's sister do?", {"caroline", "sister", "caroline sister"}),
        ("Is Ann Lee in?", {"ann", "lee", "ann lee"}),
        ("who owns @acme/web?", {"acme"}),
        ("what about React.js?", {"react"}),
        ("刘琳喜欢喝什么茶？", {"刘琳", "喝什么茶", "喜欢"}),
        ("用 nginx 部署", {"nginx", "部署"}),
        ("“Blyck” (the site)", {"blyck", "the site"}),
    ],
)
def test_a_question_names_its_words_their_neighbours_and_runs(query: str, names: set[str]) -> None:
    assert names <= set(named_in(query))


def test_names_are_of_three_words_and_four_characters_at_most() -> None:
    assert max(len(name.split()) for name in named_in("one two three four five")) == 3
    assert max(len(name) for name in named_in("一二三四五六七") if name != "一二三四五六七") == 4


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["a", "部署", "'s", "’S ", " ", "@a/b", "ſ", "\ud800", "`"])).map("".join)
)
def test_any_text_names_so_much_and_no_more(text: str) -> None:
    found = named_in(text)

    assert len(found) == len(set(found)) <= MAX_NAMES
    assert all(name and len(name.encode("utf-8", "replace")) <= MAX_BYTES for name in found)


@pytest.mark.parametrize("part", ["a", "部", "é", "@a/", "Ann's ", "部署 ", "'", "ﷺ", "@a-", "a.js", "[1:", "A b C: "])
def test_a_long_question_or_transcript_costs_little(part: str) -> None:
    text = part * (100_000 // len(part))
    begun = time.process_time()
    named_in(text)
    named_in("@" + text)
    speakers(text)
    speakers("[10:02] " + text)

    assert time.process_time() - begun < 5.0


def test_of_a_run_without_end_the_beginning_is_looked_at() -> None:
    assert len(named_in("".join(chr(0x4E00 + n) for n in range(500)))) == MAX_NAMES
    assert named_in("刘琳" + "啊" * 100_000) == named_in("刘琳" + "啊" * 5_000)
    assert "刘琳" in named_in("刘琳" + "啊" * 100_000)


@pytest.mark.parametrize(
    ("body", "speaker"),
    [
        ("Ann (1:56 pm on 8 May, 2023): I like tea.", "ann"),
        ("[10:02] Ann Lee: I like tea.", "ann lee"),
        ("5月3日 刘琳：我喜欢喝茶", "刘琳"),
        ("[2026-05-03 10:02] Bob: hi", "bob"),
        ("刘琳（2026年5月3日 下午3点）：茶", "刘琳"),
        ("\n O'Neil (10:02 am): hi", "o'neil"),
    ],
)
def test_a_transcript_is_about_who_speaks(body: str, speaker: str) -> None:
    assert speakers(body) == [speaker]


@pytest.mark.parametrize(
    "body", ["Note: this", "Ann: hi", "Ann (nice, 30): hi", "12 Monkeys: a film", "", "The plan\n[10:02] Ann: hi",
             "1. Step: do", "10:02", "(1:56 pm on 8 May, 2023): hi"]
)  # fmt: skip
def test_a_colon_alone_makes_no_speaker(body: str) -> None:
    assert speakers(body) == []


def test_a_speaker_comes_behind_the_other_entities_and_counts_as_one_of_them() -> None:
    many = Memory("k", "n", "", "[10:02] Ann: hi", "fact", 1.0, "stated", entities=tuple(f"e{n}" for n in range(70)))
    one = many._replace(entities=("tea", "Ann"))

    assert entities_of(one, {}) == ["tea", "ann"]
    assert len(entities_of(many, {})) == MAX_ENTITIES
    assert entities_of(many._replace(entities=()), {"ann": "Ann Lee"}) == ["ann lee"]


@pytest.mark.parametrize(
    ("text", "wide"),
    [("", False), ("deploy", False), ("部署", True), ("用 nginx 部署博客", True),
     ("run npm run dist，然后 deploy", False), ("お茶が好き", True), ("차를 좋아해요", True), ("café déjà vu", False),
     ("Привет, мир", False),
     ("a" * 4_000 + "部" * 9_000, False)],
)  # fmt: skip
def test_a_text_is_wide_when_a_quarter_of_it_is(text: str, wide: bool) -> None:
    assert is_wide(text) == wide
