from __future__ import annotations

from tests.conftest import Daemon

A = "---\ntype: rule\nentities: [aws]\n---\nSee [[b]] and [[nowhere]].\n"
B = "---\nstatus: archived\n---\nB.\n"
C = "---\nentities: [AWS]\n---\nC.\n"


def test_graph_is_a_tree_a_diagram_or_json(home, call):
    for name, text in (("a", A), ("b", B), ("c", C)):
        home.put(f"{name}.md", text)

    assert call("graph", "a").out.splitlines() == [
        "a  rule · user",
        "├─ c  user · user  about aws",
        "└─ nowhere  → link  [missing]",
    ]
    assert "├─ b  user · user  [archived]  → link\n" in call("graph", "a", "--include-invalid").out
    assert call("graph", "a", "--mermaid").out.startswith('graph LR\n  n0["a · rule"]\n')
    shown = call("graph", "a", "--json").json
    assert set(shown) == {"key", "nodes", "edges"}
    assert shown["nodes"][1] == {
        "key": "c", "scope": "user", "scope_ref": None, "path": str(home.user / "c.md"), "name": "c", "type": "user",
        "invalid": None,
    }  # fmt: skip
    ends = {"from": str(home.user / "a.md"), "to": str(home.user / "c.md")}
    assert shown["edges"][0] == {**ends, "kind": "entity", "via": "aws", "missing": False}


def test_graph_of_what_stands_alone_says_so(home, call):
    home.put("a.md", "A.\n")
    done = call("graph", "a")

    assert (done.code, done.out) == (0, "a  user · user\n")
    assert "nothing is joined to it" in done.err


def test_graph_refuses_what_it_cannot_know(home, call):
    home.put("a-1.md", "A.\n")
    home.put("a-2.md", "A.\n")

    assert call("graph", "a-").code == 2
    assert call("graph", "zzz").code == 3
    assert call("graph", "a-1", "--hops", "4").code == 2
    assert call("graph", "a-1", "--json", "--mermaid").code == 2


def test_no_memory_commands_the_terminal_through_a_graph(home, call):
    home.put("evil.md", '---\nkey: "\\e[31mred"\ntype: fact\n---\n[[\x1b]0;x\x07]] `a\x1bb`\n')
    home.put("b.md", "[[evil]]\n")
    for form in ([], ["--mermaid"], ["--json"]):
        done = call("graph", "b", *form)

        assert done.code == 0
        assert not set("\x1b\x07") & set(done.out + done.err)
        assert "red" in done.out


def test_with_and_without_a_daemon_graph_and_list_answer_the_same(home, call, daemon: Daemon):
    for name, text in (("a", A), ("b", B), ("c", C)):
        home.put(f"{name}.md", text)
    questions = [
        ["graph", "a"],
        ["graph", "b", "--json", "--hops", "3"],
        ["graph", "a", "--mermaid", "--include-invalid"],
        ["graph", "nope"],
        ["list", "--entity", "aws", "--json"],
        ["list", "--source", "statd"],
    ]
    assert call("sync").code == 0
    with_daemon = [call(*question) for question in questions]
    daemon.stop()

    assert [call(*question) for question in questions] == with_daemon
    assert [done.code for done in with_daemon] == [0, 0, 0, 3, 0, 2]


def test_list_is_narrowed_by_source_tag_entity_and_number(home, call):
    (home.mdmem).mkdir(exist_ok=True)
    (home.mdmem / "config.toml").write_text('[recall.aliases]\nk8s = "kubernetes"\n')
    home.put("a.md", "---\nsource: tool\ntags: [Ops, aws]\nentities: ['@arco-design/web']\n---\nA.\n")
    home.put("b.md", "---\ntags: [ops]\nentities: [Kubernetes]\n---\nB uses `kubectl`.\n")
    home.put("c.md", "C.\n")

    def keys(*args: str) -> list[str]:
        return [memory["key"] for memory in call("list", "--json", *args).json]

    assert keys("--source", "tool") == ["a"]
    assert keys("--tag", "ops") == ["a", "b"]
    assert keys("--tag", "OPS", "--tag", "aws") == ["a"]
    assert keys("--entity", "Arco Design") == ["a"]
    assert keys("--entity", "k8s") == ["b"]
    assert keys("--entity", "kubectl", "--entity", "k8s") == ["b"]
    assert keys("--entity", "kubectl", "--entity", "arco") == []
    assert keys("--limit", "2") == ["a", "b"]
    assert keys("--limit", "2", "--source", "stated") == ["b", "c"]
    assert call("list", "--limit", "0").code == 2
    wrong = call("list", "--source", "infered")
    assert wrong.code == 2
    assert "did you mean 'inferred'?" in wrong.err


def test_a_rule_is_written_only_where_the_agent_was_granted_it(home, call):
    home.mdmem.mkdir(exist_ok=True)
    (home.mdmem / "config.toml").write_text('[recall.grants.bot]\nops = "write"\nbilling = "read"\n')
    rule = ["--type", "rule", "--agent", "bot"]

    def refused(*args: object, stdin: str = "") -> str:
        done = call(*args, stdin=stdin)
        assert done.code == 4, (args, done)
        return str(done.err)

    assert call("add", "Ops rule.", *rule, "--domain", "ops", "--key", "r:ops").code == 0
    assert 'billing = "write"' in refused("add", "Billing rule.", *rule, "--domain", "billing")
    assert '"*" = "write"' in refused("add", "Any rule.", *rule)
    refused("add", "-", "--agent", "bot", stdin="---\ntype: policy\n---\nA rule by its own block.\n")
    assert call("add", "A billing fact.", "--agent", "bot", "--domain", "billing", "--key", "f:bill").code == 0
    refused("edit", "f:bill", "--agent", "bot", "--set", "type=rule")
    refused("edit", "r:ops", "--agent", "bot", "--set", "domain=billing")
    assert call("edit", "r:ops", "--agent", "bot", "--set", "topic=deploys").code == 0
    assert call("add", "My rule.", "--type", "rule", "--scope", "user", "--key", "r:mine").code == 0
    before = (home.user / "my-rule.md").read_bytes()
    refused("edit", "r:mine", "--agent", "bot", "--set", "type=fact")
    refused("archive", "r:mine", "--agent", "bot")
    refused("move", "r:mine", "--scope", "agent", "--agent", "bot")
    assert (home.user / "my-rule.md").read_bytes() == before
    assert call("move", "r:mine", "--scope", "agent", "--agent", "other").code == 0
    assert call("move", "r:ops", "--scope", "user", "--agent", "bot").code == 0
    assert {m["key"] for m in call("list", "--agent", "bot", "--json").json} == {"r:ops", "f:bill"}


def test_an_editor_that_makes_a_rule_which_is_not_granted_is_undone(home, call, monkeypatch):
    home.mdmem.mkdir(exist_ok=True)
    (home.mdmem / "config.toml").write_text("[recall.grants.bot]\n")
    path = home.put("a.md", "---\ntype: fact\n---\nA.\n")
    before = path.read_bytes()
    monkeypatch.setenv("EDITOR", "sed -i s/fact/rule/")

    assert call("edit", "a", "--agent", "bot").code == 4
    assert path.read_bytes() == before
    assert call("edit", "a").code == 0
    assert call("edit", "a", "--agent", "bot").code == 4, "it is a rule now, and not even opened"
    assert path.read_bytes() == before.replace(b"fact", b"rule")
