"""Codex's config.toml in, the same file with mdmem's MCP server put in or taken out, out."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mdmem.agents.own import NAME, is_server, renewed
from mdmem.errors import ConfigError

_BOM = "\ufeff"
# Codex gives its servers a few variables only (seen in 0.171): without these ours would serve another home's memories
# than the hooks, which get all of them.
_VARIABLES = ["MDMEM_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"]
_HEADER = re.compile(rf"[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*(?:{NAME}|\"{NAME}\"|'{NAME}')[ \t]*\]")
_ANY_HEADER = re.compile(r"[ \t]*\[")


@dataclass(frozen=True, slots=True)
class TomlServer:
    """The table [mcp_servers.mdmem], appended as text; tomlkit where the person wrote it in another way."""

    command: str

    def put(self, data: bytes | None) -> bytes:
        """The file with the table; what a person added to it stays. ConfigError where the name is another program's."""
        text, values = _read(data)
        entry = _entry(values)
        wanted = {
            "command": self.command,
            "args": renewed((entry or {}).get("args"), ["mcp"]),
            "env_vars": (entry or {}).get("env_vars", _VARIABLES),
        }
        if entry is not None and {key: entry.get(key) for key in wanted} == wanted:
            return text.encode()
        if entry is not None and not _is_ours(entry):
            raise ConfigError(
                f"another MCP server has the name {NAME!r}", where=_line_of_header(text), hint="give it another name"
            )
        new = self._appended(text) if entry is None else None
        if new is None or _values(new) is None:
            new = _by_tomlkit(text, wanted)
        _same_beside(values, new)
        return new.encode()

    def _appended(self, text: str) -> str:
        newline = "\r\n" if "\r\n" in text else "\n"
        lines = [
            f"[mcp_servers.{NAME}]",
            f"command = {json.dumps(self.command, ensure_ascii=False)}",
            'args = ["mcp"]',
            f"env_vars = {json.dumps(_VARIABLES)}",
        ]
        gap = "" if not text.strip(_BOM) else newline if text.endswith("\n") else newline * 2
        return text + gap + newline.join(lines) + newline

    def drop(self, data: bytes) -> bytes | None:
        """The file without the table."""
        text, values = _read(data)
        entry = _entry(values)
        if entry is None or not _is_ours(entry):
            return data
        cuts = (new for new in _cuts(text) if _is_only_ours_gone(values, new))
        new = next(cuts, None) or _by_tomlkit(text, None)
        _same_beside(values, new)
        return new.encode() if new.strip() else None


def _read(data: bytes | None) -> tuple[str, dict[str, Any]]:
    try:
        text = (data or b"").decode()
        return text, tomllib.loads(text.removeprefix(_BOM))
    except UnicodeDecodeError as error:
        line = (data or b"")[: error.start].count(b"\n") + 1
        raise ConfigError("it is not UTF-8", where=str(line), hint="mend it by hand, then run this again") from error
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        raise ConfigError(
            f"it is not valid TOML: {error}", where=at[1] if at else None, hint="mend it by hand, then run this again"
        ) from error
    except RecursionError as error:
        raise ConfigError("it is nested too deeply", where="1", hint="mend it by hand, then run this again") from error


def _entry(values: dict[str, Any]) -> dict[str, Any] | None:
    servers = values.get("mcp_servers", {})
    entry = servers.get(NAME) if isinstance(servers, dict) else None
    if not isinstance(servers, dict) or not (entry is None or isinstance(entry, dict)):
        raise ConfigError("`mcp_servers` is not a table of tables", hint="mend it by hand, then run this again")
    return entry


def _is_ours(entry: dict[str, Any]) -> bool:
    args = entry.get("args", [])
    return isinstance(args, list) and is_server([entry.get("command"), *args])


def _cuts(text: str) -> Iterator[str]:
    """The text without the lines of the table and the empty one above: one for each place that looks like it.

    A line in a multi-line string may look like a header: the caller compares the values.
    """
    lines = text.splitlines(keepends=True)
    for start in (n for n, line in enumerate(lines) if _HEADER.match(line)):
        end = next((n for n in range(start + 1, len(lines)) if _ANY_HEADER.match(lines[n])), len(lines))
        while end > start + 1 and lines[end - 1].lstrip()[:1] in ("", "#"):
            end -= 1  # empty lines and comments above the next table are that table's
        first = start - 1 if start > 0 and lines[start - 1].strip() == "" else start
        yield "".join(lines[:first] + lines[end:])


def _is_only_ours_gone(before: dict[str, Any], text: str) -> bool:
    after = _values(text)
    return after is not None and NAME not in after.get("mcp_servers", {}) and _beside(after) == _beside(before)


def _by_tomlkit(text: str, wanted: dict[str, Any] | None) -> str:
    import tomlkit

    document: Any = tomlkit.parse(text.removeprefix(_BOM))
    servers = document["mcp_servers"]
    if wanted is None:
        del servers[NAME]
    elif NAME in servers:
        servers[NAME].update(wanted)
    else:
        servers[NAME] = tomlkit.inline_table()
        servers[NAME].update(wanted)
    return (_BOM if text.startswith(_BOM) else "") + tomlkit.dumps(document)


def _values(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError:
        return None


def _same_beside(before: dict[str, Any], text: str) -> None:
    """Nothing but our table may have changed."""
    after = _values(text)
    if after is None or _beside(after) != _beside(before):
        raise ConfigError(
            f"the table [mcp_servers.{NAME}] cannot be changed without touching others",
            where=_line_of_header(text),
            hint="change it by hand: docs/agents.md shows it",
        )


def _beside(values: dict[str, Any]) -> dict[str, Any]:
    servers = {name: entry for name, entry in values.get("mcp_servers", {}).items() if name != NAME}
    return {key: value for key, value in values.items() if key != "mcp_servers"} | {"mcp_servers": servers}


def _line_of_header(text: str) -> str | None:
    lines = text.splitlines()
    return next((str(n) for n, line in enumerate(lines, 1) if _HEADER.match(line)), None)
