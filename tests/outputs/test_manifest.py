"""MEMORY.md: a pure function of the memories, that parses back to exactly them, and leaves a person's text alone."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mdmem.outputs import manifest
from mdmem.outputs.manifest import MARKER, MAX_BYTES, MAX_LINE, MAX_LINES, Line, render, split_own
from tests.bed import Bed, git, memory

TYPES = ["feedback", "rule", "user", "fact", "reference", "notes"]


def rendered(lines: dict[str, list[Line]], own: str = "") -> str:
    def listing(type_name: str) -> Sequence[Line]:
        return lines[type_name]

    return render(own, {t: len(found) for t, found in lines.items()}, listing)


def links(text: str) -> list[str]:
    """The targets of all links that a real parser of markdown finds, as the file system has them."""
    found = []
    for token in MarkdownIt().parse(text):
        for child in token.children or []:
            if child.type == "link_open":
                found.append(os.fsdecode(unquote_to_bytes(str(child.attrs["href"]))))
    return found


NASTY = [
    "new\nline.md", 'quo"te.md', "it's.md", "a](b.md", "a[b].md", "#hash.md", "100%.md", "%41.md", "-dash.md", "😀.md",
    "!!!.md", "a b.md", "a(b.md", "a)b.md", "<b>.md", "a&amp;b.md", "back\\slash.md", "tick`s.md", "a?b#c.md",
    "部署.md", "e\u0301.md", "*star*.md", "__init__.md", "a;b:c.md", "tab\tb.md", "\u202egnp.md",
]  # fmt: skip


def test_c5_twenty_and_more_nasty_names_parse_back_to_exactly_their_links(bed: Bed) -> None:
    for name in NASTY:
        bed.put(f"dir {name[0]}/{name}", "text")
    bed.sync()

    assert sorted(links(bed.manifest())) == sorted(f"dir {name[0]}/{name}" for name in NASTY)


def test_c4_a_name_that_is_not_utf8_is_linked_by_its_bytes(bed: Bed) -> None:
    raw = os.fsencode(bed.folder) + b"/caf\xe9.md"
    Path(os.fsdecode(raw)).write_text("A café.")
    bed.sync()

    assert "(caf%E9.md)" in bed.manifest()
    assert bed.found("café") == ["caf\\xE9.md"]


def test_c3_titles_of_any_length_and_script_are_cut_and_the_path_is_not(bed: Bed) -> None:
    for script in ("x", "é", "部", "😀"):
        for length in (1, 60, 200, 2000):
            bed.put(f"{script}/{length}.md", memory("body", name=script * length))
    long_path = "/".join(["p" * 50] * 4) + "/end.md"
    bed.put(long_path, memory("body", name="n" * 300))
    bed.sync()
    text = bed.manifest()

    assert len(links(text)) == 17
    assert long_path in text
    assert all(len(line) <= MAX_LINE for line in text.splitlines()[1:] if long_path not in line)
    assert max(len(line) for line in text.splitlines()) <= len(long_path) + manifest.MIN_NAME + 6


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("`", "and ` here"),
        ("<!--", "-->"),
        ('<a title="', '"> b'),
        ("[x](evil.md)", "y"),
        ("x", "see [this](../../evil.md) and ![image](evil.png)"),
        ("back\\", "slash"),
        ("\\", ""),
        ("a\nb", "c\n\n# heading"),
        ("](", ")["),
        ("x" * 140 + "[[[[[[", "y"),
    ],
)
def test_c5_no_name_or_description_breaks_or_forges_a_link(name: str, description: str) -> None:
    text = rendered({"fact": [Line("a.md", name, description), Line("b.md", "b", "b")]})

    assert links(text) == ["a.md", "b.md"]


NAMES = st.text(st.characters(exclude_categories=("Cs",)), max_size=200)
PATHS = st.from_regex(r"[^/\x00]{1,30}(/[^/\x00]{1,30}){0,2}\.md", fullmatch=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.builds(Line, PATHS, NAMES, NAMES), max_size=30, unique_by=lambda line: line.path))
def test_any_names_give_one_line_each_within_the_limits_and_parse_back(lines: list[Line]) -> None:
    by_type: dict[str, list[Line]] = {}
    for n, line in enumerate(sorted(lines)):
        by_type.setdefault(TYPES[n % len(TYPES)], []).append(line)
    text = rendered(by_type)
    items = [line for line in text.split("\n") if line.startswith("- ")]

    assert text == rendered(dict(reversed(by_type.items())))
    assert len(items) == len(lines)
    for item in items:
        target = re.search(r"\]\(([^()]*)\)", item)
        assert target is not None
        assert len(item) <= max(MAX_LINE, len(target[1]) + manifest.MIN_NAME + 6)
    assert sorted(links(text)) == sorted(line.path for line in lines)


def test_lines_stand_by_path_under_a_heading_per_type_with_feedback_and_rules_first(bed: Bed) -> None:
    bed.put("z.md", memory("Zed.", type="fact"))
    bed.put("b.md", memory("Be.", type="rule"))
    bed.put("y/a.md", memory("YA.", type="fact"))
    bed.put("a.md", memory("A.", type="feedback", name="Say it first"))
    bed.sync()
    lines = bed.manifest().splitlines()

    assert lines[0] == MARKER
    assert lines[1:] == [
        "", "## Feedback", "", "- [Say it first](a.md) — A.",
        "", "## Rules", "", "- [b](b.md) — Be.",
        "", "## Facts", "", "- [a](y/a.md) — YA.", "- [z](z.md) — Zed.",
    ]  # fmt: skip


def test_what_has_ended_is_left_out_and_what_only_expires_is_not(bed: Bed) -> None:
    bed.put("archived.md", memory("x", status="archived"))
    bed.put("ended.md", memory("x", invalid_at="2999-01-01"))
    bed.put("superseded.md", memory("x", superseded_by="new"))
    bed.put("old.md", memory("x", key="old:one"))
    bed.put("expires.md", memory("x", expires="2001-01-01"))
    bed.put("new.md", memory("x", supersedes="old:one"))
    bed.sync()
    assert links(bed.manifest()) == ["expires.md", "new.md"]

    bed.put("new.md", memory("x", supersedes="old:one", status="archived"))
    bed.sync()
    assert links(bed.manifest()) == ["expires.md", "old.md"], "an archived memory supersedes nothing"


def test_past_200_lines_the_least_needed_types_fold_first(bed: Bed) -> None:
    for n in range(150):
        bed.put(f"r{n}.md", memory("x", type="rule"))
        bed.put(f"n{n}.md", memory("x", type="reference"))
    bed.put("f.md", memory("x", type="feedback"))
    bed.sync()
    text = bed.manifest()

    assert len(links(text)) == 151
    assert "- 150 memories of type reference: list them with `mdmem list --type reference`" in text
    assert text.count("\n") <= MAX_LINES


def test_one_type_of_thousands_is_one_line() -> None:
    def unasked(type_name: str) -> Sequence[Line]:
        raise AssertionError(type_name)

    text = render("", {"fact": 10_000, "rule": 1_000}, unasked)

    assert "- 10000 memories of type fact" in text
    assert "- 1000 memories of type rule" in text


def test_past_25_kb_types_fold_too() -> None:
    lines = {"rule": [Line(f"{'p' * 150}{n}.md", "n", "d") for n in range(180)], "fact": [Line("a.md", "a", "")]}
    text = rendered(lines)

    assert len(text.encode()) <= MAX_BYTES
    assert "- 180 memories of type rule" in text
    assert links(text) == []


def test_own_text_that_alone_is_too_long_is_kept_and_is_a_problem(bed: Bed) -> None:
    own = "line of my own\n" * 300
    bed.put("MEMORY.md", own + MARKER + "\n")
    bed.put("a.md", "x")
    bed.sync()

    assert bed.manifest().startswith(own + MARKER)
    assert ("MEMORY.md", "manifest-too-long") in bed.codes()

    bed.put("MEMORY.md", MARKER + "\n")
    bed.sync()
    assert bed.codes() == set()


def test_the_persons_text_above_the_marker_is_kept_to_the_byte(bed: Bed) -> None:
    own = b"\xef\xbb\xbf# Mine\r\n\r\n\tbad byte \xe9, no end of line \x00 "
    bed.put("MEMORY.md", own + MARKER.encode() + b"\r\n- [old](old.md)\r\n")
    bed.put("a.md", "x")
    bed.sync()
    data = (bed.folder / "MEMORY.md").read_bytes()

    assert data.startswith(own + MARKER.encode() + b"\r\n")
    assert data.endswith(b"- [a](a.md) \xe2\x80\x94 x\r\n")
    assert b"\n" not in data.replace(b"\r\n", b"")


def test_b11_a_manifest_written_by_hand_is_never_touched_and_reported_once(bed: Bed) -> None:
    text = "".join(f"- [memory {n}](m{n}.md): by hand\n" for n in range(75))
    path = bed.put("MEMORY.md", text)
    for n in range(20):
        bed.put(f"m{n}.md", f"text {n}")
        bed.sync()
    bed.reopen()
    bed.sync()

    assert path.read_text() == text
    assert bed.codes() == {("MEMORY.md", "manifest-not-ours")}


@pytest.mark.parametrize("kind", ["folder", "link", "dangling"])
def test_b12_a_manifest_that_is_no_file_is_refused_and_indexing_goes_on(bed: Bed, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "precious.txt"
    path = bed.folder / "MEMORY.md"
    if kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(target)
    if kind == "link":
        target.write_text("precious")
    bed.put("a.md", "findable")
    bed.sync()

    assert bed.found("findable") == ["a.md"]
    assert ("MEMORY.md", "manifest-not-a-file") in bed.codes()
    assert not target.exists() or target.read_text() == "precious"


def test_equal_bytes_are_not_written_again(bed: Bed) -> None:
    bed.put("a.md", "x")
    bed.sync()
    before = (bed.folder / "MEMORY.md").stat()
    bed.put("a.md", "x")
    bed.reopen()
    bed.sync()
    after = (bed.folder / "MEMORY.md").stat()

    assert (before.st_ino, before.st_mtime_ns, before.st_ctime_ns) == (
        after.st_ino,
        after.st_mtime_ns,
        after.st_ctime_ns,
    )


def test_an_empty_folder_gets_no_manifest_and_a_folder_that_became_empty_says_so(bed: Bed) -> None:
    bed.sync()
    assert not (bed.folder / "MEMORY.md").exists()

    path = bed.put("a.md", "x")
    bed.sync()
    path.unlink()
    bed.sync()
    assert "No memories yet." in bed.manifest()


# --- git ------------------------------------------------------------------------------------


def repository(bed: Bed, attributes: str | None = None) -> None:
    git(bed.folder, "init", "-q", "-b", "main")
    if attributes:
        bed.put(".gitattributes", attributes)
    bed.put("a.md", "base")
    bed.sync()
    commit(bed, "base")


def commit(bed: Bed, message: str) -> None:
    git(bed.folder, "add", "-A")
    git(bed.folder, "commit", "-qm", message)


def diverge(bed: Bed) -> None:
    """Two branches that each add a memory at the same place, and each its manifest."""
    git(bed.folder, "checkout", "-qb", "other")
    bed.put("c.md", "on the other branch")
    bed.sync()
    commit(bed, "other")
    git(bed.folder, "checkout", "-q", "main")
    bed.put("b.md", "on main")
    bed.sync()
    commit(bed, "main")


def test_b5_conflict_markers_of_a_real_merge_are_replaced_by_a_fresh_manifest(bed: Bed) -> None:
    repository(bed)
    diverge(bed)
    git(bed.folder, "merge", "-q", "other")
    assert "<<<<<<<" in bed.manifest()
    bed.sync()
    assert "<<<<<<<" in bed.manifest(), "it waits for git"

    commit(bed, "merged")
    bed.sync()
    assert links(bed.manifest()) == ["a.md", "b.md", "c.md"]
    assert "<<<<" not in bed.manifest()
    assert ">>>>" not in bed.manifest()


def test_b5_a_union_merge_is_clean_and_comes_out_as_a_fresh_manifest(bed: Bed) -> None:
    repository(bed, "MEMORY.md merge=union\n")
    diverge(bed)
    git(bed.folder, "merge", "-q", "other")
    assert git(bed.folder, "status", "--porcelain") == ""
    assert links(bed.manifest()) == ["a.md", "b.md", "c.md"] or "c.md" in bed.manifest()

    bed.sync()
    assert git(bed.folder, "status", "--porcelain") == "", "git's union is what we would have written"


def test_b5_two_manifests_made_on_two_branches_are_merged_into_one(bed: Bed) -> None:
    git(bed.folder, "init", "-q", "-b", "main")
    bed.put("base.txt", "x")
    commit(bed, "base")
    git(bed.folder, "checkout", "-qb", "other")
    bed.put("c.md", "on the other branch")
    bed.put("MEMORY.md", f"# Theirs\n{MARKER}\n")
    bed.sync()
    commit(bed, "other")
    git(bed.folder, "checkout", "-q", "main")
    bed.put("b.md", "on main")
    bed.put("MEMORY.md", f"# Mine\n{MARKER}\n")
    bed.sync()
    commit(bed, "main")
    git(bed.folder, "merge", "-q", "other")
    commit(bed, "merged")
    bed.sync()

    assert links(bed.manifest()) == ["b.md", "c.md"]
    assert "# Mine" in bed.manifest()
    assert "# Theirs" in bed.manifest()
    assert bed.manifest().count(MARKER) == 1


def test_b5_markers_that_opened_above_ours_go_with_the_conflict() -> None:
    data = f"# Own\n<<<<<<< HEAD\n{MARKER}\n- [a](a.md)\n=======\n{MARKER}\n- [b](b.md)\n>>>>>>> other\n".encode()
    existing = split_own(data)

    assert isinstance(existing, manifest.Existing)
    assert existing.own == "# Own\n"


def test_b2_a_clone_at_another_place_stays_clean_when_it_is_indexed(bed: Bed, tmp_path: Path) -> None:
    repository(bed)
    diverge(bed)
    clone = tmp_path / "elsewhere" / "clone"
    git(tmp_path, "clone", "-q", str(bed.folder), str(clone))
    other = Bed(tmp_path / "m2", user=clone)
    other.sync()
    other.close()

    assert git(clone, "status", "--porcelain") == ""


def test_b8_a_clone_with_autocrlf_stays_clean_when_it_is_indexed(bed: Bed, tmp_path: Path) -> None:
    repository(bed)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "-c", "core.autocrlf=true", str(bed.folder), str(clone))
    assert b"\r\n" in (clone / "MEMORY.md").read_bytes()
    other = Bed(tmp_path / "m2", user=clone)
    other.sync()
    other.close()

    assert git(clone, "status", "--porcelain") == ""


def test_a_change_of_the_generated_part_by_hand_is_put_right(bed: Bed) -> None:
    bed.put("a.md", "x")
    bed.sync()
    right = bed.manifest()
    bed.put("MEMORY.md", right + "- [forged](b.md)\n")
    bed.sync()

    assert bed.manifest() == right
