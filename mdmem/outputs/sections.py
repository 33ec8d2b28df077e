"""An instruction file and a block in, the same file with the block between mdmem's two markers out.

The markers are the consent: `mdmem connect` puts them there when a person asks, and only a file that has them is ever
brought up to date. Everything outside stays byte for byte.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mdmem.config.agents import AgentFolders
from mdmem.errors import ConfigError, MdmemError, Problem
from mdmem.files import git
from mdmem.outputs import saving

BEGIN, END = "<!-- mdmem:begin -->", "<!-- mdmem:end -->"
EMPTY_BLOCK = "What mdmem remembers for this place will stand here. The tools of its MCP server search the rest."
PROJECT_FILES = ("AGENTS.md", "GEMINI.md")
_NOTE = "<!-- Kept up to date by mdmem; what you change between these two markers is lost. -->"
_TRIES = 3
_BOM = b"\xef\xbb\xbf"
_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")


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
    begins, ends = _markers(text)
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


def _markers(text: bytes) -> tuple[list[int], list[int]]:
    """Where lines begin that are a begin marker, or an end marker, and nothing else.

    In a block of code they are an example. Fences count outside of the section alone: in it stands what memories say.
    """
    begins: list[int] = []
    ends: list[int] = []
    if b"<!-- mdmem:" not in text:
        return begins, ends
    lines, at, example_end = text.split(b"\n"), 0, -1
    for n, line in enumerate(lines):
        bare = line.removeprefix(_BOM).rstrip(b"\r \t")
        if n > example_end and bare in (BEGIN.encode(), END.encode()):
            (begins if bare == BEGIN.encode() else ends).append(at + line.index(bare))
        elif n > example_end and len(begins) == len(ends):
            example_end = _closing_fence(lines, n)
        at += len(line) + 1
    return begins, ends


def _closing_fence(lines: list[bytes], n: int) -> int:
    """The line that closes the block of code which line `n` opens; -1 where it opens none, or nothing closes it."""
    opening = _FENCE.match(lines[n])
    if opening is None or (opening[1][:1] == b"`" and b"`" in lines[n][opening.end() :]):
        return -1
    for m in range(n + 1, len(lines)):
        fence = _FENCE.match(lines[m])
        if fence and fence[1].startswith(opening[1]) and not lines[m][fence.end() :].strip():
            return m
    return -1


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
    """What `follow` did: the files that it wrote, and those that it could not. `busy`: git has to finish first."""

    written: list[str]
    problems: list[Problem]
    busy: bool = False


def follow(roots: Iterable[str], user_files: Iterable[str], make_block: Callable[[str | None], str]) -> Followed:
    """Bring the sections of all projects' instruction files, and of the user's own, up to date.

    `make_block` gives the text for one project (of its scope alone: these files are committed), and for None that of
    the user. It is asked only where a file has the markers.
    """
    written: list[str] = []
    problems: list[Problem] = []
    busy = False
    places = [(os.path.join(root, name), root) for root in roots for name in PROJECT_FILES]
    for path, root in [*places, *((path, None) for path in user_files)]:
        try:
            if not has_section(path):
                continue
            if root is not None and _git_is_busy(root):
                busy = True
            elif refresh(path, make_block(root), within=root):
                written.append(path)
        except MdmemError as error:
            problems.append(Problem(path, None, "section-not-written", error.what, error.hint or ""))
    return Followed(written, problems, busy)


def _git_is_busy(root: str) -> bool:
    """Whether git is in the middle of a rebase or the like, which a changed file would stop."""
    repository = git.repository(Path(root))
    return repository is not None and git.busy(repository) is not None


def has_section(path: str) -> bool:
    """Whether a file has the markers, in their order or not."""
    now = saving.read(saving.real_path(path))
    return now is not None and _markers(now) != ([], [])
