"""The root of a project in, its scope folder out, made if need be."""

from __future__ import annotations

import os
from pathlib import Path

from mdmem import files
from mdmem.edit.place import linked
from mdmem.errors import NotFoundError
from mdmem.files import write
from mdmem.scope import PROJECT_FOLDER

_FOR_GIT = {
    # Two branches' manifests merge by line, and a review shows them folded.
    ".gitattributes": b"MEMORY.md merge=union linguist-generated\n",
    # What a kill may leave of a write half done.
    ".gitignore": b".mdmem-*\n",
}


def init_project(root: str) -> tuple[str, bool]:
    """Make `<root>/.mdmem` with its `.gitattributes` and `.gitignore`; the folder, and whether it is new.

    Modes follow the umask, as in the rest of a repository. What is there stays, changed ones of these too. A
    scope folder that is a link is refused: memories would land elsewhere.
    """
    if not Path(root).is_dir():
        raise NotFoundError("there is no such folder", where=files.printable(root), hint="make it first")
    folder = Path(root, PROJECT_FOLDER)
    if folder.is_symlink():
        raise linked(folder)
    created = not folder.is_dir()
    for name, data in _FOR_GIT.items():
        if not os.path.lexists(folder / name):
            write.write_generated(Path(root), f"{PROJECT_FOLDER}/{name}", data, expected=None, private=False)
    return str(folder), created
