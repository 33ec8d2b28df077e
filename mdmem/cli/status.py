"""`status`: the state of everything, and 1 where something wants a person."""

from __future__ import annotations

import click

from mdmem.cli import options, say
from mdmem.cli.ask import ask
from mdmem.outputs import text


@click.command()
@options.caller
@options.as_json
def status_command(cwd: str | None, agent: str | None, as_json: bool) -> int:
    """Show what is watched and indexed, and which files have problems.

    The exit code is 1 when there are problems.

    \b
    Examples:
      mdmem status
      mdmem status --json
    """
    status = ask({"op": "status", **options.who(cwd, agent)})["status"]
    if as_json:
        say.json_out(status)
    else:
        for line in text.status_lines(status, paint=say.paint):
            say.out(line)
    unreadable = any(scope["state"] == "unreadable" for scope in status["scopes"])
    return 1 if status["problems"] or unreadable else 0
