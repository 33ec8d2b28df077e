"""Connecting agents: what is written, what is left alone, and that all of it can be taken back."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from mdmem.agents import jsontext
from mdmem.agents.state import state_of, states
from mdmem.agents.table import AGENTS
from mdmem.errors import ConfigError, RefusedError, UsageError
from mdmem.outputs import saving
from tests.agents.configs import GOOSE, OPENCODE_2, RICH
from tests.agents.conftest import Machine

EVENTS = {
    "claude-code": "SessionStart UserPromptSubmit PreCompact Stop SessionEnd",
    "codex": "SessionStart UserPromptSubmit PreCompact Stop SessionEnd",
    "gemini": "SessionStart BeforeAgent PreCompress AfterAgent SessionEnd",
    "qwen": "SessionStart UserPromptSubmit PreCompact Stop SessionEnd",
    "cursor": "sessionStart beforeSubmitPrompt preCompact afterAgentResponse stop sessionEnd postToolUse "
    "postToolUseFailure",
    "copilot": "sessionStart userPromptSubmitted preCompact agentStop sessionEnd",
    "goose": "SessionStart UserPromptSubmit Stop SessionEnd",
}
HOOK_FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "cursor": ".cursor/hooks.json",
    "copilot": ".copilot/hooks/mdmem.json",
    "goose": ".agents/plugins/mdmem/hooks/hooks.json",
}
BROKEN = [
    (agent, rel, data[: len(data) // 2], None)
    for agent, files in RICH.items()
    for rel, data, _ in files
    if rel.endswith(("json", "jsonc"))
] + [
    ("claude-code", ".claude/settings.json", b'{\n  // mine\n  "a": 1\n}', 2),
    ("claude-code", ".claude/settings.json", b'{\n  "hooks": []\n}', 2),
    ("claude-code", ".claude/settings.json", b'{\n  "hooks": {\n    "Stop": {}\n  }\n}', 3),
    ("claude-code", ".claude/settings.json", b"[]", 1),
    ("claude-code", ".claude/settings.json", b'{\n"a": "\xff"}', 2),
    ("cursor", ".cursor/mcp.json", b'{\n\n"mcpServers": ["x"]}', 3),
    ("gemini", ".gemini/settings.json", b'{"mcpServers": {"mdmem":\n {"command": "other"}}}', 1),
    ("codex", ".codex/config.toml", b"a = 1\nb = = 2\n", 2),
    ("codex", ".codex/config.toml", b'[mcp_servers.mdmem]\ncommand = "other"\n', 1),
    ("codex", ".codex/config.toml", b"\n\xff", 2),
    ("codex", ".codex/config.toml", b"a = " + b"[" * 5000 + b"]" * 5000, 1),
    ("goose", ".config/goose/config.yaml", b"a: 1\nextensions:\n  mdmem:\n  x: {}\n", 3),
    ("goose", ".config/goose/config.yaml", b"a: 1\nb: [\n", 3),
    ("goose", ".config/goose/config.yaml", b"a: 1\nextensions: {x: {enabled: true}}\n", 2),
    ("goose", ".config/goose/config.yaml", b"extensions:\n  mdmem:\n    cmd: other\n", 2),
    ("goose", ".config/goose/config.yaml", b"extensions:\n  - a\n", 1),
    ("goose", ".config/goose/.goosehints", b"a\n<!-- mdmem:end -->\n", 2),
]


@pytest.fixture(params=RICH)
def rich(machine: Machine, request: pytest.FixtureRequest) -> str:
    """A machine on which one agent is set up as a person has it."""
    agent: str = request.param
    for rel, data, mode in RICH[agent]:
        machine.put(rel, data).chmod(mode)
    return agent


def only(outcomes: list[Any]) -> Any:
    (outcome,) = outcomes
    assert outcome.error is None, outcome.error
    return outcome


def read(path: Path) -> Any:
    return jsontext.parse(path.read_text("utf-8-sig"), comments=True).value


def commands(value: Any) -> list[str]:
    """Every text below `command` or `bash` in a file."""
    if isinstance(value, dict):
        own = [str(value[key]) for key in ("command", "bash") if isinstance(value.get(key), str)]
        return own + [line for inner in value.values() for line in commands(inner)]
    return [line for inner in value for line in commands(inner)] if isinstance(value, list) else []


def test_a_round_trip_leaves_every_byte_mode_and_file(machine: Machine, rich: str) -> None:
    before = machine.tree()
    only(machine.connect(rich))
    between = machine.tree()
    only(machine.disconnect(rich))

    assert machine.tree() == before
    assert between != before
    for rel, _, mode in RICH[rich]:
        assert between[rel][:2] == ("file", mode)


def test_what_was_there_is_still_there_in_its_order(machine: Machine, rich: str) -> None:
    only(machine.connect(rich))

    for rel, data, _ in RICH[rich]:
        rest = iter((machine.home / rel).read_bytes())
        assert all(byte in rest for byte in data)


def test_connecting_twice_changes_nothing(machine: Machine, rich: str) -> None:
    only(machine.connect(rich))
    before = machine.tree()
    outcome = only(machine.connect(rich))

    assert machine.tree() == before
    assert not outcome.changed
    assert outcome.tell == ()


def test_a_dry_run_writes_nothing_and_shows_a_diff(machine: Machine, rich: str) -> None:
    before = machine.tree()
    outcome = only(machine.connect(rich, dry_run=True))

    assert machine.tree() == before
    assert outcome.changed
    for change in outcome.changes:
        assert "+++ " + change.path in change.diff()
        assert not [line for line in change.diff().splitlines() if line.startswith("-") and "mdmem" in line]


def test_a_dated_copy_is_kept_of_each_changed_file_once(machine: Machine, rich: str) -> None:
    outcome = only(machine.connect(rich))

    for change in outcome.changes:
        copies = saving.backups(change.path)
        expected = [] if change.before is None or change.path.endswith(".goosehints") else [change.before]
        assert [copy.data for copy in copies] == expected
        assert all("2026-11-30T120000" in copy.path for copy in copies)
        assert [copy.path for copy in copies] == [change.backup] * len(expected)


@pytest.mark.parametrize("agent", EVENTS)
def test_each_event_has_one_hook_and_others_keep_theirs(machine: Machine, agent: str) -> None:
    for rel, data, _ in RICH[agent]:
        machine.put(rel, data)
    path = machine.home / HOOK_FILES[agent]
    before = commands(read(path)["hooks"]) if path.exists() else []
    only(machine.connect(agent))
    hooks = read(path)["hooks"]

    for event in EVENTS[agent].split():
        assert commands(hooks[event]).count(f"{machine.launcher} hook {agent} {event}") == 1
    mine = [line for line in commands(hooks) if "hook " + agent in line and "other-memory" not in line]
    assert len(mine) == len(EVENTS[agent].split())
    assert [line for line in commands(hooks) if line in before or line not in mine] == before


@pytest.mark.parametrize("rel", ['opt/my tools/it\'s "new" ü/mdmem', "bin2/mdmem"])
def test_another_launcher_takes_the_place_of_the_earlier(machine: Machine, rich: str, rel: str) -> None:
    before = machine.tree()
    old = machine.launcher
    only(machine.connect(rich))
    new = machine.install(rel)
    assert {check.state for check in state_of(rich)} >= {"differs"}
    only(machine.connect(rich))

    for change in only(machine.connect(rich)).changes:
        text = Path(change.path).read_text("utf-8")
        assert old + " hook" not in text
        assert f'"{old}"' not in text
    only(machine.disconnect(rich))
    after = {name: entry for name, entry in machine.tree().items() if not f"{rel}/".startswith(f"{name}/")}
    assert after == before
    assert shlex.split(f"{shlex.quote(new)} hook") == [new, "hook"]


def test_a_file_that_changed_afterwards_loses_ours_alone(machine: Machine, rich: str) -> None:
    only(machine.connect(rich))
    rel, data, _ = RICH[rich][0]
    path = machine.home / rel
    now = path.read_bytes()
    more = b"NEW: 1\n" if rel.endswith("yaml") else b" \n"
    path.write_bytes(now + more)
    only(machine.disconnect(rich))

    # An empty list that ours was put into goes with it, unless the whole file can be had back.
    assert path.read_bytes() == data.replace(b',\r\n\t\t"Stop": []', b"") + more
    assert "mdmem" not in path.read_text("utf-8") or rel.endswith("yaml")


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_with_no_files_gets_some_and_loses_them_again(machine: Machine, agent: str) -> None:
    before = machine.tree()
    outcome = only(machine.connect(agent))
    assert {change.action for change in outcome.changes} == {"create"}
    assert {check.state for check in state_of(agent)} <= {"ok", "ask"}
    only(machine.connect(agent))
    only(machine.disconnect(agent))
    left = {name for name in machine.tree() if name not in before}

    assert left <= {".config"}


@pytest.mark.parametrize("agent", AGENTS)
def test_the_empty_folder_of_an_agent_stays(machine: Machine, agent: str) -> None:
    home = {"opencode": ".config/opencode", "goose": ".config/goose", "claude-code": ".claude"}.get(agent, f".{agent}")
    (machine.home / home).mkdir(parents=True)
    before = machine.tree()
    only(machine.connect())
    only(machine.disconnect())

    assert machine.tree() == before


def test_without_a_name_those_on_this_machine_are_connected(machine: Machine) -> None:
    assert machine.connect() == []
    (machine.home / ".codex").mkdir()
    machine.script("bin/gemini", "#!/bin/sh\n")
    assert [outcome.agent for outcome in machine.connect()] == ["codex", "gemini"]
    assert [check.agent for check in states()].count("codex") == 3
    assert [outcome.agent for outcome in machine.disconnect()] == ["codex", "gemini"]
    assert machine.disconnect() == []


def test_a_name_that_is_none_is_told_the_nearest(machine: Machine) -> None:
    with pytest.raises(UsageError) as error:
        machine.connect("codexx")

    assert "codex" in (error.value.hint or "")


@pytest.mark.parametrize(("agent", "rel", "data", "line"), BROKEN)
def test_a_file_that_cannot_be_understood_is_named_and_nothing_is_written(
    machine: Machine, agent: str, rel: str, data: bytes, line: int | None
) -> None:
    path = machine.put(rel, data)
    before = machine.tree()
    (outcome,) = machine.connect(agent)
    error = outcome.error

    assert isinstance(error, ConfigError)
    assert error.exit_code == 6
    assert str(error.where).startswith(f"{path}:{line}" if line else f"{path}:")
    assert error.hint
    assert machine.tree() == before
    assert "unusable" in {check.state for check in state_of(agent)}


def test_one_agent_in_trouble_leaves_the_others_alone(machine: Machine) -> None:
    machine.put(".codex/hooks.json", b"{")
    machine.put(".gemini/settings.json", b"{}")
    codex, gemini = machine.connect()

    assert isinstance(codex.error, ConfigError)
    assert gemini.error is None
    assert gemini.changed


def test_a_linked_settings_file_stays_a_link(machine: Machine) -> None:
    rel, data, _ = RICH["claude-code"][0]
    real = machine.put("dotfiles/claude settings.json", data)
    (machine.home / ".claude").mkdir()
    (machine.home / rel).symlink_to(real)
    before = machine.tree()
    only(machine.connect("claude-code"))
    assert os.readlink(machine.home / rel) == str(real)
    assert b"hook claude-code" in real.read_bytes()
    only(machine.disconnect("claude-code"))

    assert machine.tree() == before


def test_a_change_between_reading_and_writing_is_taken_in(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = machine.put(".claude/settings.json", b'{"a": 1}')
    really, times = saving.files.write_generated, []

    def busy(root: Path, rel: str, data: bytes, **more: Any) -> bool:
        if rel == "settings.json" and len(times) < 2:
            times.append(rel)
            path.write_bytes(json.dumps({"a": 1, "round": len(times)}).encode())
        return really(root, rel, data, **more)

    monkeypatch.setattr(saving.files, "write_generated", busy)
    only(machine.connect("claude-code"))

    assert read(path)["round"] == 2
    assert len(commands(read(path)["hooks"])) == 5
    assert len(saving.backups(str(path))) == 1


def test_a_file_that_never_rests_is_left(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = machine.put(".claude/settings.json", b'{"a": 1}')
    really, times = saving.files.write_generated, []

    def busy(root: Path, rel: str, data: bytes, **more: Any) -> bool:
        times.append(rel)
        path.write_bytes(json.dumps({"round": len(times)}).encode())
        return really(root, rel, data, **more)

    monkeypatch.setattr(saving.files, "write_generated", busy)
    (outcome,) = machine.connect("claude-code")

    assert isinstance(outcome.error, RefusedError)
    assert "hooks" not in read(path)


def test_hooks_that_a_person_put_together_with_others_are_renewed_where_they_are(machine: Machine) -> None:
    own = {"type": "command", "command": "/old/mdmem hook claude-code Stop", "timeout": 9}
    other = {"type": "command", "command": "x"}
    groups = [{"matcher": "", "hooks": [other, own]}, {"hooks": [own]}, {"hooks": [{**own, "args": []}]}]
    stale = {"Notification": [{"hooks": [{**own, "command": "mdmem", "args": ["hook", "claude-code"]}]}]}
    path = machine.put(".claude/settings.json", json.dumps({"hooks": {"Stop": groups, **stale}}, indent=1).encode())
    only(machine.connect("claude-code"))
    hooks = read(path)["hooks"]

    new = {"type": "command", "command": f"{machine.launcher} hook claude-code Stop", "timeout": 5}
    assert hooks["Stop"] == [{"matcher": "", "hooks": [other, new]}]
    assert "Notification" not in hooks
    only(machine.disconnect("claude-code"))
    assert read(path) == {"hooks": {"Stop": [{"matcher": "", "hooks": [other]}]}}


@pytest.mark.parametrize(
    "more", ["; notify-send done", " && ~/bin/after", " | tee -a ~/hooks.log", " 2>>~/hooks.log", " & ", "; x"]
)
def test_a_command_that_a_person_put_more_into_is_theirs(machine: Machine, more: str) -> None:
    hook = {"type": "command", "command": f"{machine.launcher} hook claude-code Stop{more}", "timeout": 60}
    data = json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}).encode()
    path = machine.put(".claude/settings.json", data)
    only(machine.connect("claude-code"))
    assert read(path)["hooks"]["Stop"][0] == {"hooks": [hook]}
    only(machine.disconnect("claude-code"))
    assert path.read_bytes() == data


def test_a_file_of_comments_alone_is_not_removed(machine: Machine) -> None:
    path = machine.put(".gemini/settings.json", b"{}\n")
    only(machine.connect("gemini"))
    path.write_bytes(path.read_bytes().replace(b"{\n", b'{\n  // "theme": "dark",\n', 1))
    only(machine.disconnect("gemini"))
    assert b'// "theme": "dark",' in path.read_bytes()


@pytest.mark.parametrize(
    ("agent", "rel", "text"),
    [
        (
            "qwen",
            ".qwen/settings.json",
            '{"mcpServers": {"mdmem": {"command": "%s", "args": ["mcp", "--agent", "b"]}}}',
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            '{"mcp": {"mdmem": {"command": ["%s", "mcp", "--agent", "b"]}}}',
        ),
        ("codex", ".codex/config.toml", '[mcp_servers.mdmem]\ncommand = "%s"\nargs = ["mcp", "--agent", "b"]\n'),
        ("goose", ".config/goose/config.yaml", "extensions:\n  mdmem:\n    cmd: %s\n    args: [mcp, --agent, b]\n"),
    ],
)
def test_what_a_person_told_our_server_more_stays(machine: Machine, agent: str, rel: str, text: str) -> None:
    path = machine.put(rel, (text % "/old/mdmem").encode())
    only(machine.connect(agent))
    again = path.read_text()
    assert "--agent" in again
    assert machine.launcher in again
    assert "/old/mdmem" not in again
    only(machine.disconnect(agent))
    assert not path.exists() or "mdmem" not in path.read_text()


VARIABLES = ["MDMEM_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"]


def test_codex_hands_our_server_what_says_which_memories_are_meant(machine: Machine) -> None:
    path = machine.put(".codex/config.toml", b'model = "x"\n')
    only(machine.connect("codex"))
    assert tomllib.loads(path.read_text())["mcp_servers"]["mdmem"]["env_vars"] == VARIABLES
    path.write_text(path.read_text().replace('"MDMEM_HOME", ', '"MINE", '))
    only(machine.connect("codex"))
    assert '"MINE"' in path.read_text()
    only(machine.disconnect("codex"))
    assert path.read_bytes() == b'model = "x"\n'


def test_what_a_person_added_to_our_server_stays(machine: Machine) -> None:
    entry = {"command": "/old/mdmem", "args": ["mcp"], "timeout": 9, "trust": True}
    path = machine.put(".qwen/settings.json", json.dumps({"mcpServers": {"mdmem": entry}}).encode())
    toml = machine.put(
        ".codex/config.toml", b'[mcp_servers]\nmdmem = {command = "/old/mdmem", args = ["mcp"], enabled = false}\n'
    )
    old = GOOSE.replace(
        b"    # the usual", b"    mdmem:\n        cmd: /old/mdmem\n        args: [mcp]\n    # the usual"
    )
    goose = machine.put(".config/goose/config.yaml", old)
    machine.connect("qwen", "codex", "goose")

    assert read(path)["mcpServers"]["mdmem"] == entry | {"command": machine.launcher}
    server = tomllib.loads(toml.read_text())["mcp_servers"]["mdmem"]
    assert server == {"command": machine.launcher, "args": ["mcp"], "env_vars": VARIABLES, "enabled": False}
    extension = yaml.safe_load(goose.read_text())["extensions"]["mdmem"]
    assert extension == {"cmd": machine.launcher, "args": ["mcp"]}


@pytest.mark.parametrize(
    "text",
    [b'mcp_servers = {docs = {command = "x"}}\n', b"[mcp_servers]\n", b"mcp_servers.docs.command = 'x'\na = 1\n"],
)
def test_codex_servers_written_in_other_ways_get_ours_too(machine: Machine, text: bytes) -> None:
    path = machine.put(".codex/config.toml", text)
    before = tomllib.loads(text.decode())
    only(machine.connect("codex"))
    values = tomllib.loads(path.read_text())

    assert values["mcp_servers"].pop("mdmem") == {"command": machine.launcher, "args": ["mcp"], "env_vars": VARIABLES}
    assert values == before
    only(machine.disconnect("codex"))
    assert path.read_bytes() == text


def test_a_codex_config_that_changed_loses_our_table_alone(machine: Machine) -> None:
    data = RICH["codex"][1][1] + b"\n"
    path = machine.put(".codex/config.toml", data)
    only(machine.connect("codex"))
    more = b'\n# of the next\n[projects."/w/new"]\ntrust_level = "trusted"\n'
    path.write_bytes(path.read_bytes() + more)
    only(machine.disconnect("codex"))

    assert path.read_bytes() == data + more


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"a: 1",
        b"a: 1\r\nextensions: {}\r\nb: 2\r\n",
        b"extensions:\n",
        b"extensions: null",
        b"extensions: {} # c\nb: 1\n",
        b"extensions: # c",
    ],
)
def test_goose_extensions_are_begun_where_there_are_none(machine: Machine, text: bytes) -> None:
    path = machine.put(".config/goose/config.yaml", text)
    only(machine.connect("goose"))
    values = yaml.safe_load(path.read_bytes())

    assert values.pop("extensions")["mdmem"]["cmd"] == machine.launcher
    assert text.count(b"#") == path.read_bytes().count(b"#")
    assert values == {k: v for k, v in (yaml.safe_load(text) or {}).items() if k != "extensions"}
    only(machine.disconnect("goose"))
    assert path.read_bytes() == text


def test_a_goose_config_that_was_written_anew_loses_ours(machine: Machine) -> None:
    path = machine.put(".config/goose/config.yaml", GOOSE)
    only(machine.connect("goose"))
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_bytes())))
    only(machine.disconnect("goose"))

    assert yaml.safe_load(path.read_bytes()) == yaml.safe_load(GOOSE)


def test_opencode_of_either_generation_has_its_place_for_servers(machine: Machine) -> None:
    path = machine.put(".config/opencode/opencode.json", b"{}")
    only(machine.connect("opencode"))
    assert read(path)["mcp"]["mdmem"]["enabled"] is True
    machine.script("bin/opencode", "#!/bin/sh\necho 2.0.12\n")
    only(machine.connect("opencode"))
    assert read(path) == {"mcp": {"servers": {"mdmem": {"type": "local", "command": [machine.launcher, "mcp"]}}}}
    path.write_bytes(OPENCODE_2)
    only(machine.connect("opencode"))
    assert set(read(path)["mcp"]["servers"]) == {"docs", "mdmem"}
    only(machine.disconnect("opencode"))
    assert path.read_bytes() == OPENCODE_2


def test_a_plugin_of_somebody_else_is_not_written_over(machine: Machine) -> None:
    path = machine.put(".config/opencode/plugin/mdmem.js", b"export default 1\n")
    (outcome,) = machine.connect("opencode")

    assert isinstance(outcome.error, ConfigError)
    assert path.read_bytes() == b"export default 1\n"
    only(machine.disconnect("opencode"))
    assert path.exists()


@pytest.mark.parametrize(
    ("variable", "agent", "rel"),
    [
        ("CLAUDE_CONFIG_DIR", "claude-code", ".claude.json"),
        ("CODEX_HOME", "codex", "hooks.json"),
        ("GEMINI_CLI_HOME", "gemini", ".gemini/settings.json"),
        ("CURSOR_CONFIG_DIR", "cursor", "hooks.json"),
        ("COPILOT_HOME", "copilot", "hooks/mdmem.json"),
        ("QWEN_HOME", "qwen", "settings.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/opencode.json"),
        ("GOOSE_PATH_ROOT", "goose", "config/config.yaml"),
    ],
)
def test_an_agent_that_was_moved_is_found_there(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, variable: str, agent: str, rel: str
) -> None:
    monkeypatch.setenv(variable, "~/else where")
    only(machine.connect(agent))

    assert (machine.home / "else where" / rel).is_file()


@pytest.mark.parametrize("data", [b"", b"{}", b" \n", b'{"hooks": {"Stop": []}, "mcpServers": {}}', b"{\n}\n"])
def test_settings_without_ours_are_not_touched_by_disconnecting(machine: Machine, data: bytes) -> None:
    for rel in (".claude/settings.json", ".codex/hooks.json", ".cursor/mcp.json", ".qwen/settings.json"):
        machine.put(rel, data)
    for rel in (".codex/config.toml", ".config/goose/config.yaml", ".config/goose/.goosehints"):
        machine.put(rel, b"")
    before = machine.tree()

    assert machine.disconnect() == []
    assert machine.tree() == before
    assert not only(machine.disconnect("claude-code")).changed


def test_our_hooks_for_another_agent_are_not_ours_here(machine: Machine) -> None:
    theirs = {"type": "command", "command": f"{machine.launcher} hook claude-code Stop"}
    path = machine.put(".qwen/settings.json", json.dumps({"hooks": {"Stop": [{"hooks": [theirs]}]}}).encode())
    only(machine.connect("qwen"))
    assert read(path)["hooks"]["Stop"][0] == {"hooks": [theirs]}
    only(machine.disconnect("qwen"))

    assert read(path) == {"hooks": {"Stop": [{"hooks": [theirs]}]}}


def test_a_write_protected_file_is_left_and_no_copy_of_it(machine: Machine) -> None:
    path = machine.put(".qwen/settings.json", b'{"a": 1}')
    path.chmod(0o400)
    before = machine.tree()
    (outcome,) = machine.connect("qwen")

    assert isinstance(outcome.error, RefusedError)
    assert outcome.error.where == str(path)
    assert outcome.changes == []
    assert machine.tree() == before


def test_what_was_connected_comes_out_without_an_installed_command(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.put(".codex/config.toml", b"a = 1\n")
    before = {name: entry for name, entry in machine.tree().items() if name != "bin/mdmem"}
    only(machine.connect("codex"))
    os.unlink(machine.launcher)
    monkeypatch.setattr("sys.executable", str(machine.bin / "python"))
    with pytest.raises(ConfigError, match="not installed"):
        machine.connect("codex")
    only(machine.disconnect("codex"))

    left = {name: entry for name, entry in machine.tree().items() if not name.endswith(".bak")}
    assert left == before


def test_a_launcher_that_no_setting_can_hold_is_refused(machine: Machine) -> None:
    machine.install("a$HOME/mdmem")
    with pytest.raises(ConfigError, match="cannot hold"):
        machine.connect("codex")


def test_what_stands_in_the_way_of_hooks_is_told(machine: Machine) -> None:
    machine.put(".claude/settings.json", b'{"disableAllHooks": true}')
    machine.put(".gemini/settings.json", b'{"hooksConfig": {"enabled": false}}')
    machine.connect("claude-code", "gemini", "codex")

    assert [check.state for check in state_of("claude-code")] == ["ok", "ok", "off"]
    assert [check.state for check in state_of("gemini")] == ["ok", "ok", "off"]
    assert [check.state for check in state_of("codex")] == ["ok", "ok", "ask"]
    config = machine.home / ".codex/config.toml"
    config.write_bytes(b"features.hooks = false\n" + config.read_bytes())
    assert [check.state for check in state_of("codex")] == ["ok", "ok", "off", "ask"]
    machine.disconnect("codex")
    assert [check.state for check in state_of("codex")] == ["missing", "missing"]


def test_codex_hooks_count_as_approved_when_codex_says_so(machine: Machine) -> None:
    machine.put(".codex/hooks.json", RICH["codex"][0][1])
    machine.connect("codex")
    config = machine.home / ".codex/config.toml"

    def approve(event: str, group: int, more: str = "") -> None:
        key = f"{machine.home}/.codex/hooks.json:{event}:{group}:0"
        config.write_text(f'{config.read_text()}\n[hooks.state."{key}"]\ntrusted_hash = "sha256:a"\n{more}')

    approve("session_start", 0)  # another tool's
    assert state_of("codex")[-1].message == (
        "not approved yet: SessionStart, Stop, UserPromptSubmit, PreCompact, SessionEnd"
    )
    approve("session_start", 1)
    for event in ("stop", "pre_compact", "session_end"):
        approve(event, 0)
    approve("user_prompt_submit", 0, "enabled = false\n")
    assert state_of("codex")[-1].message == "not approved yet: UserPromptSubmit"
    config.write_text(config.read_text().replace("enabled = false", "enabled = true"))
    assert (state_of("codex")[-1].what, state_of("codex")[-1].state) == ("trust", "ok")
    only(machine.connect("codex"))
    only(machine.disconnect("codex"))
    assert "mdmem" not in tomllib.loads(config.read_text()).get("mcp_servers", {})
    assert len(tomllib.loads(config.read_text())["hooks"]["state"]) == 6


@pytest.mark.parametrize("rel", ["bin/mdmem", 'opt/my tools/it\'s "new" ü & co;/mdmem'])
def test_a_shell_runs_the_hook_as_it_is_written(machine: Machine, rel: str) -> None:
    machine.install(rel)
    machine.script(rel, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    machine.connect("codex")
    line = read(machine.home / ".codex/hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, timeout=20, check=False)

    assert done.stdout.split() == ["hook", "codex", "Stop"]


def test_hook_times_are_in_the_unit_of_the_agent(machine: Machine) -> None:
    machine.connect(*AGENTS)
    times = {
        agent: {value for entry in _handlers(read(machine.home / rel)["hooks"]) for value in entry}
        for agent, rel in HOOK_FILES.items()
    }

    assert times == {
        "claude-code": {5},
        "codex": {5, 3},
        "gemini": {5000},
        "qwen": {10000},
        "cursor": {5},
        "copilot": {5},
        "goose": {5},
    }


def _handlers(value: Any) -> list[list[int]]:
    if isinstance(value, dict):
        own = [value[key] for key in ("timeout", "timeoutSec") if key in value]
        return [own] + [line for inner in value.values() for line in _handlers(inner)]
    return [line for inner in value for line in _handlers(inner)] if isinstance(value, list) else []
