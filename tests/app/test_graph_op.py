"""The request `graph`: what is reached in how many steps, what has ended, what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mdmem.app import Answers
from tests.app.test_answers import ask, refusal
from tests.bed import Bed, memory


def keys(answer: dict[str, Any]) -> list[str]:
    return [node["key"] for node in answer["nodes"]]


def edges(answer: dict[str, Any]) -> list[tuple[str, str | None, str, str]]:
    def stem(path: str | None) -> str | None:
        return Path(path).stem if path else None

    return [(str(stem(e["from"])), stem(e["to"]), e["kind"], e["via"]) for e in answer["edges"]]


def test_memories_are_reached_step_by_step_and_each_once(bed: Bed, here: Answers) -> None:
    for start, end in ("ab", "bc", "cd", "da", "de"):
        bed.put(f"{start}.md", f"[[{end}]]") if start != "d" else bed.put("d.md", "[[a]] [[e]]")
    bed.put("e.md", "[[far]]")
    bed.put("far.md", "x")
    ask(here, "sync")

    assert keys(ask(here, "graph", key="b", hops=1)) == ["b", "a", "c"]
    assert keys(ask(here, "graph", key="b")) == ["b", "a", "c", "d"]
    whole = ask(here, "graph", key="b", hops=3)
    assert keys(whole) == ["b", "a", "c", "d", "e"]
    assert whole["key"] == "b"
    assert sorted(edges(whole)) == [
        ("a", "b", "link", "b"),
        ("b", "c", "link", "c"),
        ("c", "d", "link", "d"),
        ("d", "a", "link", "a"),
        ("d", "e", "link", "e"),
    ]
    assert {type(e["missing"]) for e in whole["edges"]} == {bool}


def test_what_has_ended_is_left_out_and_leads_nowhere_unless_it_is_asked_for(bed: Bed, here: Answers) -> None:
    bed.put("new.md", memory("new", supersedes="old"))
    bed.put("old.md", "[[beyond]]")
    bed.put("beyond.md", "x")
    bed.put("gone.md", memory("[[beyond]]", status="archived"))
    ask(here, "sync")

    assert keys(ask(here, "graph", key="new")) == ["new"]
    assert ask(here, "graph", key="new")["edges"] == []
    wide = ask(here, "graph", key="new", include_invalid=True)
    assert keys(wide) == ["new", "old", "beyond", "gone"], "old.md and gone.md are both about `beyond`"
    assert [node["invalid"] for node in wide["nodes"]] == [None, "superseded by new", None, "archived"]
    ended = ask(here, "graph", key="old")
    assert ended["nodes"][0]["invalid"] == "superseded by new"
    assert keys(ended) == ["old", "new", "beyond"], "gone.md has ended too, and was not asked for"


def test_a_link_to_nothing_is_shown_as_missing(bed: Bed, here: Answers) -> None:
    bed.put("a.md", memory("[[b]] [[Nowhere|label]]", derived_from="report.pdf"))
    bed.put("b.md", memory("b", supersedes="lost"))
    ask(here, "sync")
    missing = [edge for edge in ask(here, "graph", key="a")["edges"] if edge["missing"]]

    assert [(Path(e["from"]).stem, e["to"], e["kind"], e["via"]) for e in missing] == [
        ("a", None, "link", "nowhere"),
        ("b", None, "supersedes", "lost"),
    ]


def test_only_the_callers_scopes_are_walked(bed: Bed, here: Answers) -> None:
    bed.put("a.md", "[[secret]]")
    bed.put("secret.md", "[[a]]", Path(bed.app.agents_folder) / "bob")
    ask(here, "sync")

    assert keys(ask(here, "graph", key="a")) == ["a"]
    assert edges(ask(here, "graph", key="a")) == [("a", None, "link", "secret")]
    assert keys(ask(here, "graph", key="a", agent="bob")) == ["a", "secret"]
    assert keys(ask(here, "graph", key="a", agent="bob", scope="user")) == ["a"]


def test_a_key_is_resolved_as_in_show(bed: Bed, here: Answers) -> None:
    bed.put("deploy-a.md", "a")
    bed.put("deploy-b.md", "b")
    ask(here, "sync")

    assert refusal(here, "graph", key="deploy")["exit_code"] == 2
    assert refusal(here, "graph", key="nowhere")["exit_code"] == 3
    assert refusal(here, "graph", key="deploy-a", hops=0)["exit_code"] == 2
    assert keys(ask(here, "graph", key="deploy-a")) == ["deploy-a"]
