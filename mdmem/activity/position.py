"""Whether a file is still the one that was read: a cursor and the open file in, where to go on out."""

from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

from mdmem.activity.lines import CHUNK_BYTES, Spot
from mdmem.ledger import Cursor

HEAD_BYTES = 4_096
LAST_BYTES = 256
_BACK_BYTES = 64 << 10


def goes_on(cursor: Cursor, file: BinaryIO) -> bool:
    """Whether all that was read still stands in the file. One that was cut, replaced or rewritten does not go on."""
    if os.fstat(file.fileno()).st_size < cursor.offset:
        return False
    return _hash(file, 0, cursor.head_bytes) == cursor.head and _last(file, cursor.offset) == cursor.last


def restarted(cursor: Cursor) -> Cursor:
    """The same log from its beginning. What stood before the first contact stays past."""
    return cursor._replace(offset=0, line=0, skipping=False, head=b"", head_bytes=0, last=b"", state="{}", notes="{}")


def moved_to(cursor: Cursor, spot: Spot, file: BinaryIO) -> Cursor:
    """The cursor after the lines before a spot were read."""
    head_bytes = min(HEAD_BYTES, spot.offset)
    return cursor._replace(
        offset=spot.offset,
        line=spot.lines,
        skipping=spot.skipping,
        head=_hash(file, 0, head_bytes) if head_bytes != cursor.head_bytes else cursor.head,
        head_bytes=head_bytes,
        last=_last(file, spot.offset),
    )


def at_end(cursor: Cursor, file: BinaryIO) -> Cursor:
    """The cursor after the last complete line of a file whose past is left out; its lines are not counted yet."""
    end = _after_last_break(file)
    return moved_to(cursor, Spot(end, -1), file)._replace(past=end)


def _after_last_break(file: BinaryIO) -> int:
    end = os.fstat(file.fileno()).st_size
    while end > 0:
        start = max(0, end - _BACK_BYTES)
        file.seek(start)
        at = _read(file, end - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def count_lines(file: BinaryIO, end: int) -> int:
    """How many lines a file has before an offset."""
    file.seek(0)
    count = 0
    while end > 0:
        chunk = file.read(min(CHUNK_BYTES, end))
        if not chunk:
            break
        count += chunk.count(b"\n")
        end -= len(chunk)
    return count


def _last(file: BinaryIO, offset: int) -> bytes:
    return _hash(file, max(0, offset - LAST_BYTES), min(LAST_BYTES, offset))


def _hash(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return hashlib.blake2b(_read(file, length), digest_size=16).digest()


def _read(file: BinaryIO, length: int) -> bytes:
    pieces = []
    while length > 0 and (piece := file.read(length)):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)
