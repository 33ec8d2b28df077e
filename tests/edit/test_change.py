"""Fields changed line by line, archive and restore, and two writers at one file."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mdmem import edit
from mdmem.document import memory_of, parse
from mdmem.edit import archive, change, restore
from mdmem.errors import ChangedError, MachineError, MdmemError, NotFoundError, RefusedError, UsageError
from mdmem.files import write
from mdmem.scope import Scope
from tests.edit.conftest import put, tree

FILE = (
    b"\xef\xbb\xbf---\r\n# a comment\r\nname:   'Deploy'   # why\r\ntags:\r\n  - aws\r\n  - s3\r\n"
    b"title-case: Kept\r\nconfidence: 0.5\r\n---\r\nBody\r\n\r\nno newline at the end"
)


def test_d22_one_field_is_one_line(user) -> None:
    path = put(user, "ops/x.md", FILE)
    done = change(user.folder, "ops/x.md", set_={"confidence": "0.9"})

    assert path.read_bytes() == FILE.replace(b"0.5", b"0.9")
    assert done == (user.folder, "ops/x.md", "ops/x", str(path))


def test_a_field_is_set_and_another_removed_in_one_write(user) -> None:
    path = put(user, "x.md", FILE)
    done = change(user.folder, "x.md", set_={"key": "deploy:x", "tags": ["a", "b"]}, unset=["confidence", "absent"])

    assert path.read_bytes() == FILE.replace(b"confidence: 0.5", b"key: deploy:x").replace(
        b"  - aws\r\n  - s3", b"  - a\r\n  - b"
    )
    assert done.key == "deploy:x"


def test_a_file_without_a_block_gets_one(user) -> None:
    path = put(user, "x.md", "Body")
    change(user.folder, "x.md", set_={"name": "X"})

    assert path.read_bytes() == b"---\nname: X\n---\nBody"


def test_a_field_keeps_the_spelling_that_the_file_has(user) -> None:
    path = put(user, "x.md", "---\ntitle: A\nType: fact\n标签: [a]\n---\nBody\n")
    change(user.folder, "x.md", set_={"name": "B", "type": "rule"}, unset=["tags"])

    assert path.read_bytes() == b"---\ntitle: B\nType: rule\n---\nBody\n"


def test_removing_a_field_removes_it_under_every_spelling(user) -> None:
    path = put(user, "x.md", "---\ntitle: A\nname: B\n---\nBody\n")
    change(user.folder, "x.md", set_={}, unset=["name"])

    assert path.read_bytes() == b"Body\n"


def test_a_change_that_changes_nothing_writes_nothing(user) -> None:
    path = put(user, "x.md", FILE)
    before = path.stat()
    change(user.folder, "x.md", set_={"confidence": "0.5"})

    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_mode_and_neighbours_stay(user) -> None:
    path = put(user, "x.md", FILE)
    path.chmod(0o640)
    change(user.folder, "x.md", set_={"key": "k"})

    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tree(user.folder)) == ["x.md"]


def test_what_the_index_calls_a_file_finds_it_on_the_disk(user) -> None:
    raw = os.fsdecode(b"caf\xe9.md")
    path = put(user, raw, "Body\n")
    done = change(user.folder, "caf\\xE9.md", set_={"name": "X"})

    assert path.read_bytes() == b"---\nname: X\n---\nBody\n"
    assert done.rel == "caf\\xE9.md"
    assert done.path.encode()


@pytest.mark.parametrize(
    "fields", [{"type": "feedbak"}, {"confidence": "2"}, {"expires": "x"}, {"valid_from": "2027-01-01"}]
)
def test_a_wrong_value_is_not_written(user, fields) -> None:
    data = "---\ninvalid_at: 2026-01-01\n---\nBody\n"
    put(user, "x.md", data)
    with pytest.raises(UsageError):
        change(user.folder, "x.md", set_=fields)

    assert tree(user.folder) == {"x.md": data.encode()}


def test_a_fault_that_was_there_before_hinders_no_other_change(user) -> None:
    path = put(user, "x.md", "---\ntype: banana\n---\nBody\n")
    change(user.folder, "x.md", set_={"name": "X"})

    assert path.read_bytes() == b"---\ntype: banana\nname: X\n---\nBody\n"


def test_a_field_cant_be_both_set_and_removed(user) -> None:
    put(user, "x.md", FILE)
    with pytest.raises(UsageError, match="both"):
        change(user.folder, "x.md", set_={"name": "X"}, unset=["name"])


BROKEN = [
    b"---\nname: [x\n---\nBody\n", b"---\nname: a\n---\n---\ntype: b\n---\nx\n", b"\x89PNG\r\n\x1a\n\0", b"caf\xe9\n",
    b"---\nnever closed\n", b"<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n", b"", b" \n",
]  # fmt: skip


@pytest.mark.parametrize("data", BROKEN)
@pytest.mark.parametrize("door", ["change", "archive"])
def test_d22_a_file_that_cant_be_read_is_refused_and_stays(user, data: bytes, door: str) -> None:
    put(user, "x.md", data)
    with pytest.raises(RefusedError) as caught:
        _ = change(user.folder, "x.md", set_={"name": "X"}) if door == "change" else archive(user.folder, "x.md")

    assert caught.value.hint
    assert tree(user.folder) == {"x.md": data}


DOORS = [
    lambda folder, rel: change(folder, rel, set_={"name": "X"}),
    lambda folder, rel: change(folder, rel, set_={"name": "X"}, expected=b"Body"),
    archive,
    restore,
    lambda folder, rel: edit.edit_in_editor(folder, rel, "true"),
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "rel",
    ["../x.md", "/etc/passwd.md", "a/../../x.md", "~/x.md", "CON.md", "a\\x.md", "", "MEMORY.md", ".gitattributes"],
)
def test_k6_every_door_refuses_what_is_no_memory_of_the_folder(user, tmp_path, door, rel: str) -> None:
    put(user, "MEMORY.md", "Body")
    put(user, "../x.md", "Body")
    before = tree(tmp_path)
    with pytest.raises(RefusedError):
        door(user.folder, rel)

    assert tree(tmp_path) == before


@pytest.mark.parametrize("door", DOORS)
def test_a_link_is_never_followed(user, tmp_path, door) -> None:
    (tmp_path / "away.md").write_bytes(b"Body")
    Path(user.folder, "x.md").symlink_to(tmp_path / "away.md")
    with pytest.raises(RefusedError, match="link"):
        door(user.folder, "x.md")

    assert (tmp_path / "away.md").read_bytes() == b"Body"


@pytest.mark.parametrize("door", [DOORS[0], *DOORS[2:]])
def test_a_memory_that_is_not_there_is_said_so(user, door) -> None:
    with pytest.raises(NotFoundError):
        door(user.folder, "x.md")
    with pytest.raises(NotFoundError):
        door(user.folder + "-gone", "x.md")


def test_e7_a_full_disk_leaves_the_old_bytes(user, monkeypatch) -> None:
    put(user, "x.md", FILE)

    def full(descriptor: int, data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write.os, "write", full)
    with pytest.raises(MachineError, match="disk is full"):
        archive(user.folder, "x.md")

    assert tree(user.folder) == {"x.md": FILE}


def test_archive_adds_one_line_and_restore_takes_it_away(user) -> None:
    path = put(user, "x.md", FILE)
    archive(user.folder, "x.md")

    assert path.read_bytes() == FILE.replace(b"0.5\r\n", b"0.5\r\nstatus: archived\r\n")
    archive(user.folder, "x.md")
    assert path.read_bytes().count(b"archived") == 1
    restore(user.folder, "x.md")
    assert path.read_bytes() == FILE
    restore(user.folder, "x.md")
    assert path.read_bytes() == FILE


@pytest.mark.parametrize(
    ("data", "archived", "restored"),
    [
        ("---\nstatus: stale # why\n---\nB\n", "---\nstatus: archived # why\n---\nB\n", "B\n"),
        ("---\nStatus: draft\nx: y\n---\nB\n", "---\nStatus: archived\nx: y\n---\nB\n", "---\nx: y\n---\nB\n"),
        ("---\nstatus: deprecated\n---\nB\n", "---\nstatus: deprecated\n---\nB\n", "B\n"),
        ("---\nmetadata:\n  status: archived\n---\nB\n", "---\nmetadata:\n  status: archived\n---\nB\n",
         "---\nmetadata:\n  status: archived\nstatus: active\n---\nB\n"),
    ],
)  # fmt: skip
def test_a_status_of_the_files_own_gives_way(user, data: str, archived: str, restored: str) -> None:
    path = put(user, "x.md", data)
    archive(user.folder, "x.md")
    assert path.read_text() == archived
    restore(user.folder, "x.md")
    assert path.read_text() == restored


@pytest.mark.parametrize("status", ["active", "draft", "stable"])
def test_restore_leaves_a_status_that_ends_nothing(user, status: str) -> None:
    data = f"---\nstatus: {status}\n---\nB\n"
    path = put(user, "x.md", data)
    restore(user.folder, "x.md")

    assert path.read_text() == data


def test_restore_removes_only_the_status_of_a_memory_that_ended_otherwise(user) -> None:
    path = put(user, "x.md", "---\nstatus: archived\nsuperseded_by: y\n---\nB\n")
    restore(user.folder, "x.md")

    assert path.read_text() == "---\nsuperseded_by: y\n---\nB\n"


LINES = st.sampled_from(
    ["name: X", "# comment", "tags: [a, b]", "tags:\n  - a\n  - b", "note: |\n  one\n  two", "a: 'b' # c", "",
     "x:", "名: 值", "key: deploy:x", "created: 2026-01-01", "metadata:\n  type: fact", '"q": 1']
)  # fmt: skip
BODY = st.text(st.sampled_from("ab#-:` \n部😀"), max_size=40)


@settings(deadline=None)
@given(
    st.lists(LINES, unique_by=lambda line: line.split(":")[0]),
    BODY,
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.booleans(),
)
def test_archive_and_restore_give_the_same_bytes(front, body: str, newline: str, mark: bool, block: bool) -> None:
    text = "---\n" + "".join(f"{line}\n" for line in front) + "---\n" + body if block else body
    data = (b"\xef\xbb\xbf" if mark else b"") + text.replace("\n", newline).encode()
    doc = parse(data, "x.md")
    # A block that holds nothing is not told from the one that archiving makes.
    assume(not block or any(line.strip() for line in front))
    with tempfile.TemporaryDirectory() as folder:
        path = put(Scope("user", None, folder), "x.md", data)
        try:
            archive(folder, "x.md")
        except RefusedError:
            assert path.read_bytes() == data
            assert doc.problems or doc.empty
            return
        archived = parse(path.read_bytes(), "x.md")
        assert memory_of(archived, path="x.md", scope="user")[0].status == "archived"
        assert archived.body == doc.body
        restore(folder, "x.md")
        assert path.read_bytes() == data


def test_l10_a_file_that_changed_since_the_person_saw_it_is_shown_not_overwritten(user) -> None:
    path = put(user, "x.md", "---\nname: A\n---\nBody\n")
    seen = path.read_bytes()
    put(user, "x.md", "theirs\n")
    with pytest.raises(ChangedError) as caught:
        change(user.folder, "x.md", set_={"name": "B"}, expected=seen)

    assert caught.value.theirs == b"theirs\n"
    assert caught.value.ours == b"---\nname: B\n---\nBody\n"
    assert path.read_bytes() == b"theirs\n"


def test_l10_a_hundred_interleaved_edits_lose_nothing_silently(user) -> None:
    path = put(user, "x.md", "---\nname: X\n---\nBody\n")
    refused, made = [], []
    for turn in range(100):
        seen = path.read_bytes()
        if turn % 3 == 0:  # an agent saves in between, by rename or in place
            body = seen + f"agent {turn}\n".encode()
            temporary = put(user, ".swap", body)
            temporary.replace(path) if turn % 2 else path.write_bytes(body)
            temporary.unlink(missing_ok=True)
        try:
            change(user.folder, "x.md", set_={f"k{turn}": str(turn)}, expected=seen)
            made.append(turn)
        except ChangedError as error:
            refused.append(error.theirs == path.read_bytes())

    doc = parse(path.read_bytes(), "x.md")
    assert (refused, len(made)) == ([True] * 34, 66)
    assert all(doc.fields[f"k{turn}"] == str(turn) for turn in made)
    assert doc.body == "Body\n" + "".join(f"agent {turn}\n" for turn in range(0, 100, 3))


def test_l10_an_edit_is_made_again_on_what_another_writer_put_there(user, monkeypatch) -> None:
    path = put(user, "x.md", "---\nname: X\n---\nBody\n")
    honest, theirs = write.replace, iter([b"---\nname: Y\n---\nMore\n", b"---\nname: Z\n---\nMost\n"])

    def replace(root: Path, rel: str, data: bytes, *, expected: bytes) -> bool:
        path.write_bytes(next(theirs, path.read_bytes()))
        return honest(root, rel, data, expected=expected)

    monkeypatch.setattr(write, "replace", replace)
    change(user.folder, "x.md", set_={"key": "k"})

    assert path.read_bytes() == b"---\nname: Z\nkey: k\n---\nMost\n"


def test_l10_a_save_while_the_edit_is_being_made_is_not_lost(user, monkeypatch) -> None:
    path = put(user, "x.md", "Body\n")
    room = sys.modules["mdmem.edit.change"]  # the package has the function of this name
    honest, theirs = room.set_fields, iter(["theirs\n"])

    def set_fields(*args: object) -> bytes:
        path.write_text(next(theirs, path.read_text()))
        return honest(*args)

    monkeypatch.setattr(room, "set_fields", set_fields)
    change(user.folder, "x.md", set_={"key": "k"})

    assert path.read_bytes() == b"---\nkey: k\n---\ntheirs\n"


def test_l10_an_edit_that_never_gets_through_is_given_up(user, monkeypatch) -> None:
    path = put(user, "x.md", "Body\n")
    honest, turns = write.replace, iter(range(1000))

    def replace(root: Path, rel: str, data: bytes, *, expected: bytes) -> bool:
        path.write_bytes(f"Body {next(turns)}\n".encode())
        return honest(root, rel, data, expected=expected)

    monkeypatch.setattr(write, "replace", replace)
    with pytest.raises(ChangedError):
        change(user.folder, "x.md", set_={"key": "k"})

    assert path.read_bytes() == b"Body 99\n"


def test_l10_writers_at_once_on_one_file_lose_no_field(user) -> None:
    path = put(user, "x.md", "Body\n")
    errors: list[MdmemError] = []

    def writer(number: int) -> None:
        for turn in range(5):
            try:
                change(user.folder, "x.md", set_={f"k{number}-{turn}": "v"})
            except MdmemError as error:
                errors.append(error)

    threads = [threading.Thread(target=writer, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert set(parse(path.read_bytes(), "").fields) == {f"k{number}-{turn}" for number in range(8) for turn in range(5)}
    assert list(tree(user.folder)) == ["x.md"]
