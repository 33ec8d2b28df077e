"""An agent in; what of mdmem is in its settings, and what is not as `connect` would write it, out. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mdmem.agents import codex, jsontext
from mdmem.agents.own import any_launcher
from mdmem.agents.table import AGENTS, INSTRUCTIONS, Agent, Entry, Where
from mdmem.config.agents import agent_folders
from mdmem.errors import MdmemError
from mdmem.outputs import saving


class Check(NamedTuple):
    """One thing of ours in one file of an agent.

    `state`: "ok"; "missing"; "differs" (connect would change it); "unusable" (the file cannot be understood); "off"
    (the agent's own settings switch hooks off); "ask" (a person must agree first). `hint` is what
    to do, '' where nothing is needed.
    """

    agent: str
    what: str
    path: str
    state: str
    message: str
    hint: str = ""


def states(cwd: str | None = None) -> list[Check]:
    """The checks of every agent found on this machine."""
    where = Where(agent_folders(), any_launcher(), cwd)
    agents = [make(where) for make in AGENTS.values()]
    return [check for agent in agents if agent.found for check in _checks(agent)]


def state_of(name: str, cwd: str | None = None) -> list[Check]:
    """The checks of one agent, found or not."""
    return list(_checks((AGENTS | INSTRUCTIONS)[name](Where(agent_folders(), any_launcher(), cwd))))


def _checks(agent: Agent) -> Iterator[Check]:
    here = [_check(agent, entry) for entry in agent.entries]
    yield from here
    for path, (keys, value) in (agent.off or {}).items():
        if _setting(path, keys) is value:
            name = ".".join(keys)
            yield Check(agent.name, "hooks", path, "off", f"`{name}` switches all hooks off", f"take out `{name}`")
    if agent.name == "codex" and here[0].state == "ok":
        yield from _codex(agent, here[0].path)


def _codex(agent: Agent, hooks: str) -> Iterator[Check]:
    config = f"{agent.top}/config.toml"
    switch = codex.switched_off(config)
    if switch is not None:
        yield Check(agent.name, "hooks", config, "off", f"`{switch}` switches all hooks off", f"take out `{switch}`")
    waiting = codex.unapproved(hooks, config)
    if waiting:
        yield Check(agent.name, "trust", config, "ask", f"not approved yet: {', '.join(waiting)}", agent.trust)
    else:
        yield Check(agent.name, "trust", config, "ok", "approved")


def _check(agent: Agent, entry: Entry) -> Check:
    path, hint = entry.path, f"mdmem connect {agent.name}"
    try:
        path = saving.real_path(entry.path, within=entry.within)
        data = saving.read(path)
        if data is not None and entry.part.put(data) == data:
            return Check(agent.name, entry.what, path, "ok", "in place")
        if data is None or entry.part.drop(data) == data:
            return Check(agent.name, entry.what, path, "missing", "not connected", hint)
    except MdmemError as error:
        where = f"{path}:{error.where}" if error.where and error.where.isdigit() else path
        return Check(agent.name, entry.what, where, "unusable", error.what, error.hint or "")
    return Check(agent.name, entry.what, path, "differs", "not as it would be written now", hint)


def _setting(path: str, keys: tuple[str, ...]) -> object:
    """One value of a JSON settings file; None where it has none, or cannot be read: its own check says so."""
    try:
        data = saving.read(saving.real_path(path)) or b""
        value = jsontext.parse(data.decode("utf-8-sig"), comments=True).value
    except (MdmemError, ValueError, RecursionError):
        return None
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
