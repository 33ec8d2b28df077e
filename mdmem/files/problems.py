"""The problems that a folder can have: a code and a path in, a `Problem` in plain words out."""

from __future__ import annotations

from mdmem.errors import Problem
from mdmem.files.names import printable

MAX_FILE_BYTES = 1024 * 1024

# code -> (message, hint); `{about}` is the one fact that differs from case to case.
_WORDS: dict[str, tuple[str, str]] = {
    "symlink": (
        "is a symbolic link, and links inside a scope folder are never followed",
        "put the file itself here, or add the link's target to the config as a folder of its own",
    ),
    "not-a-file": ("is {about}, not a regular file", "remove it, or give it a name that does not end in .md"),
    "too-large": (
        "is larger than {about} bytes and is not indexed",
        "split it, or name it in .mdmemignore",
    ),
    "too-many": (
        "holds more than {about} names; the rest was not looked at",
        "move what is not memory out of this folder, or name it in .mdmemignore",
    ),
    "too-deep": ("lies too deep in folders and was not looked at", "move it up, or name it in .mdmemignore"),
    "unreadable": (
        "cannot be read: {about}",
        "give yourself permission to read it; until then its last content counts",
    ),
    "not-on-this-disk": (
        "is kept online only by a sync program",
        "open it once, or tell the sync program to keep it on this disk; until then its last content counts",
    ),
    "same-name": (
        "has the name of {about} but for upper case or the spelling of accents",
        "rename one of them: on many disks only one of the two can exist",
    ),
    "conflict-copy": (
        "is a conflict copy made by a sync program and is not indexed",
        "bring what you need of it into the original, then delete it",
    ),
    "possible-copy": (
        "may be a copy of {about} made by a sync program; both are indexed",
        "delete the copy, or give it a name of its own",
    ),
    "changing": ("kept changing while it was read", "it is looked at again with its next change"),
    "outside": ("is not a path inside its folder", "use a path relative to the scope folder, without '..'"),
    "ignore-line": ("has a pattern that cannot be read: {about}", "correct it, see gitignore(5) for the syntax"),
}

CODES = frozenset(_WORDS)


def problem(code: str, rel: str, *, about: object = "", line: int | None = None) -> Problem:
    """The problem `code` of the file or folder `rel` ("" is the scope folder itself, shown as ".")."""
    message, hint = _WORDS[code]
    shown = printable(about) if isinstance(about, str) else about
    return Problem(printable(rel) or ".", line, code, message.format(about=shown), hint)
