"""`config`: the settings shown, changed with comments kept and checked before they are written, and tried."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mdmem.cli import options, say
from mdmem.config import find_paths
from mdmem.errors import ConfigError, MachineError, MdmemError, RefusedError, SilentError, UsageError
from mdmem.outputs.text import clean
from mdmem.scope import alone

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_AT_START = ("[watch]", "[embedder]", "recall.aliases")  # what a running daemon reads only when it starts


@click.group()
def config_command() -> None:
    """Show and change the settings. They are kept in one TOML file.

    Every setting can also be given as a variable MDMEM_<SECTION>_<NAME>, which wins over the file. What each means
    stands in docs/settings.md.

    \b
    Examples:
      mdmem config show
      mdmem config set embedder.model none
      MDMEM_WATCH_QUIET_MS=100 mdmem daemon
    """


@config_command.command()
def path() -> None:
    """Print the path of the config file.

    \b
    Example:
      cat "$(mdmem config path)"
    """
    say.out(clean(find_paths().config_file))


@config_command.command(short_help="Show the settings in force.")
@options.as_json
def show(as_json: bool) -> None:
    """Show the settings in force: those of the file, of the environment, and the defaults.

    \b
    Examples:
      mdmem config show
      mdmem config show --json
    """
    from mdmem.config import settings

    values = settings.as_dict(settings.load(find_paths().config_file))
    if as_json:
        say.json_out(values)
        return
    for section, keys in values.items():
        say.out(say.paint(f"[{section}]", "key"))
        for key, value in keys.items():
            say.out(clean(f"{key} = {_toml(value)}") if value is not None else say.paint(f"# {key} is not set", "dim"))
        say.out("")


def _toml(value: Any) -> str:  # noqa: ANN401  # any plain value
    import tomlkit

    if isinstance(value, dict):
        held = {tomlkit.string(k).as_string(): _toml(v) for k, v in value.items() if v is not None}
        return "{" + ", ".join(f"{key} = {text}" for key, text in held.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value if item is not None) + "]"
    return str(tomlkit.item(value).as_string())


@config_command.command("set")
@click.argument("name", metavar="SECTION.KEY", shell_complete=options.values("setting"))
@click.argument("value")
def set_(name: str, value: str) -> None:
    """Change one setting. VALUE is TOML; text needs no quotes. Comments in the file stay.

    \b
    Examples:
      mdmem config set recall.time_decay_lambda 0.02
      mdmem config set watch.poll '["/mnt/share/.mdmem"]'
      mdmem config set embedder.model none
    """
    import tomlkit

    section, dot, key = name.partition(".")
    if not dot or not key:
        raise UsageError(f"{name!r} is not SECTION.KEY", hint=_full_name(name))
    file = find_paths().config_file
    with alone(os.path.dirname(file)):
        document = _read(file)
        table = document.setdefault(section, tomlkit.table())
        if not isinstance(table, dict):
            raise ConfigError(f"{section} is not a section", where=file, hint=f"write it as [{section}]")
        *inner, last = key.split(".")
        for part in inner:
            table = table.setdefault(part, tomlkit.table())
        table[last] = _value(value)
        _check(document, name, file)
        _write(file, document)
    say.out(f"{name} = {_toml(_value(value))}")
    _tell_daemon(f"[{section}]", ".".join(name.split(".")[:2]))


def learn_from(agents: Iterable[str], *, wanted: bool) -> list[str]:
    """Put agents into `learn.agents`, or take them out; those for which that changed something. What else stands in the
    file stays, and a section that is empty then goes.
    """
    import tomlkit

    file = find_paths().config_file
    with alone(os.path.dirname(file)):
        document = _read(file)
        section = document.setdefault("learn", tomlkit.table())
        if not isinstance(section, dict) or not isinstance(section.get("agents", []), list):
            raise ConfigError("learn.agents is not a list", where=file, hint='write it as ["claude-code"]')
        before = [str(name) for name in section.get("agents", [])]
        changed = [name for name in dict.fromkeys(agents) if (name in before) != wanted]
        if not changed:
            return []
        after = [*before, *changed] if wanted else [name for name in before if name not in changed]
        if after:
            section["agents"] = after
        else:
            del section["agents"]
        if not section:
            del document["learn"]
        if document.as_string().strip():
            _write(file, document)
        else:
            os.unlink(file)  # nobody but `connect` had written in it
    _tell_daemon("[learn]")
    return changed


def _full_name(key: str) -> str:
    from mdmem.config import settings

    for section, keys in settings.names().items():
        if key in keys:
            return f"did you mean {section}.{key}?"
    return "for instance: mdmem config set embedder.model none"


def _value(text: str) -> Any:  # noqa: ANN401  # any TOML value
    import tomllib

    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def _read(file: str) -> TOMLDocument:
    import tomllib

    import tomlkit
    from tomlkit.exceptions import ParseError

    try:
        text = Path(file).read_bytes().decode("utf-8-sig")
        tomllib.loads(text)  # it says in better words what is wrong
        return tomlkit.parse(text)
    except FileNotFoundError:
        return tomlkit.document()
    except (tomllib.TOMLDecodeError, ParseError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"the config is not TOML: {error}", where=file, hint="mend it with: mdmem config edit"
        ) from error
    except OSError as error:
        raise ConfigError(f"the config cannot be read: {error.strerror}", where=file) from error


def _check(document: TOMLDocument, name: str, file: str) -> None:
    """Raise UsageError where what was asked for is wrong, ConfigError where the file was wrong before."""
    from mdmem.config import settings

    try:
        settings.check(document.unwrap(), where=file)
    except ConfigError as error:
        if error.what.startswith((f"{name} ", f"{name.partition('.')[0]} ")):
            raise UsageError(error.what, hint=error.hint) from error
        raise


def _write(file: str, document: TOMLDocument) -> None:
    """A temporary file beside it, and a rename. A link to the file is followed."""
    import tomlkit

    from mdmem.files import shared_folder

    target = os.path.realpath(file)
    temporary = f"{target}.{os.getpid()}.tmp"
    shared_folder(Path(file).parent)
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as out:
            out.write(tomlkit.dumps(document).encode())
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise MachineError(f"the config cannot be written: {error.strerror}", where=file) from error


def _tell_daemon(*changed: str) -> None:
    """A running daemon takes the settings over; some only when it starts."""
    from mdmem.daemon import client

    try:
        answer = client.ask(find_paths().socket, {"op": "reload"})
    except MdmemError as error:
        say.note(f"the daemon did not take it over: {error}")
        return
    late = [part for part in _AT_START if part in changed]
    if answer is not None and late:
        say.note(f"the daemon reads {', '.join(late)} when it starts: mdmem down && mdmem up")


@config_command.command(short_help="Open the config file in your editor, and check it.")
def edit() -> None:
    """Open the config file in your editor, and check it afterwards.

    \b
    Examples:
      mdmem config edit
      EDITOR=nano mdmem config edit
    """
    from mdmem.config import settings
    from mdmem.config.paths import editor
    from mdmem.files import shared_folder

    file = find_paths().config_file
    command = editor()
    if command is None:
        raise UsageError("no editor is known", hint=f"set EDITOR, or edit {file}")
    shared_folder(Path(file).parent)
    _run_editor(command, file)
    settings.load(file)
    say.out(f"checked: {clean(file)}")
    _tell_daemon(*_AT_START)


def _run_editor(command: str, file: str) -> None:
    try:
        code = subprocess.run([*shlex.split(command), file], check=False).returncode
    except (OSError, ValueError) as error:
        raise MachineError(f"the editor cannot be run: {error}", where=command, hint="set EDITOR") from error
    if code:
        raise RefusedError(f"the editor ended with code {code}", where=command, hint="the config was not looked at")


@config_command.command("test-embedder", short_help="Make one vector with the embedder, and time it.")
@options.as_json
def test_embedder(as_json: bool) -> None:
    """Make one vector with the embedder that the config names, and say how long it took.

    \b
    Examples:
      mdmem config test-embedder
      MDMEM_EMBEDDER_MODEL=use mdmem config test-embedder
    """
    from mdmem.app import App
    from mdmem.models import why_none

    app = App()
    embedder = app.embedder()
    if embedder is None:
        raise SilentError(f"there is no embedder: {why_none(app.model_settings())}", hint="see: mdmem config show")
    try:
        started = time.monotonic_ns()
        vector = embedder.query("how do we deploy?")
        first_ms = (time.monotonic_ns() - started) / 1e6
        started = time.monotonic_ns()
        embedder.query("who decided that?")
        ms = (time.monotonic_ns() - started) / 1e6
        told = {"model": embedder.id, "dimension": len(vector), "first_ms": round(first_ms, 1), "ms": round(ms, 1)}
    finally:
        embedder.close()
    if as_json:
        say.json_out(told)
    else:
        say.out(
            clean(f"{told['model']}: {told['dimension']} dimensions, {ms:.1f} ms (the first took {first_ms:.0f} ms)")
        )
