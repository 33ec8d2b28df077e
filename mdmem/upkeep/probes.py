"""A memory's probe in; what was allowed, how it is to be run, and whether the memory is verified out. Pure."""

from __future__ import annotations

import hashlib
import re
import shlex

from mdmem.ledger import LastProbe
from mdmem.recall.validity import moment

MAX_PROBE = 2_000  # characters: more than a person reads before saying yes

# What means to a shell what it means to us: words, parted by blanks, and quotes in which nothing is replaced. What
# stands in single quotes is text to both.
_PLAIN_WORDS = re.compile(r"""(?:[ \t\w./:@%+,=-]|'[^'\n]*'|"[^"$`\\!\n]*")+""")


def digest(probe: str) -> bytes:
    """What a result is known by: of another text it says nothing."""
    return hashlib.sha256(probe.encode("utf-8", "surrogatepass")).digest()


def allowance(probe: str, root: str) -> bytes:
    """What a person's yes is known by. `root`: the project's, where it is run in one, else ''; in another project
    `make check` is another command.
    """
    return hashlib.sha256(f"{root}\0{probe}".encode("utf-8", "surrogatepass")).digest()


def plain_words(probe: str) -> list[str] | None:
    """The words of a probe that needs no shell; None where one would do more with it than part it into words."""
    if not _PLAIN_WORDS.fullmatch(probe):
        return None
    words = shlex.split(probe)
    is_assignment = bool(words) and "=" in words[0]
    return None if not words or not words[0] or is_assignment else words


def unverified_since(known: LastProbe | None, probe: str | None, updated: str) -> str | None:
    """When a memory began to be doubtful: its probe failed, or a log told that the like did; None where neither did.

    A failure counts as long as the probe reads as it did then; a doubt until the file is changed.
    """
    if known is None:
        return None
    failed = known.failed_since if probe and known.sha256 == digest(probe) else None
    told = known.doubted_at
    doubted = told if told and moment(updated) <= moment(told) else None
    return min((at for at in (failed, doubted) if at), default=None)
