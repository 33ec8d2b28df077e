"""Bytes of a file and changed fields in, the same bytes with only the lines concerned changed out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from mdmem.document.decode import Decoded, decode, encode
from mdmem.document.quoting import flow_list, key_text, scalar
from mdmem.document.reading import parse, read_front
from mdmem.document.shape import Block, Document, Report, Span, Value
from mdmem.document.split import Parts, lines_of, plain_newlines, split
from mdmem.errors import RefusedError

_NEWLINE = re.compile(r"\r\n?|\n")
_DASH = re.compile(r"( *)- ")
_ACTOR_OR_TIME = re.compile(r"(?:human|process):[\w.+-]+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_COMMENT = re.compile(r"[ \t]+#.*")
# Problems that make editing a guess, and what to do about each.
_REFUSED = {
    "binary": "this is not text",
    "not-utf8": "the file holds bytes that are not text; save it as UTF-8 first",
    "conflict-markers": "the file holds git's conflict markers; choose one version first",
    "front-not-closed": "the file opens with '---' and no block follows",
    "front-not-yaml": "the file opens with '---' and no block follows",
    "second-block": "the file has two frontmatter blocks; make one of them first",
}
_Field = str | list[str]


class _Sheet(NamedTuple):
    """A file laid open: its parts, its block, and the front's lines with their ends."""

    decoded: Decoded
    doc: Document
    parts: Parts
    block: Block
    lines: list[str]
    newline: str


def set_fields(data: bytes, changes: Mapping[str, str | list[str]]) -> bytes:
    """Change or add top-level keys; a file without a block gets one. No other line changes.

    A key keeps its place and the comment behind a one-line value; new keys go to the end of the block. Raises
    RefusedError where the block can't be read, or can't be changed line by line.
    """
    sheet = _lay_open(data)
    wanted = {_whole(key): _whole_field(value) for key, value in changes.items()}
    wanted = {key: value for key, value in wanted.items() if sheet.doc.fields.get(key) != value}
    if not wanted:
        return data
    lines = list(sheet.lines)
    added: list[str] = []
    for key, value in wanted.items():
        span = sheet.block.spans.get(key)
        if span is None:
            added.append(" " * _indent(sheet) + f"{key_text(key)}: {_render(key, value)}{sheet.newline}")
        else:
            lines[span.key_line] = _changed(sheet, span, key, value)
            for row in range(span.key_line + 1, span.last_line + 1):
                lines[row] = ""
    return _checked(data, sheet, "".join([*lines, *added]), {**sheet.doc.fields, **wanted})


def remove_fields(data: bytes, keys: Iterable[str]) -> bytes:
    """Remove top-level keys with their lines; a block that holds nothing else then goes as well.

    Keys that are not there are no error. Raises RefusedError as `set_fields` does.
    """
    sheet = _lay_open(data)
    gone = {key for key in keys if key in sheet.block.spans}
    if not gone:
        return data
    lines = list(sheet.lines)
    for key in gone:
        span = sheet.block.spans[key]
        lines[span.key_line : span.last_line + 1] = [""] * (span.last_line + 1 - span.key_line)
    left = {key: value for key, value in sheet.doc.fields.items() if key not in gone}
    return _checked(data, sheet, "".join(lines), left)


def set_body(data: bytes, body: str) -> bytes:
    """Change the text below the block; the block stays as it is, and so do the file's encoding and line ends.

    Raises RefusedError where the block can't be read, or where the text would become one.
    """
    sheet = _lay_open(data)
    wanted = plain_newlines(_whole(body))
    if wanted == sheet.doc.body:
        return data
    text = wanted.replace("\n", sheet.newline)
    return _checked(data, sheet._replace(parts=sheet.parts._replace(body=text)), sheet.parts.front, sheet.doc.fields)


def add_verified(data: bytes, by: str, at: str) -> bytes:
    """Add to `verified` who confirmed what a file says, and when (Open Knowledge Format 0.2, 5.2).

    `by`: an actor, such as human:ann; `at`: RFC 3339. A `verified` of another shape is a person's own, and stays.
    """
    sheet = _lay_open(data)
    known = sheet.doc.fields.get("verified") or []
    events = [known] if isinstance(known, dict) else known
    if not isinstance(events, list) or not all(_is_flat(event) for event in events):
        return data
    added: list[Value] = [*events, {"by": by, "at": at}]
    lines, span = list(sheet.lines), sheet.block.spans.get("verified")
    dash = _DASH.match(lines[span.start[0]]) if span and span.start[0] > span.key_line else None
    if span and dash and isinstance(known, list):
        lines[span.last_line] += f"{dash[1]}- {_event(added[-1])}{sheet.newline}"
    else:
        first = " " * _indent(sheet)
        whole = "".join(f"{first}  - {_event(event)}{sheet.newline}" for event in added)
        if span:
            lines[span.key_line : span.last_line + 1] = [""] * (span.last_line + 1 - span.key_line)
        lines.insert(span.key_line if span else len(lines), f"{first}verified:{sheet.newline}{whole}")
    return _checked(data, sheet, "".join(lines), {**sheet.doc.fields, "verified": added})


def _is_flat(event: Value) -> TypeGuard[dict[str, str]]:
    return isinstance(event, dict) and bool(event) and all(isinstance(value, str) for value in event.values())


def _event(event: Value) -> str:
    """A map of texts on one line; actors and times plain, as people write them."""
    said = event if isinstance(event, dict) else {}
    texts = {name: str(value) for name, value in said.items()}
    plain = {
        name: text if _ACTOR_OR_TIME.fullmatch(text) else scalar(text, always=True) for name, text in texts.items()
    }
    return "{ " + ", ".join(f"{key_text(name)}: {text}" for name, text in plain.items()) + " }"


def compose(fields: Mapping[str, str | list[str]], body: str) -> bytes:
    """A new file: a block of the fields and the body; LF, UTF-8, a line's end at the end.

    `parse` gives the same fields and body back (but for that last line's end). Raises RefusedError for a key that no
    block can hold, such as an empty one.
    """
    text = plain_newlines(_whole(body))
    if text and not text.endswith("\n"):
        text += "\n"
    wanted = {_whole(key): _whole_field(value) for key, value in fields.items()}
    front = "".join(f"{key_text(key)}: {_render(key, value)}\n" for key, value in wanted.items())
    if not front and not text.startswith(("---", "\ufeff")):
        return text.encode()
    data = f"---\n{front}---\n{text}".encode()
    found = parse(data, "")
    if found.fields != wanted or found.body != text:
        raise RefusedError("these fields can't be written as frontmatter", hint="use short keys of letters")
    return data


def _lay_open(data: bytes) -> _Sheet:
    doc, report = parse(data, ""), Report("")
    decoded = decode(data, report)
    parts = split(decoded.text) if decoded else None
    refused = next((_REFUSED[problem.code] for problem in doc.problems if problem.code in _REFUSED), None)
    if refused is not None or decoded is None or parts is None:
        raise RefusedError(refused or "the file can't be read as text", hint="edit the file by hand")
    if doc.broken:
        worst = doc.problems[-1]
        raise RefusedError(f"the frontmatter can't be read: {worst.message}", hint=worst.hint)
    block = read_front(plain_newlines(parts.front), report) or Block({}, {}, {}, flow=False)
    found = _NEWLINE.search(decoded.text)
    return _Sheet(decoded, doc, parts, block, lines_of(parts.front), found[0] if found else "\n")


def _indent(sheet: _Sheet) -> int:
    """The column at which the block's keys stand; new ones must line up."""
    return min((span.key_column for span in sheet.block.spans.values()), default=0)


def _changed(sheet: _Sheet, span: Span, key: str, value: _Field) -> str:
    """The line, or lines, that a key's span becomes."""
    line = sheet.lines[span.key_line]
    text = line.rstrip("\r\n")
    ending = line[len(text) :] if span.last_line == span.key_line else sheet.newline
    dash = _DASH.match(sheet.lines[span.start[0]]) if span.start[0] > span.key_line else None
    colon = _colon(text, span, key)
    if isinstance(value, list) and value and dash:
        kept = text.rstrip() if text[colon:].lstrip().startswith("#") else text[:colon]
        written = _items_as_written(sheet, span, key)
        items = [written.get(item) or f"{dash[1]}- {scalar(item)}{ending}" for item in value]
        return kept + ending + "".join(items)
    if span.start[0] == span.key_line == span.end[0]:
        rest = _COMMENT.fullmatch(text[span.end[1] :])
    else:
        rest = _COMMENT.fullmatch(text[colon:])
    return f"{text[:colon]} {_render(key, value)}{rest[0] if rest else ''}{ending}"


def _items_as_written(sheet: _Sheet, span: Span, key: str) -> dict[str, str]:
    """The line of each item of a block list, where each has one: an item that stays keeps its comment."""
    old = sheet.doc.fields[key]
    lines = sheet.lines[span.start[0] : span.last_line + 1]
    if not isinstance(old, list) or len(old) != len(lines):
        return {}
    return {item: line for item, line in zip(old, lines, strict=True) if isinstance(item, str)}


def _colon(text: str, span: Span, key: str) -> int:
    """Where the key's colon ends on its line; the key may be quoted, and a repaired one may have a wide colon."""
    for written in (key, f'"{key}"', f"'{key}'", key_text(key)):
        found = re.compile(re.escape(written) + r"[ \t]*[:：]").match(text, span.key_column)
        if found:
            return found.end()
    raise RefusedError(f"'{key}' is written in a way that can't be edited line by line", hint="edit the file by hand")


def _checked(data: bytes, sheet: _Sheet, front: str, expected: Mapping[str, object]) -> bytes:
    """The edited bytes, read once more: an edit that would mean anything else than was asked is not made."""
    newline, parts = sheet.newline, sheet.parts
    opened, closed = parts.open or f"---{newline}", parts.close or f"---{newline}"
    # Without its block a body that begins with a fence would become one.
    bare = split(parts.body)
    if not front.strip() and bare is not None and not bare.open:
        opened = front = closed = ""
    edited = encode(sheet.decoded, opened + front + closed + parts.body)
    found = parse(edited, "")
    if found.fields != expected or found.body != parts.body or found.broken:
        hint = "write the block as plain 'key: value' lines, or edit the file by hand"
        raise RefusedError("this frontmatter can't be edited line by line", hint=hint)
    return edited


def _render(key: str, value: _Field) -> str:
    return scalar(value, key=key) if isinstance(value, str) else flow_list(value)


def _whole_field(value: str | Sequence[str]) -> _Field:
    return _whole(value) if isinstance(value, str) else [_whole(item) for item in value]


def _whole(text: str) -> str:
    """Text with pairs of surrogates joined and halves replaced: no file can hold them."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
