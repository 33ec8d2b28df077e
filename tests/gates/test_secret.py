"""The table of secrets: what it finds, what it leaves, what it costs, and that it never tells."""

from __future__ import annotations

import base64
import itertools
import re
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.gates import find_secrets, mask
from mdmem.gates.private import is_chinese_id, is_iban, passes_luhn
from mdmem.gates.rules import LEVELS, Rule, load_rules
from tests.conftest import ROOT
from tests.gates.making import KINDS, secrets

TABLE = tomllib.loads((ROOT / "mdmem/gates/secret_rules.toml").read_text("utf-8"))["rule"]
HARMLESS = (Path(__file__).parent / "harmless.txt").read_text("utf-8").splitlines()
SIZE = 100_000


def example(text: str) -> str:
    return text.replace("·", "")


def kinds(text: str) -> list[str]:
    return [finding.kind for finding in find_secrets(text)]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row['kind']} {row['near'][0]}")
def test_each_rule_finds_its_true_example_and_leaves_its_two_false_ones(row: dict[str, Any]) -> None:
    found = find_secrets(example(row["true"]))

    assert (row["kind"], row["level"]) in [(f.kind, f.level) for f in found]
    assert len(row["false"]) == 2
    assert not any(find_secrets(example(text)) for text in row["false"])


def test_the_table_has_three_levels_and_over_forty_kinds() -> None:
    assert {rule.level for rule in load_rules()} == set(LEVELS)
    assert len({rule.kind for rule in load_rules()}) > 40
    assert all(rule.kind == rule.kind.strip() and "_" not in rule.kind for rule in load_rules())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_of_some_hundred_secrets_of_sixty_kinds_ninety_eight_in_a_hundred_are_found(seed: int) -> None:
    made = secrets(seed, 5)
    missed = [kind for kind, text in made if not find_secrets(text)]

    assert len(KINDS) >= 40
    assert len(made) >= 200
    assert len(missed) <= len(made) * 0.02, missed


@pytest.mark.parametrize(
    "around", ["see {} for it", '{{"v": "{}"}}', "`{}`", "a line\\n{}\\n", "密钥在此：{}。", "({})"]
)
def test_what_stands_around_a_secret_does_not_hide_it(around: str) -> None:
    alone = "aws id|github|gitlab|slack bot|stripe|google|openai|anthropic|npm|pypi|sendgrid|telegram|jwt|vault".split(
        "|"
    )
    missed = [kind for kind, text in secrets(4, 3) if kind in alone and not find_secrets(around.format(text))]

    assert missed == []


def test_of_three_hundred_harmless_lines_at_most_one_is_marked() -> None:
    marked = [line for line in HARMLESS if find_secrets(line)]

    assert len(set(HARMLESS)) >= 300
    assert len(marked) <= 1, marked
    assert len(find_secrets("\n".join(HARMLESS))) <= 1


@pytest.mark.parametrize(
    "text", ["", " ", "İ" * 3 + " pass", "\udc80 token", "\0", "密码", "😀 password: 😀", "密码：😀😀😀😀😀"]
)
def test_odd_texts_are_no_secrets_and_no_errors(text: str) -> None:
    assert find_secrets(text) == []


@given(st.text(max_size=400))
def test_any_text_can_be_looked_at_and_masked(text: str) -> None:
    found = find_secrets(text)

    assert all(0 <= f.start < f.end <= len(text) for f in found)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    assert mask(text) == text or found


@pytest.mark.parametrize(("kind", "text"), secrets(5, 2))
def test_a_masked_text_holds_nothing_to_be_found(kind: str, text: str) -> None:
    found = find_secrets(text)
    masked = mask(text)

    assert found
    assert all(text[f.start : f.end] not in masked for f in found)
    assert find_secrets(masked) == []


def test_lines_and_places_are_those_of_the_text() -> None:
    secret = secrets(6, 1)[2][1]
    text = f"one\ntwo İ {secret} and\n\nagain {secret}"
    found = find_secrets(text)

    assert [f.line for f in found] == [2, 4]
    assert [text[f.start : f.end] for f in found] == [secret, secret]
    assert mask(text) == "one\ntwo İ [secret: GitHub token] and\n\nagain [secret: GitHub token]"


def test_the_surest_rule_names_the_kind() -> None:
    secret = secrets(6, 1)[2][1]

    assert kinds(f"token: {secret}") == ["GitHub token"]


def test_only_what_stands_for_a_value_is_masked() -> None:
    assert mask("DB_PASSWORD=Maple4711 # prod") == "DB_PASSWORD=[secret: password] # prod"
    assert mask("https://mira:Maple4711@git.internal/x") == "https://mira:[secret: password in a URL]@git.internal/x"
    assert mask("数据库密码是Maple4711，勿外传") == "数据库密码是[secret: 密码]，勿外传"


def test_documented_examples_and_placeholders_are_left() -> None:
    header = base64.b64encode(b"Aladdin:open sesame").decode()

    for text in (
        "AKIAIOSFODNN7" + "EXAMPLE",
        f"Authorization: Basic {header}",
        "ghp_" + "x" * 36,
        "token: $GITHUB_TOKEN",
        "api_key = your-api-key",
        "password: changeme",
        "4242 4242 4242 4242 is Stripe's test card",
    ):
        assert find_secrets(text) == [], text
    assert kinds("my card is 4242 4242 4242 4242") == ["payment card number"]
    assert kinds("cards 4539578763621486 4539578763621486") == ["payment card number"] * 2


def test_numbers_of_a_person_are_told_by_their_check_digits() -> None:
    assert passes_luhn("4539578763621486")
    assert not passes_luhn("4539578763621487")
    assert is_iban("DE89 3704 0044 0532 0130 00")
    assert not is_iban("DE88 3704 0044 0532 0130 00")
    assert is_chinese_id("11010519491231002X")
    assert not is_chinese_id("110105194912310020")
    assert not is_chinese_id("11010519491331002X")


def test_a_telephone_number_needs_words_that_say_so() -> None:
    assert kinds("ring twice: 415 555 0132 44") == []
    assert kinds("her phone is 415 555 0132") == ["telephone number"]
    assert kinds("phone 4155550132") == ["telephone number"]
    assert kinds("手机 13812345678 13912345678") == ["telephone number"] * 2
    assert kinds("手机 13812345678") == ["telephone number"]
    assert kinds("李思远 13812345678") == ["telephone number"]
    assert kinds("+86 138 1234 5678") == ["telephone number"]
    assert kinds("the checkpoint is 13812345678") == []


# --- cost ---------------------------------------------------------------------------------


def fillers() -> dict[str, str]:
    """Texts that come near to each rule without end, and nasty ones for all."""
    units = {"a": "a", "A1": "A1", "1": "1", "1 ": "1 ", "(1": "(1", "://": "://", "a:a@": "a:a@", "=": "=", "-": "-"}
    units |= {"rnd": "a1B2-_.~", "IBAN": "AA00 ", "phone": "phone 12345678 ", "words": "the password is a b c to "}
    for row in TABLE:
        near = row["near"][0]
        units |= {near: near, f"{near} ": f"{near} ", f"{near}=": f"{near}=", f"\\n{near}": f"\\n{near}"}
        units[f"{near} cut"] = example(row["true"])[:-4] + "~"
    return units


@pytest.mark.parametrize("names", [list(fillers())[at::8] for at in range(8)], ids=range(8))
def test_the_cost_grows_with_the_text_and_not_faster(names: list[str]) -> None:
    """Eight times the text takes eight times the work, not sixty-four: a bound far from both, for a busy machine."""
    made = fillers()
    for name in names:
        small, big = ((made[name] * (size // len(made[name]) + 1))[:size] for size in (SIZE // 8, SIZE))
        find_secrets(small)
        if _cost(big) > 24 * _cost(small) + 2_000_000:
            assert min(_cost(big) for _ in range(5)) < 24 * min(_cost(small) for _ in range(5)) + 2_000_000, name


def _cost(text: str) -> int:
    begun = time.process_time_ns()
    find_secrets(text)
    return time.process_time_ns() - begun


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: f"{rule.kind} {rule.near[0]}")
def test_no_pattern_can_go_back_without_end(rule: Rule) -> None:
    """Repeats have an end; those that may be long give nothing back."""
    bare = re.sub(r"\[[^\]]*\]", "", re.sub(r"\\.", "", rule.pattern))

    assert "*" not in bare
    assert not re.search(r"(?<!\})\+", bare)
    assert all(int(most) <= 40 for most in re.findall(r"\{\d*,(\d+)\}(?!\+)", bare))
