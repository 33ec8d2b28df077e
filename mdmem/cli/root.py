"""The root command: loads the one command that is asked for, and turns every ending into an exit code."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from mdmem import __version__
from mdmem.cli import say
from mdmem.cli.table import COMMANDS, GROUPS
from mdmem.config.paths import environment, wants_no_color
from mdmem.errors import AmbiguousError, ChangedError, MdmemError
from mdmem.outputs.text import clean

EPILOG = "Every command that prints data takes --json. `mdmem COMMAND --help` shows examples."


class Root(click.Group):
    """Commands by the table: their help needs no import, and running one imports that one alone."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(f"mdmem.cli.{entry.module}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS and not ctx.resilient_parsing:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            raise click.UsageError(
                f"there is no command {args[0]!r}" + (f"; did you mean {near[0]!r}?" if near else ""), ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, title in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, e.help) for name, e in COMMANDS.items() if e.group == group])


@click.command(
    cls=Root,
    name="mdmem",
    invoke_without_command=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--color",
    type=click.Choice(["always", "never", "auto"]),
    default="auto",
    help="When to use colours. Default: auto.",
)
@click.version_option(__version__, prog_name="mdmem", message="%(prog)s %(version)s")
@click.pass_context
def root(ctx: click.Context, color: str) -> None:
    """Memory for coding agents, kept as markdown files that you own.

    Start with `mdmem up`, put a memory down with `mdmem add "..."`, and find it with `mdmem search ...`.
    """
    if color != "auto":
        ctx.color = color == "always"
    elif wants_no_color():
        ctx.color = False
    if ctx.invoked_subcommand is None:
        say.out(ctx.get_help())


def main(args: Sequence[str] | None = None) -> int:
    """Run one command line (that of the process when None). Returns the exit code; never raises."""
    say.prepare_streams()
    completing = environment("_MDMEM_").get("COMPLETE")
    try:
        if completing:
            from click.shell_completion import shell_complete

            return shell_complete(root, {}, "mdmem", "_MDMEM_COMPLETE", completing)
        code = _run(list(sys.argv[1:] if args is None else args))
        sys.stdout.flush()
    except BrokenPipeError:
        _close_quietly()
        return 0
    except (KeyboardInterrupt, click.Abort):
        say.err("")
        return 130
    except OSError as error:
        from mdmem.db import is_disk_trouble

        trouble = is_disk_trouble(error)
        if trouble is None:
            return _fault(error)
        _close_quietly()
        trouble.where = trouble.where or "standard output"
        return tell(trouble)
    except Exception as error:  # noqa: BLE001  # the front door
        return _fault(error)
    return code


def _run(args: list[str]) -> int:
    try:
        with root.make_context("mdmem", args) as ctx:
            result: Any = root.invoke(ctx)
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.ClickException as error:
        return _usage(error)
    except MdmemError as error:
        return tell(error)
    return result if isinstance(result, int) else 0


def tell(error: MdmemError) -> int:
    """An error in words on stderr; its exit code."""
    say.err(f"{_word('error:')} {clean(str(error))}")
    if isinstance(error, AmbiguousError):
        for choice in error.choices:
            say.err(f"       {clean(choice)}")
    if isinstance(error, ChangedError):
        say.err(f"  now in the file:\n{_indent(error.theirs)}\n  not written:\n{_indent(error.ours)}")
    if error.hint:
        say.err(f"try:   {clean(error.hint)}")
    return error.exit_code


def tell_all(errors: Iterable[MdmemError]) -> int:
    """Several errors, each in words; the exit code of the first, 0 where there is none."""
    codes = [tell(error) for error in errors]
    return codes[0] if codes else 0


def _usage(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say.err(error.format_message())
        return 2
    say.err(f"{_word('error:')} {clean(' '.join(error.format_message().split()))}")
    say.err(f"try:   {context.command_path if context else 'mdmem'} --help")
    return 2


def _fault(error: Exception) -> int:
    """A fault of ours: the traceback goes to the log, one line to the person."""
    import logging
    from pathlib import Path

    from mdmem.config import find_paths
    from mdmem.daemon import logs
    from mdmem.files import private_folder

    where = ""
    try:
        path = find_paths().log
        private_folder(Path(path).parent)
        logs.to_file(path)
        logging.getLogger(__name__).error("command failed", exc_info=error)
        where = f"; the details are in {path}"
    except (OSError, MdmemError):
        # No log can be written here: then the terminal is all there is.
        import traceback

        say.err(clean("".join(traceback.format_exception(error)), lines=True))
    say.err(f"{_word('error:')} a fault of ours ({type(error).__name__}){where}")
    return 70


def _word(text: str) -> str:
    return click.style(text, fg="red", bold=True) if say.is_colored(sys.stderr) else text


def _indent(data: bytes) -> str:
    text = clean(data.decode("utf-8", "replace"), lines=True)
    return "\n".join(f"  | {line}" for line in text.splitlines())


def _close_quietly() -> None:
    """The reader of our output went away: what is still in the buffer has nowhere to go."""
    import os

    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
