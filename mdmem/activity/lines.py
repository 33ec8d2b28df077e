"""Bytes of a log in, complete lines with their offsets out; and the JSON values of a line, however damaged it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

CHUNK_BYTES = 1 << 20
MAX_LINE_BYTES = 64 << 20
_BOM = b"\xef\xbb\xbf"
_MAX_TRIES = 1_000  # places in one damaged line where a record may begin
_MAX_TRIED_CHARS = 8 << 20


class Spot(NamedTuple):
    """How far a file is read: the offset after the last complete line, how many lines that were, and whether a line
    that is too long is being passed over.
    """

    offset: int = 0
    lines: int = 0
    skipping: bool = False


class Line(NamedTuple):
    """One complete line without its break; `data` is None where it was too long to be kept."""

    data: bytes | None
    offset: int
    number: int  # from 1


class Lines:
    """Complete lines of an open file. `spot` moves on with each line that was taken; what is unfinished stays."""

    def __init__(
        self, file: BinaryIO, spot: Spot, max_line_bytes: int = MAX_LINE_BYTES, end: int | None = None
    ) -> None:
        """`end`: the offset at which the file ends for us, where it goes on."""
        self.file = file
        self.spot = spot
        self.max_line_bytes = max_line_bytes
        self.end = sys.maxsize if end is None else end

    def take(self, budget_bytes: int) -> Iterator[Line]:
        """The lines from the spot on, until so many bytes were read or the file ends.

        A line that is longer than the budget is finished all the same, or passed over at the limit.
        """
        self.file.seek(self.spot.offset)
        pieces: list[bytes] = []
        held = read = 0
        start = self.spot.offset
        while chunk := self.file.read(min(CHUNK_BYTES, max(0, self.end - start - read))):
            read += len(chunk)
            first, *rest = chunk.split(b"\n")
            pieces.append(first)
            held += len(first)
            if rest:
                yield self._line(pieces, held)
                for data in rest[:-1]:
                    yield self._line([data], len(data))
                pieces, held = [rest[-1]], len(rest[-1])
            if held > self.max_line_bytes or (self.spot.skipping and held):
                self.spot = Spot(self.spot.offset + held, self.spot.lines, skipping=True)
                pieces, held = [], 0
            if read >= budget_bytes and rest:
                return

    def _line(self, pieces: list[bytes], length: int) -> Line:
        offset, lines, skipping = self.spot
        self.spot = Spot(offset + length + 1, lines + 1)
        too_long = skipping or length > self.max_line_bytes
        return Line(None if too_long else b"".join(pieces), offset, lines + 1)


_DECODER = json.JSONDecoder()


def values(line: bytes) -> tuple[list[object], bool]:
    """The JSON values of a line, and whether a part of it was none.

    Several may stand on one line, and a whole one after one that was cut. Byte order marks, NULs and bytes that are
    not UTF-8 are no damage. Nothing raises.
    """
    try:
        text = line.decode("utf-8", "replace").strip()
        value, end = _DECODER.raw_decode(text)
        if end == len(text):
            return [value], False
    except (ValueError, RecursionError):
        pass
    return _mend(line.replace(b"\0", b"").removeprefix(_BOM).decode("utf-8", "replace").strip())


def _mend(text: str) -> tuple[list[object], bool]:
    """A damaged line: what can be had of it. After damage, only values that go on to the end of the line count: what
    stands inside a record that was cut is no record.
    """
    found, at = _chain(text, 0)
    damaged = at < len(text)
    tried = 0
    for _ in range(_MAX_TRIES):
        at = text.find('{"', at + 1) if at < len(text) else -1
        if at < 0 or tried > _MAX_TRIED_CHARS:
            break
        more, end = _chain(text, at)
        tried += end - at + 1
        if end == len(text):
            found += more
            break
    return found, damaged


def _chain(text: str, at: int) -> tuple[list[object], int]:
    """The values that follow each other from a place on, and where they end."""
    found: list[object] = []
    while at < len(text):
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        found.append(value)
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
    return found, at
