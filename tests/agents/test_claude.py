"""Claude Code rewrites ~/.claude.json while it runs: where its command exists, that one adds our MCP server."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from mdmem.agents import connect as room
from mdmem.errors import MachineError
from tests.agents.conftest import Machine

FAKE = """#!{python}
import json, os, sys
home = os.environ.get("CLAUDE_CONFIG_DIR") or os.environ["HOME"]
path = home + "/.claude.json"
with open(os.environ["HOME"] + "/calls", "a") as calls:
    print(json.dumps(sys.argv[1:]), file=calls)
{extra}
values = json.load(open(path)) if os.path.exists(path) else {{}}
servers = values.setdefault("mcpServers", {{}})
words = sys.argv[1:]
if words[:5] == ["mcp", "add", "--scope", "user", "mdmem"] and words[5] == "--":
    if "mdmem" in servers:
        sys.exit("MCP server mdmem already exists in user config")
    servers["mdmem"] = {{"type": "stdio", "command": words[6], "args": words[7:], "env": {{}}}}
elif words == ["mcp", "remove", "--scope", "user", "mdmem"]:
    if not servers.pop("mdmem", None):
        sys.exit("No user-scoped MCP server found with name: mdmem")
else:
    sys.exit("what?")
json.dump(values, open(path, "w"))
"""


def claude(machine: Machine, extra: str = "") -> None:
    machine.script("bin/claude", FAKE.format(python=sys.executable, extra=extra))


def calls(machine: Machine) -> list[list[str]]:
    path = machine.home / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def servers(machine: Machine) -> Any:
    return json.loads((machine.home / ".claude.json").read_text())["mcpServers"]


def test_its_command_adds_and_removes_the_server(machine: Machine) -> None:
    claude(machine)
    machine.put(".claude.json", b'{"numStartups": 1, "mcpServers": {"docs": {"command": "x"}}}')
    (outcome,) = machine.connect()

    assert outcome.error is None
    assert servers(machine)["mdmem"]["command"] == machine.launcher
    assert servers(machine)["docs"] == {"command": "x"}
    assert [change.command[:3] for change in outcome.changes if change.command] == [
        (str(machine.bin / "claude"), "mcp", "add")
    ]
    machine.connect()
    assert len(calls(machine)) == 1
    machine.disconnect()
    assert servers(machine) == {"docs": {"command": "x"}}
    machine.disconnect("claude-code")
    assert len(calls(machine)) == 2


def test_an_odd_launcher_goes_through_as_one_word(machine: Machine) -> None:
    claude(machine)
    launcher = machine.install('my tools/it\'s "new" ü/mdmem')
    machine.connect()

    assert calls(machine) == [["mcp", "add", "--scope", "user", "mdmem", "--", launcher, "mcp"]]


def test_an_older_server_of_ours_is_replaced(machine: Machine) -> None:
    claude(machine)
    machine.connect()
    new = machine.install("bin2/mdmem")
    (outcome,) = machine.connect()

    assert outcome.error is None
    assert servers(machine)["mdmem"]["command"] == new
    assert [words[1] for words in calls(machine)] == ["add", "remove", "add"]


def test_a_dry_run_shows_the_command_and_does_not_run_it(machine: Machine) -> None:
    claude(machine)
    (outcome,) = machine.connect("claude-code", dry_run=True)

    assert (
        f"run: {machine.bin}/claude mcp add --scope user mdmem -- {machine.launcher} mcp" in outcome.changes[1].diff()
    )
    assert calls(machine) == []


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        ("sys.exit('not logged in')", "this failed"),
        ("sys.exit(0)", "the file does not show it"),
        ("import time; time.sleep(60)", "could not be run"),
    ],
)
def test_a_command_that_does_not_do_it_is_told(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, extra: str, what: str
) -> None:
    claude(machine, extra)
    monkeypatch.setattr(room, "COMMAND_LIMIT_S", 2.0)
    (outcome,) = machine.connect("claude-code")

    assert isinstance(outcome.error, MachineError)
    assert what in str(outcome.error)
    assert outcome.error.hint
    assert [change.what for change in outcome.changes] == ["hooks"]


def test_another_server_of_that_name_is_left(machine: Machine) -> None:
    claude(machine)
    machine.put(".claude.json", b'{"mcpServers": {"mdmem": {"command": "other"}}}')
    (outcome,) = machine.connect()

    assert outcome.error is not None
    assert calls(machine) == []
    assert not (machine.home / ".claude/settings.json").exists()
