"""The answer of `graph` in; a tree for a terminal, or a Mermaid diagram, out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mdmem.outputs.text import Paint, clean, plain

Graph = dict[str, Any]

# What a Mermaid label may hold as it is: all else, quotes and brackets among it, is written as a number.
_UNSAFE = re.compile(r"[^\w .:/-]")


def tree_lines(graph: Graph, *, paint: Paint = plain) -> Iterator[str]:
    """The memory asked for, and below each memory what was first reached from it; what stands elsewhere is only
    pointed back to.
    """
    yield from _branch(_Tree(graph), graph["nodes"][0]["path"], "", paint)


class _Tree:
    """Which memory stands below which. Each pair that is joined is told once, below the one that was reached first."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = {node["path"]: node for node in graph["nodes"]}
        self.below: dict[str, dict[str, list[str]]] = {path: {} for path in self.nodes}  # -> other -> what joins them
        self.missing: dict[str, list[tuple[str, str]]] = {path: [] for path in self.nodes}  # -> (target, kind)
        self.parent: dict[str, str] = {}
        places = {path: n for n, path in enumerate(self.nodes)}
        for edge in graph["edges"]:
            if edge["missing"]:
                self.missing[edge["from"]].append((edge["via"], edge["kind"]))
                continue
            upper, lower = sorted((edge["from"], edge["to"]), key=places.__getitem__)
            self.below[upper].setdefault(lower, []).append(_word(edge, upper))
        for path in self.nodes:
            for other in self.below[path]:
                self.parent.setdefault(other, path)


def _branch(tree: _Tree, path: str, indent: str, paint: Paint) -> Iterator[str]:
    if not indent:
        yield _label(tree.nodes[path], paint)
    others, lost = tree.below[path], tree.missing[path]
    for n, (other, words) in enumerate(others.items(), 1):
        last = n == len(others) + len(lost)
        back = "" if tree.parent[other] == path else "  " + paint("^ see there", "dim")
        joined = paint(", ".join(dict.fromkeys(words)), "dim")
        yield f"{indent}{_fork(last)}{_label(tree.nodes[other], paint)}  {joined}{back}"
        if not back:
            yield from _branch(tree, other, indent + ("   " if last else "│  "), paint)
    for n, (target, kind) in enumerate(lost, 1):
        missing = paint("[missing]", "warn")
        yield f"{indent}{_fork(n == len(lost))}{clean(target)}  {paint(f'→ {kind}', 'dim')}  {missing}"


def _fork(last: bool) -> str:
    return "└─ " if last else "├─ "


def _label(node: dict[str, Any], paint: Paint) -> str:
    scope = f"{node['scope']}:{node['scope_ref']}" if node["scope_ref"] else node["scope"]
    facts = paint(f"{clean(node['type'])} · {clean(scope)}", "dim")
    label = f"{paint(clean(node['key']), 'key')}  {facts}"
    return label + ("  " + paint(f"[{clean(node['invalid'])}]", "warn") if node["invalid"] else "")


def _word(edge: dict[str, Any], upper: str) -> str:
    """What joins two memories, as seen from the one above."""
    if edge["kind"] == "entity":
        return f"about {clean(edge['via'])}"
    if edge["kind"] == "turn":
        return "same turn"
    return f"{'→' if edge['from'] == upper else '←'} {edge['kind']}"


def mermaid_lines(graph: Graph) -> Iterator[str]:
    """A Mermaid diagram: arrows for what one memory says of another, lines for what two share."""
    ids = {node["path"]: f"n{n}" for n, node in enumerate(graph["nodes"])}
    yield "graph LR"
    for node in graph["nodes"]:
        ended = f" ({node['invalid']})" if node["invalid"] else ""
        yield f'  {ids[node["path"]]}["{_quoted(node["key"])} · {_quoted(node["type"] + ended)}"]'
    lost = list(dict.fromkeys(edge["via"] for edge in graph["edges"] if edge["missing"]))
    lost_ids = {target: f"n{n}" for n, target in enumerate(lost, len(ids))}
    yield from (f'  {lost_ids[target]}["{_quoted(target)} #40;missing#41;"]' for target in lost)
    for edge in graph["edges"]:
        end = lost_ids[edge["via"]] if edge["missing"] else ids[edge["to"]]
        shared = edge["kind"] in ("turn", "entity")
        word = f"about {edge['via']}" if edge["kind"] == "entity" else edge["kind"]
        line = "---" if shared else "-.->" if edge["missing"] else "-->"
        yield f'  {ids[edge["from"]]} {line}|"{_quoted(word)}"| {end}'


def _quoted(text: str) -> str:
    """Text as it may stand between quotes: a label can neither end there nor run anything."""
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", clean(text))
