"""`up`, `down`, `daemon`: the daemon's life as a person commands it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from typing import IO, Any

import click

from mdmem.cli import options, say
from mdmem.cli.ask import warn_of_version
from mdmem.config import Paths, find_paths
from mdmem.daemon import client
from mdmem.daemon.stop import stop
from mdmem.errors import MachineError, MdmemError, SilentError

START_S = 10.0


@click.command()
@options.as_json
def up_command(as_json: bool) -> None:
    """Start the daemon in the background. It watches your memories and answers searches in milliseconds.

    \b
    Examples:
      mdmem up
      mdmem up && mdmem status
    """
    paths = find_paths()
    running = client.ask(paths.socket, {"op": "ping"})
    if running is not None:
        _say_up(paths, running, as_json, "already running")
        warn_of_version(running.get("version"))
        return
    _say_up(paths, _start(paths), as_json, "started")


def _start(paths: Paths) -> dict[str, Any]:
    """A daemon of its own session; its answer to a ping. What it says before it answers is shown when it fails."""
    from mdmem.app import App

    App(paths).prepare_folders()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            [sys.executable, "-m", "mdmem.daemon", "--log-file"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
            cwd="/",
        )
        return _wait_until_up(paths, child, said)


def _wait_until_up(paths: Paths, child: subprocess.Popen[bytes], said: IO[bytes]) -> dict[str, Any]:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        answer = client.ask(paths.socket, {"op": "ping"})
        if answer is not None:
            if answer["pid"] != child.pid:
                # Another call was quicker. Ours still waits for the lock, and would take over when that one stops.
                child.terminate()
                child.wait()
            return answer
        with contextlib.suppress(subprocess.TimeoutExpired):
            _raise_its_error(child.wait(timeout=0.05), said, paths)
    raise SilentError("the daemon does not answer", where=paths.socket, hint=f"see its log: {paths.log}")


def _raise_its_error(code: int, said: IO[bytes], paths: Paths) -> None:
    """It ended early: say what it said, with its exit code. A daemon that another call started meanwhile is fine."""
    if client.ask(paths.socket, {"op": "ping"}) is not None:
        return
    said.seek(0)
    lines = said.read().decode("utf-8", "replace").strip().splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    hints = [line.removeprefix("try:").strip() for line in lines if line.startswith("try: ")]
    what = errors[0].removeprefix("error: ") if errors else (lines[-1] if lines else f"it ended with code {code}")
    error = MachineError(f"the daemon did not start: {what}", hint=hints[0] if hints else f"see its log: {paths.log}")
    error.exit_code = code or 70
    raise error


def _say_up(paths: Paths, answer: dict[str, Any], as_json: bool, word: str) -> None:
    if as_json:
        say.json_out(
            {"running": True, "started": word == "started", "pid": answer["pid"], "version": answer["version"]}
        )
        return
    say.out(f"mdmem is {word} (pid {answer['pid']})" if word != "started" else f"mdmem started (pid {answer['pid']})")
    say.out(f"put memories, as markdown files, into {paths.user}")
    say.out("or into a project: mdmem init; find them with: mdmem search QUERY")


@click.command()
@options.as_json
def down_command(as_json: bool) -> None:
    """Stop the daemon, and wait until it has ended. Memories can still be searched without it.

    \b
    Example:
      mdmem down
    """
    answer = stop(find_paths())
    if as_json:
        say.json_out({"running": False, "stopped": answer is not None, "pid": answer.get("pid") if answer else None})
    else:
        say.out(f"mdmem stopped (pid {answer.get('pid')})" if answer else "mdmem was not running")


@click.command()
@click.option("--log-file", is_flag=True, help="Log to the log file instead of stderr.")
def daemon_command(log_file: bool) -> int:
    """Run the daemon in the foreground, for a service manager or to watch it work. Ctrl-C stops it.

    \b
    Examples:
      mdmem daemon
      systemd-run --user mdmem daemon
    """
    import logging

    from mdmem.app import App
    from mdmem.daemon import logs
    from mdmem.daemon.run import run

    app = App()
    if not log_file:
        logs.to_stderr()
        return run(app)
    app.prepare_folders()
    logs.to_file(app.paths.log)
    try:
        return run(app)
    except MdmemError as error:
        # launchd lets what is said on stderr go.
        logging.getLogger(__name__).error("not started", extra={"reason": str(error)})  # noqa: TRY400
        raise
