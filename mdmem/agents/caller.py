"""What a client's program and the client itself say of themselves in; which agent, in which folder, out."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

# Names that agents' MCP clients give themselves, and the ids that their hooks and logs go by here.
_CLIENTS = (("codex-mcp-client", "codex"), ("gemini-cli-mcp-client", "gemini"), ("cursor-vscode", "cursor"))
_NO_ID = re.compile(r"[^\w.@+-]+")


class Caller(NamedTuple):
    """What the program `mdmem mcp` knows: the agent and the project that it was told of, and where it was started."""

    agent: str | None = None
    project: str | None = None
    cwd: str | None = None

    @classmethod
    def of(cls, hello: dict[str, Any]) -> Caller:
        said = (hello.get(name) for name in cls._fields)
        return cls(*(value if isinstance(value, str) else None for value in said))


class Who(NamedTuple):
    """For whom a tool is called. `told`: the agent was named by whoever set the server up, not by the client."""

    agent: str | None
    cwd: str | None
    told: bool = False


def agent_of(client: str) -> str | None:
    """The agent id that a client's name stands for; None where no letter of it could be one."""
    for name, agent in _CLIENTS:
        if client.startswith(name):
            return agent
    return _NO_ID.sub("-", client.lower()).lstrip("-.@+")[:64].rstrip("-") or None
