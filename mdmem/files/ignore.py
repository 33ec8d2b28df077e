"""A file or folder name in, whether it can be a memory out; and a person's own `.mdmemignore`.

The lists are data, so that each program's habits can be read and tested one by one.
"""

from __future__ import annotations

import functools
import os
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mdmem.errors import Problem
from mdmem.files.folders import small_file
from mdmem.files.problems import problem

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_NAME = ".mdmemignore"
TEMP_PREFIX = ".mdmem-tmp-"
COOKIE_PREFIX = ".mdmem-cookie-"

# Without regard to case: on a case-blind disk memory.md *is* the manifest.
RESERVED = frozenset({"memory.md", "readme.md", "index.md", "log.md"})

# Only names that end in .md stand here. The rest of what editors leave (x.md~, #x.md#, 4913, x.md.swp,
# x.md___jb_tmp___) does not, and hidden names (.#x.md, .x.md.swp, .goutputstream-AB12CD, .syncthing.x.md.tmp) are
# out in any case.
BY_PRODUCTS: dict[str, str] = {
    "an office program's lock or temporary file": r"~\$.*|~[^/]*\.tmp\.md",
    "git mergetool": r".+_(?:BACKUP|BASE|LOCAL|REMOTE)_[0-9]+\.md",
}
_BY_PRODUCT = re.compile("|".join(f"(?:{pattern})" for pattern in BY_PRODUCTS.values()), re.DOTALL)

SYNC_CONFLICT: dict[str, str] = {
    "Syncthing": r".*\.sync-conflict-[0-9]{8}-[0-9]{6}(?:-[0-9A-Za-z]+)?\.md",
    "Dropbox, Nextcloud, Obsidian, Box": r".*\([^()]*\bconflict(?:ed copy|ed version|ing copy)\b[^()]*\).*\.md",
    "Dropbox (case, encoding, selective sync)": r".*\((?:Case|Unicode Encoding|Selective Sync) Conflict[^()]*\)\.md",
    "Dropbox (Chinese, Japanese)": r".*[(（][^()（）]*(?:冲突副本|衝突複本|競合コピー)[^()（）]*[)）]\.md",
    "ownCloud": r".*_conflict-[0-9]{8}-[0-9]{6}\.md",
    "Seafile": r".*\(SFConflict [^()]*\)\.md",
    "Google Drive, pCloud": r".*\[conflict(?:ed)?\]\.md",
    "Synology Drive": r".*_[^_]+_(?:[A-Z][a-z]{2}-[0-9]{2}-[0-9]{6}-[0-9]{4}_)Conflict\.md",
    "Resilio Sync": r".+\.Conflict\.md",
}
# Resilio and Synology write "Conflict" so; without regard to case a memory about merge.conflict.md would be lost.
_CASED = ("Synology Drive", "Resilio Sync")
_NUMBERED = re.compile(r"(.+) [2-9](\.md)", re.DOTALL | re.IGNORECASE)
# A hostile pattern must not cost minutes: each further star multiplies the work by the length of a name.
_MAX_STARS = 3
_MAX_IGNORE_BYTES = 64 * 1024
_STUB = re.compile(r"\.(.+\.md)\.icloud", re.DOTALL | re.IGNORECASE)

# Hidden folders (.git, .obsidian, .trash, .stversions, .venv, .Trash-1000, .dropbox.cache) need no list.
SKIPPED_FOLDERS = frozenset(
    {"node_modules", "bower_components", "__pycache__", "venv", "virtualenv", "site-packages"}  # dependencies
    | {"__MACOSX", "$RECYCLE.BIN", "System Volume Information", "lost+found", "@eaDir", "#recycle"}  # systems
)


def is_memory_name(name: str) -> bool:
    """Whether a file of this base name can be a memory: `*.md`, not hidden, reserved or made by an editor or a sync."""
    lower = name.lower()
    if lower[-3:] != ".md" or lower[0] == "." or lower in RESERVED:
        return False
    if lower.isascii() and "conflict" not in lower and lower[0] != "~" and "_" not in lower:
        return True  # nearly every name ends here: a scan asks this once per file
    return not _BY_PRODUCT.fullmatch(name) and not is_conflict_copy(name)


def is_conflict_copy(name: str) -> bool:
    """Whether a sync program made this file because it could not decide between two versions."""
    if name[0] == "." or (name.isascii() and "conflict" not in name.lower()):
        return False
    return any(pattern.fullmatch(name) for pattern in _conflict_patterns())


@functools.cache  # compiling takes milliseconds that a hook without such a file should not pay
def _conflict_patterns() -> tuple[re.Pattern[str], ...]:
    plain = "|".join(pattern for program, pattern in SYNC_CONFLICT.items() if program not in _CASED)
    cased = "|".join(SYNC_CONFLICT[program] for program in _CASED)
    return re.compile(plain, re.DOTALL | re.IGNORECASE), re.compile(cased, re.DOTALL)


def original_of(name: str) -> str | None:
    """`x.md` for `x 2.md`: what it may be a copy of, if that is there too; None for other names."""
    match = _NUMBERED.fullmatch(name)
    return match[1] + match[2] if match else None


def stub_of(name: str) -> str | None:
    """`x.md` for `.x.md.icloud`, the stub of a file that is kept online only; None for other names."""
    match = _STUB.fullmatch(name)
    return match[1] if match and is_memory_name(match[1]) else None


def matters(name: str) -> bool:
    """Whether a change of a file of this base name can change the index or the problems: what a watch lets through."""
    return is_memory_name(name) or is_conflict_copy(name) or name == IGNORE_NAME or stub_of(name) is not None


def skip_folder(name: str) -> bool:
    """Whether a folder of this base name is never looked into: hidden, dependencies, a system's own."""
    return name[0] == "." or name in SKIPPED_FOLDERS


class Rules(NamedTuple):
    """What `.mdmemignore` says.

    `stamp` is a hash of its bytes ("" without one): it differs when the rules differ. `problems` are lines that could
    not be read. `broken` says that the file is there but could not be read at all: then nothing can be decided.
    """

    spec: GitIgnoreSpec | None = None
    stamp: str = ""
    problems: tuple[Problem, ...] = ()
    broken: bool = False

    def skips(self, rel: str, is_folder: bool) -> bool:
        """Whether the rules name this path. As in git, what lies in a named folder cannot be called back."""
        if self.spec is None:
            return False
        text = rel if rel.isascii() else unicodedata.normalize("NFC", rel)
        return bool(self.spec.match_file(text + "/" if is_folder else text))


def load_rules(root: Path) -> Rules:
    """Read `.mdmemignore` of a scope folder (gitignore syntax; only the one in the root counts)."""
    try:
        data = small_file(os.path.join(root, IGNORE_NAME), _MAX_IGNORE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return Rules()
    except OSError as error:
        found = problem("unreadable", IGNORE_NAME, about=error.strerror or str(error))
        return Rules(stamp="unreadable", problems=(found,), broken=True)
    return _parsed(data)


def _parsed(data: bytes) -> Rules:
    import hashlib  # only folders that have such a file pay for these

    from pathspec import GitIgnoreSpec

    text = unicodedata.normalize("NFC", data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape"))
    lines, problems = [], []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            _check_stars(line)
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error) as error:
            problems.append(problem("ignore-line", IGNORE_NAME, about=str(error), line=number))
        else:
            lines.append(line)
    return Rules(GitIgnoreSpec.from_lines(lines), hashlib.sha256(data).hexdigest(), tuple(problems))


def _check_stars(line: str) -> None:
    if not line.startswith("#") and len(re.findall(r"\*+", line)) > _MAX_STARS:
        raise ValueError(f"more than {_MAX_STARS} stars in one pattern")
