"""The values that travel inside this room: a Document, a Block of frontmatter, and a Report of problems."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias, Union

from mdmem.errors import Problem

Value: TypeAlias = Union[str, "list[Value]", "dict[str, Value]"]


class Document(NamedTuple):
    """One file, read: its frontmatter as text, and its body.

    `fields`: top-level keys, in file order; scalars are text, never resolved; a plain `~`, `null` or nothing is "".
    `lines`: top-level key -> line in the file, from 1. `body`: exactly the text after the closing fence line.
    `has_front`: a frontmatter block was found and read. `broken`: there is a block, or a conflict of versions, that
    can't be read: whoever has a last good reading should keep it. `empty`: nothing but white space, not a memory.
    """

    fields: dict[str, Value]
    lines: dict[str, int]
    body: str
    has_front: bool
    broken: bool
    empty: bool
    problems: list[Problem]


class Span(NamedTuple):
    """Where one top-level key and its value stand in a block: lines and columns from 0, `end` exclusive.

    `last_line` is the last line that holds part of the value (comments and blank lines after it are not its own).
    """

    key_line: int
    key_column: int
    start: tuple[int, int]
    end: tuple[int, int]
    last_line: int


class Block(NamedTuple):
    """A frontmatter block as YAML: text values, the line of each key (from 0 in the block), and where each stands."""

    fields: dict[str, Value]
    lines: dict[str, int]
    spans: dict[str, Span]
    flow: bool  # written as one {…}: such a block has no lines to edit


class Report:
    """Problems of one file, in the order they were found; lines count from 1."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: list[Problem] = []

    def add(self, line: int | None, code: str, message: str, hint: str) -> None:
        self.problems.append(Problem(self.path, line, code, message, hint))
