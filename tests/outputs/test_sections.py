"""Sections of instruction files: ours between two markers, everything else byte for byte as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.errors import ConfigError
from mdmem.outputs import sections
from mdmem.outputs.sections import BEGIN, END, put_section, remove_section

TEXTS = st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\r", b"# b", b" ", b"\xff", b"\xef\xbb\xbf", b"<!-- c -->"]))
BLOCKS = st.lists(st.sampled_from(["a", "\n", "\r", "<!-- ", "b c", BEGIN, END])).map("".join)


@given(TEXTS.map(b"".join), BLOCKS, BLOCKS)
def test_a_section_goes_in_is_renewed_and_comes_out_again(text: bytes, first: str, second: str) -> None:
    once = put_section(text, first)
    twice = put_section(once, second)

    assert remove_section(once) == text
    assert remove_section(twice) == text
    assert put_section(twice, second) == twice
    assert twice == put_section(text, second)
    assert remove_section(text) == text


@given(st.lists(st.sampled_from(["x\n", BEGIN + "\n", END + "\n", " " + BEGIN + "\n", "y " + END + "\n"]), max_size=6))
def test_markers_are_used_only_where_they_are_clear(lines: list[str]) -> None:
    text = "".join(lines).encode()
    marks = [line.strip() for line in lines if line.strip() in (BEGIN, END) and not line.startswith(" ")]
    if marks in ([], [BEGIN, END]):
        assert b"new words" in put_section(text, "new words")
    else:
        with pytest.raises(ConfigError) as error:
            put_section(text, "new words")
        assert int(str(error.value.where)) <= len(lines)


def test_what_stands_around_the_section_stays() -> None:
    text = f"# Mine\n{BEGIN}\nold\n{END}\nmore\n".encode()

    assert put_section(text, "new").startswith(b"# Mine\n" + BEGIN.encode())
    assert put_section(text, "new").endswith(END.encode() + b"\nmore\n")
    assert b"old" not in put_section(text, "new")
    assert remove_section(text) == b"# Mine\nmore\n"


def test_a_block_cannot_end_its_own_section() -> None:
    text = put_section(b"a\n", f"one\n{END}\n{BEGIN}\ntwo")

    assert text.count(END.encode()) == text.count(BEGIN.encode()) == 1
    assert remove_section(text) == b"a\n"


def test_only_files_with_the_markers_are_followed(tmp_path: Path) -> None:
    shop, plain = tmp_path / "shop", tmp_path / "plain"
    hints = tmp_path / "hints"
    for folder in (shop, plain):
        folder.mkdir()
        (folder / "AGENTS.md").write_bytes(b"# Mine\n")
    (shop / "AGENTS.md").write_bytes(put_section(b"# Mine\n", "old"))
    (shop / "GEMINI.md").symlink_to("AGENTS.md")
    hints.write_bytes(put_section(b"", "old"))
    asked = []

    def make_block(root: str | None) -> str:
        asked.append(root)
        return f"- known of {root and os.path.basename(root)}"

    roots = [str(shop), str(plain), str(tmp_path / "gone")]
    first = sections.follow(roots, [str(hints)], make_block)
    assert first == sections.Followed([str(shop / "AGENTS.md"), str(hints)], [])
    assert b"known of shop" in (shop / "AGENTS.md").read_bytes()
    assert b"known of None" in hints.read_bytes()
    assert (plain / "AGENTS.md").read_bytes() == b"# Mine\n"
    assert (shop / "GEMINI.md").is_symlink()
    assert set(asked) == {str(shop), None}
    stamp = hints.stat().st_mtime_ns
    assert sections.follow(roots, [str(hints)], make_block) == sections.Followed([], [])
    assert hints.stat().st_mtime_ns == stamp


def test_a_repository_cannot_lead_its_block_into_a_file_of_the_user(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    hints = tmp_path / "hints"
    hints.write_bytes(put_section(b"", "mine"))
    (shop / "AGENTS.md").symlink_to(hints)
    followed = sections.follow([str(shop)], [], lambda root: "theirs")

    assert followed.written == []
    assert [problem.code for problem in followed.problems] == ["section-not-written"]
    assert b"mine" in hints.read_bytes()


def test_a_damaged_section_is_a_problem_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text(f"{BEGIN}\nhalf\n")
    (tmp_path / "GEMINI.md").write_bytes(put_section(b"", "old"))
    followed = sections.follow([str(tmp_path)], [], lambda root: "new")

    assert followed.written == [str(tmp_path / "GEMINI.md")]
    assert [problem.path for problem in followed.problems] == [str(tmp_path / "AGENTS.md")]
    assert (tmp_path / "AGENTS.md").read_text() == f"{BEGIN}\nhalf\n"


@pytest.mark.parametrize("fence", ["```", "~~~~ md", "   ```md"])
def test_markers_in_a_block_of_code_are_an_example(fence: str) -> None:
    closing = fence.strip().split(" ")[0].removesuffix("md")
    text = f"# How\n{fence}\n{BEGIN}\nold\n{END}\n{closing}\nmore\n".encode()

    assert remove_section(text) == text
    assert put_section(text, "new").startswith(text)
    assert remove_section(put_section(text, "new")) == text


@pytest.mark.parametrize("text", [b"```\nnever closed\n", b"`` ```\n", b"```a`b\n", b"    ```\n"])
def test_what_is_no_block_of_code_hides_no_section(text: bytes) -> None:
    once = put_section(text + b"x\n", "old")
    assert put_section(once, "new").count(BEGIN.encode()) == 1


def test_a_fence_in_a_memory_hides_no_marker() -> None:
    once = put_section(b"x\n", "```\nnever closed\n")
    assert put_section(once + b"```\nmine\n```\n", "new").count(END.encode()) == 1


@pytest.mark.parametrize("busy", ["rebase-merge", "MERGE_HEAD"])
def test_while_git_is_busy_a_projects_file_waits(tmp_path: Path, busy: str) -> None:
    git = tmp_path / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / busy).mkdir()
    path = tmp_path / "AGENTS.md"
    path.write_bytes(put_section(b"", "old"))

    assert sections.follow([str(tmp_path)], [], lambda root: "new") == sections.Followed([], [], busy=True)
    (git / busy).rmdir()
    assert sections.follow([str(tmp_path)], [], lambda root: "new") == sections.Followed([str(path)], [])


def test_refresh_says_whether_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"

    assert not sections.refresh(str(path), "x")
    path.write_bytes(b"plain\n")
    assert not sections.refresh(str(path), "x")
    path.write_bytes(put_section(b"plain\n", "old"))
    assert sections.refresh(str(path), "x")
    assert not sections.refresh(str(path), "x")
