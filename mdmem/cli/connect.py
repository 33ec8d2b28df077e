"""`connect`, `disconnect`: names of agents in; what was written into their settings, and what is left to do, out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from mdmem.cli import options, say
from mdmem.cli.ask import ask
from mdmem.daemon.ask import working_folder
from mdmem.outputs.text import clean

if TYPE_CHECKING:
    from mdmem.agents.connect import Change, Outcome

_WORDS = {"create": "made", "change": "changed", "remove": "removed"}


def _names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from mdmem.agents.table import AGENTS, INSTRUCTIONS

    return [name for name in (*AGENTS, *INSTRUCTIONS) if name.startswith(incomplete)]


_agents = click.argument("agents", nargs=-1, metavar="[AGENT]...", shell_complete=_names)
_dry_run = click.option("--dry-run", is_flag=True, help="Print what would change as a diff, and write nothing.")


@click.command()
@_agents
@_dry_run
@options.as_json
def connect_command(agents: tuple[str, ...], dry_run: bool, as_json: bool) -> int:
    """Put mdmem's hooks and MCP server into the settings of coding agents.

    AGENT is claude-code, codex, gemini, opencode, cursor, copilot, qwen or goose; without one, all that are found on
    this machine. agents-md and gemini-md give the project here a section in its AGENTS.md or GEMINI.md, for agents
    without hooks. Settings are merged, not written anew: comments and order stay, and a dated copy is kept beside.
    Doing it twice changes nothing.

    \b
    Examples:
      mdmem connect
      mdmem connect codex --dry-run
      mdmem connect agents-md
    """
    from mdmem.agents.connect import connect

    outcomes = connect(agents, cwd=working_folder(), now=datetime.now(UTC), dry_run=dry_run)
    if not outcomes:
        say.note("no agent that mdmem knows was found on this machine; name one to connect it all the same")
    code = _tell(outcomes, "already connected", dry_run, as_json)  # before a config that is broken ends this
    if not dry_run:
        _learn(outcomes, wanted=True)
    if not dry_run and any(change.what == "instructions" for outcome in outcomes for change in outcome.changes):
        ask({"op": "instructions"})
    return code


@click.command()
@_agents
@_dry_run
@options.as_json
def disconnect_command(agents: tuple[str, ...], dry_run: bool, as_json: bool) -> int:
    """Take out of the settings of coding agents what `mdmem connect` put in, and nothing else.

    Without an AGENT, of all of them; a project's AGENTS.md and GEMINI.md only where they are named (agents-md,
    gemini-md). Memories stay where they are.

    \b
    Examples:
      mdmem disconnect
      mdmem disconnect cursor --dry-run
    """
    from mdmem.agents.connect import disconnect

    outcomes = disconnect(agents, cwd=working_folder(), now=datetime.now(UTC), dry_run=dry_run)
    if not outcomes:
        say.note("no agent is connected")
    code = _tell(outcomes, "not connected", dry_run, as_json)
    if not dry_run:
        _learn(outcomes, wanted=False)
    return code


def _learn(outcomes: list[Outcome], *, wanted: bool) -> None:
    """Follow the activity logs of agents that are connected, and no longer of those that are not."""
    from mdmem.agents.table import AGENTS
    from mdmem.cli.config import learn_from

    names = [outcome.agent for outcome in outcomes if outcome.error is None and outcome.agent in AGENTS]
    changed = learn_from(names, wanted=wanted)
    if changed and wanted:
        say.note(f"what works in {', '.join(changed)} is learned from now on: see mdmem config show, [learn]")


def _tell(outcomes: list[Outcome], nothing: str, dry_run: bool, as_json: bool) -> int:
    from mdmem.cli.root import tell_all

    if as_json:
        say.json_out([_as_json(outcome) for outcome in outcomes])
    else:
        show: Callable[[Change], str] = _diff if dry_run else _line
        for outcome in outcomes:
            _show(outcome, nothing, show)
    return tell_all(outcome.error for outcome in outcomes if outcome.error is not None)


def _show(outcome: Outcome, nothing: str, show: Callable[[Change], str]) -> None:
    changes = [change for change in outcome.changes if change.action != "none"]
    if not changes and outcome.error is None:
        say.out(f"{say.paint(outcome.agent, 'key')}: {nothing}")
    elif outcome.error is None:
        say.out(f"{say.paint(outcome.agent, 'key')}:")
        for change in changes:
            say.out(show(change))
        for line in outcome.tell:
            say.out(f"  next: {line}")


def _line(change: Change) -> str:
    kept = f"; before: {change.backup}" if change.backup else ""
    return clean(f"  {_WORDS[change.action]} {change.path} ({change.what}{kept})")


def _diff(change: Change) -> str:
    return clean(change.diff().rstrip("\n"), lines=True)


def _as_json(outcome: Outcome) -> dict[str, Any]:
    error = outcome.error
    return {
        "agent": outcome.agent,
        "found": outcome.found,
        "changes": [
            {"path": c.path, "what": c.what, "action": c.action, "backup": c.backup, "command": list(c.command) or None}
            for c in outcome.changes
        ],
        "next": list(outcome.tell),
        "error": None if error is None else {"message": str(error), "hint": error.hint},
    }
