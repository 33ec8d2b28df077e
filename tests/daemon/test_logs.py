"""Our own logging: JSON lines of facts; no flood, and no memory text."""

from __future__ import annotations

import io
import json
import logging
import os
import stat
from collections.abc import Iterator

import pytest

from mdmem.daemon import logs
from mdmem.errors import MdmemError
from tests.conftest import Daemon, Home, wait_until
from tests.daemon.live import running, status

CANARY = "canary" + "word"  # a traceback quotes the line that raised, as it stands in the source


@pytest.fixture
def said() -> Iterator[io.StringIO]:
    """The root logger as the daemon sets it up, writing into memory; put back afterwards."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonLines())
    logs._install(handler)
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_each_line_is_a_json_object_with_time_level_and_facts(said: io.StringIO) -> None:
    logging.getLogger("mdmem.x").info("reindexed", extra={"scope": "user", "changed": 3})
    (line,) = lines(said)

    assert line["message"] == "reindexed"
    assert (line["level"], line["logger"], line["scope"], line["changed"]) == ("INFO", "mdmem.x", "user", 3)
    assert str(line["time"]).endswith("Z")


def test_the_same_warning_is_written_once_a_minute(said: io.StringIO) -> None:
    for n in range(1_000):
        logging.getLogger("mdmem.x").warning("a bad file", extra={"n": n})
    assert len(lines(said)) == 1


def test_k3_a_traceback_tells_where_and_not_what(said: io.StringIO) -> None:
    try:
        raise ValueError(f"the {CANARY} stood in a memory")
    except ValueError:
        logging.getLogger("mdmem.x").exception("step failed")
    try:
        raise MdmemError("a fact of ours")
    except MdmemError:
        logging.getLogger("mdmem.y").exception("step failed")

    assert "canaryword" not in said.getvalue()
    assert "ValueError" in said.getvalue()
    assert "a fact of ours" in said.getvalue()


def test_a_chained_error_does_not_bring_its_words_along(said: io.StringIO) -> None:
    try:
        try:
            raise KeyError(CANARY)
        except KeyError as error:
            raise RuntimeError(CANARY) from error
    except RuntimeError:
        logging.getLogger("mdmem.x").exception("step failed")
    assert "canaryword" not in said.getvalue()


def test_the_log_file_is_private_and_stays_small(home: Home) -> None:
    path = home.folder / "log"
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        logs.to_file(str(path))
        for n in range(12_000):
            logging.getLogger("mdmem.x").info("x" * 200, extra={"n": n})
    finally:
        for handler in root.handlers:
            if handler not in before:
                handler.close()
        root.handlers[:] = before
        root.setLevel(level)

    files = list(home.folder.glob("log*"))
    assert 1 < len(files) <= 3
    assert {stat.S_IMODE(os.stat(f).st_mode) for f in files} == {0o600}
    assert sum(os.path.getsize(f) for f in files) < 3_200_000


def test_k3_and_m6_neither_words_nor_a_flood_come_from_a_thousand_bad_memories(home: Home) -> None:
    with running(home) as daemon:
        for n in range(1_000):
            bad = [f"---\nname: [canaryword{n}\n---\nx\n", f"---\nname: a\n\tb: canaryword{n}\n---\nx\n"][n % 2]
            (home.user / f"b{n}.md").write_text(bad)
        (home.user / "latin.md").write_bytes(b"canaryword \xe9\n")
        home.put("good.md", "---\nname: canaryword good\n---\ncanaryword text\n")
        daemon.sync()
        daemon.ask("search", query="canaryword", mode="hybrid")
        daemon.ask("show", key="good")
        daemon.ask("search", query="canaryword", mode="canaryword")
        daemon.ask("explain", query='canaryword "( AND')
        assert len(status(daemon)["problems"]) >= 1_000
        said = daemon.stderr()

    assert said.count("\n") < 50
    assert "canaryword" not in said


def test_every_line_of_a_daemon_is_json(home: Home, daemon: Daemon) -> None:
    home.put("a.md", "alphaword\n")
    wait_until(lambda: "reindexed" in daemon.stderr(), "it says what it did")
    assert all(json.loads(line)["message"] for line in daemon.stderr().splitlines())
