"""A hook without a daemon, in this process; tests/agents/test_hook.py has the whole program."""

import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import apsw
import pytest

from mdmem.config import find_paths
from mdmem.db import WriterLock
from mdmem.hooks.alone import answer
from tests.conftest import Home

ASKED = {"session_id": "s1", "cwd": "/", "prompt": "how do we deploy the shop to staging"}


@pytest.fixture
def shop(home: Home) -> Iterator[Home]:
    home.put("deploy.md", "---\ntype: procedure\n---\nDeploy the shop to staging with make deploy.\n")
    home.run("sync")
    yield home
    logging.getLogger("mdmem").handlers.clear()


def fire(event: str = "UserPromptSubmit", **payload: Any) -> tuple[str, list[str]]:
    said: list[str] = []
    printed, arrived = answer("claude-code", event, json.dumps(ASKED | payload).encode(), said.append)
    arrived()
    return printed.decode(), said


@pytest.mark.usefixtures("shop")
def test_the_index_is_read_and_what_was_given_is_noted() -> None:
    printed, said = fire()
    assert "make deploy" in printed
    assert fire() == ("", [])
    assert said == []
    assert fire("PreCompact") == ("", [])
    assert "make deploy" in fire()[0]


def test_a_file_that_changed_or_went_is_not_given_from_the_index(shop: Home) -> None:
    path = shop.put("deploy.md", "---\ntype: procedure\n---\nThe shop goes to staging by the pipeline alone.\n")
    assert fire()[0] == ""
    path.unlink()
    assert fire()[0] == ""


def test_where_the_ledger_is_held_the_block_comes_all_the_same(shop: Home) -> None:
    lock = WriterLock(find_paths().lock)
    lock.take("a test", wait_s=0.0)
    try:
        printed, said = fire()
        assert "make deploy" in printed
        assert said == []
    finally:
        lock.release()


@pytest.mark.usefixtures("shop")
def test_the_guard_is_silent_where_it_cannot_know_whether_it_asked_before() -> None:
    assert fire("Stop", last_assistant_message="I have no access.")[0] == ""


@pytest.mark.usefixtures("shop")
def test_the_guard_speaks_where_the_agent_says_whether_it_was_asked_before() -> None:
    gave_up = {"last_assistant_message": "I can't deploy the shop to staging: no access.", "stop_hook_active": False}
    printed, said = fire("Stop", **gave_up)
    assert "make deploy" in json.loads(printed)["reason"]
    assert said == []
    assert fire("Stop", **gave_up | {"stop_hook_active": True})[0] == ""


@pytest.mark.usefixtures("home")
def test_no_index_is_told_of() -> None:
    printed, said = fire()
    assert printed == ""
    assert len(said) == 1


@pytest.mark.usefixtures("shop")
def test_a_ledger_that_another_writes_holds_no_hook_up() -> None:
    other = apsw.Connection(find_paths().ledger_db)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    printed, _ = fire()
    other.close()
    assert "make deploy" in printed
    assert time.monotonic() - began < 1.0
