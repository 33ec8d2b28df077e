"""Bytes in, text and the mark they began with out; what cannot be text is reported, never raised."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from mdmem.document.shape import Report

SNIFF_BYTES = 8192
# The longer marks stand first: UTF-32's begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Only signatures that no text begins with.
_SIGNATURES = (
    b"\x89PNG\r\n",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"SQLite format 3\x00",
    b"\x1f\x8b\x08",
    b"\xff\xd8\xff",
    b"\x7fELF",
    b"\xcf\xfa\xed\xfe",
    b"\xd0\xcf\x11\xe0",
    b"7z\xbc\xaf\x27\x1c",
    b"\x28\xb5\x2f\xfd",
    b"BZh9",
)
_BINARY = (None, "binary", "this is not text", "move it out of the scope folder, or give it another ending")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_CONTROL_BYTES = bytes(code for code in range(32) if chr(code) not in "\t\n\r\f\x1b") + b"\x7f"
_NEWLINE = re.compile(r"\r\n?|\n")
_NEWLINE_BYTES = re.compile(rb"\r\n?|\n")


class Decoded(NamedTuple):
    """Text without its byte order mark. `exact`: encoding it again gives the same bytes, so it may be edited."""

    text: str
    mark: bytes
    encoding: str
    exact: bool


def decode(data: bytes, report: Report) -> Decoded | None:
    """Decode a file; None (and a problem) where it is binary. Undecodable bytes become U+FFFD, for search only."""
    mark, encoding = _mark_of(data)
    if not mark:
        if _is_binary(data):
            report.add(*_BINARY)
            return None
        encoding = _unmarked(data)
    try:
        text = str(data[len(mark) :], encoding)
    except UnicodeDecodeError as error:
        if not mark and _looks_binary(data[:SNIFF_BYTES]):
            report.add(*_BINARY)
            return None
        return _replaced(data, mark, encoding, error, report)
    if encoding != "utf-8" and not mark:
        report.add(1, "not-utf8", f"this is {encoding} without a byte order mark", "save the file as UTF-8")
    found = _CONTROL.search(text)
    if found:
        _report_control(text, found, report)
    return Decoded(text, mark, encoding, encoding == "utf-8" or bool(mark))


def encode(decoded: Decoded, text: str) -> bytes:
    """Bytes of a changed text, in the encoding and with the mark of the file that it came from."""
    return decoded.mark + text.encode(decoded.encoding)


def line_of(text: str, index: int) -> int:
    """The line, from 1, on which an index into text stands; LF, CRLF and lone CR all end a line."""
    return 1 + sum(1 for _ in _NEWLINE.finditer(text, 0, index))


def _mark_of(data: bytes) -> tuple[bytes, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return mark, encoding
    return b"", "utf-8"


def _is_binary(data: bytes) -> bool:
    if data.startswith(_SIGNATURES):
        return True
    head = data[:SNIFF_BYTES]
    nuls = head.count(0)
    return nuls >= 8 and nuls * 20 >= len(head) and _unmarked(data) == "utf-8"


def _looks_binary(head: bytes) -> bool:
    """Of bytes that are no UTF-8: whether one in twenty is a control character, which old encodings don't use."""
    return (len(head) - len(head.translate(None, _CONTROL_BYTES))) * 20 > len(head)


def _unmarked(data: bytes) -> str:
    """The encoding of a file without a mark: UTF-16 shows by a NUL in every second byte of Latin text."""
    head = data[:SNIFF_BYTES]
    if len(head) < 8 or 0 not in head:
        return "utf-8"
    even, odd = head[::2].count(0) * 2 / len(head), head[1::2].count(0) * 2 / len(head)
    if odd > 0.5 and even < 0.05:
        return "utf-16-le"
    return "utf-16-be" if even > 0.5 and odd < 0.05 else "utf-8"


def _replaced(data: bytes, mark: bytes, encoding: str, error: UnicodeDecodeError, report: Report) -> Decoded:
    line = 1 + len(_NEWLINE_BYTES.findall(data, 0, len(mark) + error.start)) if encoding == "utf-8" else None
    message = f"a byte here is not {encoding.upper()} (byte {len(mark) + error.start} of the file)"
    report.add(line, "not-utf8", message, "save the file as UTF-8; until then it is searched but never edited")
    return Decoded(str(data[len(mark) :], encoding, "replace"), mark, encoding, exact=False)


def _report_control(text: str, found: re.Match[str], report: Report) -> None:
    name = "a NUL" if found[0] == "\0" else f"a control character (0x{ord(found[0]):02X})"
    line = line_of(text, found.start())
    report.add(line, "control-characters", f"{name} stands in the text", "delete it; some tools stop reading there")
