"""Secrets at the command line: refused with code 4, listed by `check`, shown by nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conftest import Done, Home
from tests.gates.making import secrets

SECRET = dict(secrets(13, 1))["anthropic"]
Call = Callable[..., Done]


def test_add_refuses_a_secret_and_names_its_kind(home: Home, call: Call) -> None:
    done = call("add", f"Use {SECRET}", "--json")

    assert done.code == 4
    assert done.out == ""
    assert "Anthropic key" in done.err
    assert SECRET not in done.err


def test_a_hand_written_secret_is_listed_by_check_and_status_and_shown_by_nothing(
    home: Home, call: Call, project: Any
) -> None:
    (project / "crane.md").write_text(f"# The crane\n\nUse {SECRET} for it.\n")
    checked, status = call("check", "--json"), call("status", "--json")
    shown = [
        call(*words)
        for words in (
            ("search", "crane", "--json"),
            ("list", "--json"),
            ("show", "crane"),
            ("show", "crane", "--json"),
            ("inject", "--query", "crane"),
            ("sync", "--json"),
            ("edit", "crane", "--set", "type=rule"),
        )
    ]

    assert checked.code == 1
    assert '"secret"' in checked.out
    assert '"line": 3' in checked.out
    assert '"secret"' in status.out
    for done in (checked, status, *shown):
        assert SECRET not in f"{done.out}{done.err}"
    assert shown[2].code == 3
    assert "crane" not in (project / "MEMORY.md").read_text() if (project / "MEMORY.md").exists() else True
