"""Text in, bytes on stdout and stderr out: colours only where they are wanted, and never a crash over an encoding."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, TextIO

import click

from mdmem.config.paths import wants_no_color
from mdmem.outputs.text import clean

STYLES: dict[str, dict[str, Any]] = {
    "key": {"bold": True},
    "dim": {"dim": True},
    "good": {"fg": "green"},
    "warn": {"fg": "yellow"},
    "bad": {"fg": "red"},
}
# Inside JSON strings alone: a terminal would obey these.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def prepare_streams() -> None:
    """What a stream's encoding cannot say is escaped, rather than being an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def out(text: str) -> None:
    """One piece of the answer, with its newline."""
    sys.stdout.write(f"{text}\n")


def err(text: str) -> None:
    """Anything that is not the answer. A closed stderr is no reason to fail."""
    if sys.stderr is not None:
        sys.stdout.flush()
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def note(text: str) -> None:
    """A line on stderr about how the answer came to be; what it quotes is made safe to show."""
    err(clean(text))


def json_out(value: object, *, pretty: bool = False) -> None:
    """One JSON document on stdout. Text stays readable where the stream can say it."""
    readable = "utf" in (sys.stdout.encoding or "").lower()
    text = json.dumps(value, ensure_ascii=not readable, indent=2 if pretty else None)
    out(_UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def json_line(value: object) -> None:
    """One line of a stream of JSON, sent at once."""
    json_out(value)
    sys.stdout.flush()


def paint(text: str, style: str) -> str:
    """Text for stdout in one of STYLES, or as it is."""
    return click.style(text, **STYLES[style]) if is_colored(sys.stdout) else text


def is_colored(stream: TextIO | None) -> bool:
    """`--color` beats NO_COLOR beats whether it is a terminal."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    return stream is not None and stream.isatty() and not wants_no_color()
