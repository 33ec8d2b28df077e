"""`debug`: the windows of the rooms. JSON out, and nothing is changed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdmem.cli import options, say
from mdmem.cli.ask import ask
from mdmem.errors import MachineError, NotFoundError, Problem, UsageError
from mdmem.scope import KINDS, PROJECT_FOLDER

_where = click.argument("where", metavar="SCOPE_OR_DIR")
if TYPE_CHECKING:
    from mdmem.activity import Event

_file = click.argument("file", type=click.Path())


@click.group()
def debug_command() -> None:
    """See what each step makes of a file or a query. Read-only; JSON on stdout.

    \b
    Examples:
      mdmem debug memory .mdmem/deploy.md
      mdmem debug query "how do we deploy"
      mdmem debug index --drift
    """


@debug_command.command(short_help="Walk a folder as the daemon does.")
@_where
@options.caller
def scan(where: str, cwd: str | None, agent: str | None) -> None:
    """Walk a folder as the daemon does: files that can be memories, and problems.

    \b
    Examples:
      mdmem debug scan project
      mdmem debug scan ~/notes
    """
    from mdmem import files

    found = files.scan(Path(_folder(where, cwd, agent)))
    say.json_out(
        {
            "state": found.state,
            "folders": found.folders,
            "found": [f._asdict() | {"rel": files.printable(f.rel)} for f in found.found],
            "problems": [p._asdict() for p in found.problems],
            "unreadable": sorted(files.printable(rel) for rel in found.unreadable),
        },
        pretty=True,
    )


@debug_command.command(short_help="Read one file: its frontmatter as text, and its body.")
@_file
def document(file: str) -> None:
    """Read one file: its frontmatter as text, its body, and problems.

    \b
    Example:
      mdmem debug document .mdmem/deploy.md
    """
    from mdmem import document as room

    parsed = room.parse(_read(file), file)
    say.json_out(_plain(parsed._asdict()), pretty=True)


@debug_command.command(short_help="Read one file as a memory: every key typed.")
@_file
@click.option(
    "--scope", type=click.Choice(KINDS), help="As in this kind of scope. Default: project below .mdmem, else user."
)
def memory(file: str, scope: str | None) -> None:
    """Read one file as a memory: every key typed, every default filled in, and problems.

    \b
    Example:
      mdmem debug memory .mdmem/deploy.md --scope project
    """
    from mdmem import document as room

    parts = Path(options.absolute(file)).parts
    inside = PROJECT_FOLDER in parts
    rel = "/".join(parts[len(parts) - parts[::-1].index(PROJECT_FOLDER) :]) if inside else parts[-1]
    parsed = room.parse(_read(file), rel)
    typed, problems = room.memory_of(parsed, path=rel, scope=scope or ("project" if inside else "user"))
    say.json_out(_plain(typed._asdict() | {"problems": [*parsed.problems, *problems]}), pretty=True)


@debug_command.command(short_help="What the index holds, and where files differ.")
@click.option("--drift", is_flag=True, help="Compare each folder with the index.")
def index(drift: bool) -> None:
    """What the index holds for each scope folder; with --drift, where it differs from the files.

    \b
    Examples:
      mdmem debug index
      mdmem debug index --drift
    """
    from mdmem.app import App
    from mdmem.db import INDEX, open_reader
    from mdmem.files import printable
    from mdmem.index import read
    from mdmem.index.health import examine

    app = App()
    if not Path(app.paths.index_db).exists():
        raise NotFoundError("there is no index yet", where=app.paths.index_db, hint="make it: mdmem sync")
    db = open_reader(INDEX, app.paths.index_db)
    try:
        folders = {f.path: f for f in read.folders(db)}
        told = []
        for scope in app.roster().scopes:
            folder = folders.get(printable(scope.folder))
            one: dict[str, Any] = {"path": printable(scope.folder), "folder": folder._asdict() if folder else None}
            told.append(one | (_drift(scope.folder, read.known(db, folder.id) if folder else {}) if drift else {}))
        health = examine(db)
    finally:
        db.close()
    facts = health._asdict() | {"canary": health.canary is not None}
    say.json_out({"path": app.paths.index_db, **facts, "folders": told}, pretty=True)


def _drift(folder: str, known: dict[str, Any]) -> dict[str, Any]:
    """What a sync would read, because size, times or inode are not those of the index, and what it would drop."""
    from mdmem import files
    from mdmem.reindex.plan import plan

    found = files.scan(Path(folder))
    if found.state != "ok":
        return {"state": found.state, "read": [], "removed": []}
    planned = plan(found.found, known, found.unreadable)
    differing = [files.printable(f.rel) for f in planned.read]
    return {"state": "ok", "read": differing, "removed": sorted(row.path for row in planned.removed)}


@debug_command.command(short_help="How a query is understood, and every candidate.")
@click.argument("text", nargs=-1, required=True)
@options.caller
@options.mode
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True)
def query(text: tuple[str, ...], cwd: str | None, agent: str | None, mode: str | None, limit: int) -> None:
    """How a query is understood, and every candidate with the reasons for its rank.

    \b
    Example:
      mdmem debug query "getUserById 部署"
    """
    request = {"op": "explain", "query": " ".join(text), "mode": mode, "limit": limit, **options.who(cwd, agent)}
    answer = ask(request)
    say.json_out({name: answer[name] for name in ("terms", "expression", "degraded", "hits")}, pretty=True)


@debug_command.command(short_help="Print every change that the watch reports.")
@_where
@options.caller
def watch(where: str, cwd: str | None, agent: str | None) -> None:
    """Print every change that the watch reports for a folder, a JSON line each, until Ctrl-C.

    \b
    Example:
      mdmem debug watch user
    """
    from mdmem.files import printable
    from mdmem.files.watch import Watcher

    folder = _folder(where, cwd, agent)
    ended = threading.Event()

    def show(_: str, rel: str | None) -> None:
        try:
            say.json_line({"time_ns": time.time_ns(), "rel": None if rel is None else printable(rel)})
        except OSError:
            ended.set()  # nobody reads any more

    watcher = Watcher(show, lambda folder, name: None)
    refused = watcher.arm(folder)
    if refused:
        watcher.stop()
        raise MachineError(f"events do not arrive: {refused.reason}", where=folder, hint="see: mdmem doctor")
    say.note(f"watching {folder}")
    try:
        ended.wait()
    finally:
        watcher.stop()


@debug_command.command(short_help="Read one activity log: what happened, as events.")
@_file
def events(file: str) -> None:
    """Print the events of an agent's activity log, a JSON object a line; on stderr what could not be read.

    \b
    Example:
      mdmem debug events ~/.claude/projects/-w-shop/224b4f95.jsonl
    """
    from mdmem.gates import mask  # these lines go into bug reports

    for event in _events(file):
        shown = {name: mask(value) if isinstance(value, str) else value for name, value in event._asdict().items()}
        say.json_line(shown | {"source": event.source._asdict(), "call": event.call and event.call._asdict()})


@debug_command.command(short_help="What an activity log would propose, before any gate.")
@_file
def candidates(file: str) -> None:
    """Print what is promoted from an agent's activity log, a JSON object a line. Nothing is kept.

    \b
    Example:
      mdmem debug candidates ~/.codex/sessions/2026/11/12/rollout-2026-11-12.jsonl
    """
    import dataclasses

    from mdmem.app import App
    from mdmem.app.learning import promoter_of

    promoter = promoter_of(App())
    for event in _events(file):
        for found in promoter.feed(event):
            say.json_line({"kind": type(found).__name__} | dataclasses.asdict(found))


def _events(file: str) -> Iterator[Event]:
    from mdmem.activity import Notes, detect, read_log
    from mdmem.recall.block import without_blocks

    path, notes = options.absolute(file), Notes()
    try:
        reader = detect(path)
        if reader is None:
            raise UsageError("this is no activity log that mdmem knows", hint="see: docs/learning.md")
        yield from read_log(path, reader, without_blocks, notes)
    except OSError as error:
        raise MachineError(f"the log cannot be read: {error.strerror or error}", where=file) from error
    for trouble in notes.troubles(path, reader.agent):
        where = f", last in line {trouble.line}" if trouble.line else ""
        say.note(f"{trouble.what}, {trouble.times} times{where}")


def _folder(where: str, cwd: str | None, agent: str | None) -> str:
    """The folder that a scope's kind or a path means."""
    if where in KINDS:
        from mdmem.app import App

        return App().target(where, options.who(cwd, agent)["cwd"], agent).folder
    folder = os.path.realpath(where)
    if not Path(folder).is_dir():
        raise NotFoundError(
            "there is no such folder", where=where, hint=f"name a folder, or one of: {', '.join(KINDS)}"
        )
    return folder


def _read(file: str) -> bytes:
    from mdmem import files

    folder, name = os.path.split(options.absolute(file))
    if not name:
        raise UsageError("this is a folder", hint="see: mdmem debug scan")
    found = files.read(Path(folder), name)
    if found is None:
        raise NotFoundError("there is no such file", where=file, hint="see: mdmem list")
    if isinstance(found, Problem):
        raise MachineError(found.message, where=file, hint=found.hint)
    return found.data


def _plain(value: Any) -> Any:  # noqa: ANN401  # any value of ours, as JSON
    if isinstance(value, Problem):
        return value._asdict()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value
