from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mdmem.errors import ConfigError
from mdmem.models.answer import retry_after_s
from mdmem.models.wire import Reply, Silence, Wire
from tests.models.scripted_server import ScriptedServer, Step


def ask(wire: Wire, *, deadline_s: float = 5.0) -> Reply | Silence:
    try:
        return wire.post({"input": ["deploy"]}, deadline_s=deadline_s, cap_bytes=100_000)
    finally:
        wire.close()


@pytest.mark.parametrize(
    ("ending", "path"),
    [
        ("/v1", "/v1/embeddings"),
        ("/v1/", "/v1/embeddings"),
        ("/v1/embeddings", "/v1/embeddings"),
        ("", "/embeddings"),
        ("/deployments/x?api-version=1", "/deployments/x/embeddings?api-version=1"),
        ("/v1#part", "/v1/embeddings"),
    ],
)
def test_the_address_may_be_written_in_several_ways(ending: str, path: str) -> None:
    with ScriptedServer() as server:
        reply = ask(Wire(f" http://{server.host}{ending}\n", None))

    assert isinstance(reply, Reply)
    assert server.requests[0].path == path


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:11434",
        "ftp://host/v1",
        "file:///etc/passwd",
        "http://",
        "http://host:99999/v1",
        "http://host:x/v1",
        "http://[::1/v1",
        "http://ho st/v1",
        "http://host/a b",
        "http://höst/v1",
        "http://host/\x00",
    ],
)
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Wire(url, None)

    assert caught.value.hint


@pytest.mark.parametrize("url", ["http://me:s3cret@host/v1", "http://s3cret@host/v1", "http://:s3cret@host/v1"])
def test_k3_an_address_with_a_password_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Wire(url, None)

    assert "s3cret" not in str(caught.value) + str(caught.value.hint)


def test_the_host_is_shown_as_it_is_written_with_its_port() -> None:
    assert Wire("http://[::1]:8080/v1", None).host == "[::1]:8080"
    assert Wire("https://API.example.org/v1", None).host == "api.example.org"


def test_a_name_with_several_addresses_is_tried_at_each() -> None:
    def resolver(host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        stream = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*stream, ("127.0.0.2", port)), (*stream, ("127.0.0.1", port))]

    with ScriptedServer() as server:
        port = server.host.rsplit(":")[-1]
        reply = ask(Wire(f"http://embedder.test:{port}/v1", None, resolver=resolver))

    assert isinstance(reply, Reply)
    assert server.requests[0].headers["host"] == f"embedder.test:{port}"


def test_h1_a_name_that_is_not_found_is_said_in_words() -> None:
    def resolver(*_: Any, **__: Any) -> list[tuple[Any, ...]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    assert ask(Wire("http://embedder.test/v1", None, resolver=resolver)) == Silence("its name is not found")


def test_h1_a_name_without_addresses_is_not_found_either() -> None:
    wire = Wire("http://embedder.test/v1", None, resolver=lambda *_, **__: [])

    assert ask(wire) == Silence("its name is not found")


def test_h2_a_resolver_that_hangs_is_given_up_at_the_deadline() -> None:
    release = threading.Event()

    def resolver(*_: Any, **__: Any) -> list[tuple[Any, ...]]:
        release.wait(30)
        return []

    started = time.monotonic()
    silence = ask(Wire("http://embedder.test/v1", None, resolver=resolver), deadline_s=0.1)
    took_s = time.monotonic() - started
    release.set()

    assert silence == Silence("did not answer within 0.1 s", late=True)
    assert took_s < 1.0


def test_h2_a_server_that_accepts_and_never_reads_is_given_up_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silence = ask(Wire(f"http://127.0.0.1:{silent.getsockname()[1]}", None), deadline_s=0.1)

    assert isinstance(silence, Silence)
    assert silence.late


def test_h2_a_server_that_reads_a_large_request_slowly_is_given_up_at_the_deadline() -> None:
    ended = threading.Event()

    def sip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            while not ended.wait(0.02):
                connection.recv(20_000)

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        sipping = pool.submit(sip, server)
        wire = Wire(f"http://127.0.0.1:{server.getsockname()[1]}", None)
        started = time.monotonic()
        silence = wire.post({"input": ["x" * 30_000_000]}, deadline_s=0.3, cap_bytes=1_000)
        took_s = time.monotonic() - started
        ended.set()
        wire.close()
        sipping.result()

    assert isinstance(silence, Silence)
    assert silence.late
    assert took_s < 1.5


def test_h2_no_time_left_means_no_call() -> None:
    with ScriptedServer() as server:
        silence = ask(Wire(server.url, None), deadline_s=0.0)

    assert isinstance(silence, Silence)
    assert silence.late
    assert server.requests == []


def test_a_server_without_tls_is_not_taken_for_a_secure_one() -> None:
    with ScriptedServer() as server:
        silence = ask(Wire(server.url.replace("http:", "https:"), "sk-secret"))

    assert silence == Silence("no secure connection could be made")


@pytest.mark.parametrize("body", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"])
def test_what_is_no_http_is_said_so(body: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(body)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65_536):  # closing over unread bytes would reset the connection
                    continue

        answering = pool.submit(answer)
        silence = ask(Wire(f"http://127.0.0.1:{server.getsockname()[1]}", None))
        answering.result()

    assert silence == Silence("its answer is not HTTP, or ends too soon")


def test_a_connection_is_used_again() -> None:
    accepted: set[Any] = set()
    with ScriptedServer() as server:
        server.react = lambda request: accepted.add(request.peer)  # type: ignore[func-returns-value]
        wire = Wire(server.url, None)
        for _ in range(3):
            wire.post({"input": ["deploy"]}, deadline_s=5.0, cap_bytes=100_000)
        wire.close()

    assert len(accepted) == 1


def test_a_server_that_closed_an_idle_connection_is_connected_to_again() -> None:
    with ScriptedServer([Step(headers={"Connection": "close"})]) as server:
        wire = Wire(server.url, None)
        wire.post({"input": ["deploy"]}, deadline_s=5.0, cap_bytes=100_000)

        assert isinstance(ask(wire), Reply)


NOW = 1_800_000_000.0
LATER = "Fri, 15 Jan 2027 08:02:00 GMT"  # NOW + 120


@pytest.mark.parametrize(
    ("header", "date", "expected"),
    [
        (None, None, None),
        ("7", None, 7.0),
        ("0.5", None, 0.5),
        ("-3", None, 0.0),
        ("nan", None, None),
        ("inf", None, None),
        ("soon", None, None),
        ("", None, None),
        (LATER, None, 120.0),
        (LATER, "Fri, 15 Jan 2027 08:01:30 GMT", 30.0),
        (LATER, "rubbish", 120.0),
        ("Fri, 15 Jan 2021 08:02:00 GMT", None, 0.0),
        ("Fri, 99 Jan 99999 08:02:00 GMT", None, None),
    ],
)
def test_h4_the_time_to_wait_is_read_from_seconds_or_a_date(
    header: str | None, date: str | None, expected: float | None
) -> None:
    assert retry_after_s(header, date, NOW) == expected
