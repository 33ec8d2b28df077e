"""`status`: the state of everything, and 1 where something wants a person."""

from __future__ import annotations

from typing import Any

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
    status["problems"] = [*_config_problems(), *status["problems"]]
    if as_json:
        say.json_out(status)
    else:
        for line in text.status_lines(status, paint=say.paint):
            say.out(line)
    unreadable = any(scope["state"] == "unreadable" for scope in status["scopes"])
    return 1 if status["problems"] or unreadable else 0


def _config_problems() -> list[dict[str, Any]]:
    """A config that was broken while the daemon runs: it goes by what it read before, and nothing else would say so."""
    from mdmem.config import find_paths
    from mdmem.config.settings import load
    from mdmem.errors import ConfigError

    try:
        load(find_paths().config_file)
    except ConfigError as error:
        hint = f"{error.hint}; what it said before still holds" if error.hint else "what it said before still holds"
        return [{"path": error.where, "line": None, "code": "config-broken", "message": error.what, "hint": hint}]
    return []
