"""A person's editor on the file itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mdmem.edit import edit_in_editor
from mdmem.errors import MachineError, NotFoundError, UsageError
from tests.edit.conftest import put, tree


@pytest.fixture
def script(tmp_path):
    """A command that runs a Python program on the file's path, which stands in `path`."""

    def make(program: str) -> str:
        file = tmp_path / "my editor.py"
        file.write_text(f"import sys, os\nfrom pathlib import Path\npath = Path(sys.argv[-1])\n{program}\n")
        return f"{sys.executable} '{file}' --wait"

    return make


def test_an_editor_changes_the_file_and_that_is_told(user, script) -> None:
    path = put(user, "a b/x.md", "old\n")
    done, changed = edit_in_editor(user.folder, "a b/x.md", script("path.write_text('---\\nkey: k\\n---\\nnew\\n')"))

    assert changed
    assert path.read_text() == "---\nkey: k\n---\nnew\n"
    assert done == (user.folder, "a b/x.md", "k", str(path))


def test_an_editor_that_saves_by_rename_counts_too(user, script) -> None:
    put(user, "x.md", "old\n")
    program = "new = path.with_name('.swap'); new.write_text('new'); os.replace(new, path)"

    assert edit_in_editor(user.folder, "x.md", script(program))[1]
    assert tree(user.folder) == {"x.md": b"new"}


def test_an_editor_that_saves_the_same_changed_nothing(user, script) -> None:
    put(user, "x.md", "old\n")

    assert not edit_in_editor(user.folder, "x.md", script("path.write_text('old\\n')"))[1]
    assert not edit_in_editor(user.folder, "x.md", "true")[1]


def test_a_file_that_reads_badly_can_be_opened_to_be_mended(user, script) -> None:
    put(user, "x.md", "---\nname: [x\n---\n")

    assert edit_in_editor(user.folder, "x.md", script("path.write_text('fine')"))[1]


def test_no_shell_is_between(user) -> None:
    put(user, "$(touch pwned);x.md", "old\n")
    edit_in_editor(user.folder, "$(touch pwned);x.md", "true ';' touch pwned")

    assert list(tree(user.folder)) == ["$(touch pwned);x.md"]
    assert not Path("pwned").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [("", "no editor"), ("  ", "no editor"), ("vi 'x", "error in it"),
     ("/no/such-editor -w", "can't be run"), ("/etc", "can't be run")],
)  # fmt: skip
def test_an_editor_that_cant_be_run_is_named(user, command: str, words: str) -> None:
    put(user, "x.md", "old\n")
    with pytest.raises(UsageError, match=words) as caught:
        edit_in_editor(user.folder, "x.md", command)

    assert "EDITOR" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("program", "words"), [("sys.exit(3)", "ended with code 3"), ("os.kill(os.getpid(), 15)", "signal 15")]
)
def test_an_editor_that_fails_is_said_so(user, script, program: str, words: str) -> None:
    put(user, "x.md", "old\n")
    with pytest.raises(MachineError, match=words):
        edit_in_editor(user.folder, "x.md", script(program))


def test_a_file_that_the_editor_removed_is_said_to_be_gone(user, script) -> None:
    put(user, "x.md", "old\n")
    with pytest.raises(NotFoundError):
        edit_in_editor(user.folder, "x.md", script("path.unlink()"))
