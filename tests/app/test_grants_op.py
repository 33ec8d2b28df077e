"""Grants where they bite: what an agent is not shown, by any request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mdmem.app import Answers, Local
from tests.app.test_answers import ask, names, refusal
from tests.bed import Bed, memory


@pytest.fixture
def here(bed: Bed) -> Iterator[Answers]:
    bed.close()
    (bed.root / "config.toml").write_text('[recall.grants.bot]\nBilling = "none"\nops = "read"\n')
    bed.app.reload_settings()
    with Local(bed.app) as local:
        yield Answers(local)
    bed.store = type(bed.store)(bed.app)


def test_a_domain_granted_none_is_hidden_from_search_list_show_find_and_graph(bed: Bed, here: Answers) -> None:
    bed.put("secret.md", memory("payment words [[open]]", domain="billing", key="pay:card"))
    bed.put("open.md", memory("payment words [[pay:card]]", domain="ops"))
    bed.put("plain.md", "payment words [[pay:card]]")
    ask(here, "sync")

    def seen(agent: str | None) -> list[list[str]]:
        return [
            sorted(names(ask(here, "search", query="payment words", mode="keyword", agent=agent))),
            names(ask(here, "search", query="pay:card", agent=agent))[:1],
            names(ask(here, "list", agent=agent)),
            names(ask(here, "list", agent=agent, domain="billing")),
            [Path(node["path"]).name for node in ask(here, "graph", key="open", hops=1, agent=agent)["nodes"]],
        ]

    every = ["open.md", "plain.md", "secret.md"]
    assert seen(None) == [every, ["secret.md"], every, ["secret.md"], ["open.md", "secret.md", "plain.md"]]
    assert seen("other") == seen(None)
    found, exact, listed, of_domain, joined = seen("bot")
    assert (found, listed, of_domain, joined) == (every[:2], every[:2], [], ["open.md", "plain.md"])
    assert exact != ["secret.md"]
    for op in ("show", "find", "graph"):
        for key in ("pay:card", "secret.md", str(bed.folder / "secret.md"), "secr"):
            assert refusal(here, op, key=key, agent="bot")["exit_code"] == 3, (op, key)
            assert ask(here, op, key=key)


def test_a_hidden_memory_makes_no_key_ambiguous(bed: Bed, here: Answers) -> None:
    bed.put("deploy-a.md", memory("a", domain="BILLING"))
    bed.put("deploy-b.md", "b")
    ask(here, "sync")

    assert refusal(here, "show", key="deploy")["exit_code"] == 2
    assert ask(here, "show", key="deploy", agent="bot")["memory"]["key"] == "deploy-b"


def test_a_hidden_memory_leads_nowhere_and_is_not_called_missing(bed: Bed, here: Answers) -> None:
    bed.put("a.md", memory("[[b]]", entities="[e]"))
    bed.put("b.md", memory("[[c]]", domain="billing", entities="[e]"))
    bed.put("c.md", "c")
    ask(here, "sync")
    answer = ask(here, "graph", key="a", hops=3, agent="bot")

    assert ([node["key"] for node in answer["nodes"]], answer["edges"]) == (["a"], [])
    assert len(ask(here, "graph", key="a", hops=3)["nodes"]) == 3


@pytest.mark.parametrize("written", ["caf\u00e9", "cafe\u0301", "CAFE\u0301", "'  Caf\u00e9 '"])
def test_a_domain_is_hidden_however_its_accents_are_spelled(bed: Bed, here: Answers, written: str) -> None:
    (bed.root / "config.toml").write_text('[recall.grants.bot]\n"caf\u00e9" = "none"\n')
    here.app.reload_settings()
    bed.put("rule.md", memory("Payment words for [[open]].", type="rule", domain=written))
    bed.put("fact.md", memory("Payment words for [[open]].", domain=written))
    bed.put("open.md", "Words.")
    ask(here, "sync")

    assert names(ask(here, "search", query="payment words", agent="bot")) == ["open.md"]
    assert names(ask(here, "list", agent="bot")) == ["open.md"]
    assert names(ask(here, "list", domain="cafe\u0301")) == ["fact.md", "rule.md"]
    assert names(ask(here, "inject", query="payment words of the shop", agent="bot")) == ["open.md"]
    assert len(ask(here, "graph", key="open", agent="bot")["nodes"]) == 1
    assert refusal(here, "show", key="rule", agent="bot")["exit_code"] == 3


def test_a_hidden_memory_that_took_the_place_of_another_is_not_named(bed: Bed, here: Answers) -> None:
    bed.put("old.md", memory("Payment words.", type="fact"))
    bed.put("said.md", memory("Payment words too.", superseded_by="pay:new"))
    bed.put("new.md", memory("Payment, anew.", key="pay:new", domain="billing", supersedes="[old]"))
    ask(here, "sync")
    requests: list[dict[str, object]] = [
        {"op": "search", "query": "payment words", "include_invalid": True},
        {"op": "list", "include_invalid": True},
        {"op": "graph", "key": "old", "include_invalid": True},
        {"op": "find", "key": "old"},
        {"op": "show", "key": "old"},
        {"op": "explain", "query": "payment words"},
    ]

    for request in requests:
        told = {agent: here.answer({"agent": agent, **request}) for agent in (None, "bot")}
        assert "superseded by pay:new" in str(told[None]), request
        found = told["bot"].get("hits") or told["bot"].get("memories") or told["bot"].get("nodes") or []
        (old,) = [m for m in [*found, told["bot"].get("memory")] if m and m["path"] == str(bed.folder / "old.md")]
        assert "superseded by a memory that is not shown here" in str(old), request
        assert "pay:new" not in str(old), request
    assert ask(here, "show", key="said", agent="bot")["memory"]["superseded_by"] == "pay:new"
