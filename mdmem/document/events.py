"""Frontmatter text in, a Block out, by one pass over the YAML parser's events: no value is ever resolved or built.

Events rather than a loader: they carry lines, let aliases be refused before anything grows, and make text of every
scalar, so that `no`, `12:30`, an impossible date or 5,000 digits mean what they say.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

from mdmem.document.shape import Block, Report, Span, Value
from mdmem.document.simple import NULLS
from mdmem.document.yaml_words import UnreadableError, in_plain_words

MAX_DEPTH = 32
_MAX_ESCAPE_LINES = 16
_STANDARD = "tag:yaml.org,2002:"
_CORE_TAGS = frozenset(
    _STANDARD + name for name in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map", "set", "binary")
)
_BREAK = re.compile("\n|\x85|\u2028|\u2029")
_PAIR = re.compile(r"\\u([dD][89aAbB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_LONE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")


def read_block(text: str, report: Report, *, first_line: int = 2) -> Block | None:
    """Read a block whose line ends are LF; None where it holds YAML that is no map (a sentence, a list).

    `first_line` is the line of the file on which the block begins; problems that leave the rest readable go to
    `report`. Raises UnreadableError for all else.
    """
    text = _CONTROL.sub("\ufffd", text)
    for _ in range(_MAX_ESCAPE_LINES):
        try:
            return _Builder(text, report, first_line).build()
        except UnreadableError as error:
            mended = _mend_escapes(text, error)
            if mended is None:
                raise
            text = mended
            report.add(
                first_line + error.row,
                "yaml-surrogate",
                "half of a surrogate pair is no character; it is read as \ufffd",
                "write the character itself",
            )
    raise UnreadableError("yaml-broken", "too many broken \\u escapes", "write the characters themselves", 0, 0)


def _mend_escapes(text: str, error: UnreadableError) -> str | None:
    """The text with the surrogate escapes of the failing line made characters: pairs joined, halves replaced."""
    if not error.bad_escape:
        return None
    lines = text.split("\n")
    line = _PAIR.sub(_join_pair, lines[error.row])
    lines[error.row] = _LONE.sub(r"\\ufffd", line)
    mended = "\n".join(lines)
    return None if mended == text else mended


def _join_pair(found: re.Match[str]) -> str:
    high, low = int(found[1], 16) - 0xD800, int(found[2], 16) - 0xDC00
    return f"\\U{0x10000 + (high << 10) + low:08x}"


class _Frame:
    """An open collection: `pairs` for a map, `items` for a list; `key` is the map's key that waits for its value."""

    __slots__ = ("event", "items", "key", "key_event", "pairs")

    def __init__(self, event: Any, *, is_map: bool) -> None:  # noqa: ANN401  # PyYAML's events are untyped
        self.event = event
        self.pairs: dict[str, Value] | None = {} if is_map else None
        self.items: list[Value] = []
        self.key_event: Any = None
        self.key: str | None = None  # None while key_event is set: a key that is no text


class _Builder:
    def __init__(self, text: str, report: Report, first_line: int) -> None:
        self.text = text
        self.report = report
        self.first_line = first_line
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.frames: list[_Frame] = []
        self.root: Value | None = None
        self.block = Block({}, {}, {}, flow=False)
        self.anchors: set[str] = set()
        self.leaf_end = 0  # index where the last leaf ended
        self.value_start: Any = None  # the mark at which the root's current value began

    def build(self) -> Block | None:
        import yaml  # 20 ms that most files never need

        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        documents = 0
        try:
            for event in yaml.parse(self.text, Loader=loader):
                documents += isinstance(event, yaml.DocumentStartEvent)
                if documents > 1:
                    raise self._unreadable(event.start_mark, "yaml-broken", "a second YAML document begins here")
                self._take(event, yaml)
        except yaml.YAMLError as error:
            raise in_plain_words(error, self.text) from error
        if self.root is None or self.root == "":
            return self.block
        return self.block if isinstance(self.root, dict) else None

    def _take(self, event: Any, yaml: Any) -> None:  # noqa: ANN401
        if isinstance(event, yaml.ScalarEvent):
            self._check(event)
            self.leaf_end = self._end_of(event)
            self._put(self._text(event), event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._check(event)
            self._open(event, is_map=isinstance(event, yaml.MappingStartEvent))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            frame = self.frames.pop()
            if frame.event.flow_style:
                self.leaf_end = event.end_mark.index
            self._put(frame.items if frame.pairs is None else frame.pairs, frame.event)
        elif isinstance(event, yaml.AliasEvent):
            raise self._alias(event)

    def _open(self, event: Any, *, is_map: bool) -> None:  # noqa: ANN401
        if len(self.frames) >= MAX_DEPTH:
            raise self._unreadable(event.start_mark, "yaml-depth", f"this is nested deeper than {MAX_DEPTH} levels")
        if not self.frames:
            self.block = self.block._replace(flow=bool(event.flow_style))
        elif len(self.frames) == 1 and self.frames[0].key_event is not None:
            self.value_start = event.start_mark
            self.leaf_end = event.end_mark.index
        self.frames.append(_Frame(event, is_map=is_map))

    def _put(self, value: Value, event: Any) -> None:  # noqa: ANN401
        """Give a finished value to the collection that it stands in."""
        if not self.frames:
            self.root = value
            return
        frame = self.frames[-1]
        if frame.pairs is None:
            frame.items.append(value)
        elif frame.key_event is None:
            frame.key_event = event
            frame.key = value if isinstance(value, str) and value else None
            if frame.key is None:
                self._odd_key(event)
        else:
            self._pair(frame, value, event)
            frame.key_event = None

    def _pair(self, frame: _Frame, value: Value, event: Any) -> None:  # noqa: ANN401
        if frame.key is None or frame.pairs is None:
            return
        line = self._row(frame.key_event.start_mark.index)
        if frame.key in frame.pairs:
            message = f"'{frame.key}' stands here twice; the first one counts"
            self.report.add(self.first_line + line, "yaml-duplicate", message, "delete one of the two lines")
            return
        frame.pairs[frame.key] = value
        if len(self.frames) == 1:
            start = event.start_mark if isinstance(value, str) else self.value_start
            self.block.fields[frame.key] = value
            self.block.lines[frame.key] = line
            self.block.spans[frame.key] = self._span(frame.key_event.start_mark, start)

    def _span(self, key: Any, start: Any) -> Span:  # noqa: ANN401
        row = self._row(self.leaf_end)
        last = row if self.leaf_end > self.starts[row] else max(row - 1, 0)
        return Span(*self._place(key.index), self._place(start.index), self._place(self.leaf_end), last)

    def _end_of(self, event: Any) -> int:  # noqa: ANN401
        """Where a scalar ends; a block scalar's mark stands after blank lines and comments that are not its own."""
        index: int = event.end_mark.index
        if event.style not in ("|", ">"):
            return index
        return len(self.text[:index].rstrip(" \n"))

    def _text(self, event: Any) -> str:  # noqa: ANN401
        value: str = event.value
        if not event.style and value in NULLS and event.tag is None:
            return ""
        if value.isascii():
            return value
        whole = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if whole != value:  # only the parser without C lets these through
            line = self.first_line + self._row(event.start_mark.index)
            self.report.add(line, "yaml-surrogate", "half of a surrogate pair is no character", "write the character")
        return whole

    def _check(self, event: Any) -> None:  # noqa: ANN401
        if event.anchor is not None:
            self.anchors.add(event.anchor)
            message = f"'&{event.anchor}' gives this value a label, which is not part of it"
            self._tell(event, "yaml-anchor", message)
        if event.tag not in (None, "!") and event.tag not in _CORE_TAGS:
            shown = event.tag.replace(_STANDARD, "!!")
            self._tell(event, "yaml-tag", f"the tag '{shown}' means nothing here; its value is read as text")

    def _tell(self, event: Any, code: str, message: str) -> None:  # noqa: ANN401
        line = self.first_line + self._row(event.start_mark.index)
        self.report.add(line, code, message, "delete it, or put the value in quotes if it is text")

    def _odd_key(self, event: Any) -> None:  # noqa: ANN401
        line = self.first_line + self._row(event.start_mark.index)
        hint = "write 'key: value'; put a value that begins with { or [ in quotes"
        self.report.add(line, "yaml-key", "a key here is not text; it and its value are left out", hint)

    def _alias(self, event: Any) -> UnreadableError:  # noqa: ANN401
        known = event.anchor in self.anchors
        message = f"'*{event.anchor}' is a YAML alias; aliases are refused"
        return self._unreadable(event.start_mark, "yaml-alias", message, mendable=not known)

    def _unreadable(self, mark: Any, code: str, message: str, *, mendable: bool = False) -> UnreadableError:  # noqa: ANN401
        hint = "write the value out" if code == "yaml-alias" else "keep frontmatter to 'key: value' and lists"
        return UnreadableError(code, message, hint, *self._place(mark.index), mendable=mendable)

    def _row(self, index: int) -> int:
        return bisect_right(self.starts, index) - 1

    def _place(self, index: int) -> tuple[int, int]:
        row = self._row(index)
        return row, index - self.starts[row]
