"""The official SDK's client, run from a test that is not asynchronous."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from mdmem.agents.caller import Caller
from mdmem.agents.server import Session
from tests.conftest import Home

T = TypeVar("T")
Talk = Callable[[Client], Awaitable[T]]


def program(home: Home, *args: str, cwd: Path | str = "/", env: dict[str, str] | None = None) -> StdioServerParameters:
    """`mdmem mcp` as an agent starts it: in a folder of its own choice."""
    return StdioServerParameters(
        command=sys.executable, args=["-m", "mdmem", "mcp", *args], env=home.env | (env or {}), cwd=str(cwd)
    )


def talk(started: StdioServerParameters, say: Talk[T], mode: str = "legacy", **more: Any) -> T:
    """Start the program, speak with it, and end it; what it says on stderr goes to pytest's."""

    async def main() -> T:
        with Path(started.env["HOME"], "mcp.err").open("a") as errors:  # type: ignore[index]
            return await _spoken(Client(stdio_client(started, errlog=errors), mode=mode, **more), say)

    return asyncio.run(main())


async def _spoken(opened: Client, say: Talk[T]) -> T:
    """What was said; an error of the server as it came, not as one of a group."""
    async with opened as client:
        try:
            return await say(client)
        except MCPError as error:
            refusal = error
    raise refusal


def talk_here(say: Talk[T], caller: Caller | None = None, mode: str = "legacy", **more: Any) -> T:
    """The same with a server in this process, without any program."""

    async def main() -> T:
        return await _spoken(Client(Session(caller or Caller()).server, mode=mode, **more), say)

    return asyncio.run(main())


def call_here(name: str, caller: Caller | None = None, **arguments: Any) -> Any:
    """One tool called in this process; its result."""
    return talk_here(lambda client: client.call_tool(name, arguments), caller)


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content)
