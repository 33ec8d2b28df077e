"""`mdmem.open()`: the same answers as the commands, as dicts, from a daemon or without one."""

from __future__ import annotations

import datetime
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mdmem
from mdmem.door import Door
from mdmem.errors import NotFoundError, UsageError
from tests.conftest import ROOT, Daemon, Home

DEPLOY = "---\nkey: deploy:shop\ntype: procedure\ntags: [aws]\ncreated: 2026-01-01\n---\nWe deploy with npm run dist.\n"


@pytest.fixture
def filled(home: Home) -> Home:
    home.put("deploy.md", DEPLOY)
    home.put("old.md", "---\nstatus: archived\nsource: tool\n---\nHow we deployed before.\n")
    home.put("bob.md", "---\ndomain: ops\n---\nBob's deploy notes.\n", home.mdmem / "agents" / "bob")
    return home


@pytest.fixture(params=["daemon", "alone"])
def either(request: pytest.FixtureRequest, filled: Home) -> Iterator[Home]:
    """With a daemon, and without one."""
    if request.param == "alone":
        yield filled
        return
    daemon = Daemon(filled)
    try:
        yield filled
    finally:
        daemon.stop()


def keys(found: list[dict[str, object]]) -> list[object]:
    return [memory["key"] for memory in found]


def test_the_answers_are_those_of_the_commands(either: Home) -> None:
    with mdmem.open(cwd=either.work) as door:
        assert set(door.sync()) == {"added", "changed", "removed", "problems", "ms"}
        hits = door.search("how do we deploy", mode="keyword")
        assert hits == either.run("search", "--mode", "keyword", "how do we deploy", "--json").json
        assert keys(hits) == ["deploy:shop"]
        assert door.list() == either.run("list", "--json").json
        shown = door.show("deploy:shop")
        again = either.run("show", "deploy:shop", "--json").json

    counted = ("hit_count", "last_seen")
    assert {k: v for k, v in shown.items() if k not in counted} == {k: v for k, v in again.items() if k not in counted}
    assert shown["body"] == "We deploy with npm run dist.\n"


def test_filters_narrow_as_the_options_do(filled: Home) -> None:
    door = mdmem.open(cwd=filled.work, agent="bob")

    assert keys(door.search("deploy", mode="keyword", type="fact")) == ["bob"]
    assert keys(door.search("deploy", mode="keyword", type=["procedure", "fact"], scope="user")) == ["deploy:shop"]
    assert keys(door.search("deployed", mode="keyword", domain="ops")) == ["bob"]
    assert len(door.search("deploy", mode="keyword", include_invalid=True, limit=2)) == 2
    assert keys(door.search("npm", mode="keyword", as_of="2025-12-30")) == []
    assert keys(door.search("npm", mode="keyword", as_of=datetime.date(2026, 1, 2))) == ["deploy:shop"]
    assert keys(door.list(tag="aws")) == ["deploy:shop"]
    assert keys(door.list(scope=("agent",), domain="ops")) == ["bob"]
    assert keys(door.list(status="archived", source="tool")) == ["old"]
    assert keys(door.list(include_invalid=True, limit=1)) == ["bob"]
    assert keys(door.list(entity="nobody")) == []


def test_what_is_wrong_is_raised_with_its_hint(either: Home) -> None:
    door = mdmem.open(cwd=either.work)

    with pytest.raises(NotFoundError, match="no memory 'zzz'") as told:
        door.show("zzz")
    assert (told.value.exit_code, told.value.hint) == (3, "see: mdmem list")
    with pytest.raises(UsageError) as unknown:
        door.list(status="archvied")
    assert unknown.value.hint == "did you mean 'archived'?"
    with pytest.raises(UsageError, match="agent id"):
        mdmem.open(agent="../bob")
    with pytest.raises(TypeError):
        door.search("x", colour="red")  # type: ignore[call-arg]


def test_the_working_directory_decides_on_the_project(filled: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    assert filled.run("init", ".").code == 0
    filled.put("p.md", "Of the project.\n", filled.work / ".mdmem")
    (filled.work / "src").mkdir()
    monkeypatch.chdir(filled.work / "src")

    assert "p" in keys(mdmem.open().list())
    assert "p" in keys(mdmem.open(cwd="..").list())
    assert "p" not in keys(mdmem.open(cwd="/").list())


def test_a_program_that_sets_up_no_logging_has_nothing_printed_and_none_set_up(filled: Home) -> None:
    script = (
        "import logging, mdmem; door = mdmem.open(); door.sync(); door.list();"
        "logging.getLogger('mdmem.app').warning('index is damaged');"
        "root = logging.getLogger(); assert (root.handlers, root.level) == ([], logging.WARNING)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=filled.work, env=filled.env, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_notes_about_an_answer_go_to_the_logger(filled: Home, caplog: pytest.LogCaptureFixture) -> None:
    from mdmem.db import WriterLock

    door = mdmem.open(cwd=filled.work)
    door.sync()
    lock = WriterLock(str(filled.mdmem / "run" / "mdmem.lock"))
    lock.take("a test")
    try:
        with caplog.at_level(logging.INFO, "mdmem"):
            assert keys(door.search("npm", mode="keyword")) == ["deploy:shop"]
    finally:
        lock.release()

    notes = [getattr(record, "note", "") for record in caplog.records]
    assert any("another mdmem is writing the index" in note for note in notes)


def test_a_door_holds_nothing_that_another_writer_waits_for(filled: Home) -> None:
    with mdmem.open(cwd=filled.work) as door:
        door.list()
        assert filled.run("sync").code == 0
        filled.put("new.md", "Brand new.\n")
        assert keys(door.search("brand new", mode="keyword")) == ["new"]


def test_importing_mdmem_is_cheap_and_shadows_nothing() -> None:
    script = (
        "import sys; before = set(sys.modules); import mdmem; print(sorted(set(sys.modules) - before));"
        "print(mdmem.open.__module__, 'open' in vars(mdmem), 'apsw' in sys.modules, 'click' in sys.modules)"
    )
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=True)

    assert done.stdout.splitlines() == ["['mdmem']", "mdmem.door False False False"]
    assert mdmem.open is Door
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        mdmem.opne  # noqa: B018


def test_the_example_of_the_docs_runs(filled: Home) -> None:
    (filled.work / "shop").mkdir()
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=filled.work, env=filled.env, capture_output=True, text=True, check=False
    )

    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(rf"deploy:shop \d\.\d+ {re.escape(str(filled.user))}/deploy\.md", lines[0])
    assert lines[1:] == ["We deploy with npm run dist.", "", "['deploy:shop']"]


def test_every_call_of_the_door_stands_in_the_docs() -> None:
    page = Path(ROOT, "docs", "python.md").read_text("utf-8")
    calls = [name for name in vars(Door) if not name.startswith("_")]

    assert calls
    assert [name for name in calls if f"| `{name}(" not in page] == []


def test_what_a_program_proposes_waits_for_the_person(either: Home) -> None:
    with mdmem.open(cwd=either.work, agent="bot") as door:
        told = door.propose("The shop's cache is in redis 2.", name="Cache", evidence="redis-cli -n 2 answered")
        assert told["status"] == "waiting for approval"
        assert "redis" not in str(door.search("where is the cache", mode="keyword"))
        refused = door.propose("Use port 1 today.", name="For today: port 1")
    assert refused["candidate"] is None
    assert refused["why"].startswith("transient")
    assert [path.name for path in (either.mdmem / "inbox").iterdir()] == [f"{told['candidate']}.md"]
