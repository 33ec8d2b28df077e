"""Goose's config.yaml in, the same file with mdmem's extension put in or taken out, out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import yaml

from mdmem.agents.own import NAME, is_server
from mdmem.errors import ConfigError

_KEY = "extensions"
_HINT = "mend it by hand, then run this again; nothing was written to it"


@dataclass(frozen=True, slots=True)
class YamlExtension:
    """The entry `mdmem` of the mapping `extensions`: whole lines of block style, and no other line is touched."""

    command: str

    def put(self, data: bytes | None) -> bytes:
        """The file with the entry. ConfigError where the name is another program's, or there is no place for lines."""
        text, values = _read(data or b"")
        extensions = values.get(_KEY) or {}
        if NAME in extensions:  # with nothing behind it, too
            entry = extensions[NAME]
            if not _is_ours(entry):
                raise _unusable(f"another extension has the name {NAME!r}", _line_of(text))
            if entry.get("cmd") == self.command:
                return text.encode()
            return self._checked(values, self._exchanged(text))
        return self._checked(values, self._inserted(text, extensions))

    def _entry(self) -> dict[str, Any]:
        timeout_s = 30
        return {
            "enabled": True,
            "type": "stdio",
            "name": NAME,
            "cmd": self.command,
            "args": ["mcp"],
            "timeout": timeout_s,
        }

    def _inserted(self, text: str, extensions: Any) -> str:  # noqa: ANN401  # of a file that others wrote
        newline = "\r\n" if "\r\n" in text else "\n"
        key, value = _node_of(text)
        if key is None:
            gap = "" if not text or text.endswith("\n") else newline
            return text + gap + newline.join([f"{_KEY}:", *self._lines("  ")]) + newline
        lines = text.splitlines(keepends=True)
        at = key.start_mark.line
        if not lines[at].endswith("\n"):
            lines[at] += newline
        if isinstance(value, yaml.MappingNode) and not value.flow_style:
            indent = " " * value.value[0][0].start_mark.column
        elif extensions:
            raise _unusable(
                f"`{_KEY}` is written in one line", at + 1, "write it as a block, one extension below another"
            )
        else:  # nothing, `{}` or `null`: a comment behind it stays
            if value.start_mark.line == value.end_mark.line == at:
                kept = lines[at][value.end_mark.column :]
                lines[at] = lines[at][: value.start_mark.column].rstrip() + (kept if kept.strip() else newline)
            indent = " " * key.start_mark.column + "  "
        return "".join([*lines[: at + 1], *(line + newline for line in self._lines(indent)), *lines[at + 1 :]])

    def _lines(self, indent: str) -> list[str]:
        inner = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in self._entry().items()]
        return [f"{indent}{NAME}:", *(f"{indent}  {line}" for line in inner)]

    def _exchanged(self, text: str) -> str:
        """The text with another command in the entry; a person's own lines in it stay."""
        for key, value in _entry_node(text):
            if key.value == "cmd" and value.start_mark.line == value.end_mark.line:
                start, end = value.start_mark.index, value.end_mark.index
                return text[:start] + json.dumps(self.command, ensure_ascii=False) + text[end:]
        raise _unusable(f"the command of `{_KEY}.{NAME}` cannot be found", _line_of(text))

    def _checked(self, before: dict[str, Any], text: str) -> bytes:
        _, after = _read(text.encode())
        _same_beside(before, after)
        if (after.get(_KEY) or {}).get(NAME, {}).get("cmd") != self.command:
            raise _unusable(f"there is no place for `{_KEY}.{NAME}`", _line_of(text))
        return text.encode()

    def drop(self, data: bytes) -> bytes | None:
        """The file without the lines of the entry."""
        text, values = _read(data)
        extensions = values.get(_KEY) or {}
        if NAME not in extensions or not _is_ours(extensions[NAME]):
            return data
        lines = text.splitlines(keepends=True)
        nodes = _entry_node(text)
        first = _line_of(text) - 1
        last = max(_last_line(node) for pair in nodes for node in pair)
        key, _ = _node_of(text)
        if len(extensions) == 1 and key is not None and lines[key.start_mark.line].strip() == f"{_KEY}:":
            first = min(first, key.start_mark.line)
        new = "".join(lines[:first] + lines[last + 1 :])
        _same_beside(values, _read(new.encode())[1])
        return new.encode() if new.strip() else None


def _read(data: bytes) -> tuple[str, dict[str, Any]]:
    try:
        text = data.decode()
        values = yaml.load(text, Loader=yaml.CSafeLoader)  # safe, and the one written in C
    except UnicodeDecodeError as error:
        raise _unusable("it is not UTF-8", data[: error.start].count(b"\n") + 1) from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise _unusable(f"it is not valid YAML: {what}", mark.line + 1 if mark else 1) from error
    if values is None:
        values = {}
    if not isinstance(values, dict) or not isinstance(values.get(_KEY) or {}, dict):
        raise _unusable(f"it has no mapping `{_KEY}`", 1)
    return text, values


def _is_ours(entry: Any) -> bool:  # noqa: ANN401
    args = entry.get("args") if isinstance(entry, dict) else None
    return isinstance(args, list) and is_server([entry.get("cmd"), *args])


def _node_of(text: str) -> tuple[Any, Any]:
    """The nodes of the key `extensions` and of its value."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else []:
        if key.value == _KEY:
            return key, value
    return None, None


def _own_pair(text: str) -> tuple[Any, Any]:
    _, extensions = _node_of(text)
    return next(((key, value) for key, value in extensions.value if key.value == NAME), (None, None))


def _entry_node(text: str) -> list[tuple[Any, Any]]:
    _, extensions = _node_of(text)
    _, entry = _own_pair(text)
    if entry is None or extensions.flow_style:
        raise _unusable(f"`{_KEY}` is written in one line", 1, f"change `{_KEY}.{NAME}` by hand")
    pairs: list[tuple[Any, Any]] = entry.value
    return pairs


def _line_of(text: str) -> int:
    key, _ = _own_pair(text)
    return int(key.start_mark.line) + 1 if key is not None else 1


def _last_line(node: Any) -> int:  # noqa: ANN401  # a YAML node: the end of a block is where the next thing begins
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return int(node.end_mark.line)
    inner = [n for pair in node.value for n in (pair if isinstance(pair, tuple) else (pair,))]
    return max(map(_last_line, inner))


def _same_beside(before: dict[str, Any], after: dict[str, Any]) -> None:
    def beside(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        others = {name: entry for name, entry in (values.get(_KEY) or {}).items() if name != NAME}
        return {key: value for key, value in values.items() if key != _KEY}, others

    if beside(before) != beside(after):
        raise _unusable(f"`{_KEY}.{NAME}` cannot be changed without touching others", 1, "change it by hand")


def _unusable(what: str, line: int, hint: str = _HINT) -> ConfigError:
    """The door adds which file it is."""
    return ConfigError(what, where=str(line), hint=hint)
