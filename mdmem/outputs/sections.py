"""An instruction file and a block in, the same file with the block between mdmem's two markers out.

The markers are the consent: `mdmem connect` puts them there when a person asks, and only a file that has them is ever
brought up to date. Everything outside stays byte for byte.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from mdmem.config.agents import AgentFolders
from mdmem.errors import ConfigError, MdmemError, Problem
from mdmem.outputs import saving

BEGIN, END = "<!-- mdmem:begin -->", "<!-- mdmem:end -->"
EMPTY_BLOCK = "What mdmem remembers for this place will stand here. The tools of its MCP server search the rest."
PROJECT_FILES = ("AGENTS.md", "GEMINI.md")
_NOTE = "<!-- Kept up to date by mdmem; what you change between these two markers is lost. -->"
_TRIES = 3


class _Marks(NamedTuple):
    """The bytes from the first sign of the begin marker to behind the last of the end marker."""

    start: int
    end: int


def put_section(text: bytes, block: str) -> bytes:
    """The text with the block between the markers: in their place, or at the end. ConfigError where one is missing."""
    marks = _find(text)
    newline = _newline(text, marks)
    lines = [BEGIN, _NOTE, *_harmless(block).splitlines(), END]
    section = newline.join(line.encode() for line in lines)
    if marks is not None:
        return text[: marks.start] + section + text[marks.end :]
    if not text:
        return section + newline
    # Whether the last line ended is seen from what follows the section, so that taking it out gives the same again.
    return text + newline + section + newline if text.endswith(b"\n") else text + newline * 2 + section


def remove_section(text: bytes) -> bytes:
    """The text without the section, as it was before `put_section` made it."""
    marks = _find(text)
    if marks is None:
        return text
    before, after = text[: marks.start], text[marks.end :]
    newline = _newline(text, marks)
    if not after:  # the last line had no end
        return before.removesuffix(newline * 2)
    above = before.removesuffix(newline)  # the empty line that set it apart
    return (above if above.endswith(b"\n") else before) + after.removeprefix(newline)


def _newline(text: bytes, marks: _Marks | None) -> bytes:
    """How the lines of the section end; where there is none yet, those of the file."""
    if marks is None:
        return b"\r\n" if b"\r\n" in text else b"\n"
    return b"\r\n" if text.startswith(b"\r\n", marks.start + len(BEGIN)) else b"\n"


def _harmless(block: str) -> str:
    """The block without anything that could be taken for a marker."""
    return block.replace("mdmem:begin", "mdmem begin").replace("mdmem:end", "mdmem end")


def _find(text: bytes) -> _Marks | None:
    begins, ends = list(_places(text, BEGIN)), list(_places(text, END))
    if not begins and not ends:
        return None
    if len(begins) == len(ends) == 1 and begins[0] < ends[0]:
        return _Marks(begins[0], ends[0] + len(END))
    at = (begins[1:] or begins or ends)[0]
    raise ConfigError(
        "mdmem's two markers are not there once each, in their order",
        where=str(text[:at].count(b"\n") + 1),
        hint=f"leave one `{BEGIN}` and, below it, one `{END}`, or neither",
    )


def _places(text: bytes, marker: str) -> Iterator[int]:
    """Where a line begins that is this marker and nothing else."""
    at = 0
    for line in text.split(b"\n"):
        if line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r \t") == marker.encode():
            yield at + line.index(marker.encode())
        at += len(line) + 1


@dataclass(frozen=True, slots=True)
class Section:
    """The part of `connect` that makes the section. One that is there already stays: its text is the daemon's."""

    block: str

    def put(self, data: bytes | None) -> bytes:
        text = data or b""
        return put_section(text, self.block) if _find(text) is None else text

    def drop(self, data: bytes) -> bytes | None:
        return data if _find(data) is None else remove_section(data) or None


def refresh(path: str, block: str, *, within: str | None = None) -> bool:
    """Bring the section of one file up to date; whether it was written. No file and no markers: nothing is done.

    `within`: the file must really lie below this folder, so that a repository's link leads to no file elsewhere.
    """
    for attempt in range(_TRIES):
        real = saving.real_path(path, within=within)
        now = saving.read(real)
        if now is None or _find(now) is None:
            return False
        new = put_section(now, block)
        if new == now:
            return False
        if saving.write(real, new, expected=now, last=attempt == _TRIES - 1):
            return True
    return False


def user_files(folders: AgentFolders) -> list[str]:
    """The user's own instruction files that may have a section: of agents whose hooks take no text."""
    return [f"{folders.goose}/.goosehints"]


class Followed(NamedTuple):
    """What `follow` did: the files that it wrote, and those that it could not."""

    written: list[str]
    problems: list[Problem]


def follow(roots: Iterable[str], user_files: Iterable[str], make_block: Callable[[str | None], str]) -> Followed:
    """Bring the sections of all projects' instruction files, and of the user's own, up to date.

    `make_block` gives the text for one project (of its scope alone: these files are committed), and for None that of
    the user. It is asked only where a file has the markers.
    """
    followed = Followed([], [])
    places = [(os.path.join(root, name), root) for root in roots for name in PROJECT_FILES]
    for path, root in [*places, *((path, None) for path in user_files)]:
        try:
            if has_section(path) and refresh(path, make_block(root), within=root):
                followed.written.append(path)
        except MdmemError as error:
            followed.problems.append(Problem(path, None, "section-not-written", error.what, error.hint or ""))
    return followed


def has_section(path: str) -> bool:
    """Whether a file has the markers, in their order or not."""
    now = saving.read(saving.real_path(path))
    return now is not None and any(True for marker in (BEGIN, END) for _ in _places(now, marker))
