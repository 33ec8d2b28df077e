"""What was found and what is known in, what must be done out. Pure: no file is touched here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mdmem.files import Found, printable
from mdmem.index.read import Known

# A file changed within this time of its last look may have changed again in the same tick of the clock: its hash
# decides (the "racily clean" problem of git's index). Two seconds is the coarsest clock of a file system in use.
RACY_NS = 2_000_000_000
MASS = 20  # more removals than this at once, and half of the folder, are looked at twice


class Plan(NamedTuple):
    """`read`: files to look into; `removed`: known paths that are gone."""

    read: list[Found]
    removed: list[Known]


def plan(found: Iterable[Found], known: Mapping[str, Known], unreadable: Iterable[str]) -> Plan:
    """Compare a scan with the index. What could not be looked at is neither changed nor removed."""
    present: set[str] = set()
    to_read = []
    for file in found:
        path = printable(file.rel)
        present.add(path)
        row = known.get(path)
        if row is None and file.size == 0:
            continue  # an empty file is not a memory yet
        if row is None or not unchanged(file, row):
            to_read.append(file)
    hidden = [printable(rel) for rel in unreadable]
    removed = [row for path, row in known.items() if path not in present and not _under_any(path, hidden)]
    return Plan(to_read, removed)


def unchanged(file: Found, row: Known) -> bool:
    """Same size, times and inode, and older than the last look by two seconds. A time from the future never is."""
    same = (
        file.size == row.size
        and file.mtime_ns == row.mtime_ns
        and file.ctime_ns == row.ctime_ns
        and file.inode == row.inode
    )
    return same and max(file.mtime_ns, file.ctime_ns) + RACY_NS <= row.looked_ns


def is_mass_removal(removed: int, known: int) -> bool:
    return removed > MASS and removed * 2 > known


def _under_any(path: str, folders: Iterable[str]) -> bool:
    return any(folder in ("", path) or path.startswith(f"{folder}/") for folder in folders)
