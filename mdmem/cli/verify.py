"""`verify`: memories in, what their probes say of them out. A probe is run here, in the person's own environment."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from mdmem.cli import options, say
from mdmem.cli.ask import ask
from mdmem.errors import UsageError
from mdmem.outputs import text

if TYPE_CHECKING:
    from mdmem.upkeep.running import Ran

_KEYS = ("key", "scope", "scope_ref", "path", "probe", "allowed", "ok", "exit_code", "ms", "at", "why")


@click.command()
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@click.option("--yes", is_flag=True, help="Allow the probes of the memories named, without being asked.")
@options.scopes
@options.caller
@options.as_json
def verify_command(
    keys: tuple[str, ...], yes: bool, scope: tuple[str, ...], cwd: str | None, agent: str | None, as_json: bool
) -> int:
    """Check memories by their probes: the cheap commands that their files name.

    Without KEY all your memories that have one. A command is run only once you have seen it and said yes, and is asked
    about again whenever its text changes. It gets no input and 20 seconds. The exit code is 1 when a memory was not
    verified.

    \b
    Examples:
      mdmem verify
      mdmem verify deploy:blyck
      mdmem verify deploy:blyck --yes --json
    """
    if yes and not keys:
        raise UsageError("--yes allows the probes of memories that you name", hint="mdmem verify KEY... --yes")
    answer = ask({"op": "probes", "keys": list(keys), "scope": list(scope), **options.who(cwd, agent)})
    for line in answer["degraded"]:
        say.note(line)
    probes: list[dict[str, Any]] = [{**dict.fromkeys(_KEYS), **probe} for probe in answer["probes"]]
    _ask_for(probes, yes=yes)
    _run_all(probes, quiet=as_json)
    if as_json:
        say.json_out([{key: probe[key] for key in _KEYS} for probe in probes])
    elif not probes:
        say.note("no memory here has a probe")
    return 0 if all(probe["ok"] for probe in probes) else 1


# --- consent ------------------------------------------------------------------


def _ask_for(probes: list[dict[str, Any]], *, yes: bool) -> None:
    """Have a person allow what was never allowed; what is allowed now is noted before anything is run."""
    from mdmem.upkeep.probes import allowance

    at_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    allowed: dict[str, None] = {}
    for probe in probes:
        if probe["allowed"] or probe["why"]:
            continue
        mark = allowance(probe["probe"], probe["root"]).hex()
        if mark not in allowed and (yes or at_terminal):
            _show(probe)
        if mark in allowed or yes or (at_terminal and _says_yes()):
            probe["allowed"] = True
            allowed[mark] = None
        elif at_terminal:
            probe["why"] = "you did not allow it"
        else:
            key = shlex.quote(probe["key"])
            probe["why"] = f"nobody has allowed it yet: mdmem verify {key} at a terminal, or with --yes"
    if allowed:
        ask({"op": "allow_probes", "allowed": list(allowed)})


def _show(probe: dict[str, Any]) -> None:
    """A probe as a person may judge it: whose, where it lies, where it is run, and every character of it."""
    from mdmem.outputs.reveal import reveal, wrapped

    scope = f"{probe['scope']}:{probe['scope_ref']}" if probe["scope_ref"] else probe["scope"]
    lines = [reveal(line) for line in probe["probe"].split("\n")]
    columns = max(shutil.get_terminal_size().columns - 6, 20)
    say.err(f"{text.clean(probe['key'])}  {text.clean(probe['type'])} · {text.clean(scope)}")
    say.err(f"   {text.clean(probe['path'])}")
    say.err(f"   is checked, in {text.clean(_folder(probe))}, by:")
    for line in lines:
        for piece in wrapped(line, columns):
            say.err(f"   | {piece}")
    if "\n".join(lines) != probe["probe"]:
        say.err("   (what can't be seen in it stands as \\x.. or \\u....)")


def _says_yes() -> bool:
    import termios

    termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before this was shown is no answer to it
    sys.stderr.write("run this, now and whenever you verify it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# --- running ------------------------------------------------------------------


def _run_all(probes: list[dict[str, Any]], *, quiet: bool) -> None:
    """Run what may be run, one after the other. What was found is noted in any case, if a person ends it half-way."""
    from mdmem.ledger import stamp
    from mdmem.upkeep.probes import digest
    from mdmem.upkeep.running import run

    results = []
    try:
        for probe in probes:
            ran = None
            if probe["allowed"] and not probe["why"]:
                ran = run(probe["probe"], _folder(probe))
                probe |= {"ok": ran.ok, "exit_code": ran.exit_code, "ms": ran.ms, "why": ran.why, "at": stamp()}
                place = [probe["scope"], probe["scope_ref"], probe["rel"], digest(probe["probe"]).hex()]
                results.append([*place, ran.ok, ran.exit_code, probe["at"], ran.ms])
            if not quiet:
                _tell(probe, ran)
    finally:
        if results:
            ask({"op": "probed", "results": results})


def _folder(probe: dict[str, Any]) -> str:
    return str(probe["root"]) or os.path.expanduser("~")


def _tell(probe: dict[str, Any], ran: Ran | None) -> None:
    words = {
        True: say.paint("verified", "good"),
        False: say.paint("failed  ", "bad"),
        None: say.paint("not run ", "warn"),
    }
    said = f"in {probe['ms']} ms" if probe["ok"] else text.clean(probe["why"])
    say.out(f"{words[probe['ok']]} {say.paint(text.clean(probe['key']), 'key')}: {said}")
    for line in ran.output if ran is not None and not ran.ok else ():
        say.out(say.paint(f"   {line}", "dim"))
    sys.stdout.flush()
