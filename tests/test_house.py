"""The house itself: sizes, words, and who may do what."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdmem import errors
from tests.conftest import ROOT

SOURCES = sorted((ROOT / "mdmem").rglob("*.py"))
SQL = sorted((ROOT / "mdmem").rglob("*.sql"))
# Words for which the house has another; with what may stand all the same.
MISFITS = re.compile(r"\b(vaults?|crawl\w*|debounc\w*|desync\w*|suggestions?)\b", re.IGNORECASE)
MAY_READ_ENVIRONMENT = {
    "mdmem/config/service.py",
    "mdmem/config/agents.py",
    "mdmem/config/paths.py",
    "mdmem/files/git.py",  # hands it on to git, without what would lead git elsewhere
    "mdmem/models/use.py",  # sets one variable, before the library that reads it is loaded
}
MAY_WRITE_FILES = ("mdmem/edit/", "mdmem/outputs/", "mdmem/files/", "mdmem/candidates/inbox.py", "mdmem/review/")


def rel(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", [*SOURCES, *sorted((ROOT / "tests").rglob("*.py"))], ids=rel)
def test_no_file_is_over_500_lines(path: Path) -> None:
    limit = 500 if path.is_relative_to(ROOT / "mdmem") else 800

    assert len(path.read_text("utf-8").splitlines()) <= limit


@pytest.mark.parametrize("path", [*SOURCES, *SQL], ids=rel)
def test_one_word_per_thing(path: Path) -> None:
    found = [match[0] for match in MISFITS.finditer(path.read_text("utf-8"))]

    assert not found


@pytest.mark.parametrize("path", SOURCES, ids=rel)
def test_a_module_says_what_goes_in_and_what_comes_out(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))

    assert ast.get_docstring(tree), "the first line says what goes in and what comes out"
    assert path.name != "utils.py"


def test_only_config_reads_the_environment() -> None:
    readers = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv"):
                readers.add(rel(path))
            if isinstance(node, ast.ImportFrom) and node.module == "os":
                readers |= {rel(path) for alias in node.names if alias.name in ("environ", "getenv")}

    assert readers <= MAY_READ_ENVIRONMENT


def test_only_the_rooms_that_may_write_in_scope_folders_do() -> None:
    writers = {rel(p) for p in SOURCES if any(name.startswith("mdmem.files.write") for name in imports(p))}

    assert writers
    assert all(name.startswith(MAY_WRITE_FILES) for name in writers)


def test_only_reindex_writes_the_index_and_only_three_rooms_speak_sql() -> None:
    for path in SOURCES:
        named = set(imports(path))
        if any(name.startswith("mdmem.index.write") for name in named):
            assert rel(path).startswith("mdmem/reindex/"), rel(path)
        if any(name.split(".")[0] in ("apsw", "sqlite3", "sqlite_vec") for name in named):
            assert rel(path).startswith(("mdmem/db.py", "mdmem/index/", "mdmem/ledger/")), rel(path)


@pytest.mark.parametrize("path", SQL, ids=rel)
def test_every_table_has_a_comment_above_it(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    tables = [n for n, line in enumerate(lines) if re.match(r"CREATE (VIRTUAL )?TABLE", line)]

    assert tables
    for n in tables:
        assert lines[n - 1].startswith("--"), lines[n]


def test_every_error_has_an_exit_code_of_the_documented_ones() -> None:
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.MdmemError)]

    assert {c.exit_code for c in classes} == {2, 3, 4, 5, 6, 70}
    assert all(c.__name__ in str(errors.__doc__) for c in classes)
    assert str(errors.MdmemError("what", where="a.md:3")) == "a.md:3: what"


@pytest.mark.parametrize("path", SOURCES, ids=rel)
def test_nothing_left_to_do_or_commented_out(path: Path) -> None:
    text = path.read_text("utf-8")

    assert "TODO" not in text
    assert "FIXME" not in text
    assert "except Exception: pass" not in text
