"""`sync`, `reindex`: the index brought up to date, and what that changed."""

from __future__ import annotations

from typing import Any

import click

from mdmem.cli import options, say
from mdmem.cli.progress import ask_patiently


@click.command()
@options.as_json
def sync_command(as_json: bool) -> None:
    """Wait until the index has everything that is on disk now.

    The daemon follows changes by itself; this is for scripts that must be sure. What it had taken in already is not
    counted again.

    \b
    Example:
      cp notes/*.md ~/.local/share/mdmem/user/ && mdmem sync
    """
    _print(ask_patiently({"op": "sync"}), as_json, "since the last look ")


@click.command()
@click.option("--vectors", is_flag=True, help="Make all vectors anew too (they are kept otherwise).")
@options.as_json
def reindex_command(vectors: bool, as_json: bool) -> None:
    """Make the index anew from the files. Nothing is lost: the index holds nothing that the files don't.

    \b
    Examples:
      mdmem reindex
      mdmem reindex --vectors
    """
    _print(ask_patiently({"op": "reindex", "vectors": vectors}), as_json, "")


def _print(answer: dict[str, Any], as_json: bool, lead: str) -> None:
    counts = {name: answer[name] for name in ("added", "changed", "removed", "problems", "ms")}
    if as_json:
        say.json_out(counts)
        return
    wrong = f"{counts['problems']} {'problem' if counts['problems'] == 1 else 'problems'}"
    say.out(f"{lead}{counts['added']} added, {counts['changed']} changed, {counts['removed']} removed; {wrong}")
    if counts["problems"]:
        say.note("see them with: mdmem status")
