"""`add`, `edit`, `archive`, `restore`, `move`: a changed file in a scope folder, and its listing, out."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mdmem.cli import options, say
from mdmem.cli.ask import ask, make_findable
from mdmem.errors import AmbiguousError, NotFoundError, RefusedError, UsageError
from mdmem.outputs.text import clean

if TYPE_CHECKING:
    from mdmem.edit import Written
    from mdmem.scope import Scope

Fields = dict[str, str | list[str]]
_keys = click.argument("keys", nargs=-1, required=True, metavar="KEY...")


F = TypeVar("F", bound=Callable[..., Any])

TYPES_HELP = (
    "What kind of memory: rule, feedback, user, project, capability, procedure, decision, commitment, fact, "
    "reference, experience or notes. Default: user, project, or an agent's fact, by scope."
)


def field(name: str, text: str, *, multiple: bool = False) -> Callable[[F], F]:
    """An option that becomes a line of frontmatter."""
    complete = options.values(name) if name in ("type", "source") else None
    return click.option(f"--{name}", name, metavar="TEXT", multiple=multiple, help=text, shell_complete=complete)


@click.command()
@click.argument("text", required=False)
@options.target
@field("type", TYPES_HELP)
@field("name", "A short title.")
@field("key", "An exact identifier, such as deploy:blyck.")
@field("description", "One line that says what it is about.")
@field("domain", "Where it belongs: conventions, decisions, ops, ...")
@field("confidence", "From 0 to 1.")
@field("source", "stated (default), inferred, tool or imported.")
@field("expires", "The last day on which it holds: 2026-12-31.")
@field("tag", "A tag. Repeatable.", multiple=True)
@field("entity", "A name it is about. Repeatable.", multiple=True)
@click.option("--file", "file_name", metavar="NAME", help="The name of the file; by default it follows from the title.")
@options.caller
@options.as_json
def add_command(
    text: str | None,
    scope: str | None,
    file_name: str | None,
    cwd: str | None,
    agent: str | None,
    as_json: bool,
    **options_: Any,  # noqa: ANN401  # the fields
) -> None:
    """Write a new memory. TEXT is what to remember; `-`, or nothing with a pipe, reads it from standard input.

    It goes to the project around the working directory, else to your own scope; --scope says otherwise.

    \b
    Examples:
      mdmem add "Run npm run dist before a release." --type procedure
      mdmem add "Never push to main." --type rule --scope user --key git:main
      git log -1 --format=%B | mdmem add - --type decision --name "Why we moved"
    """
    from mdmem import edit
    from mdmem.app import App

    who = options.who(cwd, agent)
    app = App()
    target = app.target(_kind(scope), who["cwd"], agent)
    untrusted = app.untrusted_at(who["cwd"])
    if untrusted and scope is None and agent is None:
        say.note(f"{untrusted} is not trusted here (see mdmem trust): this goes to your own scope")
    fields = _fields(options_)
    if "key" in fields:
        _check_key_is_free(str(fields["key"]), target, who)
    is_new = not os.path.isdir(target.folder)
    written = edit.add(target, _text(text), fields=fields, today=today(), file_name=file_name, guard=app.guard(agent))
    _tell([written], who, as_json, reload=is_new, one=True)
    for key in ask({"op": "alike", "folder": written.folder, "key": written.key})["keys"]:
        say.note(f"{key} says nearly the same: mdmem show {key}")


def _text(text: str | None) -> str:
    if text is not None and text != "-":
        return text
    if text is None and sys.stdin.isatty():
        raise UsageError("what is to be remembered?", hint='mdmem add "the text", or pipe it in: ... | mdmem add -')
    data = sys.stdin.buffer.read()
    return data.decode("utf-8-sig", "replace")


def _fields(given: dict[str, Any]) -> Fields:
    names = {"tag": "tags", "entity": "entities"}
    return {
        names.get(name, name): list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value not in (None, ())
    }


def _kind(scope: str | None) -> str | None:
    from mdmem.scope import KINDS

    if scope is not None and scope not in KINDS:
        raise UsageError(f"there is no scope {scope!r}", hint=f"one of: {', '.join(KINDS)}")
    return scope


def _check_key_is_free(key: str, target: Scope, who: dict[str, Any]) -> None:
    """A key is an exact identifier: two memories of one folder must not claim it."""
    from mdmem.files import printable

    try:
        found = ask({"op": "find", "key": key, "scope": [target.kind], **who})
        taken = [f"{found['memory']['key']}  ({found['memory']['path']})"]
    except AmbiguousError as error:
        taken = error.choices
    except NotFoundError:
        return
    for choice in taken:
        other, _, path = choice.partition("  (")
        if other.casefold() == key.casefold() and path.startswith(f"{printable(target.folder)}/"):
            raise RefusedError(
                f"the key {key!r} is taken", where=path.rstrip(")"), hint="choose another key, or: mdmem edit " + other
            )


@click.command()
@click.argument("key")
@click.option("--set", "set_", multiple=True, metavar="FIELD=VALUE", help="Write one field. Repeatable.")
@click.option("--unset", multiple=True, metavar="FIELD", help="Remove one field. Repeatable.")
@options.scopes
@options.caller
@options.as_json
def edit_command(
    key: str,
    set_: tuple[str, ...],
    unset: tuple[str, ...],
    scope: tuple[str, ...],
    cwd: str | None,
    agent: str | None,
    as_json: bool,
) -> None:
    """Change a memory: in your editor ($VISUAL or $EDITOR), or one field with --set and --unset.

    Only the lines of these fields change; all else in the file stays byte for byte.

    \b
    Examples:
      mdmem edit deploy:blyck
      mdmem edit deploy:blyck --set type=procedure --set tags=aws --set tags=s3
      mdmem edit deploy:blyck --unset expires
    """
    from mdmem import edit
    from mdmem.app import App

    who, guard = options.who(cwd, agent), App().guard(agent)
    found = _find(key, scope, who)
    if set_ or unset:
        fields = _pairs(set_)
        written = edit.change(found["folder"], found["rel"], set_=fields, unset=unset, guard=guard)
        _tell_of_typos(fields)
    else:
        written, changed = edit.edit_in_editor(found["folder"], found["rel"], editor_command(), guard=guard)
        if not changed:
            say.note("nothing was changed")
    _tell([written], who, as_json, one=True)


def _tell_of_typos(fields: Fields) -> None:
    """Any field may be written, but one that is almost one of ours was hardly meant."""
    import difflib

    from mdmem.document.keys import KNOWN_KEYS, canonical

    for name in fields:
        near = difflib.get_close_matches(name, KNOWN_KEYS, n=1, cutoff=0.75)
        if near and canonical(name) not in KNOWN_KEYS:
            say.note(f"{name!r} is written, but mdmem reads nothing from it; did you mean {near[0]!r}?")


def editor_command() -> str:
    """The person's editor, as words for a command. Raises UsageError where there is none, or no terminal."""
    import shutil

    from mdmem.config.paths import editor

    if not sys.stdin.isatty() and not editor():
        raise UsageError("no terminal to edit in", hint="change one field with: mdmem edit KEY --set FIELD=VALUE")
    command = editor() or next((name for name in ("nano", "vi") if shutil.which(name)), None)
    if command is None:
        raise UsageError("no editor is known", hint="set EDITOR, or use --set FIELD=VALUE")
    return command


def _pairs(given: Sequence[str]) -> Fields:
    """FIELD=VALUE words as fields; one that comes twice is a list."""
    fields: Fields = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{word!r} is not FIELD=VALUE", hint="for instance: --set type=rule")
        before = fields.get(name.strip())
        if before is None:
            fields[name.strip()] = value
        else:
            fields[name.strip()] = [*([before] if isinstance(before, str) else before), value]
    return fields


@click.command()
@_keys
@options.scopes
@options.caller
@options.as_json
def archive_command(
    keys: tuple[str, ...], scope: tuple[str, ...], cwd: str | None, agent: str | None, as_json: bool
) -> None:
    """End memories without deleting them: they are no longer recalled, and leave MEMORY.md.

    \b
    Examples:
      mdmem archive deploy:old
      mdmem list --status archived
    """
    from mdmem import edit
    from mdmem.app import App

    who, guard = options.who(cwd, agent), App().guard(agent)
    found = [_find(key, scope, who) for key in keys]
    _tell([edit.archive(f["folder"], f["rel"], guard=guard) for f in found], who, as_json, ended=True)


@click.command()
@_keys
@options.scopes
@options.caller
@options.as_json
def restore_command(
    keys: tuple[str, ...], scope: tuple[str, ...], cwd: str | None, agent: str | None, as_json: bool
) -> None:
    """Take memories back out of the archive.

    \b
    Example:
      mdmem restore deploy:old
    """
    from mdmem import edit
    from mdmem.app import App

    who, guard = options.who(cwd, agent), App().guard(agent)
    found = [_find(key, scope, who) for key in keys]
    _tell([edit.restore(f["folder"], f["rel"], guard=guard) for f in found], who, as_json)


@click.command()
@_keys
@options.target
@options.caller
@options.as_json
def move_command(keys: tuple[str, ...], scope: str | None, cwd: str | None, agent: str | None, as_json: bool) -> None:
    """Move memories to another scope: the same file, in another scope folder.

    \b
    Examples:
      mdmem move deploy:blyck --scope project
      mdmem move style --scope agent --agent builder
    """
    from mdmem import edit
    from mdmem.app import App
    from mdmem.files import printable

    if scope is None:
        raise UsageError("where to?", hint="--scope user, --scope project, or --scope agent --agent ID")
    app, who = App(), options.who(cwd, agent)
    target = app.target(_kind(scope), who["cwd"], agent)
    sources = {printable(s.folder): s for s in app.caller(who["cwd"], agent)}
    found = [_find(key, (), who) for key in keys]
    is_new = not os.path.isdir(target.folder)
    written = []
    for f in found:
        source = sources.get(f["folder"])
        if source is None:
            raise NotFoundError("its scope folder is not one of yours now", where=f["folder"], hint="see: mdmem status")
        written.append(edit.move(source, f["rel"], target, today=today(), guard=app.guard(agent)))
    _tell(written, who, as_json, reload=is_new, left=[(f["folder"], f["rel"]) for f in found])


def _find(key: str, scope: Sequence[str], who: dict[str, Any]) -> dict[str, Any]:
    """The memory that KEY means, and where it lies (printable); a mount is refused before anything is written."""
    from mdmem.app import App
    from mdmem.files import printable

    found = ask({"op": "find", "key": key, "scope": list(scope), **who})
    mounts = {printable(s.folder) for s in App().caller(who["cwd"], who["agent"]) if s.mount}
    if found["folder"] in mounts:
        raise RefusedError(
            "this memory lies in a mount, which is only read",
            where=found["memory"]["path"],
            hint="change it where it is kept",
        )
    return found


def _tell(
    written: Sequence[Written],
    who: dict[str, Any],
    as_json: bool,
    *,
    reload: bool = False,
    one: bool = False,
    ended: bool = False,
    left: Sequence[tuple[str, str]] = (),
) -> None:
    """Have the index take in what was written, then say what it is now.

    `ended`: they are meant to be no longer recalled. `left`: places that were emptied.
    """
    synced = make_findable(_places([*((w.folder, w.rel) for w in written), *left]), reload=reload)
    listed = [_listing(w, who) if synced else {"key": w.key, "path": w.path} for w in written]
    if as_json:
        say.json_out(listed[0] if one else listed)
        return
    for memory in listed:
        say.out(f"{say.paint(clean(memory['key']), 'key')}  {clean(memory['path'])}")
        if memory.get("invalid") and not ended:
            say.note(f"{memory['key']} is not recalled: {memory['invalid']}")


def _places(found: Sequence[tuple[str, str]]) -> dict[str, list[str] | None]:
    """Printable folders and paths as a request to sync names them: as the file system has them."""
    from mdmem.files import from_printable

    places: dict[str, list[str]] = {}
    for folder, rel in found:
        places.setdefault(from_printable(folder), []).append(from_printable(rel))
    return dict(places)


def _listing(written: Written, who: dict[str, Any]) -> dict[str, Any]:
    """The memory as the index has it now, found by its path; by key and path alone where it is no memory any more."""
    try:
        memory: dict[str, Any] = ask({"op": "find", "key": written.path, **who})["memory"]
    except (NotFoundError, AmbiguousError):
        return {"key": written.key, "path": written.path}
    return memory


def today() -> datetime.date:
    """The day where the person is."""
    return datetime.datetime.now().astimezone().date()
