"""`hook`: what an agent runs at its events. The program takes a shorter way there; here are its words of help."""

from __future__ import annotations

import click


@click.command()
@click.argument("agent")
@click.argument("event")
def hook_command(agent: str, event: str) -> None:
    """Answer a hook of AGENT at its EVENT: the agent's JSON on stdin, the JSON that it takes on stdout.

    `mdmem connect` puts this into an agent's config. Whatever goes wrong it prints nothing and ends with 0, within
    300 ms; hook.log in the state folder says why.

    \b
    Example:
      echo '{"session_id": "s1", "cwd": "/shop", "prompt": "how do we deploy the shop?"}' |
        mdmem hook claude-code UserPromptSubmit
    """
    from mdmem.agents.hook import main

    main([agent, event])
