"""Edits of single lines, and new files."""

from __future__ import annotations

import random

import frontmatter
import pytest
import yaml

from mdmem.document import add_verified, compose, parse, remove_fields, set_body, set_fields
from mdmem.errors import RefusedError

PERSONS = """---
# Who wrote this: me
name:   'Deploy   blyck'   # short
description: >
  folded text
  over two lines

# the list
tags:  # mine
  - b
  - a   # why
entities: [aws, s3]  # flow
x: {b: 1, a: 2}
confidence: "0.9"
---

Body  with trailing space 

---
end"""  # noqa: W291


def changed(old: str, new: bytes) -> list[tuple[str, str]]:
    """The lines that differ, where none was added or removed."""
    a, b = old.split("\n"), new.decode().split("\n")
    assert len(a) == len(b)
    return [(x, y) for x, y in zip(a, b, strict=True) if x != y]


@pytest.mark.parametrize(
    ("key", "value", "line", "becomes"),
    [
        ("name", "no", "name:   'Deploy   blyck'   # short", 'name: "no"   # short'),
        ("entities", ["x", "a, b"], "entities: [aws, s3]  # flow", 'entities: [x, "a, b"]  # flow'),
        ("entities", [], "entities: [aws, s3]  # flow", "entities: []  # flow"),
        ("x", "text", "x: {b: 1, a: 2}", "x: text"),
        ("confidence", "0.8", 'confidence: "0.9"', "confidence: 0.8"),
        ("tags", ["c", "a"], "  - b", "  - c"),
    ],
)
def test_d22_an_edit_of_one_field_is_a_diff_of_one_line(
    key: str, value: str | list[str], line: str, becomes: str
) -> None:
    edited = set_fields(PERSONS.encode(), {key: value})
    assert changed(PERSONS, edited) == [(line, becomes)]
    assert parse(edited, "p").fields[key] == value


def test_d22_a_value_of_many_lines_is_replaced_whole_and_nothing_else() -> None:
    edited = set_fields(PERSONS.encode(), {"description": "One line", "tags": "one"}).decode()

    assert edited == PERSONS.replace(">\n  folded text\n  over two lines\n", "One line\n").replace(
        "tags:  # mine\n  - b\n  - a   # why\n", "tags: one  # mine\n"
    )


def test_d22_setting_what_is_there_changes_no_byte() -> None:
    assert set_fields(PERSONS.encode(), {"name": "Deploy   blyck", "tags": ["b", "a"]}) == PERSONS.encode()
    assert set_fields(PERSONS.encode(), {}) == PERSONS.encode()


def test_d22_new_keys_go_to_the_end_of_the_block() -> None:
    edited = set_fields(PERSONS.encode(), {"status": "archived", "supersedes": ["old: one"]}).decode()

    assert edited == PERSONS.replace(
        'confidence: "0.9"\n', 'confidence: "0.9"\nstatus: archived\nsupersedes: ["old: one"]\n'
    )


def test_removing_takes_the_lines_of_the_key_and_no_others() -> None:
    edited = remove_fields(PERSONS.encode(), ["description", "tags", "absent"]).decode()

    assert edited == PERSONS.replace("description: >\n  folded text\n  over two lines\n", "").replace(
        "tags:  # mine\n  - b\n  - a   # why\n", ""
    )
    assert remove_fields(PERSONS.encode(), ["absent"]) == PERSONS.encode()
    assert remove_fields(b"body", ["x"]) == b"body"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])
def test_d1_d2_an_edit_keeps_line_ends_and_byte_order_mark(newline: str, mark: bytes) -> None:
    encoding = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(mark, "utf-8")
    text = "---\nname: 旧  # c\ntags:\n  - a\n---\nbody\n\nend".replace("\n", newline)
    edited = set_fields(mark + text.encode(encoding), {"name": "新", "tags": ["a", "b"], "x": "w"})

    expected = "---\nname: 新  # c\ntags:\n  - a\n  - b\nx: w\n---\nbody\n\nend".replace("\n", newline)
    assert edited == mark + expected.encode(encoding)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("body", ["", "body", "\n\nbody\n", "----\nbanner", "# H\n\n---\nx: y\n---\n"])
def test_a_file_without_a_block_gets_one_and_loses_it_again(newline: str, mark: bytes, body: str) -> None:
    data = mark + body.replace("\n", newline).encode()
    archived = set_fields(data, {"status": "archived"})

    end = newline if "\n" in body else "\n"
    assert archived == mark + f"---{end}status: archived{end}---{end}".encode() + data[len(mark) :]
    assert remove_fields(archived, ["status"]) == data


def test_an_emptied_block_stays_where_it_holds_a_comment_or_guards_a_rule() -> None:
    assert remove_fields(b"---\n# mine\nx: y\n---\nb", ["x"]) == b"---\n# mine\n---\nb"
    assert remove_fields(b"---\nx: y\n---\n---\nb", ["x"]) == b"---\n---\n---\nb"
    assert remove_fields(b"---\nx: y\n\n---\nb", ["x"]) == b"b"


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("---\nx:\ny: 1\n---\n", {"x": "a"}, "---\nx: a\ny: 1\n---\n"),
        ("---\nx:   # later\n---\n", {"x": "a"}, "---\nx: a   # later\n---\n"),
        ("---\nx:\n- a\n- b\ny: 1\n---\n", {"x": ["c"]}, "---\nx:\n- c\ny: 1\n---\n"),
        ("---\nx:\n  - a # k\n  # c\n  - b\n---\n", {"x": ["b", "a"]}, "---\nx:\n  - b\n  - a\n---\n"),
        ("---\nx:\n  - a # k\n  - b\n---\n", {"x": ["b", "a"]}, "---\nx:\n  - b\n  - a # k\n---\n"),
        ("---\nx:\n  - a\n  - {b: c}\n---\n", {"x": ["a", "d"]}, "---\nx:\n  - a\n  - d\n---\n"),
        ("---\nx:\n  - a\n---\n", {"x": []}, "---\nx: []\n---\n"),
        ("---\nx: |\n  a\n\n  b\n\ny: 1\n---\n", {"x": "c"}, "---\nx: c\n\ny: 1\n---\n"),
        ('---\nx: "a\n  b"  # c\ny: 1\n---\n', {"x": "c"}, "---\nx: c\ny: 1\n---\n"),
        ("---\nx: [a,\n  b]\ny: 1\n---\n", {"x": ["c"]}, "---\nx: [c]\ny: 1\n---\n"),
        ('---\n"x" : a\n---\n', {"x": "b"}, '---\n"x" : b\n---\n'),
        ("---\nx: {a: 1}\n---\n", {"x": "b"}, "---\nx: b\n---\n"),
        ("---\nm:\n  a: 1\n  # c\n  b: 2\n# d\ny: 1\n---\n", {"m": "b"}, "---\nm: b\n# d\ny: 1\n---\n"),
        ("---\n  x: 1\n  y: 2\n---\n", {"x": "a", "z": "3 x"}, '---\n  x: a\n  y: 2\n  z: "3 x"\n---\n'),
        ("---\nx: a: b\ny: 1\n---\n", {"y": "2 x"}, '---\nx: a: b\ny: "2 x"\n---\n'),
        ("---\nx: a: b\ny: 1\n---\n", {"x": "c"}, "---\nx: c\ny: 1\n---\n"),
        ("---\n名称：旧\n---\n", {"名称": "新"}, "---\n名称： 新\n---\n"),
        ("---\n# c\n---\nb", {"x": "w"}, "---\n# c\nx: w\n---\nb"),
        ("---\nx: 1\n...\nb", {"x": "w"}, "---\nx: w\n...\nb"),
        ("---\nx: 1\n---", {"z": "w"}, "---\nx: 1\nz: w\n---"),
        ("---\nx: &a 1\n---", {"x": "w"}, "---\nx: w\n---"),
        ("---\nx: 1\nx: 2\n---\n", {"x": "w"}, "---\nx: w\nx: 2\n---\n"),
        ("---\na: |+\n  text\n\n---\n", {"x": "w"}, "---\na: |+\n  text\n\nx: w\n---\n"),
    ],
)
def test_edits_fit_in_with_how_a_person_writes(text: str, changes: dict[str, str | list[str]], expected: str) -> None:
    assert set_fields(text.encode(), changes).decode() == expected


@pytest.mark.parametrize(
    "data",
    [
        b'---\nname: "open\n---\nbody',
        b"---\na: &a 1\nb: *a\n---\n",
        b"---\nprose\n---\nbody",
        b"---\nname: never closed\n",
        b"---\nid: 7\n---\n---\nname: x\n---\nbody",
        b"---\nname: caf\xe9\n---\n",
        b"---\nname: x\n---\n<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n",
        b"\x89PNG\r\n\x1a\n",
        b"{}\0" * 100,
        "---\nname: x\n---\n".encode("utf-16-le"),
        b"---\n{name: x}\n---\n",
        b"---\n? status\n: old\n---\n",
    ],
)
def test_d22_what_can_not_be_read_is_not_edited(data: bytes) -> None:
    with pytest.raises(RefusedError) as caught:
        set_fields(data, {"status": "archived"})

    assert caught.value.exit_code == 4
    assert caught.value.hint


@pytest.mark.parametrize(
    "data", [b'---\nname: "open\n---\nbody', b"---\nx: 1\nx: 2\n---\n", b"---\n{x: 1, y: 2}\n---\n"]
)
def test_d22_what_can_not_be_removed_line_by_line_stays(data: bytes) -> None:
    with pytest.raises(RefusedError):
        remove_fields(data, ["x", "name"][:1] if b"x" in data else ["name"])


def test_d22_a_key_that_no_block_can_hold_is_refused() -> None:
    with pytest.raises(RefusedError):
        set_fields(b"body", {"": "x"})
    with pytest.raises(RefusedError):
        compose({"": "x"}, "body")


def test_lone_surrogates_never_reach_a_file() -> None:
    assert parse(compose({"name": "a\ud800b \ud83d\ude00"}, "c\udfff"), "p").fields == {"name": "a\ufffdb 😀"}
    assert parse(set_fields(b"x", {"tags": ["\ud800"]}), "p").fields == {"tags": ["\ufffd"]}


def test_a_new_file_reads_like_one_that_a_person_wrote() -> None:
    data = compose(
        {
            "name": "Deploy blyck from this machine",
            "description": "AWS CLI: configured here; a direct deploy works.",
            "type": "capability",
            "key": "deploy:blyck",
            "confidence": "1.0",
            "entities": ["aws", "s3", "deploy:x"],
            "created": "2026-11-02",
            "updated": "2026-11-02T10:00:00Z",
            "domain": "2026-11-02",
            "topic": "0.5",
        },
        "npm run dist\r\n\r\nthen copy",
    )

    assert data.decode() == (
        "---\n"
        "name: Deploy blyck from this machine\n"
        'description: "AWS CLI: configured here; a direct deploy works."\n'
        "type: capability\n"
        "key: deploy:blyck\n"
        "confidence: 1.0\n"
        'entities: [aws, s3, "deploy:x"]\n'
        "created: 2026-11-02\n"
        "updated: 2026-11-02T10:00:00Z\n"
        'domain: "2026-11-02"\n'
        'topic: "0.5"\n'
        "---\n"
        "npm run dist\n\nthen copy\n"
    )


def test_a_new_file_without_fields_is_its_body_unless_that_opens_like_a_block() -> None:
    assert compose({}, "body") == b"body\n"
    assert compose({}, "") == b""
    assert compose({}, "---\nx: y\n---\n") == b"---\n---\n---\nx: y\n---\n"


def titles(count: int) -> list[str]:
    r = random.Random(20261129)
    heads = [
        "",
        "@",
        "`",
        "%",
        "*",
        "&",
        "!",
        "[",
        "{",
        "- ",
        "? ",
        ": ",
        "# ",
        "| ",
        "> ",
        "'",
        '"',
        "no",
        "12:30",
        "1.10",
        "~",
    ]
    words = [
        "note:",
        "deploy",
        "a #b",
        "it's",
        '"x"',
        "部署：一",
        "é",
        "😀",
        "\\n",
        "2026-11-02",
        "0x1F",
        "null",
        "yes",
        "=",
        "<<",
        "\t",
        "...",
        "---",
        "C:\\dir",
        "key: value",
        "{{ t }}",
        "[[link]]",
        "\u200b",
        "\u2028",
        ",",
    ]
    return [r.choice(heads) + " ".join(r.choices(words, k=r.randint(0, 4))) for _ in range(count)]


def test_d9_a_thousand_generated_titles_round_trip_through_any_loader() -> None:
    for title in titles(1000):
        data = compose({"name": title, "tags": [title, "b"]}, "body")
        doc = parse(data, "p")

        assert doc.fields == {"name": title, "tags": [title, "b"]}, title
        assert doc.problems == [], title
        text = data.decode().split("\n---\n")[0].removeprefix("---\n")
        assert yaml.safe_load(text) == {"name": title, "tags": [title, "b"]}, title
        assert parse(set_fields(b"body", {"name": title}), "p").fields == {"name": title}


@pytest.mark.parametrize(
    "word",
    [
        "y",
        "N",
        "yes",
        "No",
        "ON",
        "off",
        "true",
        "False",
        "null",
        "~",
        "None",
        "NaN",
        ".inf",
        "",
        "12:30",
        "0123",
        "0o17",
        "1_000",
        "1e3",
        "-1",
        "+1",
        ".5",
        "=",
        "<<",
        "2026-11-02",
        " a",
        "a ",
    ],
)
def test_words_that_some_loader_takes_for_more_are_quoted(word: str) -> None:
    assert compose({"name": word}, "b").decode().split("\n")[1] == f'name: "{word}"'
    assert compose({word or "k": "x"}, "b").decode().split("\n")[1] == (f'"{word}": x' if word else "k: x")


ORDINARY = [
    "---\nname: x\n---\nbody\n",
    "---\nname: x # c\ndescription: 'it''s'\ntags: [a, b]\n---\n\nbody\n\nend\n",
    "---\ntags:\n  - a\n  - b\nm:\n  k: v\n---\nbody",
    '---\nname: "quoted: text"\ndescription: >-\n  two\n  lines\n---\nbody\n---\nmore',
    "---\nname: 部署\ntags: [甲, 乙]\n---\n正文\n",
    "no front\n",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_files_read_as_python_frontmatter_reads_them(text: str) -> None:
    class TextHandler(frontmatter.YAMLHandler):
        def load(self, fm: str, **_: object) -> object:
            return yaml.load(fm, Loader=yaml.BaseLoader)

    other = frontmatter.loads(text, handler=TextHandler())
    doc = parse(text.encode(), "p")

    assert doc.fields == other.metadata
    assert doc.body.strip() == other.content


# --- bodies and verifications ---------------------------------------------------------------------------

BY, AT = "human:ann", "2026-11-30T10:00:00Z"
EVENT = "{ by: human:ann, at: 2026-11-30T10:00:00Z }"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"x\n", f"---\nverified:\n  - {EVENT}\n---\nx\n"),
        (b"---\ntype: a # c\n---\nb", f"---\ntype: a # c\nverified:\n  - {EVENT}\n---\nb"),
        (b"---\nverified:\nz: 1\n---\n", f"---\nverified:\n  - {EVENT}\nz: 1\n---\n"),
        (
            b"---\r\nverified: { by: process:x, at: 2026-01-01T00:00:00Z }\r\nz: 1\r\n---\r\nb\r\n",
            "---\r\nverified:\r\n  - { by: process:x, at: 2026-01-01T00:00:00Z }\r\n"
            f"  - {EVENT}\r\nz: 1\r\n---\r\nb\r\n",
        ),
        (
            b"---\nverified:\n- by: 'x y'  # mine\n  at: then\nz: 1\n---\n",
            f"---\nverified:\n- by: 'x y'  # mine\n  at: then\n- {EVENT}\nz: 1\n---\n",
        ),
        (b"---\nverified: [{by: a b}]\n---\n", f'---\nverified:\n  - {{ by: "a b" }}\n  - {EVENT}\n---\n'),
        (b"---\nverified: [yes]\n---\n", "---\nverified: [yes]\n---\n"),
        (b"---\nverified: by me\n---\n", "---\nverified: by me\n---\n"),
    ],
)
def test_who_approved_is_added_to_verified_and_a_persons_own_stays(before: bytes, after: str) -> None:
    assert add_verified(before, BY, AT) == after.encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"x\n", "new\nlines\n"),
        (b"\xef\xbb\xbf---\r\na: 1\r\n---\r\nold\r\n", "\ufeff---\r\na: 1\r\n---\r\nnew\r\nlines\r\n"),
        (b"---\na: 1 # c\n---\n", "---\na: 1 # c\n---\nnew\nlines\n"),
    ],
)
def test_another_body_leaves_the_block_and_the_line_ends(before: bytes, after: str) -> None:
    assert set_body(before, "new\nlines\n") == after.encode()
    assert set_body(before, parse(before, "").body) == before


def test_a_body_that_looks_like_a_block_does_not_become_one() -> None:
    body = "---\ntype: rule\n---\nx\n"

    assert parse(set_body(b"---\na: 1\n---\nold\n", body), "").body == body
    done = parse(set_body(b"old\n", body), "")
    assert (done.body, done.fields) == (body, {})
