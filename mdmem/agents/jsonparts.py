"""A JSON settings file of an agent in, the same file with mdmem's hooks or MCP server put in or taken out, out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mdmem.agents import jsontext
from mdmem.agents.jsontext import Node
from mdmem.agents.own import NAME, is_hook, is_server, renewed
from mdmem.errors import ConfigError

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class JsonFile:
    """How an agent reads one of its JSON files. `skeleton`: what it holds beside ours when we make it."""

    comments: bool = False
    skeleton: Mapping[str, Any] | None = None

    def text(self, data: bytes | None) -> str:
        """Its text; that of a new file where there is none. ConfigError, with a line, where it is no JSON object."""
        if data is None or not data.strip(b"\xef\xbb\xbf \t\r\n"):
            return json.dumps(self.skeleton or {}, indent=2) + "\n"
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise _unusable("it is not UTF-8", data[: error.start].count(b"\n") + 1) from error
        root = self.root(text)
        if not isinstance(root.value, dict):
            raise _wrong(text, root, "it holds no JSON object")
        return text

    def root(self, text: str) -> Node:
        """The tree of its text, with the places in that text."""
        bom = text.startswith(_BOM)
        try:  # a blank in its place keeps all places as they are
            return jsontext.parse(" " + text[1:] if bom else text, comments=self.comments)
        except jsontext.JsonTextError as error:
            raise _unusable(f"it is not valid JSON: {error}", _line(text, error.offset)) from error
        except RecursionError as error:
            raise _unusable("it is nested too deeply", 1) from error

    def left(self, data: bytes, before: str, after: str) -> bytes | None:
        """What is left of a file from which ours was taken; None when that is nothing, comments included."""
        if before == after:
            return data
        bare = self.root(after).value == (self.skeleton or {}) and not jsontext.has_comments(after)
        return None if bare else after.encode()


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of one agent: `handlers` by event. `nested`: each in a group with a list of handlers."""

    agent: str
    file: JsonFile
    handlers: Mapping[str, Mapping[str, Any]]
    nested: bool = True

    def put(self, data: bytes | None) -> bytes:
        """The file with each hook once, and no other of ours. Raises ConfigError where it has another shape."""
        text = self.file.text(data)
        for key, value in (self.file.skeleton or {}).items():
            if self.file.root(text).get(key) is None:
                text = jsontext.insert(text, self.file.root(text), value, key)
        for event, handler in self.handlers.items():
            text = self._put_one(text, event, dict(handler))
        return self._without(text, keep=set(self.handlers)).encode()

    def drop(self, data: bytes) -> bytes | None:
        """The file without our hooks, and without the containers that this leaves empty."""
        text = self.file.text(data)
        return self.file.left(data, text, self._without(text, keep=set()))

    def _put_one(self, text: str, event: str, handler: dict[str, Any]) -> str:
        root, events = self._events(text)
        groups = events.get(event) if events is not None else None
        mine = self._own(groups)
        if groups is not None and len(mine) > 1:
            return self._put_one(self._take(text, groups, *mine[-1]), event, handler)
        if mine:
            own = mine[0][1]
            return text if own.value == handler else jsontext.exchange(text, own, handler)
        entry: Any = {"hooks": [handler]} if self.nested else handler
        if events is None:
            return jsontext.insert(text, root, {event: [entry]}, "hooks")
        if groups is None:
            return jsontext.insert(text, events, [entry], event)
        return jsontext.insert(text, groups, entry)

    def _without(self, text: str, keep: set[str]) -> str:
        """The text without our hooks of events that are not kept: one at a time, as each moves what is behind it."""
        _, events = self._events(text)
        for event in events.children if events is not None else []:
            mine = self._own(event)
            if event.key not in keep and mine:
                return self._without(self._tidy(self._take(text, event, *mine[0]), event.key), keep)
        return text

    def _take(self, text: str, event: Node, group: Node, own: Node) -> str:
        """The text without one hook, and without its group if that holds nothing else."""
        handlers = group.get("hooks") if self.nested else None
        if handlers is None or len(handlers.children) == 1:
            return jsontext.remove(text, event, group)
        return jsontext.remove(text, handlers, own)

    def _tidy(self, text: str, event: str) -> str:
        """Without the list of an event, and the object of all events, that are empty now."""
        _, events = self._events(text)
        groups = events.get(event) if events is not None else None
        if events is not None and groups is not None and not groups.children and not groups.comments:
            text = jsontext.remove(text, events, groups)
        root, events = self._events(text)
        if events is not None and not events.children and not events.comments:
            text = jsontext.remove(text, root, events)
        return text

    def _events(self, text: str) -> tuple[Node, Node | None]:
        """The file's tree and its object of events, every one of which is a list. Raises ConfigError where not so."""
        root = self.file.root(text)
        events = root.get("hooks")
        if events is None:
            return root, None
        if not isinstance(events.value, dict):
            raise _wrong(text, events, "`hooks` is not an object")
        for event in events.children:
            if event.key in self.handlers and not isinstance(event.value, list):
                raise _wrong(text, event, f"`hooks.{event.key}` is not a list")
        return root, events

    def _own(self, event: Node | None) -> list[tuple[Node, Node]]:
        """Our hooks of one event, each with its group; where there are no groups, with itself."""
        if event is None or not isinstance(event.value, list):
            return []
        if not self.nested:
            return [(node, node) for node in event.children if is_hook(node.value, self.agent)]
        found = []
        for group in event.children:
            handlers = group.get("hooks")
            if handlers is not None and isinstance(handlers.value, list):
                found += [(group, node) for node in handlers.children if is_hook(node.value, self.agent)]
        return found


@dataclass(frozen=True, slots=True)
class Server:
    """The MCP server's entry in the object at `path`; `elsewhere`: where another version of the agent has it."""

    file: JsonFile
    path: Sequence[str]
    entry: Mapping[str, Any]
    elsewhere: Sequence[str] | None = None

    def put(self, data: bytes | None) -> bytes:
        """The file with the entry; what a person added to it stays. ConfigError where the name is another program's."""
        text = self.file.text(data)
        if self.elsewhere is not None:
            text = self._taken(text, self.elsewhere)
        names = [*self.path, NAME]
        for depth, name in enumerate(names):
            outer = self._servers(text, self.path[:depth])
            if outer is not None and outer.get(name) is None:
                value: Any = dict(self.entry)
                for inner in reversed(names[depth + 1 :]):
                    value = {inner: value}
                return jsontext.insert(text, outer, value, name).encode()
        for key in ("command", "args"):
            servers = self._servers(text, self.path)
            entry = servers.get(NAME) if servers is not None else None
            if entry is None or not _is_ours(entry.value):
                raise _wrong(text, entry or self.file.root(text), f"another MCP server has the name {NAME!r}")
            node = entry.get(key)
            if node is not None and node.value != (new := renewed(node.value, self.entry.get(key))):
                text = jsontext.exchange(text, node, new)
        return text.encode()

    def drop(self, data: bytes) -> bytes | None:
        """The file without the entry, and without the containers that this leaves empty."""
        before = self.file.text(data)
        text = self._taken(before, self.path)
        if self.elsewhere is not None:
            text = self._taken(text, self.elsewhere)
        return self.file.left(data, before, text)

    def _taken(self, text: str, path: Sequence[str]) -> str:
        servers = self._servers(text, path)
        entry = servers.get(NAME) if servers is not None else None
        if servers is None or entry is None or not _is_ours(entry.value):
            return text
        text = jsontext.remove(text, servers, entry)
        for depth in range(len(path) - 1, -1, -1):
            outer = self._servers(text, path[:depth])
            inner = outer.get(path[depth]) if outer is not None else None
            if outer is not None and inner is not None and not inner.children and not inner.comments:
                text = jsontext.remove(text, outer, inner)
        return text

    def _servers(self, text: str, path: Sequence[str]) -> Node | None:
        node: Node | None = self.file.root(text)
        for name in path:
            node = node.get(name) if node is not None else None
            if node is not None and not isinstance(node.value, dict):
                raise _wrong(text, node, f"`{'.'.join(path)}` is not an object")
        return node


def _is_ours(entry: Any) -> bool:  # noqa: ANN401  # of a file that others wrote
    if not isinstance(entry, dict):
        return False
    command, args = entry.get("command"), entry.get("args", [])
    words = command if isinstance(command, list) else [command, *args] if isinstance(args, list) else []
    return is_server(words)


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _wrong(text: str, node: Node, what: str) -> ConfigError:
    return _unusable(what, _line(text, node.first))


def _unusable(what: str, line: int) -> ConfigError:
    """The door adds which file it is; the line stands before the words."""
    return ConfigError(what, where=str(line), hint="mend it by hand, then run this again; nothing was written to it")
