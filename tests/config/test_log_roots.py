"""Where agents keep their logs: usually, and as variables say."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdmem.config.paths import log_roots

VARIABLES = {
    "CLAUDE_CONFIG_DIR": ("claude-code", "{}"),
    "CODEX_HOME": ("codex", "{}"),
    "GEMINI_CLI_HOME": ("gemini-cli", "{}/.gemini"),
    "COPILOT_HOME": ("copilot-cli", "{}"),
    "QWEN_RUNTIME_DIR": ("qwen-code", "{}"),
    "OPENCLAW_STATE_DIR": ("openclaw", "{}"),
    "PI_CODING_AGENT_DIR": ("pi", "{}"),
    "GOOSE_PATH_ROOT": ("goose", "{}/data"),
    "OPENCODE_DB": ("opencode", "{}"),
    "AIDER_CHAT_HISTORY_FILE": ("aider", "{}"),
    "CURSOR_DATA_DIR": ("cursor", "{}"),
}


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in (*VARIABLES, "XDG_DATA_HOME", "CURSOR_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_usually_logs_are_below_the_home_folder(plain: Path) -> None:
    found = log_roots()

    assert found["claude-code"] == [f"{plain}/.claude"]
    assert found["opencode"] == [f"{plain}/.local/share/opencode"]
    assert found["goose"] == [f"{plain}/.local/share/goose"]
    assert found["pi"] == [f"{plain}/.pi/agent"]
    assert "aider" not in found
    assert all(root.startswith(str(plain)) for roots in found.values() for root in roots)


@pytest.mark.parametrize("name", sorted(VARIABLES))
def test_each_variable_moves_them(plain: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    agent, place = VARIABLES[name]
    monkeypatch.setenv(name, str(plain / "moved"))

    assert place.format(plain / "moved") in log_roots()[agent]


def test_data_folders_move_together(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(plain / "data"))
    found = log_roots()

    assert (found["opencode"], found["goose"]) == ([f"{plain}/data/opencode"], [f"{plain}/data/goose"])
