"""What holds a secret is not written: refused by kind, without the value."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mdmem.edit import add, adopt, change, edit_in_editor, move
from mdmem.errors import RefusedError
from mdmem.scope import Scope
from tests.edit.conftest import TODAY, put, tree
from tests.gates.making import secrets

SECRET = dict(secrets(12, 1))["github"]


def assert_tells_nothing(error: RefusedError) -> None:
    assert error.exit_code == 4
    assert "GitHub token" in error.what
    assert SECRET not in f"{error}{error.hint}"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (f"Use {SECRET}", {}),
        (f"---\nname: {SECRET}\n---\nUse it.", {}),
        ("Use it.", {"description": f"with {SECRET}"}),
        ("Use it.", {"tags": ["a", SECRET]}),
        ("Use it.", {"confidence": SECRET}),
        ("Use it.", {"key": SECRET}),
    ],
)
def test_a_new_memory_with_a_secret_is_refused_whole(user: Scope, text: str, fields: dict[str, str]) -> None:
    with pytest.raises(RefusedError) as caught:
        add(user, text, fields={**fields}, today=TODAY)

    assert_tells_nothing(caught.value)
    assert tree(user.folder) == {}


def test_a_file_name_with_a_secret_is_refused(user: Scope) -> None:
    with pytest.raises(RefusedError) as caught:
        add(user, "Use it.", fields={}, today=TODAY, file_name=SECRET)

    assert_tells_nothing(caught.value)


def test_the_line_is_told(user: Scope) -> None:
    with pytest.raises(RefusedError) as caught:
        add(user, f"one\ntwo\n{SECRET}", fields={}, today=TODAY)

    assert caught.value.where == "line 3 of the text"


def test_a_field_and_its_value_are_read_together(user: Scope) -> None:
    with pytest.raises(RefusedError):
        add(user, "Use it.", fields={"password": "Maple4711"}, today=TODAY)


def test_a_field_with_a_secret_is_not_set(user: Scope) -> None:
    put(user, "a.md", "text\n")

    with pytest.raises(RefusedError) as caught:
        change(user.folder, "a.md", set_={"description": SECRET})

    assert_tells_nothing(caught.value)
    assert tree(user.folder) == {"a.md": b"text\n"}


def test_a_memory_with_a_secret_is_not_moved_where_others_read(user: Scope, project: Scope) -> None:
    put(user, "a.md", f"use {SECRET}\n")

    with pytest.raises(RefusedError) as caught:
        move(user, "a.md", project, today=TODAY)

    assert_tells_nothing(caught.value)
    assert tree(project.folder) == {}


def test_what_a_person_saved_in_an_editor_stays_and_is_said(user: Scope, tmp_path: Path) -> None:
    put(user, "a.md", "text\n")
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\nprintf "more text with {SECRET}\\n" >> "$1"\n')
    editor.chmod(stat.S_IRWXU)

    with pytest.raises(RefusedError) as caught:
        edit_in_editor(user.folder, "a.md", str(editor))

    assert_tells_nothing(caught.value)
    assert caught.value.where == "a.md:2"
    assert tree(user.folder)["a.md"].startswith(b"text\nmore text")


def test_an_adopted_list_keeps_the_item_that_holds_a_secret(user: Scope) -> None:
    put(user, "MEMORY.md", f"- The crane is green.\n- Use {SECRET}\n")
    made = adopt(user, marker="<!-- m -->")

    assert [w.rel for w in made] == ["the-crane-is-green.md"]
    assert SECRET.encode() in tree(user.folder)["MEMORY.md"]
