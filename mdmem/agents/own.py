"""How mdmem is called by an agent: the command lines of hooks, and telling them from those of others."""

from __future__ import annotations

import os
import re
import shlex
from typing import Any

from mdmem.config.launcher import launcher
from mdmem.errors import ConfigError

NAME = "mdmem"  # of the MCP server, in every agent
# Agents put variables into the texts of their settings; a control character or an undecodable one fits in no setting.
_UNFIT = re.compile("[$\x00-\x1f\x7f\ud800-\udfff]")


def stable_launcher() -> str:
    """The command that goes into agents' files. ConfigError where none is installed, or its path fits nowhere."""
    path = launcher()
    if _UNFIT.search(path):
        raise ConfigError(
            "the path of the command has a sign in it that agents' settings cannot hold",
            where=ascii(path)[1:-1],
            hint="install mdmem in a folder without '$' and control characters in its path",
        )
    return path


def any_launcher() -> str:
    """The stable one, or a stand-in where there is none: looking, and taking ours out, needs no more."""
    try:
        return stable_launcher()
    except ConfigError:
        return "/mdmem"


def hook_command(path: str, agent: str, event: str) -> str:
    """The command line of a hook, for any POSIX shell. It must never change: Codex asks for trust again if it does."""
    return f"{shlex.quote(path)} hook {agent} {event}"


def is_hook(handler: Any, agent: str) -> bool:  # noqa: ANN401  # of a file that others wrote
    """Whether this is a hook that some version of mdmem put there for this agent, and nothing more.

    What a person wrote around it (`...; notify-send done`) is theirs, and makes all of it theirs.
    """
    if not isinstance(handler, dict):
        return False
    line = handler.get("command", handler.get("bash"))
    args = handler.get("args", [])
    if not isinstance(line, str) or not isinstance(args, list):
        return False
    try:
        words = [*shlex.split(line), *map(str, args)]
    except ValueError:
        return False
    if len(words) not in (3, 4) or not all(map(str.isalnum, words[3:])):
        return False
    return os.path.basename(words[0]) == "mdmem" and words[1:3] == ["hook", agent]


def is_server(words: list[Any]) -> bool:
    """Whether a command and its arguments are an MCP server of some version of mdmem, whatever it was told more."""
    return len(words) > 1 and os.path.basename(str(words[0])) == "mdmem" and words[1] == "mcp"


def renewed(words: Any, wanted: Any) -> Any:  # noqa: ANN401  # of a file that others wrote
    """A value of the server's entry as it is wanted; of a list the words that a person added behind ours stay."""
    return [*wanted, *words[len(wanted) :]] if isinstance(words, list) and isinstance(wanted, list) else wanted
