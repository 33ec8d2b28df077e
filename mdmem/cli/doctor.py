"""`doctor`: this machine in, what is wrong with it and how to mend it out."""

from __future__ import annotations

from typing import Any

import click

from mdmem.cli import options, say
from mdmem.errors import MdmemError
from mdmem.outputs.text import finding_lines


@click.command()
@options.as_json
def doctor_command(as_json: bool) -> int:
    """Check everything that mdmem needs, and say how to mend what is wrong. The exit code is 1 when something is.

    \b
    Examples:
      mdmem doctor
      mdmem doctor --json
    """
    from mdmem.agents import doctor as agents
    from mdmem.app import App
    from mdmem.app.doctor import diagnose
    from mdmem.app.recorded import read_hooks
    from mdmem.daemon.ask import working_folder
    from mdmem.daemon.service.checks import checks

    app = App()
    status, silent = _ask_daemon(app.paths.socket)
    found = [*diagnose(app, status, silent), *checks(app.paths)]
    if found[0].ok:  # of a config that is wrong nothing more can be said
        found += agents.checks(working_folder(), read_hooks(app.paths.ledger_db), app.settings.learn.agents)
    findings = [finding._asdict() | {"line": None} for finding in found]
    if as_json:
        say.json_out(findings)
    else:
        for line in finding_lines(findings, paint=say.paint):
            say.out(line)
    return 0 if all(finding["ok"] for finding in findings) else 1


def _ask_daemon(socket: str) -> tuple[dict[str, Any] | None, MdmemError | None]:
    """What the daemon says of itself; None where none runs; or how it failed to answer."""
    from mdmem.daemon import client
    from mdmem.daemon.ask import error_of

    try:
        answer = client.ask(socket, {"op": "status"}, timeout_s=10.0)
        if answer is None:
            return None, None
        if not answer.get("ok"):
            raise error_of(answer.get("error") or {})
    except MdmemError as error:
        return None, error
    status: dict[str, Any] = answer["status"]
    return status, None
