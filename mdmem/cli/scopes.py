"""`init`, `trust`, `untrust`: a project's folder in; whether its memories are read here, from now on, out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdmem.cli import options, say
from mdmem.cli.ask import ask, make_findable
from mdmem.daemon.ask import working_folder
from mdmem.errors import NotFoundError, Problem, RefusedError
from mdmem.memory import TYPES
from mdmem.scope import PROJECT_FOLDER, Scope, project_root

if TYPE_CHECKING:
    from mdmem.app import App

_folder = click.argument("folder", required=False, metavar="[DIR]", type=click.Path())


@click.command()
@_folder
@click.option("--adopt", is_flag=True, help="Take over a MEMORY.md that mdmem did not write.")
@options.as_json
def init_command(folder: str | None, adopt: bool, as_json: bool) -> None:
    """Give a project a folder for memories (.mdmem), and trust it here.

    DIR is the project; default: the repository around the working directory, or that directory itself. With --adopt
    the lines of a MEMORY.md become memories, and everything else in it stays above the marker.

    \b
    Examples:
      mdmem init
      mdmem init ~/src/shop
      mdmem init --adopt
    """
    from mdmem import edit
    from mdmem.app import App

    app, root = App(), _project(folder)
    _, created = edit.init_project(root)
    scope, _ = app.trust(root)
    adopted = _adopt(app, scope) if adopt else []
    make_findable({scope.folder: None}, reload=True)
    if not as_json:
        say.out(f"{'made' if created else 'already there'}: {_safe(scope.folder)}")
        say.out(f"put memories there, as markdown files, and commit them with the code ({_safe(scope.label)})")
        if adopt:
            say.out(f"{len(adopted)} memories taken over from MEMORY.md")
    _finish(scope, created, as_json)
    if not adopt:
        _offer_adoption(scope)


def _adopt(app: App, scope: Scope) -> list[str]:
    from mdmem import edit
    from mdmem.outputs.manifest import MARKER

    return [written.rel for written in edit.adopt(scope, marker=MARKER)]


def _offer_adoption(scope: Scope) -> None:
    from mdmem.outputs.manifest import read_existing

    existing = read_existing(Path(scope.folder))
    if isinstance(existing, Problem):
        say.note(f"{existing.message}; {existing.hint}")


@click.command()
@_folder
@options.as_json
def trust_command(folder: str | None, as_json: bool) -> None:
    """Let a project's memories be read here. Look at them first: agents will act on what they say.

    DIR is the project; default: the one around the working directory.

    \b
    Examples:
      mdmem trust
      mdmem trust ~/src/shop
    """
    from mdmem.app import App

    app, root = App(), _known_project(folder)
    scope, created = app.trust(root)
    make_findable({scope.folder: None}, reload=True)
    if not as_json:
        say.out(f"trusted: {_safe(scope.folder)} ({_safe(scope.label)})")
        say.out(_what_it_says(root))
    _finish(scope, created, as_json)


def _what_it_says(root: str) -> str:
    """How many memories came with it, and how many of them speak in every session."""
    found = ask({"op": "list", "scope": ["project"], "cwd": root})["memories"]
    always = sum(TYPES[memory["type"]].always_injected for memory in found)
    return f"{len(found)} memories, {always} of them rules or feedback that every agent here is given"


@click.command()
@_folder
@options.as_json
def untrust_command(folder: str | None, as_json: bool) -> None:
    """Take a project's memories out of the index. Its files stay as they are.

    \b
    Example:
      mdmem untrust ~/src/shop
    """
    from mdmem.app import App

    root = _project(folder)
    scope = App().untrust(root)
    make_findable({}, reload=True)
    if not as_json:
        say.out(f"no longer read: {_safe(scope.folder)} ({_safe(scope.label)})")
    _finish(scope, False, as_json)


def _finish(scope: Scope, created: bool, as_json: bool) -> None:
    if as_json:
        from mdmem.files import printable

        path = printable(scope.folder)
        say.json_out({"scope": scope.kind, "scope_ref": scope.ref, "path": path, "created": created})


def _project(folder: str | None) -> str:
    """The root of the project that is meant, links resolved. Raises NotFoundError when there is no such folder."""
    if folder is not None:
        root = os.path.realpath(folder)
        if not Path(root).is_dir():
            raise NotFoundError("there is no such folder", where=folder, hint="make it, or name another")
        return os.path.dirname(root) if os.path.basename(root) == PROJECT_FOLDER else root
    here = working_folder()
    if here is None:
        raise NotFoundError("the working directory is gone", hint="name the project: mdmem init DIR")
    root = project_root(here) or os.path.realpath(here)
    if root in (str(Path("~").expanduser().resolve()), "/"):
        raise RefusedError(
            "a project here would hold everything of yours", where=root, hint="go into a project, or name it: DIR"
        )
    return root


def _known_project(folder: str | None) -> str:
    root = _project(folder)
    inner = Path(root, PROJECT_FOLDER)
    if inner.is_symlink():
        raise RefusedError(
            "the folder is a link, and links are not followed", where=str(inner), hint="put the folder itself there"
        )
    if not inner.is_dir():
        raise NotFoundError("this project has no memories", where=root, hint="make a folder for them: mdmem init")
    return root


def _safe(text: Any) -> str:  # noqa: ANN401
    from mdmem.outputs.text import clean

    return clean(str(text))
