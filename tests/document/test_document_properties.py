"""What must hold for any bytes, any fields and any edit."""

from __future__ import annotations

import random

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mdmem.document import compose, memory_of, parse, remove_fields, set_fields, slug
from mdmem.document.events import read_block
from mdmem.document.shape import Report
from mdmem.document.simple import read_simple
from mdmem.document.split import Parts, lines_of, split
from mdmem.errors import MdmemError, RefusedError

thorough = settings(deadline=None, max_examples=120)

NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])
PIECES = st.sampled_from(
    [
        "---",
        "...",
        "----",
        "- ",
        "  - ",
        "a: ",
        "key:",
        "name: ",
        "tags: ",
        "[a, b]",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        "#",
        " # c",
        ": ",
        ":",
        "：",
        "名称",
        "&a",
        "*a",
        "!!x ",
        "|",
        ">",
        "\t",
        "  ",
        "\n",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "null",
        "~",
        "x",
        "word",
        "你好",
        "😀",
        "\x00",
        "\x85",
        "\u2028",
        "\ufeff",
        "<<<<<<< a",
        "=======",
        ">>>>>>> b",
        "```",
        "%",
        "@",
        "`",
        "?",
        ",",
        "-",
        "\\",
        "\\ud800",
        "[[x]]",
        "-1",
        "1.10",
        "no",
    ]
)
SOUP = st.lists(PIECES, max_size=25).map("".join)
FILES = st.builds(
    lambda front, body, newline: f"---\n{front}\n---\n{body}".replace("\n", newline), SOUP, SOUP, NEWLINES
)
WORDS = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from(list(" :#-,[]{}'\"\\&*!|>%@`?~\n\t0123456789.eEyn"))),
    max_size=30,
)
KEYS = st.sampled_from(["a", "b", "name", "tags", "名称", "x-y", "d_1", "no", "status", "with space", "a.b", "key"])
FIELDS = st.dictionaries(KEYS, st.one_of(WORDS, st.lists(WORDS, max_size=4)), max_size=5)


@thorough
@given(st.one_of(st.binary(max_size=200), SOUP.map(str.encode), FILES.map(str.encode)))
def test_no_bytes_make_reading_raise(data: bytes) -> None:
    doc = parse(data, "a.md")
    memory, problems = memory_of(doc, path="a.md", scope="user")

    assert memory.key
    assert memory.name
    assert len(memory.description) <= 160 or "description" in doc.fields or "metadata" in doc.fields
    repr((doc, memory, problems)).encode()  # nothing that can't be written out later


@thorough
@given(st.one_of(SOUP, FILES))
def test_d17_no_byte_is_lost_by_splitting(text: str) -> None:
    parts = split(text)

    assert "".join(parts or Parts("", "", "", text)) == text
    assert "".join(lines_of(text)) == text


def simple_line(r: random.Random) -> str:
    value = "".join(r.choices("ab :#-,[]{}'\"&*!|>%@`?~.0\t\\名：\u2028=", k=r.randint(0, 6)))
    value = r.choice([value, value, "~", "null", "no", "12:30", "0123", "a b", "a: b", "- x", "[[x]]", "a, b"])
    key = r.choice(["a", "b", "c", "名", "x-y", "a.b", "d_1"])
    items = ", ".join("".join(r.choices("ab :#-?~'\"", k=r.randint(0, 3))) for _ in range(r.randint(0, 3)))
    shapes = [
        f"{key}: {value}",
        f"{key}:{value}",
        f"  - {value}",
        f"- {value}",
        f"    - {value}",
        f'{key}: "{value}"',
        f"{key}: '{value}' ",
        f"{key}:",
        f"{key}: [{items}]",
        f"{key}: [{value}, b]",
        "",
    ]
    return r.choice(shapes)


@pytest.mark.parametrize("seed", range(5))
def test_the_fast_path_never_differs_from_yaml(seed: int) -> None:
    r = random.Random(seed)
    taken = 0
    for _ in range(1000):
        front = "\n".join(simple_line(r) for _ in range(r.randint(0, 4))) + r.choice(["\n", ""])
        fast = read_simple(front)
        if fast is None:
            continue
        taken += 1
        report = Report("a.md")
        block = read_block(front, report)

        assert block is not None, front
        assert fast == (block.fields, block.lines), front
        assert list(fast[0]) == list(block.fields), front
        assert report.problems == [], front
    assert taken > 150


@thorough
@given(FIELDS, WORDS)
def test_d9_what_is_composed_reads_back(fields: dict[str, str | list[str]], body: str) -> None:
    data = compose(fields, body)
    doc = parse(data, "a.md")
    text = body.replace("\r\n", "\n").replace("\r", "\n")

    assert doc.fields == fields
    assert doc.body == (text if text.endswith("\n") or not text else text + "\n")
    assert data.endswith(b"\n") or data == b""
    assert b"\r" not in data


@thorough
@given(FIELDS)
def test_d9_other_loaders_read_composed_text_as_text(fields: dict[str, str | list[str]]) -> None:
    dates = {"created", "updated", "valid_from", "invalid_at", "expires", "confidence"}
    assume(fields and not dates & fields.keys())
    front = compose(fields, "").decode().split("---\n")[1] if "---\n" not in str(fields) else ""
    assume(front)

    assert yaml.safe_load(front) == fields


@thorough
@given(FILES, KEYS, st.one_of(WORDS, st.lists(WORDS, max_size=3)))
def test_d22_an_edit_reads_back_and_leaves_all_else(text: str, key: str, value: str | list[str]) -> None:
    before = parse(text.encode(), "a.md")
    try:
        edited = set_fields(text.encode(), {key: value})
    except RefusedError:
        return
    doc = parse(edited, "a.md")

    assert doc.fields[key] == value
    assert {k: v for k, v in doc.fields.items() if k != key} == {k: v for k, v in before.fields.items() if k != key}
    assert doc.body == before.body


@thorough
@given(FIELDS, st.lists(st.sampled_from(["# a comment", "", "  # another"]), max_size=3), WORDS, NEWLINES, st.data())
def test_d22_any_edit_changes_only_its_line(
    fields: dict[str, str | list[str]], comments: list[str], value: str, newline: str, data: st.DataObject
) -> None:
    assume(fields)
    lines = compose(fields, "body\n\nmore").decode().split("\n")
    for comment in comments:
        lines.insert(data.draw(st.integers(1, len(fields) + 1)), comment)
    text = newline.join(lines)
    key = data.draw(st.sampled_from(sorted(fields)))
    edited = set_fields(text.encode(), {key: value}).decode()
    old, new = lines_of(text), lines_of(edited)

    assert len(old) == len(new)
    assert sum(a != b for a, b in zip(old, new, strict=True)) == (fields[key] != value)


@thorough
@given(st.one_of(st.text(st.characters(codec="utf-8"), max_size=60), SOUP, FILES))
def test_archive_and_restore_give_the_same_bytes(text: str) -> None:
    data = text.encode()
    before = parse(data, "a.md")
    assume("status" not in before.fields)
    assume(not (before.has_front and not before.fields))  # an empty block is not told from one that we made
    try:
        archived = set_fields(data, {"status": "archived"})
    except MdmemError:
        return

    assert parse(archived, "a.md").fields["status"] == "archived"
    assert remove_fields(archived, ["status"]) == data


@thorough
@given(st.text(max_size=300), st.integers(8, 120))
def test_c3_any_title_gives_a_usable_file_name(title: str, max_bytes: int) -> None:
    stem = slug(title, max_bytes=max_bytes)

    assert 0 < len(stem.encode()) <= max_bytes
    assert stem[0] not in ".-"
    assert not set("/\0\n\r\t\\:") & set(stem)
    assert stem.casefold() not in {"memory", "readme", "index", "log"}
    assert slug(title, max_bytes=max_bytes) == stem
