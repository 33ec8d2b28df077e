"""The options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from mdmem.daemon.ask import working_folder

F = TypeVar("F", bound=Callable[..., Any])


def values(name: str) -> Callable[..., list[str]]:
    """What a shell completes the value of an option with: `type`, `status`, `source`, `scope`, `mode`, `setting`."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return [value for value in _choices(name) if value.startswith(incomplete)]

    return complete


def _choices(name: str) -> Iterable[str]:
    from mdmem import memory, scope

    if name == "setting":
        from mdmem.config import settings

        return [f"{section}.{key}" for section, keys in settings.names().items() for key in keys]
    if name == "mode":
        from mdmem.recall import MODES

        return MODES
    return {"type": memory.TYPES, "status": memory.STATUSES, "source": memory.SOURCES, "scope": scope.KINDS}[name]


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md) instead of text.")
_cwd = click.option(
    "--cwd", type=click.Path(), metavar="DIR", help="Act as if called in DIR: it decides which project is meant."
)
_agent = click.option("--agent", metavar="ID", help="Act for this agent: its own memories are seen too.")
scopes = click.option(
    "--scope",
    multiple=True,
    metavar="KIND",
    shell_complete=values("scope"),
    help="Only this kind of scope: user, project or agent. Repeatable.",
)
target = click.option(
    "--scope",
    metavar="KIND",
    shell_complete=values("scope"),
    help="The scope that it goes to: user, project or agent.",
)
types = click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    shell_complete=values("type"),
    help="Only memories of this type. Repeatable.",
)
mode = click.option(
    "--mode", metavar="MODE", shell_complete=values("mode"), help="hybrid (default), keyword or semantic."
)
domain = click.option("--domain", metavar="NAME", help="Only memories of this domain.")
include_invalid = click.option("--include-invalid", is_flag=True, help="Also what is archived, expired or superseded.")


def caller(function: F) -> F:
    """`--cwd` and `--agent`: who asks, and from where."""
    return _cwd(_agent(function))


def who(cwd: str | None, agent: str | None) -> dict[str, Any]:
    """The caller as a request names it."""
    return {"cwd": absolute(cwd) if cwd else working_folder(), "agent": agent}


def absolute(path: str) -> str:
    """A path as it is meant in the folder where the command was called; links stay."""
    return os.path.abspath(path)  # pathlib resolves links, and costs 10 ms here
