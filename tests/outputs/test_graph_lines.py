"""A graph as a tree and as Mermaid: each memory once, and no text can break out of its place."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mdmem.outputs.graph import mermaid_lines, tree_lines


def node(key: str, **more: Any) -> dict[str, Any]:
    usual = {"scope": "user", "scope_ref": None, "name": key, "type": "fact", "invalid": None}
    return {"key": key, "path": f"/{key}.md", **usual, **more}


def edge(start: str, end: str | None, kind: str = "link", via: str = "x") -> dict[str, Any]:
    to = None if end is None else f"/{end}.md"
    return {"from": f"/{start}.md", "to": to, "kind": kind, "via": via, "missing": end is None}


def test_each_memory_stands_once_with_what_joins_it_and_is_pointed_back_to_elsewhere() -> None:
    graph = {
        "key": "a",
        "nodes": [
            node("a", type="rule"),
            node("b", invalid="archived"),
            node("c", scope="agent", scope_ref="bob"),
            node("d"),
        ],
        "edges": [
            edge("a", "b", "supersedes"),
            edge("b", "a"),
            edge("a", "c", "entity", "aws"),
            edge("d", "b"),
            edge("c", "d", "turn"),
            edge("c", "b", "derived_from"),
            edge("a", None, "link", "gone"),
        ],
    }

    assert list(tree_lines(graph)) == [
        "a  rule · user",
        "├─ b  fact · user  [archived]  → supersedes, ← link",
        "│  ├─ d  fact · user  ← link",
        "│  └─ c  fact · agent:bob  ← derived_from  ^ see there",
        "├─ c  fact · agent:bob  about aws",
        "│  └─ d  fact · user  same turn  ^ see there",
        "└─ gone  → link  [missing]",
    ]


def test_a_diagram_names_nodes_and_draws_arrows_lines_and_what_is_missing() -> None:
    graph = {
        "key": "a",
        "nodes": [node('say "a"'), node("b", invalid="archived")],
        "edges": [
            {**edge("b", "b"), "from": '/say "a".md'},
            edge("b", "b", "entity", "c++"),
            {**edge("b", None, via="go]ne")},
        ],
    }

    assert list(mermaid_lines(graph)) == [
        "graph LR",
        '  n0["say #34;a#34; · fact"]',
        '  n1["b · fact #40;archived#41;"]',
        '  n2["go#93;ne #40;missing#41;"]',
        '  n0 -->|"link"| n1',
        '  n1 ---|"about c#43;#43;"| n1',
        '  n1 -.->|"link"| n2',
    ]


NODE = re.compile(r'  n\d+\["[^"\[\](){}<>|\x00-\x1f]*"\]')
EDGE = re.compile(r'  n\d+ (-->|---|-\.->)\|"[^"\[\](){}<>|\x00-\x1f]*"\| n\d+')
ANY = st.text(st.characters(exclude_categories=[]), max_size=30)


@given(ANY, ANY, ANY)
def test_no_text_breaks_out_of_a_label_or_commands_the_terminal(key: str, kind: str, via: str) -> None:
    graph = {
        "key": key,
        "nodes": [node(key, path="/a.md", type=kind, invalid=via), node("b", scope_ref=key)],
        "edges": [edge("a", "b", "entity", via), edge("b", None, "link", via)],
    }
    first, *rest = mermaid_lines(graph)

    assert first == "graph LR"
    assert len(rest) == 5
    assert all(NODE.fullmatch(line) or EDGE.fullmatch(line) for line in rest)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", "".join(tree_lines(graph)))
