"""`harvest`: the past of agents' activity logs in, candidates in the inbox out."""

from __future__ import annotations

import sys
from typing import Any

import click

from mdmem.cli import options, say
from mdmem.cli.ask import ask
from mdmem.outputs.text import clean

_CLEAR = "\r\x1b[K"


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Only of this agent; may be given again.")
@click.option(
    "--since", metavar="WHEN", help="30d, 12h, 2w or a day such as 2026-11-01. Default: 30d; of a PATH, all of it."
)
@click.option("--dry-run", is_flag=True, help="Show what would be found, before the gates; keep nothing.")
@options.as_json
def harvest_command(
    paths: tuple[str, ...], agents: tuple[str, ...], since: str | None, dry_run: bool, as_json: bool
) -> int:
    """Learn from what agents did before mdmem was there: read their activity logs of the past.

    What worked is proposed, and waits for `mdmem review`. Each record is used once, however often this is run. PATH is
    a log, or a folder with logs somewhere below it, such as a backup. Whose a log is, mdmem sees by what stands in it.

    \b
    Examples:
      mdmem harvest --since 30d
      mdmem harvest --agent codex --dry-run
      mdmem harvest ~/backup/.claude
    """
    request: dict[str, Any] = {
        "op": "harvest", "since": since, "agents": list(agents), "paths": [_absolute(path) for path in paths],
        "dry_run": dry_run,
    }  # fmt: skip
    if dry_run:
        return _show(ask(request)["found"], as_json)
    told = _all(request)
    if paths and not told["logs"]:
        say.note("no log of that time, and of an agent that mdmem knows, lies there")
    for trouble in told["troubles"]:
        say.note(clean(trouble))
    if as_json:
        say.json_out({key: told[key] for key in ("logs", "events", "waiting", "troubles")})
    else:
        say.out(
            f"{told['logs']} logs read, {told['events']} new events; {told['waiting']} candidates wait: mdmem review"
        )
    return 0


def _all(request: dict[str, Any]) -> dict[str, Any]:
    """Ask until it is over; at a terminal a line tells how far it has come."""
    events, troubles = 0, list[str]()
    while True:
        answer = ask(request)
        events += answer["events"]
        troubles += answer["troubles"]
        if answer["finished"]:
            break
        request["number"] = answer["number"]
        if sys.stderr.isatty():
            sys.stderr.write(f"{_CLEAR}reading activity logs: {answer['done']} of {answer['of']}")
            sys.stderr.flush()
    if sys.stderr.isatty():
        sys.stderr.write(_CLEAR)
    waiting = ask({"op": "status"})["status"]["candidates"]
    return {"logs": answer["of"], "events": events, "waiting": waiting, "troubles": troubles}


def _absolute(path: str) -> str:
    import os

    return os.path.abspath(os.path.expanduser(path))


def _show(found: list[dict[str, Any]], as_json: bool) -> int:
    made = [one["Candidate"] for one in found if "Candidate" in one]
    for unread in (one["Unread"] for one in found if "Unread" in one):
        say.note(clean(f"{unread['path']}: {unread['what']}"))
    if as_json:
        say.json_out(
            [{key: one[key] for key in ("key", "type", "name", "description", "confidence", "source")} for one in made]
        )
        return 0
    for one in made:
        say.out(f"{say.paint(clean(one['key']), 'key')}  {one['type']}")
        say.out(f"   {clean(one['description'])}")
    if not made:
        say.note("nothing would be found")
    return 0
