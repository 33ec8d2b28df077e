"""Where agents keep their logs, and whose a log is: folders in, logs with their readers out."""

from __future__ import annotations

import fnmatch
import glob
import itertools
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from mdmem.activity import aider, claude, codex, copilot, cursor, gemini, generic, goose, opencode, pi, qwen
from mdmem.activity.feed import reading
from mdmem.activity.generic import Fields
from mdmem.activity.lines import CHUNK_BYTES, MAX_LINE_BYTES, Lines, Spot, values
from mdmem.activity.log import Reader
from mdmem.activity.store import tables_of

# All that is to be said of an agent: how its logs are read, and where they lie below its folder. `*` passes over `/`;
# the number is how deep folders are looked into.
_PLACES: tuple[tuple[Reader, str, str, int], ...] = (
    (claude.READER, "projects", "*.jsonl", 8),
    (codex.READER, "sessions", "*rollout-*.jsonl", 4),
    (codex.READER, "archived_sessions", "*rollout-*.jsonl", 1),
    (gemini.READER, "tmp", "*/chats/*.jsonl", 4),
    (gemini.DOCUMENT, "tmp", "*/chats/*.json", 3),
    (opencode.STORE, "", "opencode*.db", 0),
    (cursor.READER, "projects", "*/agent-transcripts/*.jsonl", 6),
    (copilot.READER, "session-state", "*.jsonl", 2),
    (copilot.READER, "history-session-state", "*.jsonl", 2),
    (goose.STORE, "sessions", "sessions.db", 0),
    (goose.READER, "sessions", "*.jsonl", 0),
    (aider.READER, "", ".aider.chat.history.md", 0),
    (qwen.READER, "projects", "*/chats/*.jsonl", 4),
    (qwen.READER, "projects", "*/subagents/*.jsonl", 4),
    (qwen.READER, "tmp", "*/chats/*.jsonl", 4),
    (pi.READER, "sessions", "*.jsonl", 2),
    (pi.OPENCLAW_STORE, "agents", "*/agent/openclaw-agent.sqlite", 2),
    (pi.OPENCLAW, "agents", "*/sessions/*.jsonl", 2),
)
READERS: tuple[Reader, ...] = tuple(dict.fromkeys(place[0] for place in _PLACES))
_NAMES = (".jsonl", ".json", ".db", ".sqlite", ".md")
_LEFT_OUT = ("*.checkpoint.*", "*/tool-results/*", "*/memory/*")
_SNIFFED_LINES = 50
_DEEP = 12


class Place(NamedTuple):
    """A folder (or a single file) that may hold logs of one kind."""

    reader: Reader
    root: str
    pattern: str
    depth: int


class Found(NamedTuple):
    """One log: its path, how it is read, and what stat said of it."""

    path: str
    reader: Reader
    device: int
    inode: int
    size: int
    mtime_ns: int


def places(roots: Mapping[str, Sequence[str]]) -> list[Place]:
    """What may hold logs, for each agent below its folders (see `config.paths.log_roots`); folders may be files."""
    return [
        Place(reader, os.path.join(os.path.realpath(root), folder).rstrip("/"), pattern, depth)
        for reader, folder, pattern, depth in _PLACES
        for root in roots.get(reader.agent, ())
    ] + [
        Place(reader, os.path.realpath(root), "*", 0)
        for reader in (opencode.STORE, aider.READER)
        for root in roots.get(reader.agent, ())
        if _is_file(root)
    ]


def named(agent: str, pattern: str, fields: Fields) -> Place:
    """The logs of any other program, by a path with `*` in it and the fields of their records."""
    whole = os.path.abspath(os.path.expanduser(pattern))
    folders = whole.split("/")
    at = next((at for at, name in enumerate(folders) if glob.has_magic(name)), len(folders) - 1)
    below = folders[at:]
    depth = 8 if "**" in below else len(below) - 1
    return Place(generic.reader(agent, fields), os.path.realpath("/".join(folders[:at]) or "/"), "/".join(below), depth)


def find_logs(found_in: Sequence[Place]) -> Iterator[Found]:
    """The logs that are there now. What cannot be listed is passed over: it may come back."""
    for place in found_in:
        for path, about in _walk(place.root, place.depth, partial(_is_wanted, place)):
            yield _found(path, place.reader, about)


def find_log(path: str, found_in: Sequence[Place]) -> Found | None:
    """The log of this path, where it lies in one of the places."""
    real = os.path.realpath(path)
    for place in found_in:
        below = real.removeprefix(f"{place.root}/")
        if (real == place.root or below != real) and _is_wanted(place, real):
            return stat_log(real, place.reader)
    return None


def _is_wanted(place: Place, path: str) -> bool:
    below = path.removeprefix(f"{place.root}/")
    return fnmatch.fnmatchcase(below, place.pattern) and not _is_left_out(path)


def _is_left_out(path: str) -> bool:
    return any(fnmatch.fnmatchcase(path, out) for out in _LEFT_OUT)


def stat_log(path: str, reader: Reader) -> Found | None:
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return None
    return _found(path, reader, about) if stat.S_ISREG(about.st_mode) else None


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def _found(path: str, reader: Reader, about: os.stat_result) -> Found:
    inode = about.st_ino & (2**63 - 1)  # as the ledger can keep it
    device = about.st_dev & (2**63 - 1)
    size, mtime_ns = about.st_size, about.st_mtime_ns
    if reader.form == "sqlite":
        try:  # what is new stands in the journal first
            journal = os.stat(f"{path}-wal")
            size, mtime_ns = size + journal.st_size, max(mtime_ns, journal.st_mtime_ns)
        except OSError:
            pass
    return Found(path, reader, device, inode, size, mtime_ns)


def _walk(root: str, depth: int, is_wanted: Callable[[str], bool]) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files in a folder, or that one file; no link followed; only what has the right name is looked at."""
    waiting = [(root, depth)]
    while waiting:
        folder, left = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except NotADirectoryError:
            if is_wanted(folder) and _is_file(folder):
                yield folder, os.stat(folder)
            continue
        except (OSError, ValueError):
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if left:
                        waiting.append((entry.path, left - 1))
                elif entry.is_file(follow_symlinks=False) and is_wanted(entry.path):
                    yield entry.path, entry.stat(follow_symlinks=False)
            except OSError:
                continue


def find_any(path: str, known: Reader | None = None) -> Iterator[tuple[str, Reader | OSError]]:
    """The logs at a path, or anywhere below a folder, each with its reader: the one that is known, or told by what
    stands in them, wherever they lie. What can't be read comes with the reason.
    """
    root = os.path.realpath(path)
    for found, _ in _walk(root, _DEEP, lambda each: each == root or (each.endswith(_NAMES) and not _is_left_out(each))):
        try:
            reader = known or detect(found)
        except OSError as error:
            yield found, error
        else:
            if reader is not None:
                yield found, reader


# --- whose a log is --------------------------------------------------------------------------------------------


def detect(path: str) -> Reader | None:
    """Whose log a file is, by what stands in it; None when nobody's that we know. Raises OSError."""
    with open(path, "rb") as file:
        begin = file.read(16)
    if begin == b"SQLite format 3\0":
        return _detect_tables(path)
    with open(path, "rb") as file:
        taken = itertools.islice(Lines(file, Spot()).take(CHUNK_BYTES), _SNIFFED_LINES)
        lines = [line.data for line in taken if line.data]
        reader = next((found for line in lines if (found := _detect_line(line))), None)
        file.seek(0)
        # To read a whole document that is none of ours would hold up everybody.
        if reader is None and begin.lstrip().startswith(b"{") and b'"sessionId"' in file.read(CHUNK_BYTES):
            file.seek(0)
            reader = _knowing(values(file.read(MAX_LINE_BYTES))[0], "json")
    return reader


def _detect_line(line: bytes) -> Reader | None:
    if aider.knows(line.decode("utf-8", "replace")):
        return aider.READER
    return _knowing(values(line)[0], "jsonl") if b"{" in line else None


def _knowing(records: Sequence[object], form: str) -> Reader | None:
    shaped = [record for record in records if isinstance(record, dict)]
    return next((one for record in shaped for one in READERS if one.form == form and one.knows(record)), None)


def _detect_tables(path: str) -> Reader | None:
    with reading(path) as db:
        tables = tables_of(db)
    return next((one for one in READERS if one.form == "sqlite" and one.knows(tables)), None)
