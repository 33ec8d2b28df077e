"""What a probe's text means: whether it needs a shell, what a yes is good for, and when a memory is unverified."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.ledger import LastProbe
from mdmem.upkeep.probes import allowance, digest, plain_words, unverified_since

LAST = LastProbe(digest("make"), False, 2, "2026-11-20T10:00:00Z", 5, "2026-11-18T10:00:00Z", None)


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        ("aws sts get-caller-identity", ["aws", "sts", "get-caller-identity"]),
        ("test -f /etc/hosts", ["test", "-f", "/etc/hosts"]),
        ("grep -q 'a b' \"c d\" --x=1 user@host:/p", ["grep", "-q", "a b", "c d", "--x=1", "user@host:/p"]),
        ("echo '$(touch x)' '`touch x`' '; touch x'", ["echo", "$(touch x)", "`touch x`", "; touch x"]),
        ("echo 你好", ["echo", "你好"]),
    ],
)
def test_plain_words_are_parted_without_a_shell(probe: str, words: list[str]) -> None:
    assert plain_words(probe) == words


@pytest.mark.parametrize(
    "probe",
    ["$(touch x)", "`touch x`", 'echo "$(touch x)"', 'echo "`x`"', "a; b", "a && b", "a | b", "a > b", "a < b", "a &",
     "echo $HOME", "ls ~", "ls *.md", "ls [ab]", "ls a?", "X=1 env", "a\nb", "a \\", "a 'b", '"a', "! a", "{ a; }",
     "a #b", "''", "", " ", "a\0b", "a\u00a0b", "a\u202eb", 'a "b\\"'],
)  # fmt: skip
def test_what_a_shell_would_do_more_with_is_left_to_one(probe: str) -> None:
    assert plain_words(probe) is None


def test_a_long_text_that_is_none_is_told_at_once() -> None:
    assert plain_words("a " * 50_000 + "$") is None
    assert plain_words("a" * 100_000 + "$") is None


PIECES = [
    "a",
    " ",
    "'",
    '"',
    "$",
    "b c",
    "=",
    "-",
    "\\",
    ";",
    "~",
    "é",
    "#",
    "!",
    "*",
    "\t",
    "{",
    "%",
    "(x)",
    "\n",
    "&",
]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_a_shell_parts_plain_words_as_we_do(tail: str) -> None:
    """What is run without a shell is what the person was shown, as a shell would have understood it."""
    words = plain_words(f"printf '%s\\0' {tail}")
    if words is not None and tail.strip():
        sh = subprocess.run(
            [shutil.which("sh") or "sh", "-c", f"printf '%s\\0' {tail}"], capture_output=True, check=True
        )

        assert sh.stdout.decode().split("\0")[:-1] == words[2:]


def test_a_yes_is_good_for_one_text_in_one_place() -> None:
    assert (
        len({allowance("make", ""), allowance("make", "/p"), allowance("make ", "/p"), allowance("p\0make", "/")}) == 4
    )
    assert allowance("make", "/p") == allowance("make", "/p")
    assert len(digest("half \udcff")) == 32


@pytest.mark.parametrize(
    ("known", "probe", "updated", "since"),
    [
        (None, "make", "2026-11-01", None),
        (LAST, "make", "2026-11-01", "2026-11-18T10:00:00Z"),
        (LAST, "make", "2026-11-30", "2026-11-18T10:00:00Z"),
        (LAST, "make check", "2026-11-01", None),
        (LAST, None, "2026-11-01", None),
        (LAST._replace(ok=True, failed_since=None), "make", "2026-11-01", None),
        (LAST._replace(doubted_at="2026-11-17T00:00:00Z"), "make", "2026-11-01", "2026-11-17T00:00:00Z"),
        (LAST._replace(doubted_at="2026-11-19T00:00:00Z"), "make", "2026-11-01", "2026-11-18T10:00:00Z"),
        (LAST._replace(doubted_at="2026-11-19T00:00:00Z"), None, "2026-11-19", "2026-11-19T00:00:00Z"),
        (LAST._replace(doubted_at="2026-11-19T00:00:00Z"), None, "2026-11-19T00:00:01Z", None),
    ],
)
def test_a_memory_is_unverified_by_its_probe_as_it_reads_now_or_by_a_doubt_until_it_changes(
    known: LastProbe | None, probe: str | None, updated: str, since: str | None
) -> None:
    assert unverified_since(known, probe, updated) == since
