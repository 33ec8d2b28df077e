"""The agents on this machine in, what of their connection is proved and what is not out. Changes nothing.

Settings that are in place prove little: hooks may be switched off, or wait for a person's trust. What proves them is
that they have come in.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from mdmem.agents.own import any_launcher
from mdmem.agents.state import Check, states
from mdmem.app.doctor import Finding
from mdmem.hooks.table import AGENTS

MCP_S = 10.0
_PROVING = ("prompt", "turn_end")  # what comes in in every session
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "doctor", "version": "1"}},
}


def checks(cwd: str | None, hook_calls: Mapping[tuple[str, str], str], learned: Sequence[str] = ()) -> list[Finding]:
    """Findings of every agent found here, as `app.doctor` has them. `hook_calls`: (agent, event) -> when last;
    `learned`: the agents whose activity logs are to be followed.
    """
    connected = False
    findings: list[Finding] = []
    for agent, group in groupby(states(cwd), key=lambda check: check.agent):
        parts = list(group)
        if all(part.state == "missing" for part in parts):
            what = f"found here, and not connected: mdmem connect {agent}"
            findings.append(Finding(agent, True, "not-connected", what))
            continue
        connected = True
        findings += [*_settings(agent, parts), *_hooks(agent, parts, hook_calls), *_logs(agent, learned)]
    return [*findings, *_mcp()] if connected else findings


def _settings(agent: str, parts: Sequence[Check]) -> Iterator[Finding]:
    wrong = [part for part in parts if part.state != "ok"]
    for part in wrong:
        code = "agent-not-trusted" if part.state == "ask" else "agent-settings"
        yield Finding(agent, False, code, f"{part.what} ({part.path}): {part.message}", part.hint)
    if not wrong:
        yield Finding(agent, True, "ok", f"in place: {', '.join(dict.fromkeys(part.what for part in parts))}")


def _hooks(agent: str, parts: Sequence[Check], calls: Mapping[tuple[str, str], str]) -> Iterator[Finding]:
    if not any(part.what in ("hooks", "plugin") and part.state != "missing" for part in parts):
        return
    came = {event: at for (name, event), at in calls.items() if name == agent}
    events = AGENTS[agent].events
    wanted = [event for event, means in events.items() if means in _PROVING] or list(events)[:3]
    silent = [event for event in wanted if event not in came]
    starts = [event for event, means in events.items() if means == "start" and event not in came]
    if not came:
        what = "no hook has come in yet: nothing is proved"
    elif silent:
        what = f"never came in: {', '.join(silent)}; others last at {max(came.values())}"
    else:
        # Some versions send none where they run without a terminal; what it would have given comes with the prompt.
        without = f"; {', '.join(starts)} never came in" if starts else ""
        yield Finding(agent, True, "ok", f"hooks fire, the last at {max(came.values())}{without}")
        return
    yield Finding(agent, False, "hook-not-fired", what, f"start a new session of {agent}, say something, look again")


def _logs(agent: str, learned: Sequence[str]) -> Iterator[Finding]:
    """The newest activity log is opened, and known for one of this agent."""
    from mdmem.activity import detect, find_logs, places
    from mdmem.app.learning import LOG_NAMES
    from mdmem.config.paths import log_roots

    if agent not in learned:
        yield Finding(agent, False, "logs-not-followed", "its activity logs are not in learn.agents", _again(agent))
        return
    name = LOG_NAMES.get(agent, agent)
    newest = max(find_logs(places({name: log_roots().get(name, [])})), key=lambda log: log.mtime_ns, default=None)
    if newest is None:
        yield Finding(agent, True, "ok", "no activity log yet")
        return
    try:
        known = detect(newest.path) is not None
    except OSError as error:
        yield Finding(agent, False, "log-unreadable", f"{newest.path}: {error.strerror or error}", "its permissions")
        return
    if known:
        yield Finding(agent, True, "ok", f"its activity logs can be read, the newest {newest.path}")
    else:
        hint = "update mdmem; if that does not help, tell us the version of the agent"
        yield Finding(agent, False, "log-unknown", f"{newest.path} is of no kind that mdmem knows", hint)


def _again(agent: str) -> str:
    return f"mdmem connect {agent}"


def _mcp() -> Iterator[Finding]:
    """The server is started as agents start it, and greeted."""
    started = time.monotonic()
    try:
        said = _greet([any_launcher(), "mcp"])
    except (OSError, ValueError) as error:
        yield Finding("mcp", False, "mcp-silent", f"`mdmem mcp` does not answer: {error}", "see the log: mdmem status")
        return
    took_ms = (time.monotonic() - started) * 1e3
    yield Finding("mcp", True, "ok", f"{said} answers, after {took_ms:.0f} ms")


def _greet(command: Sequence[str]) -> str:
    """The name that the server gives itself. Raises OSError or ValueError."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            # The end of its input is the end of the session: it answers, and is gone.
            out, _ = process.communicate(json.dumps(_HELLO).encode() + b"\n", timeout=MCP_S)
        except subprocess.TimeoutExpired as error:
            raise ValueError(f"nothing came within {MCP_S:.0f} s") from error
        finally:
            with contextlib.suppress(OSError):
                process.kill()
    try:
        name = json.loads(out.partition(b"\n")[0])["result"]["serverInfo"]["name"]
    except (LookupError, TypeError) as error:
        raise ValueError("it answered something else") from error
    return str(name)
