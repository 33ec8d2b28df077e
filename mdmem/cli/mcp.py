"""`mcp`: standard input and output of an agent in, tools and resources over the Model Context Protocol out."""

from __future__ import annotations

import click

from mdmem.cli import options


@click.command()
@options.caller
def mcp_command(cwd: str | None, agent: str | None) -> int:
    """Serve memory to an agent over MCP, on standard input and output. Agents start this themselves.

    Search, list and recall are answered by the daemon, or without one from the files. What an agent proposes waits for
    your approval; only its own notes are written at once.

    \b
    Examples:
      mdmem connect claude-code
      claude mcp add mdmem -- mdmem mcp
      mdmem mcp --agent builder --cwd ~/work/site
    """
    from mdmem.agents.pipe import main

    return main(options.absolute(cwd) if cwd else None, agent)
