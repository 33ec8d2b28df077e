from __future__ import annotations

from tests.bed import memory

PROMPT = "how do we deploy the shop to production"


def put_some(home):
    home.put("r.md", memory("Answer first <always>.", type="rule", updated="2026-10-02"))
    home.put("deploy.md", memory("Deploy the shop with make.", type="fact", key="deploy:shop"))
    home.put("n.md", memory("one\ntwo", type="notes"), home.mdmem / "agents" / "bob")


def test_the_block_and_nothing_else_is_on_stdout(home, call):
    put_some(home)
    done = call("inject", "--agent", "bob", "--query", PROMPT)

    assert done.code == 0
    assert done.out.startswith("<mdmem-block id=")
    assert done.out.endswith("</mdmem-block>\n")
    assert "deploy:shop: Deploy the shop with make. (stated, " in done.out


def test_as_json_it_has_the_documented_keys(home, call):
    put_some(home)
    done = call("inject", "--agent", "bob", "--query", PROMPT, "--json")

    assert set(done.json) == {"text", "tokens", "memories", "left_out", "degraded"}
    assert [set(one) for one in done.json["memories"]] == [{"key", "scope", "scope_ref", "path", "reason"}] * 3
    assert done.json["text"] + "\n" == call("inject", "--agent", "bob", "--query", PROMPT).out


def test_nothing_to_say_prints_nothing(home, call):
    done = call("inject")

    assert (done.code, done.out) == (0, "")
    assert call("inject", "--window-used", "101").code == 2
    assert call("inject", "--budget", "0").code == 2


def test_a_session_is_told_once(home, call):
    put_some(home)
    args = ("inject", "--agent", "bob", "--query", PROMPT, "--session", "s1")

    assert call(*args).out
    assert call(*args).out == ""
