"""The environment in, the places where mdmem keeps things out. Makes nothing, reads no file.

Agents' hooks come through here each turn: even `typing` and `mdmem.errors` would be felt, and are not imported.
"""

from __future__ import annotations

import os
import sys

MAX_SOCKET_BYTES = 100  # sun_path holds 108 bytes on Linux and 104 on macOS, with the closing NUL


class Paths:
    """Absolute paths as text. Folders may not exist yet; see `files.private_folder`."""

    __slots__ = ("config_file", "data", "runtime", "socket", "state")

    def __init__(self, data: str, state: str, runtime: str, config_file: str, socket: str) -> None:
        self.data = data
        self.state = state
        self.runtime = runtime
        self.config_file = config_file
        self.socket = socket

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
    def mcp_socket(self) -> str:
        return f"{os.path.dirname(self.socket)}/mcp.sock"

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
    root = _home()
    if root:
        runtime = f"{root}/run"
        return Paths(root, f"{root}/state", runtime, f"{root}/config.toml", _socket(runtime))
    return _platform_paths()


def likely_socket() -> str | None:
    """Where the daemon's socket is, on most machines, without asking platformdirs; None where that can't be said. Who
    finds no daemon there has to ask `find_paths`.
    """
    root = _home()
    if root:
        return _socket(f"{root}/run")
    usual = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/state"
    state = os.environ.get("XDG_STATE_HOME", "").strip() or os.path.expanduser(usual)
    return _socket(f"{state}/mdmem/run") if os.path.isabs(state) else None


def is_own(socket: str) -> bool:
    """Whether a socket's folder is this user's, or not there. One in /tmp could be made by anybody, in advance: what is
    sent there would be theirs to read, and their answer taken for ours.
    """
    try:
        return os.lstat(os.path.dirname(socket)).st_uid in (os.getuid(), 0)
    except OSError:
        return True  # nothing is there: nobody will answer


def _home() -> str | None:
    home = os.environ.get("MDMEM_HOME", "").strip()
    return os.path.abspath(os.path.expanduser(home)) if home else None


def _platform_paths() -> Paths:
    import platformdirs

    if not os.path.isabs(os.path.expanduser("~")):
        from mdmem.errors import ConfigError

        raise ConfigError("no home folder is known", hint="set HOME, or MDMEM_HOME to a folder for mdmem")
    dirs = platformdirs.PlatformDirs("mdmem", appauthor=False)
    # Not the platform's runtime folder: which one that is depends on XDG_RUNTIME_DIR and TMPDIR, which cron, containers
    # and agents' sandboxes leave out or change, and it is a user's, not a home's. Whoever has this state has to meet
    # this daemon, and nobody else.
    state = dirs.user_state_dir
    runtime = f"{state}/run"
    return Paths(dirs.user_data_dir, state, runtime, f"{dirs.user_config_dir}/config.toml", _socket(runtime))


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


def calling() -> tuple[str | None, str | None]:
    """Which agent a program was started for, and the folder it works in, where variables say so."""
    said = environment()
    return said.get("AGENT", "").strip() or None, said.get("CWD", "").strip() or None


def secret(name: str) -> str | None:
    """The value of a variable that the config names (`api_key_env`); None when unset or empty."""
    return os.environ.get(name, "").strip() or None


def editor() -> str | None:
    """The person's editor command line, or None."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or None


def wants_no_color() -> bool:
    """NO_COLOR is set and not empty (no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


# What moves the folder in which an agent keeps its logs, what is below it, and where it is else.
_LOG_ROOTS = {
    "claude-code": [("CLAUDE_CONFIG_DIR", "", "~/.claude")],
    "codex": [("CODEX_HOME", "", "~/.codex")],
    "gemini-cli": [("GEMINI_CLI_HOME", ".gemini", "~/.gemini")],
    "opencode": [("XDG_DATA_HOME", "opencode", "~/.local/share/opencode")],
    "cursor": [("CURSOR_CONFIG_DIR", "", "~/.cursor"), ("CURSOR_DATA_DIR", "", "~/.cursor")],
    "copilot-cli": [("COPILOT_HOME", "", "~/.copilot")],
    "goose": [("GOOSE_PATH_ROOT", "data", ""), ("XDG_DATA_HOME", "goose", "~/.local/share/goose")],
    "qwen-code": [("QWEN_RUNTIME_DIR", "", "~/.qwen")],
    "openclaw": [("OPENCLAW_STATE_DIR", "", "~/.openclaw")],
    "pi": [("PI_CODING_AGENT_DIR", "", "~/.pi/agent")],
}
_LOG_FILES = {"opencode": "OPENCODE_DB", "aider": "AIDER_CHAT_HISTORY_FILE"}


def log_roots() -> dict[str, list[str]]:
    """Agent -> the folders (or single files) in which it may keep its activity logs; none need exist."""
    roots: dict[str, list[str]] = {}
    for agent, known in _LOG_ROOTS.items():
        for variable, below, usual in known:
            moved = os.environ.get(variable, "").strip()
            root = os.path.join(moved, below) if moved else usual
            if root:
                roots.setdefault(agent, []).append(os.path.abspath(os.path.expanduser(root.rstrip("/"))))
    for agent, variable in _LOG_FILES.items():
        named = os.environ.get(variable, "").strip()
        if named and os.path.isabs(os.path.expanduser(named)):
            roots.setdefault(agent, []).append(os.path.expanduser(named))
    return {agent: list(dict.fromkeys(found)) for agent, found in roots.items()}
