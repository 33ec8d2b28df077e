"""Every command: where its code lies and its line in `mdmem --help`. Plain data, so that help imports no room."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command of the table: its group in the help, its module in mdmem.cli, and its one line."""

    group: str
    module: str
    help: str


GROUPS = {
    "start": "Start",
    "write": "Write",
    "find": "Find",
    "learn": "Learn",
    "connect": "Connect",
    "keep": "Keep",
    "inside": "Look inside",
}

COMMANDS: dict[str, Entry] = {
    "init": Entry("start", "scopes", "Give a project a folder for memories, and trust it."),
    "up": Entry("start", "start", "Start the daemon in the background."),
    "down": Entry("start", "start", "Stop the daemon."),
    "daemon": Entry("start", "start", "Run the daemon in the foreground."),
    "service": Entry("start", "service", "Have systemd or launchd run the daemon."),
    "status": Entry("start", "status", "Show what is watched, indexed, and wrong."),
    "doctor": Entry("start", "doctor", "Check this machine and say how to mend it."),
    "add": Entry("write", "write", "Write a new memory."),
    "edit": Entry("write", "write", "Change a memory in your editor, or one field of it."),
    "archive": Entry("write", "write", "End memories without deleting them."),
    "restore": Entry("write", "write", "Take memories back out of the archive."),
    "move": Entry("write", "write", "Move memories to another scope."),
    "search": Entry("find", "find", "Find memories by words, meaning and time."),
    "show": Entry("find", "find", "Show one memory."),
    "list": Entry("find", "find", "List memories."),
    "graph": Entry("find", "graph", "Show what a memory is joined to."),
    "inject": Entry("find", "inject", "Print what an agent is told of memory this turn."),
    "review": Entry("learn", "review", "Decide about proposed memories."),
    "verify": Entry("learn", "verify", "Check memories by their probes."),
    "harvest": Entry("learn", "harvest", "Learn from the past: read agents' activity logs."),
    "hook": Entry("connect", "hook", "Answer a hook of an agent (agents run this)."),
    "mcp": Entry("connect", "mcp", "Serve memory to an agent over MCP, on standard input and output."),
    "connect": Entry("connect", "connect", "Connect coding agents: hooks, MCP server, instructions."),
    "disconnect": Entry("connect", "connect", "Take out what connect put in."),
    "check": Entry("keep", "check", "Look for mistakes in memory files; for pre-commit and CI."),
    "sync": Entry("keep", "keep", "Wait until the index has everything that is on disk."),
    "reindex": Entry("keep", "keep", "Make the index anew from the files."),
    "trust": Entry("keep", "scopes", "Let a project's memories be read here."),
    "untrust": Entry("keep", "scopes", "Take a project's memories out of the index."),
    "config": Entry("keep", "config", "Show and change the settings."),
    "completion": Entry("keep", "completion", "Print a script that completes commands in your shell."),
    "debug": Entry("inside", "debug", "See what each step makes of a file or a query; changes nothing."),
}
