"""The block from a running daemon: the same as without one, and a session is known there too."""

from __future__ import annotations

from tests.bed import memory

PROMPT = "how do we deploy the shop to production"


def test_with_and_without_a_daemon_the_text_is_the_same(home, daemon, mdmem):
    home.put("r.md", memory("Answer first.", type="rule", updated="2026-10-02"))
    home.put("deploy.md", memory("Deploy the shop with make.", type="fact"))
    home.put("n.md", memory("one\ntwo", type="notes"), home.mdmem / "agents" / "bob")
    daemon.sync()
    args = ("inject", "--agent", "bob", "--query", PROMPT, "--json")
    live = mdmem(*args).json
    daemon.stop()
    alone = mdmem(*args).json

    assert len(live["memories"]) == 3
    assert live == alone


def test_a_session_is_told_once_until_a_compaction(home, daemon):
    path = home.put("r.md", memory("Answer first.", type="rule"))
    daemon.sync()
    turn = {"agent": "bob", "session": "s1"}

    def told() -> str:
        """What a turn is told, once all that went before is noted: the worker does one thing after the other."""
        daemon.sync()
        return str(daemon.ask("inject", **turn)["text"])

    assert told()
    assert told() == ""
    path.write_text(memory("Answer last.", type="rule"))
    assert "Answer last." in told()
    assert told() == ""
    assert daemon.ask("event", event="compaction", **turn)["ok"]
    assert told()
