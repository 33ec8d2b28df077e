"""A new memory: its name, its block, its file, and what is refused."""

from __future__ import annotations

import os
import stat
import tempfile
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdmem import files
from mdmem.document import memory_of, parse
from mdmem.edit import add, check_fields
from mdmem.errors import MachineError, MdmemError, NotFoundError, RefusedError, UsageError
from mdmem.files import write
from mdmem.scope import Scope
from tests.edit.conftest import TODAY, put, tree


def added(scope: Scope, text: str, file_name: str | None = None, **fields: str | list[str]) -> Path:
    return Path(add(scope, text, fields=fields, today=TODAY, file_name=file_name).path)


def mode(path: Path | str) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


def test_a_new_memory_is_a_block_and_the_text_as_given(user) -> None:
    done = add(
        user,
        "npm run dist, then s3 cp.",
        fields={"name": "Deploy blyck", "entities": ["aws", "s3"], "type": "capability", "key": "deploy:blyck"},
        today=TODAY,
    )

    assert Path(done.path).read_text() == (
        "---\nname: Deploy blyck\ntype: capability\nkey: deploy:blyck\nentities: [aws, s3]\ncreated: 2026-11-02\n---\n"
        "npm run dist, then s3 cp.\n"
    )
    assert done == (user.folder, "deploy-blyck.md", "deploy:blyck", f"{user.folder}/deploy-blyck.md")


def test_the_first_heading_names_a_memory_that_has_no_name(user) -> None:
    path = added(user, "Some words.\n\n## Deploy with *care*\n")

    assert path.name == "deploy-with-care.md"
    assert b"name:" not in path.read_bytes()


def test_the_first_sentence_names_a_memory_without_a_heading(user) -> None:
    path = added(user, "- We ship on Mondays. Never on Fridays.")

    assert path.name == "we-ship-on-mondays.md"
    assert parse(path.read_bytes(), "").fields["name"] == "We ship on Mondays"


def test_a_file_name_that_says_it_needs_no_name_beside_it(user) -> None:
    first, second = added(user, "use pnpm"), added(user, "use pnpm")

    assert b"name:" not in first.read_bytes()
    assert b"name: use pnpm\n" in second.read_bytes()  # use-pnpm-2.md says "use pnpm 2"


@pytest.mark.parametrize("kind", ["user", "project", "agent"])
def test_the_type_is_always_written_and_follows_the_scope(kind, request) -> None:
    scope = request.getfixturevalue(kind)
    doc = parse(added(scope, "x is y").read_bytes(), "")

    assert doc.fields["type"] == {"user": "user", "project": "project", "agent": "fact"}[kind]
    assert doc.fields["created"] == "2026-11-02"


def test_the_texts_own_block_is_used_and_flags_win(user) -> None:
    text = "---\n# mine\ntitle: 'Old'\nowner: me # keep\ntype: fact\ncreated: 2020-01-01\n---\r\nBody\n"
    data = added(user, text, name="New", type="rule").read_bytes()

    assert data == (b"---\n# mine\ntitle: New\nowner: me # keep\ntype: rule\ncreated: 2020-01-01\n---\r\nBody\n")


def test_a_byte_order_mark_of_the_text_does_not_go_into_the_file(user) -> None:
    assert added(user, "\ufeff---\nname: X\n---\nBody\n").read_bytes().startswith(b"---\nname: X\n")
    assert added(user, "\ufeffBody\n").read_bytes().endswith(b"---\nBody\n")


def test_d18_a_text_with_a_block_never_gets_a_second(user) -> None:
    data = added(user, "---\nname: X\n---\nBody", topic="ops").read_bytes()

    assert data.count(b"---\n") == 2
    assert data.endswith(b"---\nBody\n")


def test_claude_codes_metadata_counts_as_the_texts_own_type(user) -> None:
    doc = parse(added(user, "---\nname: X\nmetadata:\n  type: feedback\n---\nBody\n").read_bytes(), "")

    assert "type" not in doc.fields
    assert memory_of(doc, path="x.md", scope="user")[0].type == "feedback"


def test_a_text_that_opens_with_a_rule_is_text(user) -> None:
    text = "---\nA rule above, and no block.\n"
    doc = parse(added(user, text).read_bytes(), "")

    assert doc.body == text
    assert doc.fields["type"] == "user"


@pytest.mark.parametrize("text", ["", " \n\t", "\ufeff", "---\n---\n", "---\ntopic: x\n---\n\n"])
def test_nothing_is_no_memory(user, text: str) -> None:
    with pytest.raises(UsageError):
        added(user, text)

    assert tree(user.folder) == {}


BAD = [
    ({"type": "feedbak"}, "'feedback'"),
    ({"type": "memory"}, "feedback, rule"),
    ({"Type": "note"}, "feedback, rule"),
    ({"type": ["fact", "rule"]}, "type: and one text"),
    ({"confidence": "high"}, "0.9"),
    ({"confidence": "1.5"}, "0.9"),
    ({"expires": "soon"}, "2026-11-02"),
    ({"created": "2026-02-30"}, "2026-11-02"),
    ({"status": "gone"}, "archived"),
    ({"source": "rumour"}, "stated"),
    ({"stability": "rock"}, "permanent"),
    ({"valid_from": "2026-05-01", "invalid_at": "2026-01-01"}, "exchange"),
    ({"": "x"}, "short word"),
    ({"a\nb": "x"}, "short word"),
    ({"name": "caf\udce9"}, "iconv"),
    ({"tags": ["a", "b\0"]}, "text"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "hint"), BAD)
def test_a_value_that_its_key_cant_have_is_named_with_what_is_accepted(user, fields, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        add(user, "x", fields=fields, today=TODAY)
    with pytest.raises(UsageError):
        check_fields(fields)

    assert hint in (caught.value.hint or "")
    assert "read as" not in caught.value.what
    assert tree(user.folder) == {}


def test_what_people_write_for_a_value_is_accepted(user) -> None:
    check_fields({"type": "Preference", "confidence": "90%", "expires": "2026/11/2", "status": "draft", "mine": ""})


def test_a_text_whose_own_block_has_a_wrong_value_is_not_saved(user) -> None:
    with pytest.raises(UsageError, match="banana"):
        added(user, "---\ntype: banana\n---\nx\n")
    with pytest.raises(UsageError, match="after invalid_at"):
        added(user, "---\ninvalid_at: 2020-01-01\n---\nx\n", valid_from="2021-01-01")

    assert tree(user.folder) == {}


@pytest.mark.parametrize(
    "text",
    ["---\nname: [x\n---\nBody\n", "---\nname: a\n---\n---\ntype: b\n---\nx\n",
     "a\n<<<<<<< x\n1\n=======\n2\n>>>>>>> y\n", "nul\0", "caf\udce9", "x" * 1024 * 1024],
)  # fmt: skip
def test_a_text_that_would_not_be_read_again_is_not_saved(user, text: str) -> None:
    with pytest.raises((UsageError, RefusedError)) as caught:
        added(user, text, topic="t")

    assert caught.value.hint
    assert tree(user.folder) == {}


@pytest.mark.parametrize("letter", ["a", "я", "部", "😀", "é", "ß "])
@pytest.mark.parametrize("count", [1, 126, 130, 2000])
def test_c3_a_title_of_any_length_makes_a_file_and_stays_whole(user, letter: str, count: int) -> None:
    title = (letter * count).strip()
    path = added(user, "Body", name=title)

    assert len(os.fsencode(path.name)) <= 255
    memory, _ = memory_of(parse(path.read_bytes(), path.name), path=path.name, scope="user")
    assert memory.name == title


NASTY = [
    "a\nb", "it's", 'say "x"', "x](y", "#1", "100%", "-rf", "😀", "!!!", "..", "/", "../../etc/passwd", "~", "CON",
    "nul", "README", "Index", "memory", "x_conflict-20240101-101010", "a\\b", "C:x", "\u202eevil", "\x1b[31mred", "---",
]  # fmt: skip


@pytest.mark.parametrize("title", NASTY)
def test_c5_any_title_gets_a_file_that_a_scan_takes_for_a_memory(user, title: str) -> None:
    path = added(user, "Body", name=title)

    assert [found.rel for found in files.scan(Path(user.folder)).found] == [path.name]
    assert not path.name.startswith(("-", "."))
    assert parse(path.read_bytes(), "").fields["name"] == title


@pytest.mark.parametrize("name", ["../x", "/etc/x", "~/x", "a/../../x", "a\\b", "con", ".git/x", "x\0", "", "C:x"])
def test_k6_a_file_name_leads_nowhere_else(user, tmp_path, name: str) -> None:
    before = tree(tmp_path)
    with pytest.raises((RefusedError, UsageError)):
        added(user, "x", file_name=name)

    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["README", "MEMORY.md", ".hidden", ".obsidian/x", "node_modules/x", "secret/x", "log"])
def test_a_memory_is_not_saved_where_no_scan_would_find_it(user, name: str) -> None:
    put(user, ".mdmemignore", "secret/\n")
    with pytest.raises(UsageError) as caught:
        added(user, "x", file_name=name)

    assert caught.value.hint
    assert list(tree(user.folder)) == [".mdmemignore"]


def test_a_file_name_may_have_folders_and_leave_the_ending_out(user) -> None:
    assert add(user, "x", fields={}, today=TODAY, file_name="ops/Deploy Blyck").key == "ops/Deploy Blyck"
    assert add(user, "x", fields={}, today=TODAY, file_name="ops/Deploy Blyck.MD").rel == "ops/Deploy Blyck-2.md"


def test_names_that_differ_in_case_alone_are_one(user) -> None:
    put(user, "Deploy.md", "mine")
    put(user, "DEPLOY-2.md", "mine too")

    assert added(user, "x", name="deploy").name == "deploy-3.md"
    assert tree(user.folder)["Deploy.md"] == b"mine"


def test_a_folder_or_a_link_of_the_same_name_stays(user, tmp_path) -> None:
    Path(user.folder, "deploy.md").mkdir()
    Path(user.folder, "deploy-2.md").symlink_to(tmp_path / "away.md")

    assert added(user, "x", name="deploy").name == "deploy-3.md"
    assert not (tmp_path / "away.md").exists()


def test_private_scopes_get_private_files_and_a_project_the_umask(user, project, agent) -> None:
    old = os.umask(0o002)
    try:
        assert mode(added(user, "x", file_name="a/b")) == 0o600
        assert mode(f"{user.folder}/a") == 0o700
        assert mode(added(agent, "x")) == 0o600
        assert mode(agent.folder) == 0o700
        assert mode(added(project, "x", file_name="a/b")) == 0o644
        assert mode(f"{project.folder}/a") == 0o775
    finally:
        os.umask(old)


def test_a_mount_is_never_written(mount) -> None:
    with pytest.raises(RefusedError, match="mount"):
        added(mount, "x")

    assert tree(mount.folder) == {"x.md": b"theirs\n"}


def test_k11_a_projects_folder_that_is_a_link_gets_no_memory(user, tmp_path) -> None:
    (tmp_path / "evil").mkdir()
    folder = tmp_path / "evil" / ".mdmem"
    folder.symlink_to(user.folder)
    with pytest.raises(RefusedError, match="symbolic link"):
        added(Scope("project", "evil", str(folder)), "x")

    assert tree(user.folder) == {}


def test_a_project_folder_that_is_not_there_is_not_made(tmp_path) -> None:
    with pytest.raises(NotFoundError):
        added(Scope("project", "p", str(tmp_path / "p" / ".mdmem")), "x")

    assert list(tmp_path.iterdir()) == []


def test_e8_a_failing_flush_is_said_and_leaves_nothing(user, monkeypatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(write.os, "fsync", fail)
    with pytest.raises(MachineError, match="input/output"):
        added(user, "x")

    assert tree(user.folder) == {}


def test_b10_nothing_but_memories_is_in_the_folder(user) -> None:
    for count in range(5):
        added(user, f"Memory {count % 2}")

    assert sorted(tree(user.folder)) == [
        "memory-0-2.md",
        "memory-0-3.md",
        "memory-0.md",
        "memory-1-2.md",
        "memory-1.md",
    ]


def as_text(**limits: int) -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), **limits)


KEYS = st.sampled_from(["name", "description", "key", "topic", "proof", "probe", "mine", "名", "no"])
FIELDS = st.dictionaries(KEYS, as_text(max_size=40)) | st.dictionaries(
    st.sampled_from(["tags", "entities", "mine"]), st.lists(as_text(max_size=10), max_size=4)
)


@settings(deadline=None)
@given(FIELDS, as_text(max_size=120))
def test_whatever_is_added_reads_back_the_same(fields, text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scope = Scope("user", None, folder)
        try:
            done = add(scope, text, fields=fields, today=date(2026, 11, 2))
        except MdmemError:
            assert tree(folder) == {}
            return
        doc = parse(Path(done.path).read_bytes(), done.rel)
        memory, problems = memory_of(doc, path=done.rel, scope="user")
        asked = parse(text.removeprefix("\ufeff").encode(), "")

        assert not problems
        assert {key: doc.fields.get(key) for key, value in fields.items() if value} == {
            key: value for key, value in fields.items() if value
        }
        assert doc.body.rstrip("\n") == asked.body.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
        assert memory.type == "user"
        assert memory.name
        assert files.is_memory_name(done.rel)
