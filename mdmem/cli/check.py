"""`check`: files and folders in, a line for each mistake in them out. Needs no index, no daemon and no trust."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdmem.cli import options, say
from mdmem.errors import NotFoundError
from mdmem.outputs.text import problem_lines
from mdmem.scope import PROJECT_FOLDER, Scope, project_root

if TYPE_CHECKING:
    from mdmem.app import App

# Scope folder and kind -> what to look at in it; None: all of it.
Targets = dict[tuple[str, str], list[str] | None]


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@options.caller
@options.as_json
def check_command(paths: tuple[str, ...], cwd: str | None, agent: str | None, as_json: bool) -> int:
    """Look for mistakes in memory files. The exit code is 1 when there are any.

    PATH is a file or a folder; a project's root stands for its .mdmem. Default: your own memories and those of the
    project around the working directory.

    \b
    Examples:
      mdmem check
      mdmem check .mdmem/deploy.md
      mdmem check --json ~/src/shop

    \b
    In .pre-commit-config.yaml:
      - repo: local
        hooks:
          - {id: mdmem, name: mdmem check, entry: mdmem check, language: system, files: ^\\.mdmem/.*\\.md$}
    """
    from mdmem.app import App

    app, who = App(), options.who(cwd, agent)
    targets = _named(paths, app) if paths else _own(app, who)
    problems = _lint(targets, who["cwd"])
    if as_json:
        say.json_out([problem | {"ok": False} for problem in problems])
        return 1 if problems else 0
    for line in problem_lines(problems, limit=None):
        say.out(line)
    if not problems:
        say.note("no mistakes found")
    return 1 if problems else 0


def _own(app: App, who: dict[str, Any]) -> Targets:
    targets: Targets = {(s.folder, s.kind): None for s in app.caller(who["cwd"], who["agent"]) if not s.mount}
    root = project_root(who["cwd"]) if who["cwd"] else None
    if root is not None and Path(root, PROJECT_FOLDER).is_dir():
        targets[f"{root}/{PROJECT_FOLDER}", "project"] = None
    return targets


def _named(paths: tuple[str, ...], app: App) -> Targets:
    targets: Targets = {}
    scopes = app.roster().scopes
    for path in paths:
        folder, kind, rel = _place(path, scopes)
        rels = targets.setdefault((folder, kind), [])
        if rel is None or rels is None:
            targets[folder, kind] = None
        else:
            rels.append(rel)
    return targets


def _place(path: str, scopes: list[Scope]) -> tuple[str, str, str | None]:
    """Scope folder, kind and relative path (None: the folder itself) of a file or folder."""
    parent, name = os.path.split(options.absolute(path))
    real = os.path.join(os.path.realpath(parent), name) if name else os.path.realpath(parent)
    if not os.path.lexists(real):
        raise NotFoundError("there is no such file", where=path, hint="see: mdmem list")
    if os.path.isdir(f"{real}/{PROJECT_FOLDER}"):  # os strings: a name may be no text
        return f"{real}/{PROJECT_FOLDER}", "project", None
    for scope in scopes:
        if real == scope.folder or real.startswith(f"{scope.folder}/"):
            return scope.folder, scope.kind, real[len(scope.folder) + 1 :] or None
    before, found, after = real.rpartition(f"/{PROJECT_FOLDER}/")
    if found:
        return f"{before}/{PROJECT_FOLDER}", "project", after
    if os.path.isdir(real):
        return real, "project" if name == PROJECT_FOLDER else "user", None
    return os.path.dirname(real), "user", os.path.basename(real)


def _lint(targets: Targets, cwd: str | None) -> list[dict[str, Any]]:
    from mdmem.app.lint import lint
    from mdmem.files import printable

    found = []
    here = f"{printable(os.path.realpath(cwd))}/" if cwd else "\0"
    for (folder, kind), rels in targets.items():
        for problem in lint(folder, kind, rels):
            where = printable(folder) if problem.path == "." else f"{printable(folder)}/{problem.path}"
            found.append({**problem._asdict(), "path": where.removeprefix(here)})
    return found
