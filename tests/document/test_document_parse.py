"""Bytes to Document: part D of the failure catalogue, and what people really write."""

from __future__ import annotations

import io
import json
import sqlite3
import time
import zipfile
from pathlib import Path

import pytest

from mdmem.document import Document, memory_of, parse

BODY = "# Deploy\n\nnpm run dist, then copy.\n"


def read(text: str | bytes) -> Document:
    return parse(text.encode() if isinstance(text, str) else text, "a.md")


def front(text: str, body: str = BODY) -> Document:
    return read(f"---\n{text}\n---\n{body}")


def codes(doc: Document) -> list[str]:
    return [problem.code for problem in doc.problems]


def test_a_memory_reads_as_text_with_lines_and_body() -> None:
    doc = front("name: Deploy blyck\nentities: [aws, s3]\ntags:\n  - ops\n  - web\ncreated: 2026-11-02")

    assert doc.fields == {
        "name": "Deploy blyck",
        "entities": ["aws", "s3"],
        "tags": ["ops", "web"],
        "created": "2026-11-02",
    }
    assert doc.lines == {"name": 2, "entities": 3, "tags": 4, "created": 7}
    assert doc.body == BODY
    assert (doc.has_front, doc.broken, doc.empty, doc.problems) == (True, False, False, [])


def test_nested_maps_and_comments_go_through_yaml() -> None:
    doc = front("name: x  # why\nmetadata:\n  type: feedback\n  list: [a, {b: c}]\nnote: |\n  two\n  lines")

    assert doc.fields["metadata"] == {"type": "feedback", "list": ["a", {"b": "c"}]}
    assert doc.fields["note"] == "two\nlines\n"
    assert doc.lines == {"name": 2, "metadata": 3, "note": 6}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("text", ["name: x\ntags: [a]\n", "name: x # c\ntags:\n  - a\n"])
def test_d1_every_style_of_line_end_is_read(newline: str, text: str) -> None:
    doc = read(f"---\n{text}---\none\ntwo".replace("\n", newline))

    assert doc.fields == {"name": "x", "tags": ["a"]}
    assert doc.lines == {"name": 2, "tags": 3}
    assert doc.body == f"one{newline}two"


def test_d1_mixed_line_ends_are_read() -> None:
    doc = read("---\r\nname: x\rtype: fact\n---\r\nbody")

    assert doc.fields == {"name": "x", "type": "fact"}
    assert doc.body == "body"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"", "utf-8")],
)
def test_d2_a_byte_order_mark_does_not_hide_metadata(mark: bytes, encoding: str) -> None:
    doc = read(mark + "---\nname: 部署\n---\nbody".encode(encoding))

    assert doc.fields == {"name": "部署"}
    assert doc.body == "body"
    assert doc.problems == []


def test_d2_utf16_without_a_mark_is_read_and_reported() -> None:
    doc = read("---\nname: deploy\n---\nbody text".encode("utf-16-le"))

    assert doc.fields == {"name": "deploy"}
    assert codes(doc) == ["not-utf8"]


def test_d3_bytes_that_are_not_utf8_are_replaced_and_reported_with_their_line() -> None:
    doc = read(b"---\nname: latin\ndescription: caf\xe9\n---\nBody \xff\n")

    assert doc.fields["description"] == "caf\ufffd"
    assert doc.body == "Body \ufffd\n"
    assert [(p.code, p.line) for p in doc.problems] == [("not-utf8", 3)]


@pytest.mark.parametrize(
    ("text", "line"), [("---\nname: a\0b\n---\nbody", 2), ("---\nname: a\n---\none\ntwo \0 three", 5), ("x\x1b[31m", 1)]
)
def test_d4_control_characters_are_reported_and_cut_nothing(text: str, line: int) -> None:
    doc = read(text)

    assert [(p.code, p.line) for p in doc.problems] == [("control-characters", line)]
    assert doc.body == text.rpartition("---\n")[2]
    assert not doc.broken
    if doc.fields:
        assert memory_of(doc, path="a.md", scope="user")[0].name.startswith("a")


@pytest.mark.parametrize("data", [b"", b"\n \t\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", b"\xff\xfe\n\0"])
def test_d5_an_empty_file_is_no_memory_and_no_problem(data: bytes) -> None:
    doc = read(data)

    assert doc.empty
    assert doc.problems == []
    assert memory_of(doc, path="ops/new-file.md", scope="user")[0].name == "new file"


def test_d7_binaries_are_reported_and_have_no_body(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("a.txt", "text")
    database = sqlite3.connect(tmp_path / "a.db")
    database.execute("CREATE TABLE t (x)")
    database.commit()
    database.close()
    png = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    for data in (archive.getvalue(), (tmp_path / "a.db").read_bytes(), png, b"\0" * 4096, bytes(range(256)) * 4):
        doc = read(data)

        assert doc.body == "", data[:8]
        assert codes(doc) == ["binary"], data[:8]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('name: "unclosed\ndescription: oops', 2, "never closed"),
        ("name: x\ndescription: 'oops", 3, "never closed"),
        ("name: tab\ntags:\n\t- one", 4, "tab"),
        ("tags: [a, b\nname: x", 3, "never closed"),
        ("m: {a: b\nname: x", 3, "never closed"),
        ("name: x\n  type: fact", 3, "': '"),
        ("name: x\nstray words\ntype: fact", 4, "key: value"),
        ("tags:\n  - a\n - b", 4, "line"),
        ('name: "a\\qb"', 2, "escape"),
        ("name: - a", 2, "list item"),
        ("a: 1\n--- b\nc: 2", 3, "second YAML document"),
    ],
)
def test_d8_broken_yaml_names_line_and_column_in_plain_words(text: str, line: int, words: str) -> None:
    doc = front(text)
    memory, _ = memory_of(doc, path="ops/the-file.md", scope="user")

    assert (doc.broken, doc.has_front, doc.fields) == (True, False, {})
    assert doc.body == BODY
    assert memory.name == "Deploy"
    (problem,) = doc.problems
    assert problem.line == line
    assert problem.message.startswith(f"line {line}, column ")
    assert words in problem.message
    assert problem.hint


@pytest.mark.parametrize(
    "value",
    [
        "note: this has: colons",
        "@mention first",
        "`code` first",
        "%percent",
        "*star* words",
        "*star",
        "& more",
        "! stop",
        "[WIP] fix it",
        "{x} y",
        '"quoted" and more',
        "'a' and 'b'",
        "ends with:",
        "a: b # c",
        "it's: here",
        ", x",
        "} x",
    ],
)
def test_d9_a_clear_value_is_read_as_text_and_reported(value: str) -> None:
    doc = front(f"name: x\ndescription: {value}\ntype: fact")

    if value == "! stop":  # YAML reads a lone tag, and no error
        assert doc.fields["description"] == "stop"
        return
    assert doc.fields == {"name": "x", "description": value, "type": "fact"}
    assert [(p.code, p.line) for p in doc.problems] == [("yaml-quoted", 3)]
    fixed = front(doc.problems[0].hint.removeprefix("write "))
    assert fixed.fields == {"description": value}
    assert fixed.problems == []


def test_d9_a_value_that_goes_on_below_is_not_guessed_at() -> None:
    doc = front("description: note: this\n  goes on: here\nname: x")

    assert doc.broken


def test_chinese_colons_after_a_key_are_colons() -> None:
    doc = front("name：部署\n标签：\n  - 甲\n  - 乙\ntype: fact")

    assert doc.fields == {"name": "部署", "标签": ["甲", "乙"], "type": "fact"}
    assert doc.problems == []
    assert front("名称：部署\n描述：说明：一").fields == {"名称": "部署", "描述": "说明：一"}
    assert codes(front("注意：这是一段话。")) == ["front-not-yaml"]


def test_d10_of_two_equal_keys_the_first_counts() -> None:
    doc = front("name: one\nname: two\nm: {a: 1, a: 2}")

    assert doc.fields == {"name": "one", "m": {"a": "1"}}
    assert [(p.code, p.line) for p in doc.problems] == [("yaml-duplicate", 3), ("yaml-duplicate", 4)]


def test_d11_aliases_are_refused_at_once() -> None:
    bomb = "a: &a [x, x]\n" + "\n".join(
        f"{b}: &{b} [*{a}, *{a}, *{a}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    front("warm: up # so that importing YAML is not measured")
    for text in (bomb, "a: &a [*a]"):
        start = time.process_time()
        doc = front(text)

        assert time.process_time() - start < 0.05
        assert doc.broken
        assert codes(doc) == ["yaml-alias"]


def test_d11_a_label_without_an_alias_is_only_reported() -> None:
    doc = front("name: &n anchored")

    assert doc.fields == {"name": "anchored"}
    assert codes(doc) == ["yaml-anchor"]


def test_d12_tags_run_nothing_and_are_reported(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    doc = front(f'name: !!python/object/apply:os.system ["touch {mark}"]\ntype: !mine fact\nkey: !!str 12')

    assert not mark.exists()
    assert doc.fields == {"name": [f"touch {mark}"], "type": "fact", "key": "12"}
    assert [(p.code, p.line) for p in doc.problems] == [("yaml-tag", 2), ("yaml-tag", 3)]


SCALARS = [
    "no",
    "on",
    "yes",
    "12:30",
    "0123",
    "1.10",
    "1e3",
    "0x1F",
    "2026-02-30",
    "2026-11-02",
    ".inf",
    "True",
    "1_000",
    "190:20:30",
    "9" * 5000,
]


@pytest.mark.parametrize("text", SCALARS)
@pytest.mark.parametrize("shape", ["x: {}", "x: {} # c", 'x: "{}"'])
def test_d13_d14_scalars_stay_the_text_they_are(text: str, shape: str) -> None:
    doc = front(shape.format(text))

    assert doc.fields == {"x": text}


@pytest.mark.parametrize("text", SCALARS)
def test_d13_any_scalar_in_any_known_key_makes_json(text: str) -> None:
    keys = ["name", "description", "type", "key", "confidence", "source", "status", "created", "expires", "tags", "for"]
    doc = front("\n".join(f"{key}: {text}" for key in keys))
    memory, problems = memory_of(doc, path="a.md", scope="user")

    assert json.dumps(memory._asdict())
    assert (memory.name, memory.description, memory.key) == (text, text, text)
    assert all(problem.line and problem.hint for problem in problems)


@pytest.mark.parametrize("text", ["~", "null", "Null", "NULL", "", "  # nothing"])
def test_d14_nothing_is_empty_text_unless_it_is_quoted(text: str) -> None:
    assert front(f"name: {text}\ntype: fact").fields == {"name": "", "type": "fact"}
    assert front(f'name: "{text}"').fields == {"name": text}
    assert memory_of(front(f"name: {text}"), path="a.md", scope="user")[0].name == "Deploy"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("- a\n- b", "front-not-yaml"),
        ("just words", "front-not-yaml"),
        ("Some words, with: a colon\nand a second line", "front-not-yaml"),
        ("[a, b]", "front-not-yaml"),
        ('"quoted"', "front-not-yaml"),
        ("word\n\nother", "front-not-yaml"),
        ("x" * 70_000, "front-not-yaml"),
        ("name: x\n? [a, b]\n: c", "yaml-key"),
        ("name: x\n~: y", "yaml-key"),
        ("name: x\nm: {{ title }}", "yaml-key"),
    ],
)
def test_d15_wrong_shapes_are_reported(text: str, code: str) -> None:
    doc = front(text)

    assert codes(doc) == [code]
    assert not doc.broken
    if code == "front-not-yaml":
        assert not doc.has_front
        assert doc.body == f"---\n{text}\n---\n{BODY}"
    else:
        assert doc.fields["name"] == "x"


@pytest.mark.parametrize("text", ["1: x", "{name: y, 1: x}", "true: x"])
def test_d15_keys_of_any_plain_kind_are_text(text: str) -> None:
    assert "x" in front(text).fields.values()


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "\n\n"])
def test_d16_a_block_without_keys_is_a_block(text: str) -> None:
    doc = read(f"---\n{text}---\nbody")

    assert (doc.has_front, doc.fields, doc.body, doc.problems) == (True, {}, "body", [])


def test_d16_frontmatter_alone_is_a_memory_with_an_empty_body() -> None:
    for text in ("---\nname: x\n---", "---\nname: x\n---\n", "---\nname: x\n..."):
        doc = read(text)

        assert (doc.fields, doc.body, doc.empty) == ({"name": "x"}, "", False)


def test_d16_a_file_without_frontmatter_is_all_body() -> None:
    doc = read(BODY)

    assert (doc.fields, doc.body, doc.has_front, doc.problems) == ({}, BODY, False, [])


@pytest.mark.parametrize(
    "text", ["----\nbanner\n----\ntext", "--- title\nx: y\n---\n", " ---\nx: y\n---\n", "text\n---\nx: y\n---\n"]
)
def test_d17_only_three_dashes_alone_on_line_one_are_a_fence(text: str) -> None:
    doc = read(text)

    assert (doc.body, doc.fields, doc.problems) == (text, {}, [])


def test_d17_dots_close_a_block_and_rules_in_the_body_stay() -> None:
    assert read("---\nname: x\n...\na\n---\nb\n").body == "a\n---\nb\n"
    assert read("---  \nname: x\n---\t\na\n\n---\n\nb").body == "a\n\n---\n\nb"


def test_d17_a_block_that_is_never_closed_is_text() -> None:
    text = "---\nname: noend\n\nBody\n"
    doc = read(text)

    assert (doc.body, doc.fields, doc.has_front, doc.broken) == (text, {}, False, False)
    assert [(p.code, p.line) for p in doc.problems] == [("front-not-closed", 1)]


@pytest.mark.parametrize("gap", ["", "\n\n"])
def test_d18_of_two_stacked_blocks_the_first_counts_and_the_second_is_shown(gap: str) -> None:
    doc = read(f"---\nid: 7\n---\n{gap}---\nname: real\n---\nbody")

    assert doc.fields == {"id": "7"}
    assert doc.body == f"{gap}---\nname: real\n---\nbody"
    assert [(p.code, p.line) for p in doc.problems] == [("second-block", 4 + len(gap))]


def test_d18_a_body_that_opens_with_a_rule_is_no_second_block() -> None:
    assert read("---\nid: 7\n---\n---\nsome words\n---\nbody").problems == []
    assert read("---\nid: 7\n---\n---\nname: x").problems == []
    assert read("---\nid: 7\n---\ntext --- dash").problems == []


@pytest.mark.parametrize("depth", [40, 500, 5000])
@pytest.mark.parametrize("shape", ["[]", "{}"])
def test_d19_deep_nesting_is_refused(depth: int, shape: str) -> None:
    opened = "[" if shape == "[]" else "{a: "
    doc = front("x: " + opened * depth + shape[1] * depth)

    assert doc.broken
    assert codes(doc) in (["yaml-depth"], ["yaml-broken"])  # libyaml has a limit of its own, far above ours
    assert "nested" in doc.problems[0].message


def test_d20_surrogate_escapes_become_characters() -> None:
    doc = front('name: "\\ud800 and \\ud83d\\ude00"\ntype: "\\udfff"\nplain: "\\u00e9"')

    assert doc.fields == {"name": "\ufffd and 😀", "type": "\ufffd", "plain": "é"}
    assert codes(doc) == ["yaml-surrogate", "yaml-surrogate"]
    assert json.dumps(doc.fields, ensure_ascii=False).encode()


def test_d20_a_block_full_of_broken_escapes_ends() -> None:
    assert front("\n".join(f'k{n}: "\\ud800"' for n in range(100))).broken


CONFLICT = "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n"


def test_b4_conflict_markers_in_frontmatter_keep_the_last_good_reading() -> None:
    doc = read("---\nname: x\n" + CONFLICT.format("type: fact", "type: rule") + "---\nbody")

    assert (doc.broken, doc.has_front, doc.fields, doc.body) == (True, False, {}, "body")
    assert [(p.code, p.line) for p in doc.problems] == [("conflict-markers", 3)]


def test_b4_conflict_markers_in_the_body_keep_the_last_good_reading() -> None:
    doc = read("---\nname: x\n---\nbody\n" + CONFLICT.format("a", "b"))

    assert (doc.broken, doc.has_front, doc.fields) == (True, True, {"name": "x"})
    assert [(p.code, p.line) for p in doc.problems] == [("conflict-markers", 5)]


def test_b4_a_conflict_around_whole_files_is_found() -> None:
    doc = read(CONFLICT.format("---\nname: a\n---\nx", "---\nname: b\n---\ny"))

    assert doc.broken
    assert codes(doc) == ["conflict-markers"]


@pytest.mark.parametrize(
    "body",
    [
        "```\n" + CONFLICT.format("a", "b") + "```\n",
        "~~~~ diff\n" + CONFLICT.format("a", "~~~\nb") + "~~~~\n",
        "text about <<<<<<< HEAD and ======= and >>>>>>> other\n",
        ">>>>>>> other\n=======\n<<<<<<< HEAD\n",
        "Title\n=======\n>>>>>>> other\n<<<<<<< HEAD\n",
        "<<<<<<< HEAD\nno middle\n>>>>>>> other\n",
    ],
)
def test_b4_the_same_marks_in_code_or_out_of_order_are_text(body: str) -> None:
    doc = read("---\nname: x\n---\n" + body)

    assert not doc.broken
    assert doc.problems == []


def test_line_separators_of_unicode_do_not_shift_lines() -> None:
    doc = front('name: "a\u2028b"\ntype: fact # c')

    assert doc.lines["type"] == 3
    assert not doc.broken


def test_one_bad_file_says_its_own_path() -> None:
    assert parse(b"---\nname: [\n---\n", "ops/x.md").problems[0].path == "ops/x.md"


def test_without_the_c_parser_all_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'a: "\\ud800x" # c\nb: [c, {d: e}]\nf: |\n  g\nname: note: h'
    with_c = front(text)
    monkeypatch.delattr("yaml.CBaseLoader")
    without = front(text)

    assert without.fields == with_c.fields == {"a": "\ufffdx", "b": ["c", {"d": "e"}], "f": "g\n", "name": "note: h"}
    assert sorted(codes(without)) == sorted(codes(with_c)) == ["yaml-quoted", "yaml-surrogate"]
    assert front("x: " + "[" * 500 + "]" * 500).broken


def test_a_block_of_very_many_broken_lines_is_not_guessed_at() -> None:
    start = time.process_time()

    assert front("\n".join(f"k{n}: a: b" for n in range(5000))).broken
    assert time.process_time() - start < 1
