"""The environment in, what a service manager and its services have to know of it out."""

from __future__ import annotations

import os
from typing import NamedTuple


class Managed(NamedTuple):
    """What a service manager tells the process that it started (sd_notify(3)); None where there is none."""

    socket: str | None
    watchdog_s: float | None


def take_managed() -> Managed:
    """The service manager's variables, taken out of the environment: no child is the service."""
    found = {name: os.environ.pop(name, "") for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")}
    usec, pid = found["WATCHDOG_USEC"], found["WATCHDOG_PID"]
    watched = usec.isdecimal() and int(usec) > 0 and pid in ("", str(os.getpid()))
    return Managed(found["NOTIFY_SOCKET"] or None, int(usec) / 1e6 if watched else None)


def passed_on() -> dict[str, str]:
    """The variables that decide where mdmem lives, as they are now: a service must find the same place."""
    names = ("MDMEM_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
    kept = {name: os.environ[name] for name in names if os.environ.get(name, "").strip()}
    if "MDMEM_HOME" in kept:  # relative to where it was said; the others don't matter then
        return {"MDMEM_HOME": os.path.abspath(os.path.expanduser(kept["MDMEM_HOME"].strip()))}
    return kept


def units_folder() -> str:
    """Where systemd looks for the units of this person."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    return f"{config if os.path.isabs(config) else os.path.expanduser('~/.config')}/systemd/user"


def launch_agents_folder() -> str:
    """Where launchd looks for the agents of this person."""
    return os.path.expanduser("~/Library/LaunchAgents")
