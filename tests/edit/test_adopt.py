"""A MEMORY.md kept by hand: its list becomes memories, and not a word of it is lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdmem.document import memory_of, parse
from mdmem.edit import adopt
from mdmem.errors import ChangedError, MachineError, NotFoundError, RefusedError
from mdmem.files import write
from mdmem.outputs import manifest
from mdmem.scope import Scope
from tests.edit.conftest import put, tree

MARKER = manifest.MARKER


def adopted(scope: Scope, text: str | bytes) -> tuple[str, dict[str, str]]:
    """MEMORY.md after adopting `text`, and the bodies of the memories made."""
    put(scope, "MEMORY.md", text)
    done = adopt(scope, marker=MARKER)
    bodies = {memory.rel: parse(Path(memory.path).read_bytes(), "").body for memory in done}
    return tree(scope.folder)["MEMORY.md"].decode("utf-8", "surrogateescape"), bodies


def test_b11_list_lines_become_memories_and_the_rest_stays(user) -> None:
    put(user, "deploy.md", "Deploy.\n")
    text = "# Mine\n\nHello.\n\n- [Deploy](deploy.md) — how\n- never deploy on Fridays\n* use pnpm\n\n## End\n"
    left, bodies = adopted(user, text)

    assert left == f"# Mine\n\nHello.\n\n- [Deploy](deploy.md) — how\n\n## End\n\n{MARKER}\n"
    assert bodies == {"never-deploy-on-fridays.md": "never deploy on Fridays\n", "use-pnpm.md": "use pnpm\n"}


def test_what_is_left_is_the_persons_own_part_of_the_manifest(user) -> None:
    adopted(user, "Mine\n- a\n")
    existing = manifest.read_existing(Path(user.folder))

    assert isinstance(existing, manifest.Existing)
    assert existing.own == "Mine\n\n"
    assert manifest.update(user, {}, lambda _: [])[1] is None


def test_a_memory_has_the_scopes_type_a_name_and_no_date(project) -> None:
    adopted(project, "- **Build**: run `make`. Then wait.\n")
    (rel,) = tree(project.folder).keys() - {"MEMORY.md"}
    doc = parse(tree(project.folder)[rel], rel)

    assert doc.fields == {"name": "Build: run make", "type": "project"}
    assert rel == "build-run-make.md"


@pytest.mark.parametrize(
    "line",
    [
        "- [D](deploy.md) — text", "* [D](<deploy.md>)", "- [a [b]](deploy.md): x", "- [D](ops/a%20b.md#part) x",
        "- [[deploy]] - text", "- [[deploy.md|D]]", '- [D](deploy.md "title")', "- [Old](gone.md) — dead",
        "- [Up](../x.md)", "* * *", "- - -", "- ---", "-", "- ", "-text", "1. one", "    - code", "+1 for this",
        "```\n- code\n```", "~~~\n- code", "<!-- - hidden -->", "<!--\n- hidden\n-->",
        "- half of\na sentence", "- a\n  - [D](deploy.md)", "- ```\n  x", "---\ntags:\n- a\n---",
    ],
)  # fmt: skip
def test_what_is_no_memory_stays_as_it_is(user, line: str) -> None:
    put(user, "deploy.md", "Deploy.\n")
    put(user, "ops/a b.md", "x\n")
    before = tree(user.folder)
    left, bodies = adopted(user, f"{line}\n")

    assert left == f"{line}\n\n{MARKER}\n"
    assert bodies == {}
    assert tree(user.folder).keys() == before.keys() | {"MEMORY.md"}


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("- one\n  two\n\n  three\n", "one\ntwo\n\nthree\n"),
        ("- one:\n  - a\n    - b\n", "one:\n- a\n  - b\n"),
        ("- [Docs](https://x.org/a.md) say so\n", "[Docs](https://x.org/a.md) say so\n"),
        ("- [[Nowhere]] is far\n", "[[Nowhere]] is far\n"),
        ("- [[../x]] is outside\n", "[[../x]] is outside\n"),
        (f"- [[{'n' * 300}]]\n", f"[[{'n' * 300}]]\n"),
        ("- see [D](deploy.md)\n", "see [D](deploy.md)\n"),
        ("- 部署用 npm\r\n", "部署用 npm\n"),
        ("- one\n  ```\n  x\n  ```\n", "one\n```\nx\n```\n"),
        ("- no newline", "no newline\n"),
        ("\ufeff- first\n", None),
        ("- # heading\n", "# heading\n"),
    ],
)
def test_an_item_is_a_memory_with_all_that_is_indented_below_it(user, text: str, body: str | None) -> None:
    put(user, "deploy.md", "Deploy.\n")
    left, bodies = adopted(user, text)

    assert list(bodies.values()) == ([body] if body else [])
    assert left.removeprefix("\ufeff").strip() == (MARKER if body else "- first\n\n" + MARKER)


def test_line_ends_stay(user) -> None:
    left, _ = adopted(user, "Mine\r\n\r\n- a\r\n")

    assert left == f"Mine\r\n\r\n{MARKER}\r\n"


def test_bytes_that_are_no_text_stay(user) -> None:
    left, bodies = adopted(user, b"caf\xe9\n- caf\xe9\n- fine\n")

    assert left.encode("utf-8", "surrogateescape").startswith(b"caf\xe9\n- caf\xe9\n\n<!--")
    assert list(bodies.values()) == ["fine\n"]


def test_a_list_line_that_cant_be_a_memory_stays(user) -> None:
    put(user, ".mdmemignore", "secret*\n")
    left, bodies = adopted(user, "- secret plan\n- fine\n")

    assert left == f"- secret plan\n\n{MARKER}\n"
    assert list(bodies) == ["fine.md"]


def test_the_same_line_twice_is_one_memory(user) -> None:
    left, bodies = adopted(user, "- same\n- same\n")

    assert left == f"{MARKER}\n"
    assert bodies == {"same.md": "same\n"}


def test_no_file_is_overwritten(user) -> None:
    put(user, "use-pnpm.md", "other\n")
    _, bodies = adopted(user, "- use pnpm\n")

    assert bodies == {"use-pnpm-2.md": "use pnpm\n"}
    assert tree(user.folder)["use-pnpm.md"] == b"other\n"


def test_adopting_again_changes_nothing(user) -> None:
    adopted(user, "Mine\n- a\n")
    before = tree(user.folder)

    assert adopt(user, marker=MARKER) == []
    assert tree(user.folder) == before


@pytest.mark.parametrize("data", [None, "", " \n"])
def test_without_a_manifest_there_is_nothing_to_adopt(user, data: str | None) -> None:
    if data is not None:
        put(user, "MEMORY.md", data)
    before = tree(user.folder)

    assert adopt(user, marker=MARKER) == []
    assert tree(user.folder) == before


def test_b10_no_backup_is_left(user) -> None:
    adopted(user, "- a\n")

    assert sorted(tree(user.folder)) == ["MEMORY.md", "a.md"]


def test_b12_a_link_or_folder_is_refused(user, tmp_path) -> None:
    (tmp_path / "away").write_bytes(b"- a\n")
    Path(user.folder, "MEMORY.md").symlink_to(tmp_path / "away")
    with pytest.raises(RefusedError):
        adopt(user, marker=MARKER)
    Path(user.folder, "MEMORY.md").unlink()
    Path(user.folder, "MEMORY.md").mkdir()
    with pytest.raises(RefusedError):
        adopt(user, marker=MARKER)

    assert (tmp_path / "away").read_bytes() == b"- a\n"


@pytest.mark.parametrize(
    "data", ["- a\n".encode("utf-16"), b"\0", b"- a\n<<<<<<< x\n- b\n=======\n- c\n>>>>>>> y\n", b"\x89PNG\r\n- a\n"]
)
def test_what_cant_be_read_is_refused_and_stays(user, data: bytes) -> None:
    put(user, "MEMORY.md", data)
    with pytest.raises(RefusedError):
        adopt(user, marker=MARKER)

    assert tree(user.folder) == {"MEMORY.md": data}


def test_a_mount_is_never_written(mount) -> None:
    put(mount, "MEMORY.md", "- a\n")
    with pytest.raises(RefusedError, match="mount"):
        adopt(mount, marker=MARKER)

    assert tree(mount.folder) == {"x.md": b"theirs\n", "MEMORY.md": b"- a\n"}


def test_a_folder_that_is_not_there_is_said_so(tmp_path) -> None:
    with pytest.raises(NotFoundError):
        adopt(Scope("project", "p", str(tmp_path / "p")), marker=MARKER)


def test_case_73_a_failure_on_the_way_leaves_all_as_it_was(user, monkeypatch) -> None:
    put(user, "b.md", "---\ntype: user\n---\nb\n")  # as an adoption that was cut short left it
    put(user, "MEMORY.md", "- a\n- b\n- c\n")
    before = tree(user.folder)
    honest, calls = write.create, iter([True, False])

    def create(*args, **more) -> None:
        if not next(calls):
            raise MachineError("could not be written: the disk is full")
        honest(*args, **more)

    monkeypatch.setattr(write, "create", create)
    with pytest.raises(MachineError):
        adopt(user, marker=MARKER)

    assert tree(user.folder) == before


def test_l10_a_manifest_that_changes_meanwhile_is_left_to_its_writer(user, monkeypatch) -> None:
    path = put(user, "MEMORY.md", "- a\n")
    honest = write.create

    def create(*args, **more) -> None:
        honest(*args, **more)
        path.write_bytes(b"- a\n- new\n")

    monkeypatch.setattr(write, "create", create)
    with pytest.raises(ChangedError):
        adopt(user, marker=MARKER)

    assert tree(user.folder) == {"MEMORY.md": b"- a\n- new\n"}


def test_case_39_an_index_of_75_lines_loses_nothing(user) -> None:
    lines = ["# Memory index", ""]
    for number in range(30):
        put(user, f"topic-{number}.md", f"Topic {number}.\n")
        lines.append(f"- [Topic {number}](topic-{number}.md) — about {number}")
    lines += ["", "## Inline", ""] + [f"- fact {number}: value {number}" for number in range(42)]
    text = "\n".join(lines) + "\n"
    left, bodies = adopted(user, text)

    assert len(text.splitlines()) == 77
    assert left == "\n".join([*lines[:35], MARKER, ""])
    assert sorted(bodies.values()) == sorted(f"fact {number}: value {number}\n" for number in range(42))


PARTS = st.sampled_from(
    ["# Heading", "", "words", "- item", "* other item", "- [D](deploy.md) — x", "  indented", "    deep", "\tTab",
     "```", "~~~", "<!--", "-->", "- - -", "---", "name: x", "- [x](y", "1. one", "- # h", "- 部署", "  - inner",
     "- a\u2028b", "> - quoted", "| - |", "- ", "===", "- [[deploy]]", "- <!-- x", "-\t\ttabs"]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(PARTS, max_size=14), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_b11_every_line_is_in_the_manifest_or_in_a_memory(parts, newline: str, ends: bool) -> None:
    text = newline.join(parts) + (newline if ends else "")
    with tempfile.TemporaryDirectory() as folder:
        scope = Scope("user", None, folder)
        put(scope, "deploy.md", "x\n")
        left, bodies = adopted(scope, text)
        own = left.partition(MARKER)[0]
        kept = own.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        made = {line.strip() for body in bodies.values() for line in body.split("\n")}
        for line in parts:
            bare = line.strip()
            item = bare[1:].strip() if bare[:2] in ("- ", "* ", "-\t") else bare
            assert line in kept or {bare, item} & made, line
        if not bodies and text.strip():
            assert own.startswith(text)
        for rel in bodies:
            doc = parse(Path(folder, rel).read_bytes(), rel)
            assert not memory_of(doc, path=rel, scope="user")[1]
