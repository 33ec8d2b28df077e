"""Grants of domains: reading fails open, writing rules fails closed."""

from __future__ import annotations

import pytest

from mdmem.errors import RefusedError
from mdmem.recall.grants import check_writing, hidden_domains, may_write_rule

GRANTS = {
    "bot": {"Ops": "write", "billing": "none", "docs": "read"},
    "free": {"*": "write", "billing": "none", "docs": "read"},
    "shut": {"*": "none"},
    "bare": {},
}


@pytest.mark.parametrize(
    ("role", "domain", "seen", "rules"),
    [
        ("bot", "ops", True, True),
        ("bot", "OPS", True, True),
        ("bot", "billing", False, False),
        ("bot", "Billing", False, False),
        ("bot", "docs", True, False),
        ("bot", "other", True, False),
        ("bot", None, True, False),
        ("bot", "", True, False),
        ("free", "other", True, True),
        ("free", None, True, True),
        ("free", "docs", True, False),
        ("free", "billing", False, False),
        ("shut", "other", True, False),
        ("shut", None, True, False),
        ("bare", "ops", True, False),
        ("bare", None, True, False),
        ("unnamed", "billing", True, True),
        (None, "billing", True, True),
        (None, None, True, True),
    ],
)
def test_what_a_role_may_see_and_write(role: str | None, domain: str | None, seen: bool, rules: bool) -> None:
    assert ((domain or "").casefold() not in hidden_domains(GRANTS, role)) is seen
    assert may_write_rule(GRANTS, role, domain) is rules


def test_only_rules_are_guarded_and_a_refusal_names_the_line_that_is_missing() -> None:
    check_writing(GRANTS, "bot", "fact", "billing", where="config.toml")
    check_writing(GRANTS, "bot", "rule", "ops", where="config.toml")
    for role, domain, line in (
        ("bot", "docs", 'under [recall.grants.bot] it takes: docs = "write"'),
        ("bot", None, 'under [recall.grants.bot] it takes: "*" = "write"'),
        ("bot", "a b", 'under [recall.grants.bot] it takes: "a b" = "write"'),
    ):
        with pytest.raises(RefusedError) as told:
            check_writing(GRANTS, role, "rule", domain, where="config.toml")
        assert told.value.hint == line
        assert told.value.where == "config.toml"
    with pytest.raises(RefusedError) as told:
        check_writing({"a.b": {}}, "a.b", "rule", None, where="")
    assert '[recall.grants."a.b"]' in str(told.value.hint)
