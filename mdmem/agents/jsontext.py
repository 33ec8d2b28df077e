"""The text of a JSON file in, the same text with one member or element put in, exchanged or taken out, out.

Agents and people write these files: every byte that is not ours stays, so nothing is ever written anew from parsed
values. Taking out what was put in gives the text from before, as long as the place was not an empty container with
white space in it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MAX_DEPTH = 200
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')


class JsonTextError(ValueError):
    """The text is not JSON, or not of the shape that was expected; `offset` says where."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(slots=True)
class Node:
    """One value and where it stands. `key_start` is that of its name in an object; `comma` that of the comma behind."""

    start: int
    end: int = 0
    value: Any = None
    key: str = ""
    key_start: int = -1
    comma: int = -1
    children: list[Node] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)  # directly in this container

    @property
    def first(self) -> int:
        """Where it begins, name included."""
        return self.start if self.key_start < 0 else self.key_start

    def get(self, key: str) -> Node | None:
        """The member of that name; of several the last, as every parser has it."""
        found = [child for child in self.children if child.key_start >= 0 and child.key == key]
        return found[-1] if found else None


@functools.lru_cache(maxsize=1)  # one step after another asks about the same text, which may be of megabytes
def parse(text: str, *, comments: bool) -> Node:
    """The tree of a whole text. With `comments`, comments and commas behind the last element are allowed.

    Raises JsonTextError.
    """
    reader = _Reader(text, comments)
    node = reader.value(reader.skip(0)[0], 0)
    end, _ = reader.skip(node.end)
    if end < len(text):
        raise JsonTextError("there is more behind the end of the JSON", end)
    return node


class _Reader:
    def __init__(self, text: str, comments: bool) -> None:
        self.text = text
        self.comments = comments

    def skip(self, at: int) -> tuple[int, list[tuple[int, int]]]:
        """Past white space and comments; where these were."""
        found: list[tuple[int, int]] = []
        at = _SPACE.match(self.text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
        while self.comments and self.text.startswith(("//", "/*"), at):
            end = self._comment_end(at)
            found.append((at, end))
            at = _SPACE.match(self.text, end).end()  # type: ignore[union-attr]
        return at, found

    def _comment_end(self, at: int) -> int:
        if self.text[at + 1] == "/":
            ends = [end for end in (self.text.find("\n", at), self.text.find("\r\n", at)) if end >= 0]
            return min(ends, default=len(self.text))
        end = self.text.find("*/", at + 2)
        if end < 0:
            raise JsonTextError("a comment is not closed", at)
        return end + 2

    def value(self, at: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise JsonTextError("it is nested too deeply", at)
        sign = self.text[at : at + 1]
        if sign == "{":
            return self._container(at, depth, "}", self._member)
        if sign == "[":
            return self._container(at, depth, "]", self.value)
        match = (_STRING if sign == '"' else _SCALAR).match(self.text, at)
        if match is None:
            missing = not sign or sign in ",:]}"
            raise JsonTextError("a value is missing" if missing else f"what is {self.text[at : at + 20]!r}?", at)
        return Node(at, match.end(), self._loaded(match[0], at))

    def _loaded(self, text: str, at: int) -> Any:  # noqa: ANN401  # any JSON value
        if text[0] == '"' and "\\" not in text:
            return text[1:-1]
        try:
            return json.loads(text)
        except ValueError as error:
            raise JsonTextError(f"this is not JSON: {text[:20]!r}", at) from error

    def _member(self, at: int, depth: int) -> Node:
        match = _STRING.match(self.text, at)
        if match is None:
            comment = self.text.startswith(("//", "/*"), at)
            missing = "a name in double quotes is missing"
            what = "there is a comment, which this agent does not read" if comment else missing
            raise JsonTextError(what, at)
        colon, _ = self.skip(match.end())
        if self.text[colon : colon + 1] != ":":
            raise JsonTextError("a colon is missing", colon)
        start, _ = self.skip(colon + 1)
        node = self.value(start, depth)
        node.key, node.key_start = self._loaded(match[0], at), at
        return node

    def _container(self, start: int, depth: int, closing: str, element: Callable[[int, int], Node]) -> Node:
        node = Node(start)
        at, found = self.skip(start + 1)
        node.comments += found
        while self.text[at : at + 1] != closing:
            if node.children and node.children[-1].comma < 0:
                raise JsonTextError("a comma or the end is missing", at)
            child = element(at, depth + 1)
            node.children.append(child)
            at, found = self.skip(child.end)
            node.comments += found
            if self.text[at : at + 1] == ",":
                child.comma = at
                at, found = self.skip(at + 1)
                node.comments += found
        if node.children and node.children[-1].comma >= 0 and not self.comments:
            raise JsonTextError("there is a comma behind the last element", node.children[-1].comma)
        node.end = at + 1
        children = node.children
        node.value = {child.key: child.value for child in children} if closing == "}" else [c.value for c in children]
        return node


def insert(text: str, container: Node, value: Any, key: str | None = None) -> str:  # noqa: ANN401  # any JSON value
    """The text with a new last member (with `key`) or element in `container`, in the style of what stands around it."""
    if not container.children and not container.comments:
        return _insert_only(text, container, value, key)
    last = container.children[-1] if container.children else None
    at = container.start + 1 if last is None else last.end if last.comma < 0 else last.comma + 1
    trailing = "," if last is not None and last.comma >= 0 else ""
    for start, end in container.comments:  # behind the comments of the last line, or of an otherwise empty container
        if start >= at and (last is None or "\n" not in text[at:start]):
            at = end
    if "\n" in text[at : container.end]:
        indent = _indent_of_children(text, container)
        new = _newline(text) + indent + _render(text, value, key, indent, flat=False)
    else:
        new = " " + _render(text, value, key, "", flat=True)
    text = text[:at] + new + trailing + text[at:]
    if last is not None and last.comma < 0:
        text = text[: last.end] + "," + text[last.end :]
    return text


def _insert_only(text: str, container: Node, value: Any, key: str | None) -> str:  # noqa: ANN401
    head, tail = text[: container.start + 1], text[container.end - 1 :]
    if container.start > 0 and "\n" not in text.strip():  # the whole file is one line, and stays one
        return head + _render(text, value, key, "", flat=True) + tail
    outer = _indent_at(text, container.start)
    inner = outer + _unit(text)
    nl = _newline(text)
    return head + nl + inner + _render(text, value, key, inner, flat=False) + nl + outer + tail


def exchange(text: str, node: Node, value: Any) -> str:  # noqa: ANN401
    """The text with another value in the place of `node`, in one line if that was; its name stays."""
    flat = "\n" not in text[node.start : node.end]
    return text[: node.start] + _render(text, value, None, _indent_at(text, node.first), flat=flat) + text[node.end :]


def remove(text: str, container: Node, child: Node) -> str:
    """The text without one member or element, and without the comma and white space that came with it."""
    before = [c.comma + 1 for c in container.children if 0 <= c.comma < child.first]
    before += [end for _, end in container.comments if end <= child.first]
    start, end = max(before, default=container.start + 1), child.end if child.comma < 0 else child.comma + 1
    siblings = container.children
    if len(siblings) == 1 and not container.comments:
        return text[: container.start + 1] + text[container.end - 1 :]
    if text.startswith("\n", start) or text.startswith("\r\n", start):
        ends_comment = any(close == start and text.startswith("//", open_) for open_, close in container.comments)
        if ends_comment and text[end : end + 1] not in ("\r", "\n"):
            start = text.index("\n", start) + 1  # else what follows would become part of the comment
    text = text[:start] + text[end:]
    if child.start == siblings[-1].start and child.comma < 0 and len(siblings) > 1:
        comma = siblings[-2].comma
        text = text[:comma] + text[comma + 1 :]
    return text


def _render(text: str, value: Any, key: str | None, indent: str, *, flat: bool) -> str:  # noqa: ANN401
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if flat:
        return name + json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return name + (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """One step of indentation, as the first indented line shows it."""
    match = re.search(r"\n([ \t]+)[^\s]", text)
    return match[1] if match else "  "


def _indent_at(text: str, at: int) -> str:
    """The white space that the line of this place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_of_children(text: str, container: Node) -> str:
    if container.children:
        first = container.children[-1].first
        indent = _indent_at(text, first)
        if text[:first].endswith("\n" + indent):
            return indent
    return _indent_at(text, container.end - 1) + _unit(text)
