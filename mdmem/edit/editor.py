"""A memory's path and a person's editor in; whether the file changed out."""

from __future__ import annotations

import shlex

from mdmem import files
from mdmem.edit.place import Guard, Written, anything, check, read, real, written
from mdmem.errors import MachineError, RefusedError, UsageError
from mdmem.files import write
from mdmem.gates import refuse_held


def edit_in_editor(folder: str, rel: str, command: str, *, guard: Guard = anything) -> tuple[Written, bool]:
    """Open a memory in an editor, wait until it ends, and say whether the bytes changed.

    `command`: words as in EDITOR, parted as a shell would but run without one; the file's path is added. The editor
    works on the file itself, so that everything it knows about the file stays; what the guard refuses is put back as it
    was. A text with a secret stays as the person saved it (nothing they wrote may be lost), out of the index like any
    other such file; RefusedError says so. Raises UsageError for a command that can't be run, MachineError where it
    ended with an error.
    """
    root, raw = real(folder, rel)
    before = read(root, raw)
    check(guard, rel, before)
    _run(_words(command), str(root / raw))
    after = read(root, raw)
    try:
        check(guard, rel, after)
    except RefusedError:
        write.replace(root, raw, before, expected=after)
        raise
    refuse_held(after, files.printable(raw))
    return written(files.from_printable(folder), raw, after), after != before


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise _unusable(command, f"has an error in it: {error}") from error
    if not words:
        raise UsageError("no editor is named", hint="set VISUAL or EDITOR, for example: export EDITOR=nano")
    return words


def _run(words: list[str], path: str) -> None:
    import subprocess  # only this command pays for it

    try:
        code = subprocess.run([*words, path], check=False).returncode
    except OSError as error:
        raise _unusable(words[0], f"can't be run: {error.strerror}") from error
    if code:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        raise MachineError(
            f"the editor {how}", where=words[0], hint="the file is as the editor left it; look at it, then try again"
        )


def _unusable(command: str, why: str) -> UsageError:
    return UsageError(f"the editor {why}", where=command, hint="set VISUAL or EDITOR, for example: export EDITOR=nano")
