"""`search`, `show`, `list`: a question in, memories out."""

from __future__ import annotations

from typing import Any

import click

from mdmem.cli import options, say
from mdmem.cli.ask import ask
from mdmem.outputs import text


@click.command()
@click.argument("query", nargs=-1, required=True)
@options.mode
@options.scopes
@options.types
@options.domain
@options.caller
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="At most so many.")
@options.include_invalid
@click.option("--as-of", metavar="DATE", help="What held on that day: 2026-11-29.")
@click.option("--explain", is_flag=True, help="Say why each was found.")
@options.as_json
def search_command(
    query: tuple[str, ...],
    mode: str | None,
    scope: tuple[str, ...],
    types: tuple[str, ...],
    domain: str | None,
    cwd: str | None,
    agent: str | None,
    limit: int,
    include_invalid: bool,
    as_of: str | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Find memories by words, meaning and time, best first.

    A hit that none of the words stand in is marked `by meaning`; --mode keyword leaves those out.

    \b
    Examples:
      mdmem search how do we deploy
      mdmem search "deploy:blyck" --explain
      mdmem search cache --type decision --limit 3 --json
      mdmem search --agent builder -- "-x flag"

    Nothing found is no error: the exit code is 0.
    """
    request: dict[str, Any] = {"op": "search", "query": " ".join(query), "mode": mode, "scope": list(scope)}
    request |= {"type": list(types), "domain": domain, "limit": limit, "as_of": as_of}
    request |= {"include_invalid": include_invalid, **options.who(cwd, agent)}
    answer = ask(request)
    _tell_degraded(answer["degraded"])
    if as_json:
        say.json_out(answer["hits"])
        return
    for line in text.hit_lines(answer["hits"], explain=explain, paint=say.paint):
        say.out(line)
    if not answer["hits"]:
        say.note("nothing found")


@click.command()
@click.argument("key")
@options.scopes
@options.caller
@options.as_json
def show_command(key: str, scope: tuple[str, ...], cwd: str | None, agent: str | None, as_json: bool) -> None:
    """Show one memory: its frontmatter and its text.

    KEY is the memory's key, its path, or enough of either to be unique.

    \b
    Examples:
      mdmem show deploy:blyck
      mdmem show .mdmem/ops/deploy.md --json
    """
    answer = ask({"op": "show", "key": key, "scope": list(scope), **options.who(cwd, agent)})
    if as_json:
        say.json_out(answer["memory"])
        return
    warning = answer["memory"]["warning"]
    if warning:
        say.note(warning)
    probed = text.probe_line(answer["memory"])
    if probed:
        say.note(probed)
    say.out(text.clean(answer["text"], lines=True).removesuffix("\n"))


@click.command()
@options.scopes
@options.types
@click.option(
    "--status",
    metavar="STATUS",
    shell_complete=options.values("status"),
    help="Only active, archived, stale or retired ones.",
)
@click.option(
    "--source",
    metavar="SOURCE",
    shell_complete=options.values("source"),
    help="Only stated, inferred, tool or imported ones.",
)
@options.domain
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag. Repeatable: with all of them.")
@click.option(
    "--entity", "entities", multiple=True, metavar="NAME", help="Only about this. Repeatable: about all of them."
)
@options.caller
@click.option("--limit", type=click.IntRange(min=1), help="At most so many; all by default.")
@options.include_invalid
@options.as_json
def list_command(
    scope: tuple[str, ...],
    types: tuple[str, ...],
    status: str | None,
    source: str | None,
    domain: str | None,
    tags: tuple[str, ...],
    entities: tuple[str, ...],
    cwd: str | None,
    agent: str | None,
    limit: int | None,
    include_invalid: bool,
    as_json: bool,
) -> None:
    """List memories, by scope and path.

    \b
    Examples:
      mdmem list
      mdmem list --type rule --scope project
      mdmem list --tag aws --entity s3 --source stated
      mdmem list --status archived --json
    """
    request: dict[str, Any] = {"op": "list", "scope": list(scope), "type": list(types), "status": status}
    request |= {"source": source, "domain": domain, "tag": list(tags), "entity": list(entities), "limit": limit}
    request |= {"include_invalid": include_invalid, **options.who(cwd, agent)}
    answer = ask(request)
    _tell_degraded(answer["degraded"])
    if as_json:
        say.json_out(answer["memories"])
        return
    for line in text.list_lines(answer["memories"], paint=say.paint):
        say.out(line)
    if not answer["memories"]:
        say.note("no memories")


def _tell_degraded(degraded: list[str]) -> None:
    for line in degraded:
        say.note(line)
