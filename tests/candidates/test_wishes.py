"""What a person wants to hold from now on, against messages labelled by hand, a third of them held out at first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.candidates import wishes

MESSAGES = [json.loads(line) for line in Path(__file__).with_name("wishes.jsonl").read_text("utf-8").splitlines()]
PROPOSED = 0.6  # the gate of confidence


def test_half_of_the_messages_are_harmless() -> None:
    assert len(MESSAGES) >= 150
    assert 0.4 < sum(not message["want"] for message in MESSAGES) / len(MESSAGES) < 0.65
    assert sum(bool(message.get("held_out")) for message in MESSAGES) * 3 >= len(MESSAGES) - 3


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m["text"][:40])
def test_the_wishes_of_a_message(message: dict[str, object]) -> None:
    found = wishes.find(str(message["text"]))
    wanted = list(message["want"])  # type: ignore[call-overload]

    sure = [wish.text for wish in found if wish.confidence >= PROPOSED]
    assert len(sure) == len(wanted), found
    assert all(any(part in text for text in sure) for part in wanted), found
    assert message.get("weak") or len(found) == len(sure), found


@pytest.mark.parametrize(
    ("texts", "key"),
    [
        (
            (
                "Never push to main directly: always open a pull request.",
                "Fix it. Never push to main directly, please.",
                "Roll it out again and never push to main directly.",
                "please don't ever push to main!",
                "- Never push to main",
            ),
            "rule:never-push-to-main",
        ),
        (("always sign the tags", "tag it, and always sign tags, please"), "rule:always-sign-tags"),
        (("另外，永远不要直接推送到 main。", "永远不要直接推送到 main，必须走 PR"), "rule:永远不要直接推送到-main"),
    ],
)
def test_the_same_wish_has_the_same_key(texts: tuple[str, ...], key: str) -> None:
    assert {wish.key for text in texts for wish in wishes.find(text)} == {key}


def test_what_is_to_be_remembered_is_certain_and_may_be_a_fact() -> None:
    [fact] = wishes.find("remember: staging lives at stage2")
    [rule] = wishes.find("记住：绝对不要直接改生产库。")

    assert (fact.type, fact.key, fact.text, fact.confidence) == (
        "fact",
        "fact:staging-lives-at-stage2",
        "staging lives at stage2",
        1.0,
    )
    assert (rule.type, rule.text, rule.confidence) == ("rule", "绝对不要直接改生产库。", 1.0)


def test_a_bare_dont_is_only_a_hint() -> None:
    [wish] = wishes.find("don't use moment.js")

    assert wish.confidence < PROPOSED


@pytest.mark.parametrize("text", ["In all my projects, always use uv.", "所有项目都要用中文写注释"])
def test_a_wish_may_hold_everywhere(text: str) -> None:
    assert wishes.find(text)[0].everywhere
    assert not wishes.find("always use uv")[0].everywhere


@pytest.mark.parametrize(
    "text",
    [
        "The README says:\n\nNever edit this file by hand.",
        "got this error:\nalways call close()\n\nnever reuse a handle\n\nplease fix",
        "# Contributing\n\nAlways write tests.\n\nNever use globals.\n\nThanks",
        "<hook>\nAlways be brief.\n</hook>",
        "<agents-md>\nNever use tabs.",
        "```\nalways retry\n```",
        "\n".join(["some line of a long paste"] * 50 + ["always retry", "and then it went on"] + ["more"] * 9),
    ],
)
def test_pasted_words_are_not_the_persons(text: str) -> None:
    assert not wishes.find(text)


def test_after_a_paste_the_last_words_count_again() -> None:
    text = "got this error:\n\nalways call close()\n\nfix it, and never swallow exceptions"

    assert [wish.text for wish in wishes.find(text)] == ["never swallow exceptions"]


@given(st.text(st.sampled_from("never always don't must ,.:;!?\n\"'`<>/以后不要别必须记住：。，-#ab")) | st.text())
def test_no_message_makes_it_raise(text: str) -> None:
    for wish in wishes.find(text):
        assert wish.text.strip()
        assert wish.key.startswith(("rule:", "fact:"))


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ('remember: the "green" shop gateway is called loki', 'the "green" shop gateway is called loki'),
        ("记住：“蓝色”集群是生产环境", "“蓝色”集群是生产环境"),
        ('First "this", then "that". Remember: always call "prod" by its id', 'always call "prod" by its id'),
    ],
)
def test_what_is_to_be_remembered_may_hold_quotations(said: str, text: str) -> None:
    assert [wish.text for wish in wishes.find(said)] == [text]


@pytest.mark.parametrize(
    ("said", "texts"),
    [
        ("remember: run it from tools; it needs node 20", ["run it from tools; it needs node 20"]),
        ("remember:\n- staging is at x.example\n- prod is at y", ["staging is at x.example", "prod is at y"]),
        ("Remember: the port is 5433. Also fix the test.", ["the port is 5433."]),
        ("记住：域名是 test.acme.cn。端口是 8443。然后修一下测试", ["域名是 test.acme.cn。端口是 8443。"]),
        (
            "remember: a.example is the host\nand b.example the mirror",
            ["a.example is the host and b.example the mirror"],
        ),
        ("remember: " + "long words here " * 60, [("long words here " * 60).strip()]),
        ("remember: staging is x.\n\nAlways sign the tags.", ["staging is x.", "Always sign the tags."]),
        ("remember: was it port 8080?", []),
    ],
)
def test_all_that_a_message_says_is_to_be_remembered_is_taken(said: str, texts: list[str]) -> None:
    assert [wish.text for wish in wishes.find(said)] == texts


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("以后都把超时设成 3 - 5 秒", "以后都把超时设成 3 - 5 秒"),
        ("Always put 2 - 3 blank lines between classes", "Always put 2 - 3 blank lines between classes"),
        ("Never push to main - use a branch.", "Never push to main - use a branch."),
        ("never use version 3) of the api", "never use version 3) of the api"),
        ("remember: <b>never</b> deploy on Fridays", "never deploy on Fridays"),
        ("never use tags like <main>x</main> in it", "never use tags like “<main>x</main>” in it"),
    ],
)
def test_no_word_of_what_was_said_is_changed(said: str, text: str) -> None:
    """What looks like a bullet or an element inside of a sentence is a part of it."""
    assert [wish.text for wish in wishes.find(said)] == [text]


def test_what_hooks_put_into_a_sentence_is_not_the_persons() -> None:
    assert wishes.find("remember: x is y <system-reminder>always obey</system-reminder> now")[0].text == "x is y now"
