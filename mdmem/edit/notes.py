"""An agent's scope and a text in; its own notes file, with that text in it, out."""

from __future__ import annotations

import hashlib
from datetime import date
from pathlib import Path

from mdmem.document import compose, parse
from mdmem.edit.fields import check_text
from mdmem.edit.place import Guard, Written, anything, check, prepare, read, written
from mdmem.errors import ChangedError, NotFoundError, RefusedError, UsageError
from mdmem.files import write
from mdmem.gates import refuse_secrets
from mdmem.scope import Scope

FILE = "notes.md"
MAX_BYTES = 64 * 1024  # they are injected whole
_TRIES = 100


def version_of(data: bytes) -> str:
    """What tells one state of a file from another."""
    return hashlib.sha256(data).hexdigest()[:12]


def write_notes(
    scope: Scope, text: str, *, today: date, version: str | None = None, guard: Guard = anything
) -> tuple[Written, str]:
    """Put a text into an agent's notes; the file, and its version now. The file is made if need be.

    With the `version` that the agent has read the text takes the place of what stood there, unless somebody has changed
    it meanwhile (ChangedError). Without one it is added at the end, whatever stands there. The frontmatter stays.
    """
    check_text(text, "the text")
    refuse_secrets(text)
    if not text.strip():
        raise UsageError("there is nothing to note", hint="give some text")
    root = prepare(scope)
    for _ in range(_TRIES):
        before = _read(root)
        if version is not None and version_of(before or b"") != version:
            raise _changed(before, text)
        data = _with(before, text, today, replace=version is not None)
        if len(data) > MAX_BYTES:
            hint = "give shorter notes in place of them, with their version"
            raise UsageError(f"the notes would be longer than {MAX_BYTES // 1024} KiB", hint=hint)
        check(guard, FILE, data)
        try:
            write.write_generated(root, FILE, data, expected=before, private=True)
        except ChangedError:
            continue  # another writer was faster: look again at what stands there now
        return written(scope.folder, FILE, data), version_of(data)
    raise RefusedError("the notes are being changed by another program", where=FILE, hint="try again in a moment")


def _read(root: Path) -> bytes | None:
    try:
        return read(root, FILE)
    except NotFoundError:
        return None


def _changed(before: bytes | None, text: str) -> ChangedError:
    hint = "read them again with recall_memory, and give that version; or give none, to add at the end"
    return ChangedError("the notes have changed since", where=FILE, theirs=before or b"", ours=text.encode(), hint=hint)


def _with(before: bytes | None, text: str, today: date, *, replace: bool) -> bytes:
    text = text.strip("\n") + "\n"
    if before is None or not before.strip():
        return compose({"name": "Notes", "type": "notes", "source": "inferred", "created": today.isoformat()}, text)
    doc = parse(before, FILE)
    if doc.broken:
        raise RefusedError("the notes can't be read", where=FILE, hint="correct the file by hand first")
    if not replace:
        return before + (b"\n" if before.endswith(b"\n") else b"\n\n") + text.encode()
    body = doc.body.encode("utf-8", "surrogateescape")
    if not before.endswith(body):
        raise RefusedError("the notes are not UTF-8 text", where=FILE, hint="save the file as UTF-8 first")
    return before[: len(before) - len(body)] + text.encode()
