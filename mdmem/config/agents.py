"""The environment in, the folders in which coding agents keep their settings out. Reads no file."""

from __future__ import annotations

import os
from typing import NamedTuple

from mdmem.errors import ConfigError


class AgentFolders(NamedTuple):
    """Absolute paths as text; they may not exist. `claude_json` is a file; `plugins` is what several agents share."""

    claude: str
    claude_json: str
    codex: str
    gemini: str
    opencode: str
    cursor: str
    copilot: str
    qwen: str
    goose: str
    plugins: str


def agent_folders() -> AgentFolders:
    """Where this person's agents are set up, moved by each agent's own variables. ConfigError without a home folder."""
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise ConfigError("no home folder is known", hint="set HOME")
    config = _folder("XDG_CONFIG_HOME", f"{home}/.config")
    moved = bool(os.environ.get("CLAUDE_CONFIG_DIR"))
    claude = _folder("CLAUDE_CONFIG_DIR", f"{home}/.claude")
    goose = _folder("GOOSE_PATH_ROOT", "")
    return AgentFolders(
        claude=claude,
        claude_json=f"{claude}/.claude.json" if moved else f"{home}/.claude.json",
        codex=_folder("CODEX_HOME", f"{home}/.codex"),
        gemini=f"{_folder('GEMINI_CLI_HOME', home)}/.gemini",
        opencode=f"{config}/opencode",
        cursor=_folder("CURSOR_CONFIG_DIR", f"{home}/.cursor"),
        copilot=_folder("COPILOT_HOME", f"{home}/.copilot"),
        qwen=_folder("QWEN_HOME", f"{home}/.qwen"),
        goose=f"{goose}/config" if goose else f"{config}/goose",
        plugins=f"{home}/.agents/plugins",
    )


def _folder(variable: str, usual: str) -> str:
    value = os.environ.get(variable, "").strip()
    return os.path.abspath(os.path.expanduser(value)) if value else usual
