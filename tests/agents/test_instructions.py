"""`connect agents-md` and `gemini-md`: a section in the project here, and only where it was asked for."""

from __future__ import annotations

import pytest

from mdmem.agents.state import state_of
from mdmem.errors import RefusedError
from mdmem.outputs import sections
from tests.agents.conftest import Machine


@pytest.mark.parametrize(("agent", "name"), [("agents-md", "AGENTS.md"), ("gemini-md", "GEMINI.md")])
def test_a_project_gets_a_section_when_it_is_asked_for(machine: Machine, agent: str, name: str) -> None:
    (machine.home / "work/.git").mkdir()
    path = machine.put(f"work/{name}", b"# Shop\r\n\r\nUse pnpm.")
    path.chmod(0o644)
    before = machine.tree()
    (outcome,) = machine.connect(agent)
    assert outcome.error is None
    assert outcome.changes[0].backup is None
    assert path.read_bytes().startswith(b"# Shop\r\n\r\nUse pnpm.\r\n\r\n<!-- mdmem:begin -->\r\n")
    assert [check.state for check in state_of(agent, str(machine.home / "work"))] == ["ok"]
    sections.refresh(str(path), "- deploy with make ship")
    (again,) = machine.connect(agent)
    assert not again.changed
    machine.disconnect(agent)

    assert machine.tree() == before


def test_a_file_that_connect_made_goes_and_the_project_stays(machine: Machine) -> None:
    before = machine.tree()
    machine.connect("agents-md")
    path = machine.home / "work/AGENTS.md"
    assert path.stat().st_mode & 0o044 == (machine.home / "work").stat().st_mode & 0o044
    machine.disconnect("agents-md")

    assert machine.tree() == before


def test_no_name_no_section(machine: Machine) -> None:
    (machine.home / "work/.git").mkdir()
    (machine.home / ".codex").mkdir()
    machine.connect()

    assert not (machine.home / "work/AGENTS.md").exists()


def test_the_home_folder_is_no_project(machine: Machine) -> None:
    (machine.home / ".git").mkdir()
    (outcome,) = machine.connect("agents-md")

    assert isinstance(outcome.error, RefusedError)


def test_a_link_out_of_the_project_is_refused(machine: Machine) -> None:
    (machine.home / "work/.git").mkdir()
    out = machine.put("secrets.md", b"mine\n")
    (machine.home / "work/AGENTS.md").symlink_to(out)
    (outcome,) = machine.connect("agents-md")

    assert isinstance(outcome.error, RefusedError)
    assert out.read_bytes() == b"mine\n"
