"""The text of JSON files: what is put in comes out again, and nothing else moves."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.agents import jsontext
from mdmem.agents.jsonparts import Hooks, JsonFile, Server

KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | KEYS
SEEDS = st.integers(0, 2**32)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)


def written(value: Any, seed: int) -> str:
    """A value as somebody may have written it: any spacing, comments and last commas where they are allowed."""
    chance = random.Random(seed)
    newline = chance.choice(["\n", "\r\n"])
    spaces = ["", " ", "  ", newline, newline + "  ", newline + "\t\t", f" // it's {{ , }}{newline}", "/* [ , */"]

    def space() -> str:
        return chance.choice(spaces)

    def write(inner: Any) -> str:
        if isinstance(inner, dict):
            items = [f"{json.dumps(key)}{space()}:{space()}{write(member)}" for key, member in inner.items()]
        elif isinstance(inner, list):
            items = [write(item) for item in inner]
        else:
            return json.dumps(inner, ensure_ascii=chance.random() < 0.5)
        left, right = "{}" if isinstance(inner, dict) else "[]"
        if not items:
            return left + right
        last = chance.choice(["", ","])
        return left + ",".join(space() + item + space() for item in items) + last + (space() if last else "") + right

    return space() + write(value) + space()


def containers(node: jsontext.Node) -> list[jsontext.Node]:
    found = [node] if isinstance(node.value, dict | list) else []
    return found + [inner for child in node.children for inner in containers(child)]


def is_within(short: str, long: str) -> bool:
    """Whether all of one text stands in the other, in its order."""
    rest = iter(long)
    return all(char in rest for char in short)


@given(SEEDS, st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_spacing_parses_to_the_value(seed: int, value: dict[str, Any]) -> None:
    text = written(value, seed)

    assert jsontext.parse(text, comments=True).value == value


@given(SEEDS, st.dictionaries(KEYS, VALUES, max_size=4), VALUES)
def test_what_is_put_in_comes_out_and_leaves_the_text_from_before(seed: int, value: dict[str, Any], new: Any) -> None:
    text = written(value, seed)
    places = containers(jsontext.parse(text, comments=True))
    n = seed % len(places)
    key = "mdmem " * 3 if isinstance(places[n].value, dict) else None

    more = jsontext.insert(text, places[n], new, key)
    place = containers(jsontext.parse(more, comments=True))[n]
    last = place.children[-1]
    less = jsontext.remove(more, place, last)

    assert (last.key, last.value) == (key or "", new)
    assert len(place.children) == len(places[n].children) + 1
    assert is_within(text, more)
    assert less == text


@given(SEEDS, st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), VALUES)
def test_one_member_is_exchanged_or_removed_and_all_others_stay(seed: int, value: dict[str, Any], new: Any) -> None:
    text = written(value, seed)
    root = jsontext.parse(text, comments=True)
    child = root.children[seed % len(root.children)]

    exchanged = jsontext.parse(jsontext.exchange(text, child, new), comments=True).value
    removed = jsontext.parse(jsontext.remove(text, root, child), comments=True).value

    assert exchanged == value | {child.key: new}
    assert removed == {key: member for key, member in value.items() if key != child.key}


@given(VALUES)
def test_strict_texts_are_what_json_reads(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent="\t")):
        assert jsontext.parse(text, comments=False).value == value


@given(st.text(st.sampled_from('{}[]",:/* \n\\truefalsn01eE.-+a'), max_size=30))
def test_strict_parsing_accepts_what_json_accepts(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(jsontext.JsonTextError):
            jsontext.parse(text, comments=False)
    else:
        assert jsontext.parse(text, comments=False).value == expected


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ('{"a": 1,}', 7),
        ('{"a": 1 "b"}', 8),
        ('{"a" 1}', 5),
        ("{a: 1}", 1),
        ('{"a": }', 6),
        ('{"a": 1', 7),
        ("{} x", 3),
        ('{"a": "\n"}', 6),
        ("// c\n{}", 0),
        ("", 0),
        ("[" * 300, 201),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, offset: int) -> None:
    with pytest.raises(jsontext.JsonTextError) as error:
        jsontext.parse(text, comments=False)

    assert error.value.offset == offset


def test_a_comment_that_is_not_closed_is_told() -> None:
    with pytest.raises(jsontext.JsonTextError, match="not closed"):
        jsontext.parse("{} /* a", comments=True)


STYLES = [
    ('{\n    "a": 1\n}\n', '{\n    "a": 1,\n    "new": {\n        "b": 2\n    }\n}\n'),
    ('{\n\t"a": 1,\n}', '{\n\t"a": 1,\n\t"new": {\n\t\t"b": 2\n\t},\n}'),
    ('{"a": 1}', '{"a": 1, "new": {"b": 2}}'),
    ('{ "a": 1 }', '{ "a": 1, "new": {"b": 2} }'),
    ("{}", '{\n  "new": {\n    "b": 2\n  }\n}'),
    ('{\r\n  "a": 1 // one\r\n}', '{\r\n  "a": 1, // one\r\n  "new": {\r\n    "b": 2\r\n  }\r\n}'),
    ('{\n  "a": 1\n  // end\n}', '{\n  "a": 1,\n  "new": {\n    "b": 2\n  }\n  // end\n}'),
    ("{\n  // nothing yet\n}", '{\n  // nothing yet\n  "new": {\n    "b": 2\n  }\n}'),
]


@pytest.mark.parametrize(("before", "after"), STYLES)
def test_a_new_member_is_in_the_style_of_its_neighbours(before: str, after: str) -> None:
    more = jsontext.insert(before, jsontext.parse(before, comments=True), {"b": 2}, "new")
    root = jsontext.parse(more, comments=True)

    assert more == after
    assert jsontext.remove(more, root, root.children[-1]) == before


HANDLERS = {event: {"type": "command", "command": f"/opt/mdmem hook x {event}"} for event in ("Stop", "Start")}
GROUPS = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(st.fixed_dictionaries({"command": KEYS}), max_size=2)})
    | VALUES.filter(lambda value: not isinstance(value, dict)),
    max_size=2,
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={"hooks": st.dictionaries(st.sampled_from(["Stop", "Start", "Other"]), GROUPS), "b": VALUES, "": VALUES},
)


def without_empty(value: Any) -> Any:
    """A settings file as an agent reads it: lists of an event and the object of events may be empty or not there."""
    hooks = {event: groups for event, groups in value.get("hooks", {}).items() if groups}
    return {key: inner for key, inner in value.items() if key != "hooks"} | ({"hooks": hooks} if hooks else {})


@given(SEEDS, SETTINGS)
def test_hooks_and_a_server_go_into_any_settings_and_out_again(seed: int, value: dict[str, Any]) -> None:
    file = JsonFile(comments=True)
    hooks, server = Hooks("x", file, HANDLERS), Server(file, ["mcp", "servers"], {"command": "/mdmem", "args": ["mcp"]})
    text = written(value, seed)
    data = server.put(hooks.put(text.encode()))
    read = jsontext.parse(data.decode(), comments=True).value

    assert server.put(hooks.put(data)) == data
    assert is_within(text, data.decode())
    assert read["mcp"]["servers"]["mdmem"]["command"] == "/mdmem"
    for event, handler in HANDLERS.items():
        assert read["hooks"][event] == [*value.get("hooks", {}).get(event, []), {"hooks": [handler]}]
    left = server.drop(hooks.drop(data) or b"{}") or b"{}"
    assert without_empty(jsontext.parse(left.decode(), comments=True).value) == without_empty(value)
    if without_empty(value) == value and value:
        assert left == text.encode()
