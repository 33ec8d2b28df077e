"""The warm server in this process: when it ends, whom it serves, and the lines that it reads."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from mdmem.agents import mcp_host, wire
from mdmem.agents.caller import Caller
from mdmem.agents.mcp_host import Host
from tests.agents.test_mcp_program import INITIALIZE
from tests.conftest import Home

HELLO = b'{"v": 1, "cwd": "/", "agent": null, "project": null}\n'


@pytest.fixture
def listening(tmp_path: Path) -> Any:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        made.listen()
        yield made


async def greet(listening: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_unix_connection(listening.getsockname())
    writer.write(HELLO)
    assert await reader.readline() == b"ok\n"
    return reader, writer


def test_it_ends_when_nobody_calls(listening: socket.socket) -> None:
    ours, theirs = os.pipe()
    try:
        asyncio.run(asyncio.wait_for(Host(listening, ours, idle_s=0.01).run(), 20))
    finally:
        os.close(ours)
        os.close(theirs)

    assert listening.fileno() == -1


def test_it_serves_its_clients_to_the_end_when_the_daemon_has_ended(home: Home, listening: socket.socket) -> None:
    ours, theirs = os.pipe()

    async def main() -> bytes:
        host = asyncio.ensure_future(Host(listening, ours, idle_s=0.01).run())
        reader, writer = await greet(listening)
        os.close(theirs)
        while listening.fileno() != -1:
            await asyncio.sleep(0)
        writer.write(json.dumps(INITIALIZE).encode() + b"\n")
        answer = await reader.readline()
        assert not host.done()
        writer.close()
        await asyncio.wait_for(host, 20)
        return answer

    assert json.loads(asyncio.run(main()))["result"]["serverInfo"]["name"] == "mdmem"
    os.close(ours)


def test_a_client_that_has_left_begins_its_idle_time_anew(home: Home, listening: socket.socket) -> None:
    ours, theirs = os.pipe()

    async def main() -> None:
        host = Host(listening, ours, idle_s=1.5)
        running = asyncio.ensure_future(host.run())
        for _ in range(2):
            _, writer = await greet(listening)
            writer.close()
            while host.clients:
                await asyncio.sleep(0)
        assert host._quiet_since > 0
        await asyncio.wait_for(running, 20)

    asyncio.run(main())
    os.close(ours)
    os.close(theirs)


def test_only_so_many_are_served_at_once(home: Home, listening: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_host, "MAX_CLIENTS", 1)
    ours, theirs = os.pipe()

    async def main() -> bytes:
        host = asyncio.ensure_future(Host(listening, ours).run())
        _, first = await greet(listening)
        reader, second = await asyncio.open_unix_connection(listening.getsockname())
        refused = await reader.read()
        second.close()
        os.close(theirs)
        first.close()
        await asyncio.wait_for(host, 20)
        return refused

    assert asyncio.run(main()) == b""
    os.close(ours)


@pytest.mark.parametrize("size", [10, 40, *range(60, 72), 200, 1_000, 20_000])
@pytest.mark.parametrize("last", [False, True])
def test_lines_of_any_length_are_read_or_passed_over(size: int, last: bool) -> None:
    ids = (b"", b', "id": 7') if last else (b'"id": 7, ', b"")

    async def main() -> list[Any]:
        reader = asyncio.StreamReader(limit=64)
        line = b'{"jsonrpc": "2.0", ' + ids[0] + b'"x": "' + b"y" * size + b'"' + ids[1] + b"}\n"
        reader.feed_data(b"first\n" + line + b"\n \nlast")
        reader.feed_eof()
        return [found async for found in wire._lines(reader)]

    first, middle, last = asyncio.run(main())
    assert (first, last) == (b"first\n", b"last")
    assert isinstance(middle, wire.TooLong) == (size + 37 > 64)
    if isinstance(middle, wire.TooLong):
        assert wire._id_in(middle) == 7


@pytest.mark.parametrize(
    ("head", "tail", "found"),
    [
        (b'{"jsonrpc":"2.0","id":3,"method":"x"', b"}}\n", 3),
        (b'{"method":"x","id":"a-b"', b"}", "a-b"),
        (b'{"method":"x","params":{"id": 5,', b'"text":"x"},"jsonrpc":"2.0","id":9}\n', 9),
        (b'{"method":"x","params":{"id": 5,', b'"text":"x"}}\n', None),
        (b"[" * 10, b"]", None),
    ],
)
def test_the_id_of_a_request_is_found_at_its_ends(head: bytes, tail: bytes, found: object) -> None:
    assert wire._id_in(wire.TooLong(head, tail)) == found


def test_a_session_over_a_socket_answers_everything_before_it_ends(home: Home) -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(json.dumps(INITIALIZE).encode() + b'\njunk\n{"jsonrpc": "2.0", "id": 2, "method": "ping"}\n')
    ours.shutdown(socket.SHUT_WR)
    asyncio.run(wire.serve(theirs, Caller()))
    with ours.makefile("rb") as lines:
        answers = [json.loads(line) for line in lines]
    ours.close()

    assert {answer["id"] for answer in answers} == {1, 2, None}
