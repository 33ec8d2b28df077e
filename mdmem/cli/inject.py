"""`inject`: a turn of an agent in, the block for its prompt out."""

from __future__ import annotations

from typing import Any

import click

from mdmem.cli import options, say
from mdmem.cli.ask import ask


@click.command()
@options.caller
@click.option("--query", metavar="TEXT", help="What the user asks for: it decides what is recalled.")
@click.option(
    "--window-used",
    type=click.FloatRange(0, 100),
    metavar="PCT",
    help="How full the agent's context window is: over 50 less is recalled, over 80 nothing.",
)
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="At most so many tokens.")
@click.option("--session", metavar="ID", help="The agent's session: what it was given is not given again unchanged.")
@options.as_json
def inject_command(
    cwd: str | None,
    agent: str | None,
    query: str | None,
    window_used: float | None,
    budget: int | None,
    session: str | None,
    as_json: bool,
) -> None:
    """Print what an agent is told of memory this turn: its notes, feedback and rules, and what fits the prompt.

    \b
    Examples:
      mdmem inject --agent claude --query "how do we deploy the shop"
      mdmem inject --cwd ~/shop --agent codex --session 7f3a --window-used 62
      mdmem inject --budget 500 --json

    Nothing to say is no error: then nothing is printed, and the exit code is 0.
    """
    request: dict[str, Any] = {"op": "inject", "query": query, "window_used": window_used, "budget": budget}
    answer = ask(request | {"session": session, **options.who(cwd, agent)})
    for line in answer["degraded"]:
        say.note(line)
    if as_json:
        say.json_out({key: answer[key] for key in ("text", "tokens", "memories", "left_out", "degraded")})
    elif answer["text"]:
        say.out(answer["text"])
