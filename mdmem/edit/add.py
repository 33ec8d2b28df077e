"""A scope, a text and fields in; a new memory file out."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import NamedTuple

from mdmem import files
from mdmem.document import Document, compose, memory_of, parse, set_fields, slug
from mdmem.document.prose import first_sentence, one_line, title_of
from mdmem.document.shorten import shorten
from mdmem.edit.fields import Fields, check_fields, check_new_problems, check_text, key_in, known_names, says
from mdmem.edit.place import Guard, Written, anything, check, create_free, prepare, written
from mdmem.errors import RefusedError, UsageError
from mdmem.files import MAX_FILE_BYTES, write
from mdmem.gates import refuse_secrets
from mdmem.memory import DEFAULT_TYPE
from mdmem.scope import Scope

_MAX_NAME = 80  # characters of a sentence that becomes a name
# The order in which a new block is written; fields that are not here stand between these and `created`.
_ORDER = (
    "name", "description", "type", "key", "domain", "topic", "confidence", "source", "status", "stability", "proof",
    "probe", "entities", "tags", "aliases",
)  # fmt: skip


def add(
    scope: Scope,
    text: str,
    *,
    fields: dict[str, str | list[str]],
    today: date,
    file_name: str | None = None,
    guard: Guard = anything,
) -> Written:
    """Write a new memory file into a scope folder, never over another one.

    A text with a block of its own keeps it: its fields are used, `fields` win. The file is named after `file_name`
    (a path in the folder, `.md` may be left out), else the memory's name; a taken name is numbered. `type` and
    `created` are always written, `name` where the file name and the text don't say it as it is. Whether another file
    claims the same `key` is for the caller to ask.
    Raises: UsageError (empty text, a value that its key can't have, a name that no memory can have), RefusedError
    (secrets, mounts, paths that leave the folder), MachineError.
    """
    root = prepare(scope)
    refuse_secrets(file_name or "")
    draft = draft_of(scope, text, {"created": today.isoformat(), **known_names(fields)})
    rel = _rel_of(root, file_name or "") if file_name is not None else file_for(root, draft.title)
    check(guard, rel, draft.at(rel))
    rel, data = create_free(root, rel, draft.at, private=scope.private)
    return written(scope.folder, rel, data)


class Draft(NamedTuple):
    """A new memory whose file name is not decided yet: the text, read, and the fields that go over its own."""

    text: str
    doc: Document
    fields: Fields
    title: str

    def at(self, rel: str) -> bytes:
        """The bytes for a path: with a `name` where a reader would not find the title without."""
        data = _composed(self.text, self.doc, self.fields)
        read = memory_of(parse(data, rel), path=files.printable(rel), scope="user")[0].name
        return (
            data
            if read == one_line(self.title)
            else _composed(self.text, self.doc, {**self.fields, "name": self.title})
        )


def draft_of(scope: Scope, text: str, fields: Fields) -> Draft:
    """Text and fields as the bytes of a file, checked. Raises UsageError, and RefusedError for a secret."""
    check_text(text, "the text")
    refuse_secrets(text, fields)  # before anything is said of a value
    check_fields(fields)
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise UsageError("there is no text to remember", hint="give the text, or - to read it from stdin")
    doc = _parsed(text)
    # `created` of the text's own block is older, and truer, than today.
    wanted = {key: value for key, value in fields.items() if key != "created" or not says(doc, "created")}
    if not wanted.get("type") and not says(doc, "type"):
        wanted["type"] = DEFAULT_TYPE[scope.kind]
    data = _composed(text, doc, wanted)
    if len(data) > MAX_FILE_BYTES - 1024:  # room for a name
        raise UsageError(f"the text is longer than {MAX_FILE_BYTES // 1024} KiB", hint="split it into several memories")
    done = parse(data, "")
    check_new_problems(None, done)
    return Draft(text, doc, wanted, _title(done))


def _composed(text: str, doc: Document, fields: Fields) -> bytes:
    """The text with fields set in its own block, or in a new one in front of it."""
    if not doc.has_front:
        return compose(_ordered(fields), doc.body)
    edited = set_fields(text.encode(), {key_in(doc, key): value for key, value in fields.items()})
    return edited if edited.endswith((b"\n", b"\r")) else edited + b"\n"


def file_for(root: Path, title: str) -> str:
    """A file name for a title, which every scan takes for a memory and every system can hold."""
    stem = slug(title)
    if files.is_memory_name(f"{stem}.md") and _holds(root, stem):
        return f"{stem}.md"
    return f"about-{stem.replace('_', '-')}.md"


def _holds(root: Path, stem: str) -> bool:
    try:
        write.inside(root, f"{stem}.md")
    except RefusedError:
        return False
    return True


def _rel_of(root: Path, file_name: str) -> str:
    rel = files.from_printable(file_name)
    rel = rel if rel.lower().endswith(".md") else f"{rel}.md"
    write.inside(root, rel)
    return rel[:-3] + ".md"


def _parsed(text: str) -> Document:
    doc = parse(text.encode(), "the text")
    if doc.broken:
        worst = doc.problems[-1]
        raise UsageError(f"the text can't be read: {worst.message}", where=f"line {worst.line}", hint=worst.hint)
    return doc


def _title(doc: Document) -> str:
    named = doc.fields.get("name") or doc.fields.get(key_in(doc, "name"))
    if isinstance(named, str) and named.strip():
        return named
    lines = (one_line(line) for line in doc.body.splitlines())
    found = title_of(doc.body) or first_sentence(doc.body) or next((line for line in lines if line), "")
    if not found:
        described = doc.fields.get("description")
        found = one_line(described) if isinstance(described, str) else ""
    if not found:
        raise UsageError("there is no text to remember", hint="give some text below the frontmatter")
    return shorten(found.rstrip(".。") or found, _MAX_NAME)


def _ordered(fields: Fields) -> dict[str, str | list[str]]:
    places = {key: place for place, key in enumerate(_ORDER)} | {"created": len(_ORDER) + 1}
    return dict(sorted(fields.items(), key=lambda item: places.get(item[0], len(_ORDER))))
