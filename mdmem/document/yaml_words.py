"""A YAML error in, an UnreadableError in plain words out: where the block stops being readable, why, and what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yaml import YAMLError

_QUOTE = "put the value in quotes"
# What libyaml says -> what it means to a person, and what helps. The first that is found counts.
_WORDS = (
    ("mapping values are not allowed", "there is a second ': ' on this line", _QUOTE),
    ("block sequence entries are not allowed", "a list item stands on its key's line", "begin the list on a new line"),
    ("found unexpected end of stream", "a quote is opened here and never closed", "close the quote, or double it"),
    ("expected ',' or ']'", "a '[' is opened and never closed", "close the list with ']'"),
    ("expected ',' or '}'", "a '{' is opened and never closed", "close it with '}', or " + _QUOTE),
    ("could not find expected ':'", "a line before this has no 'key: value'", "indent text that goes on, or quote it"),
    ("expected alphabetic or numeric character", "a value can't begin with '*' or '&'", _QUOTE),
    ("did not find expected key", "this does not line up with the lines before", "give all keys the same indent"),
    ("did not find expected '-' indicator", "a list is not lined up", "give all items the same indent"),
    ("expected comment or line break", "text follows '|' or '>' on its line", _QUOTE),
    ("did not find expected node content", "a value can't begin with this character", _QUOTE),
    ("found undefined tag handle", "a value can't begin with '!'", _QUOTE),
    ("unknown escape character", "'\\' begins an escape inside double quotes", "use single quotes, or write '\\\\'"),
    ("maximum nesting depth", "this is nested far too deep", "keep frontmatter to 'key: value' and lists"),
    ("invalid Unicode character escape", "this \\u escape is no character", "write the character itself"),
)
_STARTERS = {"\t": ("a tab is used to indent", "indent with spaces")}


class UnreadableError(Exception):
    """A block that can't be read: never leaves this room. `row` and `column` count from 0 in the block.

    `mendable`: quoting the value may mend it, no meaning is lost.
    """

    def __init__(self, code: str, what: str, hint: str, row: int, column: int, *, mendable: bool = False) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.hint = hint
        self.row = row
        self.column = column
        self.mendable = mendable
        self.bad_escape = False


def in_plain_words(error: YAMLError, text: str) -> UnreadableError:
    """Turn the parser's error on `text` (line ends LF) into ours."""
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    row, column = _place(error, text)
    what, hint = _explain(problem, text, row, column)
    plain = UnreadableError("yaml-broken", what, hint, row, column, mendable=True)
    plain.bad_escape = "invalid Unicode character escape" in problem
    return plain


def _place(error: Any, text: str) -> tuple[int, int]:  # noqa: ANN401  # PyYAML's errors are untyped
    mark = getattr(error, "problem_mark", None)
    context = str(getattr(error, "context", "") or "")
    if "quoted scalar" in context and "end of stream" in str(error.problem):
        return _open_quote(text)
    before = text[: mark.index if mark else getattr(error, "position", 0)]
    row = before.count("\n")
    return row, len(before) - before.rfind("\n") - 1


def _open_quote(text: str) -> tuple[int, int]:
    """Where the quote that is never closed begins: libyaml tells only where the text ends."""
    opened = [
        found
        for found in re.finditer(r"""^[^\n"'#]*?[:\-] +(["'])(?P<rest>[^\n]*)""", text, re.M)
        if found[1] not in found["rest"]
    ]
    index = opened[0].start(1) if opened else max(len(text) - 1, 0)
    before = text[:index]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def _explain(problem: str, text: str, row: int, column: int) -> tuple[str, str]:
    if "cannot start any token" in problem:
        lines = text.split("\n")
        char = lines[row][column : column + 1] if row < len(lines) else ""
        return _STARTERS.get(char, (f"a value can't begin with '{char}'", _QUOTE))
    for words, what, hint in _WORDS:
        if words in problem:
            return what, hint
    return f"YAML can't read this: {problem}", "keep frontmatter to 'key: value' and lists"
