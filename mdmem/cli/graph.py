"""`graph`: a memory in, what it is joined to out."""

from __future__ import annotations

from typing import Any

import click

from mdmem.cli import options, say
from mdmem.cli.ask import ask
from mdmem.errors import UsageError


@click.command()
@click.argument("key")
@click.option(
    "--hops", type=click.IntRange(1, 3), default=2, show_default=True, help="How many steps to go from the memory."
)
@click.option("--mermaid", is_flag=True, help="Print a Mermaid diagram instead of a tree.")
@options.scopes
@options.caller
@options.include_invalid
@options.as_json
def graph_command(
    key: str,
    hops: int,
    mermaid: bool,
    scope: tuple[str, ...],
    cwd: str | None,
    agent: str | None,
    include_invalid: bool,
    as_json: bool,
) -> None:
    """Show what a memory is joined to: links, what it supersedes or comes from, one turn, what it is about.

    KEY is the memory's key, its path, or enough of either to be unique. An arrow tells which of the two says so.

    \b
    Examples:
      mdmem graph deploy:blyck
      mdmem graph deploy:blyck --hops 1 --include-invalid
      mdmem graph deploy:blyck --mermaid > deploy.mmd
    """
    from mdmem.outputs import graph

    if mermaid and as_json:
        raise UsageError("--mermaid and --json are two forms of the answer", hint="choose one")
    request: dict[str, Any] = {"op": "graph", "key": key, "hops": hops, "scope": list(scope)}
    answer = ask(request | {"include_invalid": include_invalid, **options.who(cwd, agent)})
    if as_json:
        say.json_out({name: answer[name] for name in ("key", "nodes", "edges")})
        return
    for line in graph.mermaid_lines(answer) if mermaid else graph.tree_lines(answer, paint=say.paint):
        say.out(line)
    if not answer["edges"]:
        say.note("nothing is joined to it")
