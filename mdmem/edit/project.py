"""The root of a project in, its scope folder out, made if need be."""

from __future__ import annotations

import os
from pathlib import Path

from mdmem import files
from mdmem.edit.place import linked
from mdmem.errors import MachineError, NotFoundError, RefusedError
from mdmem.files import write
from mdmem.scope import PROJECT_FOLDER

_ATTRIBUTES = ".gitattributes"
# Two branches' manifests merge by line, and a review shows them folded.
_MERGE = b"MEMORY.md merge=union linguist-generated\n"


def init_project(root: str) -> tuple[str, bool]:
    """Make `<root>/.mdmem` and its `.gitattributes`; the folder, and whether it is new.

    Modes follow the umask, as in the rest of a repository. What is there stays, a changed `.gitattributes` too. A
    scope folder that is a link is refused: memories would land elsewhere.
    """
    folder = Path(root, PROJECT_FOLDER)
    if folder.is_symlink():
        raise linked(folder)
    created = _make(folder)
    if not os.path.lexists(folder / _ATTRIBUTES):
        write.write_generated(folder, _ATTRIBUTES, _MERGE, expected=None, private=False)
    return str(folder), created


def _make(folder: Path) -> bool:
    where = files.printable(str(folder))
    try:
        folder.mkdir()
    except FileExistsError as error:
        if not files.real_folder(folder, folder.parent):
            raise RefusedError("something that is no folder has this name", where=where, hint="rename it") from error
        return False
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(
            "there is no such folder", where=files.printable(str(folder.parent)), hint="make it first"
        ) from error
    except OSError as error:
        raise MachineError(
            f"could not be made: {error.strerror}", where=where, hint="look at the permissions of the folder it is in"
        ) from error
    return True
