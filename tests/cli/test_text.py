from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdmem.outputs.text import clean, hit_lines, list_lines, problem_lines, status_lines

NASTY = "\x1b]52;c;AAAA\x07\x1b[31mred\r\u202eevil\u2066\x9b1m\ufeff\x00\x7f\u2028"
MEMORY = {
    "key": NASTY, "scope": "user", "scope_ref": NASTY, "path": NASTY,
    "source": NASTY, "updated": NASTY, "name": NASTY, "description": NASTY,
    "type": NASTY, "status": NASTY, "invalid": NASTY, "broken": True,
}  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_k4_no_text_can_command_a_terminal(text: str):
    shown = clean(text)

    assert not any(unicodedata.category(c) in ("Cc", "Cs") or 0x202A <= ord(c) <= 0x202E for c in shown)


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_a_file_keeps_its_lines_and_tabs(text: str):
    shown = clean(text, lines=True)

    assert shown.count("\n") == text.count("\n")
    assert not any(unicodedata.category(c) == "Cc" and c not in "\n\t" for c in shown)


def test_ordinary_text_of_every_script_is_shown_as_it_is():
    text = "Straße 部署 🚀👩‍💻 naïve עברית"

    assert clean(text) == text


def test_what_is_escaped_can_still_be_read():
    assert clean("a\x1b[1m\u202eb\n") == "a\\x1b[1m\\u202eb\\n"


def test_k4_61_nothing_of_a_memory_reaches_the_terminal_raw():
    hit = MEMORY | {"rank": 1, "score": 1.0, "why": dict.fromkeys(("lexical", "semantic", "temporal", "graph"), None)}
    hit["why"] |= {"relevance": 1.0, "recency": 1.0, "confidence": 1.0, "exact_key": True, "via": NASTY}
    problem = {"path": NASTY, "line": 3, "message": NASTY, "code": "bad-date", "hint": NASTY}
    lines = [*hit_lines([hit], explain=True), *list_lines([MEMORY]), *problem_lines([problem])]

    assert all(re.search("[\x00-\x1f\x7f-\x9f\u202e\u2066\u2028\ufeff]", line) is None for line in lines)


def test_many_problems_are_cut_and_counted():
    problem = {"path": "a.md", "line": None, "message": "odd", "code": "bad-date", "hint": ""}

    assert list(problem_lines([problem] * 12))[-1] == "… and 2 more: mdmem status --json"
    assert len(list(problem_lines([problem] * 12, limit=None))) == 12


@pytest.mark.parametrize("waiting", [0, 5])
def test_a_status_without_a_daemon_can_be_shown(waiting: int):
    status = {
        "daemon": {"running": False},
        "index": {
            "memories": 0, "pending_vectors": waiting, "vectors_left_s": 90.0, "last_sync": None, "notice": NASTY
        },
        "embedder": {"model": None, "state": NASTY},
        "scopes": [],
        "problems": [],
        "untrusted": [{"path": NASTY, "reason": NASTY}],
    }  # fmt: skip
    shown = "\n".join(status_lines(status))

    assert "\x1b" not in shown
    assert ("2 min left" in shown) is bool(waiting)


def test_json_is_safe_to_show_and_says_the_same(capsys: pytest.CaptureFixture[str]):
    from mdmem.cli import say

    say.json_out({"name": NASTY + "é"})
    shown = capsys.readouterr().out

    assert re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2066\u2028]", shown) is None
    assert json.loads(shown) == {"name": NASTY + "é"}
