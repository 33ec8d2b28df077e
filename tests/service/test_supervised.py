"""The daemon as a service manager meets it: its own command line, an empty environment, and what it says of itself."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mdmem.daemon import client
from tests.conftest import ROOT, Daemon, Home
from tests.service.conftest import command
from tests.service.manager import Service

pytestmark = pytest.mark.slow
Make = Callable[..., Service]


def ask(home: Home, op: str, **more: Any) -> dict[str, Any] | None:
    return client.ask(str(home.mdmem / "run" / "mdmem.sock"), {"op": op, **more})


def ready(service: Service) -> None:
    service.until(lambda: service.state == "active", "it is ready")


@pytest.fixture
def freezable(launcher: Path) -> None:
    command(launcher, str(ROOT / "tests/service/freezable.py"), PYTHONPATH=str(ROOT), MDMEM_EMBEDDER_MODEL="none")


def test_m3_m4_it_is_ready_when_the_socket_answers_with_an_empty_environment(home: Home, service: Make) -> None:
    home.put("ünï.md", "Ünïcode word.\n")
    running = service()
    running.start()
    ready(running)
    answer = ask(home, "ping")

    assert answer is not None
    assert answer["pid"] == running.pid
    assert ask(home, "sync") is not None
    found = ask(home, "search", query="ünïcode", mode="keyword")
    assert found is not None
    assert [hit["path"] for hit in found["hits"]] == [str(home.user / "ünï.md")]


def test_an_abstract_address_is_spoken_to_as_well(home: Home, service: Make) -> None:
    running = service(address=f"@mdmem-test-{os.getpid()}")
    running.start()
    ready(running)


def test_it_says_that_all_is_well_for_as_long_as_it_is(home: Home, service: Make) -> None:
    running = service(watchdog_usec=2_000_000)
    running.start()
    running.until(lambda: running.told.count("WATCHDOG=1") >= 8, "it pings")

    assert running.starts == 1
    assert "STATUS=up to date" in running.told


def test_a_worker_that_hangs_stops_the_pings_and_the_service_starts_anew(
    home: Home, service: Make, freezable: None
) -> None:
    running = service(watchdog_usec=2_000_000)
    running.start()
    ready(running)
    ask(home, "freeze")
    assert ask(home, "ping") is not None  # who only looks at the socket sees nothing
    running.until(lambda: running.starts == 2 and running.state == "active", "it is up again")

    assert running.results == ["watchdog"]
    assert '"threads": ["worker"' in running.journal()
    assert ask(home, "sync") is not None


def test_a_tick_that_always_fails_stops_the_pings(home: Home, service: Make, freezable: None) -> None:
    running = service(watchdog_usec=2_000_000)
    running.start()
    ready(running)
    ask(home, "break the tick")
    running.until(lambda: running.results == ["watchdog"], "it is ended")

    assert '"threads": ["watches"]' in running.journal()
    (running.folder / "journal").write_text("")  # the tick's traceback was meant


def test_m4_an_index_of_5000_memories_takes_longer_than_the_watchdog_and_is_let_be(home: Home, service: Make) -> None:
    for n in range(5_000):
        home.put(f"folder{n % 50}/canaryname{n}.md", f"---\nname: canaryname {n}\n---\n{'word ' * 300}{n}\n")
    running = service(watchdog_usec=2_000_000)
    running.start()
    ready(running)
    running.until(lambda: any("indexing" in line for line in running.told), "it says that it indexes")
    running.until(lambda: running.told[-1] in ("STATUS=up to date", "WATCHDOG=1") and _memories(home) == 5_000, "done")

    assert running.starts == 1
    assert running.told.count("WATCHDOG=1") > 1
    assert "canaryname" not in "".join(running.told) + running.journal()


def _memories(home: Home) -> int:
    answer = ask(home, "status")
    return int(answer["status"]["index"]["memories"]) if answer and answer.get("ok") else 0


def test_what_killed_it_starts_it_again_and_a_stop_does_not(home: Home, service: Make) -> None:
    running = service()
    running.start()
    ready(running)
    os.kill(running.pid, signal.SIGKILL)
    running.until(lambda: running.starts == 2 and running.state == "active", "it is up again")
    ask(home, "stop")  # as mdmem down does
    running.until(lambda: running.process is None, "it has ended")

    assert running.results == ["code -9", "success"]
    assert running.told[-1] == "STOPPING=1"
    assert running.starts == 2


def test_f4_a_hand_started_daemon_keeps_the_service_down_without_a_loop(
    home: Home, service: Make, daemon: Daemon
) -> None:
    running = service()
    running.start()
    running.until(lambda: running.state == "failed", "it gives up")

    assert running.starts == 1
    assert running.results == ["code 6"]
    assert f"pid {daemon.process.pid}" in running.journal()
    assert daemon.ask("ping")["ok"]


def test_a_service_whose_runtime_folder_is_removed_comes_back(home: Home, service: Make) -> None:
    running = service()
    running.start()
    ready(running)
    for path in (home.mdmem / "run").iterdir():
        path.unlink()
    running.until(lambda: running.starts == 2 and running.state == "active", "it is up again")

    assert ask(home, "ping") is not None


def test_a_reload_is_told_from_its_beginning_to_its_end(home: Home, service: Make) -> None:
    running = service()
    running.start()
    ready(running)
    running.reload()
    running.until(lambda: "RELOADING=1" in running.told and running.state == "active", "it has reloaded")

    assert [line for line in running.told if line in ("READY=1", "RELOADING=1")] == [
        "READY=1",
        "RELOADING=1",
        "READY=1",
    ]


def test_it_logs_once_in_json_and_to_the_journal_alone(home: Home, service: Make) -> None:
    running = service()
    running.start()
    ready(running)
    running.stop()
    lines = [json.loads(line) for line in running.journal().splitlines()]

    assert [line["message"] for line in lines].count("started") == 1
    assert not (home.mdmem / "state" / "mdmem.log").exists()


def test_m6_a_thousand_bad_memories_are_no_flood_in_the_journal(home: Home, service: Make) -> None:
    for n in range(1_000):
        home.put(f"b{n}.md", f"---\nname: [canaryword{n}\n---\nx\n")
    running = service()
    running.start()
    ready(running)
    ask(home, "sync")
    running.stop()

    assert running.journal().count("\n") < 50
    assert "canaryword" not in running.journal()
