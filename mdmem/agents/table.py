"""The agents that mdmem can be connected to: how each is found, what goes into which of its files, what to tell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from mdmem.agents.jsonparts import Hooks, JsonFile, Server
from mdmem.agents.own import NAME, hook_command
from mdmem.agents.tomlpart import TomlServer
from mdmem.agents.wholefile import WholeFile
from mdmem.agents.yamlpart import YamlExtension
from mdmem.config.agents import AgentFolders
from mdmem.errors import RefusedError
from mdmem.outputs.sections import EMPTY_BLOCK, PROJECT_FILES, Section, user_files
from mdmem.scope import project_root

VERSION_LIMIT_S = 10.0
RESTART = "start it anew: it reads its settings and starts MCP servers at the start"


class Part(Protocol):
    """One thing of ours in a file: put in, or taken out (None: then nothing is left). Pure; raises ConfigError."""

    def put(self, data: bytes | None) -> bytes: ...
    def drop(self, data: bytes) -> bytes | None: ...


class Entry(NamedTuple):
    """One thing of ours, and the file it goes to. `within`: that file must really lie there. `add`, `take`: command
    lines of the agent that do it instead of us, where it rewrites the file itself while it runs.
    """

    what: str
    path: str
    part: Part
    within: str | None = None
    add: tuple[str, ...] = ()
    take: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent on this machine. `top`: the folder above which nothing is removed. `commands`: only those whose name no
    other program has (AWS has a `copilot`, a database tool is called `goose`). `off`: settings that switch hooks
    off, by file. `trust`: what a person must do before its hooks run at all.
    """

    name: str
    top: str
    entries: tuple[Entry, ...]
    commands: tuple[str, ...] = ()
    tell: str = RESTART
    trust: str = ""
    off: Mapping[str, tuple[tuple[str, ...], bool]] | None = None

    @property
    def found(self) -> bool:
        """Whether it is on this machine: its folder, or its command."""
        return Path(self.top).is_dir() or any(shutil.which(command) for command in self.commands)


class Where(NamedTuple):
    """What the entries are made from."""

    folders: AgentFolders
    launcher: str
    cwd: str | None


def _handlers(where: Where, agent: str, events: str, **more: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401
    return {
        event: {"type": "command", "command": hook_command(where.launcher, agent, event), **more}
        for event in events.split()
    }


def _stdio(where: Where, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {**more, "command": where.launcher, "args": ["mcp"]}


def _claude(where: Where) -> Agent:
    home, file = where.folders.claude, where.folders.claude_json
    handlers = _handlers(where, "claude-code", "SessionStart UserPromptSubmit PreCompact Stop SessionEnd", timeout=5)
    settings = JsonFile()
    hooks = Entry("hooks", f"{home}/settings.json", Hooks("claude-code", settings, handlers))
    server = Entry("MCP server", file, Server(settings, ["mcpServers"], _stdio(where, type="stdio")))
    claude = shutil.which("claude")
    if claude is not None:  # running clients rewrite that file from what they have in memory
        add = (claude, "mcp", "add", "--scope", "user", NAME, "--", where.launcher, "mcp")
        server = server._replace(add=add, take=(claude, "mcp", "remove", "--scope", "user", NAME))
    off = {f"{home}/settings.json": (("disableAllHooks",), True)}
    tell = "hooks work at once; start a new session for the MCP server"
    return Agent("claude-code", home, (hooks, server), ("claude",), tell=tell, off=off)


def _codex(where: Where) -> Agent:
    home = where.folders.codex
    handlers = _handlers(where, "codex", "SessionStart UserPromptSubmit PreCompact Stop SessionEnd", timeout=5)
    handlers["SessionEnd"]["timeout"] = 3  # the longest that Codex waits there
    return Agent(
        "codex",
        home,
        (
            Entry("hooks", f"{home}/hooks.json", Hooks("codex", JsonFile(), handlers)),
            Entry("MCP server", f"{home}/config.toml", TomlServer(where.launcher)),
        ),
        ("codex",),
        trust="type /hooks in Codex and approve mdmem's: until then Codex skips them without a word",
    )


def _gemini(where: Where) -> Agent:
    path = f"{where.folders.gemini}/settings.json"
    file = JsonFile(comments=True)
    events = "SessionStart BeforeAgent PreCompress AfterAgent SessionEnd"
    return Agent(
        "gemini",
        where.folders.gemini,
        (
            Entry("hooks", path, Hooks("gemini", file, _handlers(where, "gemini", events, timeout=5000))),
            Entry("MCP server", path, Server(file, ["mcpServers"], _stdio(where))),
        ),
        ("gemini",),
        off={path: (("hooksConfig", "enabled"), False)},
    )


def _qwen(where: Where) -> Agent:
    path = f"{where.folders.qwen}/settings.json"
    file = JsonFile(comments=True)
    events = "SessionStart UserPromptSubmit PreCompact Stop SessionEnd"
    # Its versions read the time in milliseconds or in seconds: 10 s in one, and never too soon in the other.
    return Agent(
        "qwen",
        where.folders.qwen,
        (
            Entry("hooks", path, Hooks("qwen", file, _handlers(where, "qwen", events, timeout=10000))),
            Entry("MCP server", path, Server(file, ["mcpServers"], _stdio(where))),
        ),
        ("qwen",),
        off={path: (("disableAllHooks",), True)},
    )


def _cursor(where: Where) -> Agent:
    home = where.folders.cursor
    events = (
        "sessionStart beforeSubmitPrompt preCompact afterAgentResponse stop sessionEnd postToolUse postToolUseFailure"
    )
    handlers = {
        event: {"command": hook_command(where.launcher, "cursor", event), "timeout": 5} for event in events.split()
    }
    hooks = Hooks("cursor", JsonFile(comments=True, skeleton={"version": 1}), handlers, nested=False)
    return Agent(
        "cursor",
        home,
        (
            Entry("hooks", f"{home}/hooks.json", hooks),
            Entry("MCP server", f"{home}/mcp.json", Server(JsonFile(comments=True), ["mcpServers"], _stdio(where))),
        ),
        ("cursor-agent", "cursor"),
        tell="hooks work at once; switch the MCP server `mdmem` on in Cursor's settings if it asks",
    )


def _copilot(where: Where) -> Agent:
    home = where.folders.copilot
    events = "sessionStart userPromptSubmitted preCompact agentStop sessionEnd"
    handlers = {
        event: {"type": "command", "bash": hook_command(where.launcher, "copilot", event), "timeoutSec": 5}
        for event in events.split()
    }
    hooks = Hooks("copilot", JsonFile(comments=True, skeleton={"version": 1}), handlers, nested=False)
    server = Server(JsonFile(comments=True), ["mcpServers"], _stdio(where, type="local") | {"tools": ["*"]})
    return Agent(
        "copilot",
        home,
        (Entry("hooks", f"{home}/hooks/mdmem.json", hooks), Entry("MCP server", f"{home}/mcp-config.json", server)),
    )


def _goose(where: Where) -> Agent:
    plugin = f"{where.folders.plugins}/mdmem"
    manifest = {"name": NAME, "version": "1.0.0", "description": "Memory kept as markdown files, by mdmem"}
    events = "SessionStart UserPromptSubmit Stop SessionEnd"
    hooks = Hooks("goose", JsonFile(), _handlers(where, "goose", events, timeout=5))
    whole = WholeFile((json.dumps(manifest, indent=2) + "\n").encode(), b'"name": "mdmem"')
    config = where.folders.goose
    return Agent(
        "goose",
        config,
        (
            Entry("plugin", f"{plugin}/plugin.json", whole),
            Entry("hooks", f"{plugin}/hooks/hooks.json", hooks),
            Entry("MCP server", f"{config}/config.yaml", YamlExtension(where.launcher)),
            Entry("instructions", user_files(where.folders)[0], Section(EMPTY_BLOCK)),
        ),
    )


def _opencode(where: Where) -> Agent:
    home = where.folders.opencode
    config = next(
        (path for path in (f"{home}/opencode.jsonc", f"{home}/opencode.json") if Path(path).exists()),
        f"{home}/opencode.json",
    )
    source = (Path(__file__).parent / "opencode.js").read_text("utf-8")
    source = source.replace('"@LAUNCHER@"', json.dumps(where.launcher, ensure_ascii=False))
    plugin = WholeFile(source.encode(), b"// Written by `mdmem connect opencode`")
    first: dict[str, Any] = {"type": "local", "command": [where.launcher, "mcp"]}
    file, newer, older = JsonFile(comments=True), ("mcp", "servers"), ("mcp",)
    server = Server(file, older, {**first, "enabled": True}, elsewhere=newer)
    if _major("opencode") >= 2:
        server = Server(file, newer, first, elsewhere=older)
    entries = (Entry("plugin", f"{home}/plugin/mdmem.js", plugin), Entry("MCP server", config, server))
    return Agent("opencode", home, entries, ("opencode",))


def _major(command: str) -> int:
    """The first number of an agent's version; 0 where it does not say."""
    path = shutil.which(command)
    if path is None:
        return 0
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=VERSION_LIMIT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return 0
    number = done.stdout.strip().removeprefix(b"v").partition(b".")[0]
    return int(number) if number.isdigit() else 0


def _instructions(name: str, file: str) -> Callable[[Where], Agent]:
    def make(where: Where) -> Agent:
        here = os.path.realpath(where.cwd or "/")
        root = project_root(here) or here
        if root in ("/", os.path.realpath(os.path.expanduser("~"))):
            raise RefusedError(f"there is no project here to hold {file}", where=root, hint="go into a project first")
        entry = Entry("instructions", f"{root}/{file}", Section(EMPTY_BLOCK), within=root)
        return Agent(
            name, root, (entry,), tell=f"commit {file} if others shall have it: it holds project memories alone"
        )

    return make


def _name(file: str) -> str:
    return file.lower().replace(".", "-")


AGENTS: dict[str, Callable[[Where], Agent]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "cursor": _cursor,
    "copilot": _copilot,
    "qwen": _qwen,
    "goose": _goose,
}
# Files of a project: only where they are named.
INSTRUCTIONS: dict[str, Callable[[Where], Agent]] = {
    _name(file): _instructions(_name(file), file) for file in PROJECT_FILES
}
