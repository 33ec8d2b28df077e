"""Files of rules: the shipped one holds together, a person's own comes first, mistakes are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mdmem.candidates import rules
from mdmem.candidates.candidate import Candidate
from mdmem.candidates.promote import Promoter
from mdmem.errors import ConfigError
from tests.candidates.test_commands import ran


def test_the_shipped_rules_hold_together() -> None:
    shipped = rules.shipped()

    assert len(shipped.rules) >= 60
    assert len({rule.id for rule in shipped.rules}) == len(shipped.rules)
    assert {rule.kind for rule in shipped.rules} >= set(
        "auth deploy publish build test db_connect ssh_connect health".split()
    )
    assert {rule.type for rule in shipped.rules} == {"capability", "procedure"}
    for rule in shipped.rules:
        assert rule.name, rule.id
        assert re.fullmatch(r"[\w-]+|\{program\}", rule.key.partition(":")[0]), rule.id
        for pattern in (*rule.contradicts, rule.shows, rule.output):
            assert re.compile(pattern).groups == (1 if pattern and pattern == rule.output else 0), (rule.id, pattern)
        assert rule.output or "output" not in rule.target, rule.id


def test_every_rule_can_be_met() -> None:
    """No run is hidden for good behind an earlier rule of the same words."""
    shipped = rules.shipped()
    seen: set[tuple[object, ...]] = set()

    for rule in shipped.rules:
        free = False
        for run in rule.run:
            same = (run, rule.needs, rule.forbids, rule.exact, rule.remote, rule.toward, rule.shows, rule.shape)
            free = free or same not in seen
            seen.add(same)
        assert free, rule.id


def own(tmp_path: Path, text: str) -> str:
    path = tmp_path / "rules.toml"
    path.write_text(text, "utf-8")
    return str(path)


def keys(path: str, command: str, output: str = "") -> list[str]:
    promoter = Promoter(mask=lambda text: text, own_rules=path)
    return [found.key for found in promoter.feed(ran(command, output)) if isinstance(found, Candidate)]


OWN = """
[tools.acme]
values = "--to"
dry = "--pretend"

[[rule]]
id = "acme"
kind = "deploy"
run = ["acme rollout|ship *", "<task> acme"]
target = ["--to", "project"]
contradicts = ['halted']

[[rule]]
id = "our-tests"
kind = "test"
key = "test:everything"
run = "npm test"
"""


def test_own_rules_come_first_and_the_shipped_ones_stay(tmp_path: Path) -> None:
    path = own(tmp_path, OWN)

    assert keys(path, "acme --to mars ship now") == ["deploy:mars"]
    assert keys(path, "make acme") == ["deploy:shop"]
    assert keys(path, "npm test") == ["test:everything"]
    assert keys(path, "yarn test") == ["test:shop"]
    assert not keys(path, "acme ship now --pretend")
    assert not keys(path, "acme ship now", "halted at 40 %")


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ('[[rule]]\nid="x"\nkind="deploy"\nrun="x"\ntargets=["1"]', "rule x: targets is not known", "'target'"),
        ('[[rule]]\nid="x"\nkind="deploi"\nrun="x"', "rule x: kind is 'deploi'", "'deploy'"),
        ('[[rule]]\nid="x"\nkind="deploy"', "rule x: run is missing", "run"),
        ('[[rule]]\nkind="deploy"\nrun="x"', "rule 1: id is missing", "id"),
        ('[[rule]]\nid="x"\nkind="auth"\nrun="x"', "rule x: key is missing", "key"),
        ('[[rule]]\nid="x"\nkind="deploy"\nrun=" "', "rule x: run is empty", "run"),
        ('[[rule]]\nid="x"\nkind="deploy"\nrun="<tasks> x"', "rule x: the group in run is 'tasks'", "'task'"),
        ('[[rule]]\nid="x"\nkind="deploy"\nrun=3', "rule x: run: 3 is neither", ""),
        ('[[rule]]\nid="x"\nkind="deploy"\nrun="x"\nexact="yes"', "rule x: exact is 'yes', not true or false", ""),
        ('[[rule]]\nid="x"\nkind="deploy"\nrun="x"\nshape="hots"', "rule x: shape is 'hots'", "'host'"),
        ('[[rule]]\nid="x"\nkind="deploy"\nrun="x"\nshows="("', "rule x: shows is no regular expression", ""),
        ('[[rule]]\nid="x"\nkind="deploy"\nrun="x"\noutput="a"', "rule x: output has not exactly one group", "(…)"),
        ('[[rule]]\nid="x"\nkind="deploy"\nrun="x"\nname=3', "rule x: name is 3, not a text", ""),
        ("[rule]\nid=1", "rule is not a list of tables", "[[rule]]"),
        ("rule = [1]", "rule 1: a rule is not a table", "[[rule]]"),
        ("[[rules]]", "rules is not known", "'rule'"),
        ("tools = 1", "tools is not a table", "[tools]"),
        ('[tools.x]\nvalue="-n"', "tool x: value is not known", "'values'"),
        ("[[rule]", "the rules are not TOML", ""),
    ],
)
def test_a_mistake_is_named_with_file_and_rule(tmp_path: Path, text: str, what: str, hint: str) -> None:
    path = own(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        rules.load(path)

    assert what in str(caught.value)
    assert str(caught.value).startswith(path)
    assert hint in (caught.value.hint or "")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        rules.load(str(tmp_path / "no.toml"))
