"""A memory's path and changed fields in; the file with only those lines changed out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path

from mdmem import files
from mdmem.document import add_verified, memory_of, parse, remove_fields, set_body, set_fields
from mdmem.document.shape import Value
from mdmem.edit.fields import check_fields, check_new_problems, key_in, says, spellings
from mdmem.edit.place import Guard, Written, anything, check, read, real, written
from mdmem.errors import ChangedError, RefusedError, UsageError
from mdmem.files import write
from mdmem.gates import refuse_secrets

# Of n writers at once one gets through in each round.
_TRIES = 100
_ENDED = ("archived", "stale", "retired")
Edit = Callable[[bytes], bytes]


def change(
    folder: str,
    rel: str,
    *,
    set_: Mapping[str, str | list[str]],
    unset: Iterable[str] = (),
    expected: bytes | None = None,
    guard: Guard = anything,
) -> Written:
    """Set and remove fields of a memory; no other line of the file changes.

    `folder` and `rel` may be printable, as the index has them. `expected`: the bytes that the person saw; if the file
    holds others, ChangedError shows both. Without it the edit is made again on what another writer put there. A field
    keeps the spelling that the file has for it (`title` for `name`); removing one removes all its spellings.
    Raises: UsageError for values that don't fit, NotFoundError, RefusedError for secrets, and for a file that can't be
    edited by line.
    """
    gone = set(unset)
    both = sorted(gone & set_.keys())
    if both:
        raise UsageError(f"'{both[0]}' can't be both set and removed", hint="choose one")
    refuse_secrets("", set_)  # before anything is said of a value
    check_fields(set_)

    def edit(data: bytes) -> bytes:
        before = parse(data, rel)
        edited = set_fields(data, {key_in(before, key): value for key, value in set_.items()})
        if gone:
            edited = remove_fields(edited, spellings(parse(edited, rel), gone))
        if edited != data:
            check_new_problems(before, parse(edited, rel))
        return edited

    return _apply(folder, rel, edit, guard, expected)


def update(
    folder: str,
    rel: str,
    edit: Edit,
    *,
    expected: bytes,
    verified: tuple[str, str],
    today: date,
    guard: Guard = anything,
) -> tuple[Written, bytes]:
    """Make an approved edit of a memory's bytes (see `said_anew`) on what the person saw; what it holds then.

    Noted with it are `verified` (who approved it, when), and the day where the file has a line for that. Nothing is
    written where the edit changes nothing. Raises ChangedError for other bytes than `expected`, and as `change` does.
    """

    def noted(before: bytes) -> bytes:
        edited = edit(before)
        if edited == before:
            return before
        check_new_problems(parse(before, rel), parse(edited, rel))
        doc = parse(edited, rel)
        if says(doc, "updated"):
            edited = set_fields(edited, {key_in(doc, "updated"): today.isoformat()})
        return add_verified(edited, *verified)

    return _apply(folder, rel, noted, guard, expected), noted(expected)


def said_anew(data: bytes, fields: Mapping[str, Value], body: str) -> bytes:
    """A memory's bytes with another text and some fields, under the spellings that it has for them; all else stays."""
    before = parse(data, "")
    wanted = {key_in(before, key): value for key, value in fields.items()}
    plain = {key: value for key, value in wanted.items() if isinstance(value, str)}
    lists = {key: [item for item in value if isinstance(item, str)] for key, value in wanted.items()
             if isinstance(value, list)}  # fmt: skip
    return set_fields(set_body(data, body), {**plain, **lists})


def archive(folder: str, rel: str, *, guard: Guard = anything) -> Written:
    """Write `status: archived` into a memory; one that is archived stays as it is."""

    def edit(data: bytes) -> bytes:
        doc = parse(data, rel)
        if _status(data, rel) == "archived":
            return data
        return set_fields(data, {key_in(doc, "status"): "archived"})

    return _apply(folder, rel, edit, guard)


def restore(folder: str, rel: str, *, guard: Guard = anything) -> Written:
    """Make a memory that is archived, stale or retired active again: its `status` is removed, nothing else.

    The bytes are then those before `archive`, unless the file had a status of its own, or an empty block. What
    `invalid_at` or `superseded_by` end stays ended: the caller says so.
    """

    def edit(data: bytes) -> bytes:
        if _status(data, rel) not in _ENDED:
            return data
        edited = remove_fields(data, spellings(parse(data, rel), ["status"]))
        # A `metadata` map can say it too, and a field of ours outweighs that.
        return set_fields(edited, {"status": "active"}) if _status(edited, rel) in _ENDED else edited

    return _apply(folder, rel, edit, guard)


def _status(data: bytes, rel: str) -> str | None:
    return memory_of(parse(data, rel), path=rel, scope="user")[0].status


def _apply(folder: str, rel: str, edit: Edit, guard: Guard, expected: bytes | None = None) -> Written:
    root, raw = real(folder, rel)

    def guarded(before: bytes) -> bytes:
        after = edit(before)
        if after != before:
            check(guard, rel, before, after)
        return after

    if expected is not None:
        data = guarded(expected)
        write.replace(root, raw, data, expected=expected)
    else:
        data = _insist(root, raw, guarded)
    return written(files.from_printable(folder), raw, data)


def _insist(root: Path, rel: str, edit: Edit) -> bytes:
    """Make an edit on what the file holds, again each time that another writer was faster."""
    tries = _TRIES
    while True:
        before = read(root, rel)
        if not before.strip():
            # An editor that empties a file before it writes would lose what it writes then.
            raise RefusedError(
                "the file is empty", where=files.printable(rel), hint="is it being saved? then try again"
            )
        data = _edited(before, root, rel, edit)
        try:
            write.replace(root, rel, data, expected=before)
        except ChangedError:
            tries -= 1
            if not tries:
                raise
        else:
            return data


def _edited(before: bytes, root: Path, rel: str, edit: Edit) -> bytes:
    try:
        return edit(before)
    except RefusedError as error:
        error.where = error.where or files.printable(f"{root}/{rel}")
        raise
