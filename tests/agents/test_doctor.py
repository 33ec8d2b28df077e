"""What `mdmem doctor` says of agents: proved, not proved, or wrong."""

from pathlib import Path
from typing import Any

import pytest

from mdmem.agents import doctor
from tests.app.claude_log import ClaudeLog
from tests.conftest import Home


@pytest.fixture
def claude(home: Home) -> Home:
    (home.folder / ".claude").mkdir()
    home.put("a.md", "one memory\n")
    home.run("sync")
    return home


def of(home: Home, agent: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = home.run("doctor", "--json").json
    return [finding for finding in found if finding["check"] == agent]


def codes(home: Home, agent: str) -> list[str]:
    return [finding["code"] for finding in of(home, agent)]


def fire(home: Home, *events: str) -> None:
    for event in events:
        assert home.run("hook", "claude-code", event, stdin='{"session_id": "s"}').code == 0


def came_in(home: Home, *events: str) -> None:
    """As often as it takes: a hook gives up where the machine is busy."""
    for _ in range(20):
        fire(home, *events)
        if "hook-not-fired" not in codes(home, "claude-code"):
            return


def test_an_agent_that_is_not_connected_is_no_trouble(claude: Home) -> None:
    (found,) = of(claude, "claude-code")
    assert (found["ok"], found["code"]) == (True, "not-connected")
    assert "mdmem connect claude-code" in found["message"]
    assert of(claude, "mcp") == []


def test_hooks_are_proved_by_coming_in(claude: Home) -> None:
    assert claude.run("connect", "claude-code").code == 0
    assert codes(claude, "claude-code") == ["ok", "hook-not-fired", "ok"]
    fire(claude, "SessionEnd", "SessionStart", "SessionEnd")
    (_, found, _) = of(claude, "claude-code")
    assert found["code"] == "hook-not-fired"
    came_in(claude, "SessionStart", "UserPromptSubmit", "Stop")
    assert codes(claude, "claude-code") == ["ok", "ok", "ok"]
    assert codes(claude, "mcp") == ["ok"]


def test_settings_that_were_changed_are_told(claude: Home) -> None:
    claude.run("connect", "claude-code")
    settings = claude.folder / ".claude/settings.json"
    settings.write_text(settings.read_text().replace("UserPromptSubmit", "PromptSubmit"))
    assert "agent-settings" in codes(claude, "claude-code")
    settings.write_text("{")
    found = next(f for f in of(claude, "claude-code") if f["code"] == "agent-settings")
    assert "settings.json:1" in found["message"]


def test_hooks_that_wait_for_trust_are_told(home: Home) -> None:
    (home.folder / ".codex").mkdir()
    home.run("connect", "codex")
    (found,) = [f for f in of(home, "codex") if f["code"] == "agent-not-trusted"]
    assert "/hooks" in found["hint"]


@pytest.mark.parametrize(
    "script", ["exit 0", "echo hello", "echo '{}'", "echo '[]'", "echo '{\"result\": 3}'", "exec sleep 60"]
)
def test_a_server_that_does_not_answer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    command = tmp_path / "mdmem"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setattr(doctor, "any_launcher", lambda: str(command))
    monkeypatch.setattr(doctor, "MCP_S", 1.0)
    assert [finding.code for finding in doctor._mcp()] == ["mcp-silent"]


def test_logs_that_are_not_followed_or_not_known_are_told(claude: Home) -> None:
    claude.run("connect", "claude-code")
    log = ClaudeLog(claude.folder, claude.work)
    log.said("hello")
    assert "can be read" in of(claude, "claude-code")[-1]["message"]
    log.path.write_text("something else\n")
    assert codes(claude, "claude-code")[-1] == "log-unknown"
    claude.run("config", "set", "learn.agents", "[]")
    assert codes(claude, "claude-code")[-1] == "logs-not-followed"


def test_a_config_that_is_wrong_is_told_alone(claude: Home) -> None:
    claude.run("connect", "claude-code")
    (claude.mdmem / "config.toml").write_text("[learn]\nagents = 3\n")
    done = claude.run("doctor", "--json")
    assert done.code == 1
    assert "config-unusable" in {finding["code"] for finding in done.json}
    assert of(claude, "claude-code") == []
