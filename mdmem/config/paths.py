"""The environment in, the places where mdmem keeps things out. Makes nothing, reads no file."""

from __future__ import annotations

import os
import warnings
from typing import NamedTuple

from mdmem.errors import ConfigError

MAX_SOCKET_BYTES = 100  # sun_path holds 108 bytes on Linux and 104 on macOS, with the closing NUL


class Paths(NamedTuple):
    """Absolute paths as text. Folders may not exist yet; see `files.private_folder`."""

    data: str
    state: str
    runtime: str
    config_file: str
    socket: str

    @property
    def user(self) -> str:
        return f"{self.data}/user"

    @property
    def agents(self) -> str:
        return f"{self.data}/agents"

    @property
    def inbox(self) -> str:
        return f"{self.data}/inbox"

    @property
    def scopes_file(self) -> str:
        return f"{self.data}/scopes.toml"

    @property
    def index_db(self) -> str:
        return f"{self.state}/index.db"

    @property
    def ledger_db(self) -> str:
        return f"{self.state}/ledger.db"

    @property
    def log(self) -> str:
        return f"{self.state}/mdmem.log"

    @property
    def lock(self) -> str:
        return f"{self.runtime}/mdmem.lock"


def find_paths() -> Paths:
    """Where this person's mdmem lives: all below MDMEM_HOME if it is set, else the platform's usual folders.

    Raises ConfigError when neither MDMEM_HOME nor a home folder is known.
    """
    home = os.environ.get("MDMEM_HOME", "").strip()
    if home:
        root = os.path.abspath(os.path.expanduser(home))
        runtime = f"{root}/run"
        return Paths(root, f"{root}/state", runtime, f"{root}/config.toml", _socket(runtime))
    return _platform_paths()


def _platform_paths() -> Paths:
    import platformdirs

    if not os.path.isabs(os.path.expanduser("~")):
        raise ConfigError("no home folder is known", hint="set HOME, or MDMEM_HOME to a folder for mdmem")
    dirs = platformdirs.PlatformDirs("mdmem", appauthor=False)
    with warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR (cron, su, a container) its folder in /tmp does; a warning at every command would not.
        warnings.simplefilter("ignore")
        runtime = dirs.user_runtime_dir
    return Paths(
        dirs.user_data_dir, dirs.user_state_dir, runtime, f"{dirs.user_config_dir}/config.toml", _socket(runtime)
    )


def _socket(runtime: str) -> str:
    path = f"{runtime}/mdmem.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_BYTES:
        return path
    # A short name that every process of this person works out alike; its folder is made 0700 by the daemon.
    import hashlib

    digest = hashlib.sha256(os.fsencode(runtime)).hexdigest()[:16]
    return f"/tmp/mdmem-{os.getuid()}-{digest}/mdmem.sock"  # noqa: S108  # TMPDIR may itself be too long


def environment(prefix: str = "MDMEM_") -> dict[str, str]:
    """The settings among the environment's variables, without the prefix."""
    return {k[len(prefix) :]: v for k, v in os.environ.items() if k.startswith(prefix) and k != "MDMEM_HOME"}


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


def secret(name: str) -> str | None:
    """The value of a variable that the config names (`api_key_env`); None when unset or empty."""
    return os.environ.get(name, "").strip() or None


def editor() -> str | None:
    """The person's editor command line, or None."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or None


def wants_no_color() -> bool:
    """NO_COLOR is set and not empty (no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))
