"""An agent's notes: made, added to, replaced by version; nobody else's words are lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest

from mdmem.edit import version_of, write_notes
from mdmem.errors import ChangedError, RefusedError, UsageError
from mdmem.scope import Scope

TODAY = date(2026, 11, 30)


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    return Scope("agent", "builder", str(tmp_path / "agents" / "builder"))


def put(scope: Scope, data: bytes) -> Path:
    path = Path(scope.folder) / "notes.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_the_first_notes_make_the_file(scope: Scope) -> None:
    done, version = write_notes(scope, "Half way.", today=TODAY)
    data = Path(done.path).read_bytes()

    assert data == b"---\nname: Notes\ntype: notes\nsource: inferred\ncreated: 2026-11-30\n---\nHalf way.\n"
    assert version == version_of(data)
    assert (done.key, done.rel) == ("notes", "notes.md")


@pytest.mark.parametrize("before", [b"Mine.", b"Mine.\n", b"---\ntitle: x # why\n---\r\nMine.\r\n", b"\xff\xfe junk\n"])
def test_what_is_added_changes_nothing_before_it(scope: Scope, before: bytes) -> None:
    path = put(scope, before)
    write_notes(scope, "New.", today=TODAY)

    assert path.read_bytes().startswith(before)
    assert path.read_bytes().endswith(b"\n\nNew.\n")


def test_what_replaces_them_keeps_their_frontmatter(scope: Scope) -> None:
    before = b"---\ntitle: x # why\nmine: 1\n---\nOld.\n"
    path = put(scope, before)
    write_notes(scope, "New.", today=TODAY, version=version_of(before))

    assert path.read_bytes() == b"---\ntitle: x # why\nmine: 1\n---\nNew.\n"
    with pytest.raises(ChangedError) as caught:
        write_notes(scope, "Newer.", today=TODAY, version=version_of(before))
    assert caught.value.theirs == path.read_bytes()


def test_many_writers_lose_no_note(scope: Scope) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: write_notes(scope, f"note {n}.", today=TODAY), range(20)))
    text = (Path(scope.folder) / "notes.md").read_text()

    assert all(f"\nnote {n}.\n" in text for n in range(20))


def test_notes_that_cannot_be_read_are_left_alone(scope: Scope) -> None:
    broken = b"---\na: [\n---\nMine.\n"
    path = put(scope, broken)
    with pytest.raises(RefusedError):
        write_notes(scope, "New.", today=TODAY)
    assert path.read_bytes() == broken

    latin = b"---\na: 1\n---\nGr\xfc\xdfe.\n"
    path = put(scope, latin)
    with pytest.raises(RefusedError, match="UTF-8"):
        write_notes(scope, "New.", today=TODAY, version=version_of(latin))
    assert path.read_bytes() == latin


@pytest.mark.parametrize("text", ["", " \n", "a\0b", "\ud800", "x" * 70_000])
def test_what_is_no_note_is_refused(scope: Scope, text: str) -> None:
    with pytest.raises(UsageError):
        write_notes(scope, text, today=TODAY)

    assert not (Path(scope.folder) / "notes.md").exists()


def test_a_link_in_place_of_notes_is_not_followed(scope: Scope, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.md"
    target.write_text("Mine.\n")
    put(scope, b"").unlink()
    (Path(scope.folder) / "notes.md").symlink_to(target)

    with pytest.raises(RefusedError):
        write_notes(scope, "New.", today=TODAY)
    assert target.read_text() == "Mine.\n"
