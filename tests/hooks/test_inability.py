"""Which closing messages say that the assistant could not do something: the labelled set, and what must hold of any."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdmem.hooks.inability import inability
from mdmem.hooks.inability.prose import CODE, QUOTE, sentences

Message = dict[str, Any]
MESSAGES: list[Message] = [
    json.loads(line) for line in Path(__file__).with_name("closing_messages.jsonl").read_text("utf-8").splitlines()
]
PIECES = [
    "I can't deploy",
    "没有权限",
    "无法",
    "but it worked",
    "if ",
    "`",
    "```",
    '"',
    "“",
    "> ",
    "\n",
    "\n\n",
    ". ",
    ",",
    "。",
]


def rates(messages: list[Message]) -> tuple[float, float]:
    """Precision and recall."""
    found = [message for message in messages if inability(message["text"]) is not None]
    right = sum(message["says"] for message in found)
    return right / len(found), right / sum(message["says"] for message in messages)


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("I added a troubleshooting section to the README:\n\n- **I can't log in**: reset it\n- no access: ask", False),
        ("The error messages are now:\n\n| E1 | I can't connect: no network |\n| E2 | I have no access |", False),
        ("文档新增了常见问题：\n\n- **我无法登录**：重置密码\n- **我没有权限部署**：找管理员", False),
        ("I added a section to the README:\n\n- how to log in\n\nI can't deploy: no credentials here.", True),
        ("Open points:\n\n- I can't deploy: no credentials here\n- docs are done", True),
        ("文档写好了。剩下的：\n\n- 我没有权限部署", True),
    ],
)
def test_what_a_document_lists_by_now_is_not_said_by_the_assistant(message: str, says: bool) -> None:
    assert (inability(message) is not None) == says


def test_the_set_is_large_and_even() -> None:
    chinese = [message for message in MESSAGES if message["lang"] != "en"]

    assert len(MESSAGES) >= 1_500
    assert len({message["text"] for message in MESSAGES}) == len(MESSAGES)
    assert 0.45 <= len(chinese) / len(MESSAGES) <= 0.55
    assert 0.45 <= sum(message["says"] for message in MESSAGES) / len(MESSAGES) <= 0.55


@pytest.mark.parametrize("langs", [("en",), ("zh", "zh-hant"), ("mixed",)], ids="-".join)
def test_an_inability_is_known_and_hardly_anything_else_is(langs: tuple[str, ...]) -> None:
    precision, recall = rates([message for message in MESSAGES if message["lang"] in langs])

    assert precision >= 0.99
    assert recall >= 0.9


def test_the_whole_set_reaches_its_floors() -> None:
    precision, recall = rates(MESSAGES)

    assert precision >= 0.995
    assert recall >= 0.93


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("All tests pass. I can't deploy from here. Bye.", "I can't deploy from here."),
        ("- docs: done\n- release: no credentials for `npm` here", "release: no credentials for `npm` here"),
        ("I can’t push,\nas I have no key.\n\nThe rest is done.", "I can’t push, as I have no key."),
        ("测试都通过了。我没有权限部署。", "我没有权限部署。"),
    ],
)
def test_the_sentence_is_given_as_it_was_written(message: str, said: str) -> None:
    assert inability(message) == said


@pytest.mark.parametrize(
    "message",
    [
        "",
        "```\nI can't deploy from here\n```",
        "~~~\nI can't deploy from here",
        "> I can't deploy from here",
        "It said `I can't deploy from here`.",
        "他说“我没有权限部署”。",
        "error: I can't deploy from here",
    ],
)
def test_what_others_said_and_programs_wrote_is_passed_over(message: str) -> None:
    assert inability(message) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I couldn't push at first.", "I couldn't push at first, but a new token worked."),
        ("I have no permission to write there.", "I had no permission to write there, so I used sudo instead."),
        ("I can't reach the server.", "If the token is missing, I can't reach the server."),
        ("我没有写入权限。", "我没有写入权限，后来用 sudo 解决了。"),
        ("无法部署。", "如果没有凭证，就无法部署。"),
    ],
)
def test_what_was_overcome_or_only_supposed_is_no_inability(before: str, after: str) -> None:
    assert inability(before) is not None
    assert inability(after) is None


@pytest.mark.parametrize(
    ("mine", "of_others"),
    [
        ("The deploy failed: this account has no permission.", "The forks have no permission, so their jobs fail."),
        ("I can't push to it.", "I can't make the type any narrower."),
        (
            "I can't open the page, as it asks for a login.",
            "Fixed: nobody could open the page, as it asks for a login.",
        ),
        ("没有权限，所以没部署。", "加了三种情况的测试：没有权限、没部署、断网。"),
        ("没有 token，所以没部署。", "没有 token 会跳过部署。"),
    ],
)
def test_what_others_lack_and_what_code_does_is_no_inability(mine: str, of_others: str) -> None:
    assert inability(mine) is not None
    assert inability(of_others) is None


def test_a_lack_of_nobody_in_particular_counts_where_it_is_all_that_is_said() -> None:
    assert inability("No permission.") == "No permission."
    assert inability("The audit is done. No permission. No surprise.") is None
    assert inability("没有权限。") == "没有权限。"
    assert inability("审计做完了。没有权限。") is None


def test_a_reason_in_another_item_of_a_list_is_of_something_else() -> None:
    assert inability("The upload was not done. Access denied.") is not None
    assert inability("- The upload was not done\n- Access denied is now a page of its own") is None
    assert inability("- The upload was not done\n- Access denied") is None


def test_a_note_that_is_set_as_a_quotation_is_the_authors_own() -> None:
    assert inability("> [!WARNING]\n> I can't deploy from here.") is not None
    assert inability("> [!WARNING]\n> Ready.\n\n> I can't deploy from here.") is None


def test_a_failure_beside_a_success_is_still_one() -> None:
    assert inability("I can't deploy, as no key is here, but the code is pushed and the unit tests passed.") is not None


def test_code_and_quotations_keep_their_place() -> None:
    (found,) = sentences("Run `a b` and say “c d” now.")

    assert found.text == "Run `a b` and say “c d” now."
    assert found.said == f"Run {CODE} and say {QUOTE} now."


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)))
@settings(deadline=None)
def test_any_text_gets_an_answer_of_its_own_words(text: str) -> None:
    said = inability(text)

    assert said is None or "".join(said.split()) in "".join(text.split()) or "\n" in said


def steps(text: str) -> int:
    """How many lines of ours run for a text."""
    count = 0

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal count
        if "mdmem" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        inability(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "piece",
    ["I can't deploy from here, but ", "没有权限，", "I can't deploy.\n", "`", "“", "a b ", "> ", "```\n", "No key. "],
)
def test_twice_the_text_is_at_most_twice_the_steps(piece: str) -> None:
    inability("I can't")
    inability("没有")
    small, large = steps(piece * 200), steps(piece * 400)

    assert large <= 2.2 * small + 200
