"""Names of agents in, their settings with mdmem's hooks and MCP server in them (or out of them again) out.

Each file is looked at, what it should hold is worked out without writing, and only when all files of an agent can be
understood is any of them written. Connecting twice changes nothing.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from mdmem.agents.own import any_launcher, stable_launcher
from mdmem.agents.table import AGENTS, INSTRUCTIONS, Agent, Entry, Where
from mdmem.config.agents import agent_folders
from mdmem.errors import ConfigError, MachineError, MdmemError, UsageError
from mdmem.outputs import saving
from mdmem.outputs.sections import Section

COMMAND_LIMIT_S = 60.0
_TRIES = 4


class Change(NamedTuple):
    """What happens to one file: `before` and `after` are its bytes, None where there is no file."""

    path: str
    what: str
    before: bytes | None
    after: bytes | None
    command: tuple[str, ...] = ()  # the agent's own, which makes the change
    backup: str | None = None

    @property
    def action(self) -> str:
        if self.before == self.after:
            return "none"
        return "create" if self.before is None else "remove" if self.after is None else "change"

    def diff(self) -> str:
        """The change as a unified diff, or the command that makes it."""
        if self.command:
            return "run: " + " ".join(self.command) + "\n"
        old, new = (_lines(data) for data in (self.before, self.after))
        names = [self.path if data is not None else os.devnull for data in (self.before, self.after)]
        lines = difflib.unified_diff(old, new, names[0], names[1])
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines(keepends=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one agent. `error` stopped it, before or while its files were written."""

    agent: str
    found: bool
    changes: list[Change] = field(default_factory=list)
    tell: tuple[str, ...] = ()
    error: MdmemError | None = None

    @property
    def changed(self) -> bool:
        return any(change.action != "none" for change in self.changes)


def connect(names: Sequence[str], *, cwd: str | None, now: datetime, dry_run: bool = False) -> list[Outcome]:
    """Connect the named agents, or every one found on this machine. UsageError for a name that is none.

    `now` dates the backups. What goes wrong with one agent is in its outcome, and leaves the others alone.
    """
    where = _where(names, cwd, stable_launcher())
    outcomes = []
    for name in names or AGENTS:
        outcome = _each(name, where, None if dry_run else now, undo=False, named=bool(names))
        if outcome is not None:
            outcomes.append(outcome)
    return outcomes


def disconnect(names: Sequence[str], *, cwd: str | None, now: datetime, dry_run: bool = False) -> list[Outcome]:
    """Take out what `connect` put in: of the named agents, or of all that have any of it."""
    where = _where(names, cwd, any_launcher())
    outcomes = [_each(name, where, None if dry_run else now, undo=True, named=True) for name in names or AGENTS]
    return [outcome for outcome in outcomes if outcome is not None and (names or outcome.changed or outcome.error)]


def _where(names: Sequence[str], cwd: str | None, launcher: str) -> Where:
    makers = AGENTS | INSTRUCTIONS
    for name in names:
        if name not in makers:
            near = difflib.get_close_matches(name, makers, n=1)
            hint = f"did you mean {near[0]}?" if near else f"one of: {', '.join(makers)}"
            raise UsageError(f"there is no agent {name!r} that mdmem can be connected to", hint=hint)
    return Where(agent_folders(), launcher, cwd)


def _each(name: str, where: Where, now: datetime | None, *, undo: bool, named: bool) -> Outcome | None:
    """One agent; None where it is neither named nor here. Without `now` nothing is written."""
    done: list[Change] = []
    agent: Agent | None = None
    try:
        agent = (AGENTS | INSTRUCTIONS)[name](where)
        if not named and not agent.found:
            return None
        found = agent.found
        files = _by_file(agent)
        changes = [_to_disconnect(entries) if undo else _to_connect(entries) for entries in files]
        if now is None:
            done = changes
        else:
            if not undo and any(change.action == "create" for change in changes):
                saving.make_folder(agent.top)
            for entries, change in zip(files, changes, strict=True):
                done.append(_write(entries, change, now, undo=undo))
            if undo and name in AGENTS:
                _remove_folders(done, agent, where.folders.plugins)
    except MdmemError as error:
        return Outcome(name, agent is not None and agent.found, done, error=error)
    outcome = Outcome(name, found, done)
    return replace(outcome, tell=_to_tell(agent, found)) if outcome.changed and not undo else outcome


def _remove_folders(changes: list[Change], agent: Agent, plugins: str) -> None:
    """The folders that are empty now; that of the agent itself only if it was made here."""
    top = os.path.realpath(agent.top)
    for change in changes:
        folder = os.path.dirname(change.path)
        if change.action == "remove":
            saving.remove_empty_folders(folder, os.path.realpath(os.path.dirname(plugins)))
            saving.remove_empty_folders(folder, top, below=True)
    saving.remove_made(top)


def _to_tell(agent: Agent, found: bool) -> tuple[str, ...]:
    absent = "" if found else "install it: it was not found on this machine, and its settings wait for it"
    return tuple(line for line in (absent, agent.trust, agent.tell) if line)


def _by_file(agent: Agent) -> list[list[Entry]]:
    """The entries of an agent, those of one file together."""
    files: dict[str, list[Entry]] = {}
    for entry in agent.entries:
        files.setdefault(entry.path, []).append(entry)
    return list(files.values())


def _to_connect(entries: list[Entry]) -> Change:
    path, data, what = _read(entries)
    return Change(path, what, data, _put(entries, data), entries[0].add)


def _to_disconnect(entries: list[Entry]) -> Change:
    path, data, what = _read(entries)
    after = None if data is None else _dropped(entries, data, saving.backups(path))
    return Change(path, what, data, after, entries[0].take)


def _read(entries: list[Entry]) -> tuple[str, bytes | None, str]:
    first = entries[0]
    path = saving.real_path(first.path, within=first.within)
    return path, saving.read(path), " and ".join(entry.what for entry in entries)


def _put(entries: list[Entry], data: bytes | None) -> bytes:
    after = data
    with _of_file(entries[0].path):
        for entry in entries:
            after = entry.part.put(after)
    return after or b""


def _dropped(entries: list[Entry], data: bytes, backups: list[saving.Backup]) -> bytes | None:
    """What a file was before: exactly that, where it is still what connecting made of a backup, or of nothing."""
    for before in (*(backup.data for backup in backups), None):
        if _is_made_of(entries, before, data):
            return before
    return _drop(entries, data)


def _is_made_of(entries: list[Entry], before: bytes | None, data: bytes) -> bool:
    try:
        none_in_it = before is None or _drop(entries, before) == before
        return none_in_it and before != data and _put(entries, before) == data
    except ConfigError:
        return False


def _drop(entries: list[Entry], data: bytes) -> bytes | None:
    after: bytes | None = data
    with _of_file(entries[0].path):
        for entry in entries:
            after = entry.part.drop(after) if after is not None else None
    return after


@contextlib.contextmanager
def _of_file(path: str) -> Iterator[None]:
    """Parts know lines; this names the file."""
    try:
        yield
    except MdmemError as error:
        error.where = f"{path}:{error.where}" if error.where else path
        raise


def _write(entries: list[Entry], change: Change, now: datetime, *, undo: bool) -> Change:
    """Make the change; worked out anew where the file changed meanwhile. As it was made in the end."""
    for attempt in range(_TRIES):
        if change.action == "none":
            return change
        if change.command:
            return _run(entries, change, undo=undo)
        backup = _back_up(entries, change, now, undo=undo)
        saved = False
        try:
            saved = _save(entries, change, last=attempt == _TRIES - 1)
        finally:
            if backup is not None and not saved:
                os.unlink(backup)
        if saved:
            if undo:
                _remove_spent(entries, change)
            return change._replace(backup=backup)
        change = _to_disconnect(entries) if undo else _to_connect(entries)
    return change


def _save(entries: list[Entry], change: Change, *, last: bool) -> bool:
    if change.after is None:
        return saving.remove(change.path, expected=change.before or b"", last=last)
    private = entries[0].within is None  # a project's file is for whoever may read the project
    return saving.write(change.path, change.after, expected=change.before, last=last, private=private)


def _back_up(entries: list[Entry], change: Change, now: datetime, *, undo: bool) -> str | None:
    """A dated copy, unless everything can be had back without: a section leaves the rest byte for byte as it is."""
    if change.before is None or all(isinstance(entry.part, Section) for entry in entries):
        return None
    if undo and _is_made_of(entries, change.after, change.before):
        return None
    return saving.back_up(change.path, change.before, now)


def _remove_spent(entries: list[Entry], change: Change) -> None:
    """Backups of no more use: what they hold beside ours is what the file holds now."""
    for backup in saving.backups(change.path):
        try:
            made = _put(entries, backup.data) == change.before
            spent = made or change.after in (backup.data, _drop(entries, backup.data))
        except ConfigError:
            spent = False
        if spent and backup.data != change.before:
            os.unlink(backup.path)


def _run(entries: list[Entry], change: Change, *, undo: bool) -> Change:
    """Have the agent make the change, and look whether it did."""
    if not undo and change.before is not None and _drop(entries, change.before) != change.before:
        _call(entries[0].take)  # an older entry of ours, which `add` would refuse to replace
    _call(change.command)
    _, after, _ = _read(entries)
    done = (
        after is None or _drop(entries, after) == after if undo else after is not None and _put(entries, after) == after
    )
    if not done:
        raise MachineError(
            "the agent's command said that it was done, but the file does not show it",
            where=change.path,
            hint="run it by hand: " + " ".join(change.command),
        )
    return change._replace(after=after)


def _call(command: tuple[str, ...]) -> None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_LIMIT_S, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise MachineError(f"this could not be run: {' '.join(command)}", hint=str(error)) from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
        raise MachineError(f"this failed: {' '.join(command)}", hint=said[-1] if said else "run it by hand")
