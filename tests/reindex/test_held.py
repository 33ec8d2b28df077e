"""A memory file with a secret in it: said with line and kind, and nowhere else."""

from __future__ import annotations

import contextlib
import io
import logging
from pathlib import Path

import pytest

from mdmem.daemon.logs import JsonLines, Readable
from tests.bed import Bed, memory
from tests.gates.making import secrets

CANARIES = {kind: text for kind, text in secrets(11, 1) if "\n" not in text}
SECRET = CANARIES["github"]


def everything_in(folder: Path) -> bytes:
    """All that mdmem itself wrote: index, ledger, their logs and manifests, as bytes."""
    files = [p for p in folder.rglob("*") if p.is_file() and (p.suffix != ".md" or p.name == "MEMORY.md")]
    assert any(p.name.startswith("index.db") for p in files)
    return b"\n".join(p.read_bytes() for p in files)


def test_a_file_with_a_secret_is_a_problem_and_no_memory(bed: Bed) -> None:
    bed.put("deploy.md", memory(f"Deploy with:\n\n    TOKEN={SECRET}\n", name="Deploying the crane"))
    bed.put("fine.md", "The crane is green.\n")
    bed.sync()

    assert bed.paths() == ["fine.md"]
    assert bed.codes() == {("deploy.md", "secret")}
    assert bed.found("crane") == ["fine.md"]
    assert "deploy" not in bed.manifest()
    ((_, (path, line, code, message, hint)),) = bed.problems()
    assert (path, line, code) == ("deploy.md", 6, "secret")
    assert "GitHub token" in message
    assert hint
    assert SECRET not in f"{message}{hint}"


@pytest.mark.parametrize("kind", CANARIES)
def test_no_secret_stands_in_what_mdmem_writes(bed: Bed, kind: str) -> None:
    canary = CANARIES[kind]
    bed.put("a.md", memory(f"Use {canary} for it.", name="The harbour"))
    bed.put("b.md", memory("The harbour.", description=f'"{canary}"' if '"' not in canary else f"'{canary}'"))
    bed.put("c.md", f"# The harbour\n\n- {canary}\n")
    bed.sync()
    bed.store.close()
    value = canary.split()[-1].encode()
    written = everything_in(bed.root)

    assert value not in written
    bed.reopen()
    assert bed.paths() == []
    assert {code for _, code in bed.codes()} == {"secret"}


def test_a_memory_that_gets_a_secret_leaves_the_index_and_comes_back_without_it(bed: Bed) -> None:
    path = bed.put("a.md", "The crane is green.\n")
    bed.sync()
    path.write_text(f"The crane is green: {SECRET}\n")
    bed.sync(["a.md"])

    assert bed.paths() == []
    assert bed.codes() == {("a.md", "secret")}
    assert "crane" not in bed.manifest()

    path.write_text("The crane is green again.\n")
    bed.sync(["a.md"])

    assert bed.paths() == ["a.md"]
    assert bed.codes() == set()


def test_the_problem_goes_with_its_file_and_moves_with_it(bed: Bed) -> None:
    path = bed.put("a.md", f"{SECRET}\n")
    bed.sync()
    path.rename(path.with_name("b.md"))
    bed.sync(["a.md", "b.md"])

    assert bed.codes() == {("b.md", "secret")}

    path.with_name("b.md").unlink()
    bed.sync()

    assert bed.codes() == set()


def test_a_whole_scan_says_it_again_and_counts_no_change(bed: Bed) -> None:
    bed.put("a.md", f"{SECRET}\n")
    bed.sync()
    outcome = bed.sync()

    assert not outcome.moved
    assert bed.codes() == {("a.md", "secret")}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_another_encoding_hides_no_secret(bed: Bed, encoding: str) -> None:
    bed.put("a.md", f"口令 {SECRET}\n".encode(encoding))
    bed.sync()

    assert bed.paths() == []
    assert bed.codes() == {("a.md", "secret")}


def test_other_problems_of_the_file_do_not_quote_it(bed: Bed) -> None:
    bed.put("a.md", memory("The crane.", confidence=SECRET, type=SECRET, created=SECRET))
    bed.sync()

    assert {code for _, code in bed.codes()} == {"secret"}
    assert all(SECRET not in str(problem) for problem in bed.problems())


def test_without_the_secret_the_same_file_is_a_memory(bed: Bed) -> None:
    """What the tests above see comes from the gate, and from nothing else."""
    bed.put("a.md", memory("Use ghp_ and a token of your own.", name="The harbour"))
    bed.sync()

    assert bed.paths() == ["a.md"]
    assert bed.codes() == set()


@pytest.mark.parametrize("formatter", [JsonLines(), Readable()])
def test_a_log_line_holds_no_secret(formatter: logging.Formatter) -> None:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter)
    log = logging.Logger("test")  # noqa: LOG001  # one of its own, that goes nowhere else
    log.addHandler(handler)
    with contextlib.suppress(OSError):
        try:
            raise OSError(SECRET)
        except OSError:
            log.exception("failed", extra={"reason": SECRET, "paths": [f"a/{SECRET}"], "by": {"x": SECRET}})
    log.warning(f"said {SECRET}")  # noqa: G004  # what must not be, and must not leak

    assert "GitHub token" in out.getvalue()
    assert SECRET not in out.getvalue()
