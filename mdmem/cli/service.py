"""`service`: the daemon run by the service manager of this machine, and how that stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from mdmem.cli import options, say
from mdmem.config import find_paths
from mdmem.outputs.text import clean

if TYPE_CHECKING:
    from mdmem.daemon.service.install import State

LINGER = "it ends when you log out; to keep it running: loginctl enable-linger"


@click.group()
def service_command() -> None:
    """Have systemd or launchd run the daemon: from each login on, and again when it fails.

    \b
    Examples:
      mdmem service install
      mdmem service status
    """


@service_command.command()
@options.as_json
def install(as_json: bool) -> None:
    """Run the daemon as a service of yours, now and after each login. After an upgrade, run it again.

    A daemon that was started by hand is stopped first. What you change goes into a drop-in (docs/service.md).

    \b
    Example:
      mdmem service install
    """
    from mdmem.daemon.service.install import find_manager
    from mdmem.daemon.service.install import install as install_service

    paths, manager = find_paths(), find_manager()
    done = install_service(paths, manager)
    if as_json:
        say.json_out(done._asdict())
        return
    if done.stopped:
        say.out(f"the daemon that was started by hand (pid {done.stopped}) was stopped")
    say.out(clean(f"{'written' if done.changed else 'unchanged'}: {done.path}"))
    say.out(f"mdmem runs as a service (pid {done.pid}); its log: {manager.log_hint}")
    if done.linger is False:
        say.out(LINGER)


@service_command.command()
@options.as_json
def uninstall(as_json: bool) -> None:
    """Stop the service and remove its file. Memories, index and settings stay as they are.

    \b
    Example:
      mdmem service uninstall
    """
    from mdmem.daemon.service.install import find_manager
    from mdmem.daemon.service.install import uninstall as uninstall_service

    done = uninstall_service(find_paths(), find_manager())
    if as_json:
        say.json_out(done._asdict())
    else:
        say.out(clean(f"removed: {done.path}" if done.changed else "no service was installed"))


@service_command.command()
@options.as_json
def status(as_json: bool) -> None:
    """Show whether the service is installed, runs, and is what this mdmem would install.

    \b
    Examples:
      mdmem service status
      mdmem service status --json
    """
    from mdmem.daemon.service.install import find_manager, state

    found = state(find_paths(), find_manager())
    if as_json:
        say.json_out(found._asdict())
        return
    for line in _lines(found):
        say.out(clean(line))


def _lines(found: State) -> Iterator[str]:
    if not found.reachable:
        yield f"{found.reason}"
    if not found.installed:
        yield f"no service is installed ({found.path}); to install it: mdmem service install"
    else:
        yield f"installed: {found.path}" + ("" if found.enabled or not found.reachable else ", not enabled")
        yield from _file_lines(found)
    if found.reachable and found.installed:
        yield f"{found.manager} says: {found.state}" + (f" (pid {found.pid})" if found.pid else "")
    yield from _daemon_lines(found)
    if found.linger is False:
        yield LINGER


def _file_lines(found: State) -> Iterator[str]:
    yield f"it starts: {found.launcher}"
    if not found.launcher_exists:
        yield "that program is gone; to start this one: mdmem service install"
    elif found.edited:
        yield "the file was written or changed by somebody else than mdmem, and is left alone"
    elif not found.current:
        yield "this mdmem would write it otherwise; to do so: mdmem service install"


def _daemon_lines(found: State) -> Iterator[str]:
    if found.started_by == "hand":
        yield "a daemon runs that was started by hand; the service takes over with: mdmem service install"
    elif found.started_by == "service":
        yield "mdmem down stops it until the next login; mdmem service install starts it again"
    elif found.installed:
        yield "no daemon answers; to start it: mdmem service install"
