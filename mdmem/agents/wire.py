"""A connection in, a session of the official SDK over it out: one JSON message a line, each of bounded length."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from mdmem.agents.server import Session
from mdmem.config import find_paths
from mdmem.daemon import logs
from mdmem.errors import MdmemError
from mdmem.files import private_folder

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from mdmem.agents.caller import Caller

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
SETTLE_S = 30.0
_EDGE_BYTES = 4_096
# Where an id stands that is none of its parameters': before them, or as the last member of all.
_ID_FIRST = re.compile(rb'\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,99}")')
_ID_LAST = re.compile(rb'"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,99}")\s*\}\s*$')


class Refusal(NamedTuple):
    """What a line that is no message is answered with."""

    answer: types.JSONRPCError


class TooLong(NamedTuple):
    """The beginning and the end of a message that was passed over."""

    head: bytes
    tail: bytes


async def serve(connection: socket.socket, caller: Caller) -> None:
    """Speak MCP over a connection until the client has nothing more to say."""
    connection.setblocking(False)
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=MAX_MESSAGE_BYTES)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    server, open_requests = Session(caller).server, _Open()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, reader, to_server, to_client.clone(), open_requests)
            tasks.start_soon(_write, writer, from_server, open_requests)
            await server.run(from_client, to_client, server.create_initialization_options())
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


class _Open:
    """The requests of a client that are not answered yet."""

    def __init__(self) -> None:
        self._ids: set[int | str] = set()
        self._none = anyio.Event()

    def came(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._end((message.params or {}).get("requestId"))

    def went(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._end(message.id)

    def _end(self, request: object) -> None:
        if isinstance(request, int | str):
            self._ids.discard(request)
        if not self._ids:
            self._none.set()

    async def settled(self) -> None:
        """Return when all are answered, or the time for it is over."""
        if self._ids:
            self._none = anyio.Event()
            with anyio.move_on_after(SETTLE_S):
                await self._none.wait()


async def _read(
    reader: asyncio.StreamReader,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    to_client: MemoryObjectSendStream[SessionMessage],
    open_requests: _Open,
) -> None:
    async with to_server, to_client:
        with contextlib.suppress(OSError, anyio.BrokenResourceError):
            async for line in _lines(reader):
                found = _message(line)
                if isinstance(found, Refusal):
                    await to_client.send(SessionMessage(found.answer))
                else:
                    open_requests.came(found)
                    await to_server.send(SessionMessage(found))
            # What was asked is answered, even if whoever asked has closed its end of the pipe already.
            await open_requests.settled()


async def _write(
    writer: asyncio.StreamWriter, from_server: MemoryObjectReceiveStream[SessionMessage], open_requests: _Open
) -> None:
    async with from_server:
        async for message in from_server:
            data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
            with contextlib.suppress(OSError):  # the client went away: `_read` sees its end
                writer.write(data + b"\n")
                await writer.drain()
            open_requests.went(message.message)


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes | TooLong]:
    """Lines that hold something. One that is too long is passed over without being kept."""
    head = tail = b""
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            line = end.partial
        except asyncio.LimitOverrunError as overrun:
            passed = await reader.readexactly(overrun.consumed)
            head, tail = head or passed[:_EDGE_BYTES], (tail + passed)[-_EDGE_BYTES:]
            continue
        if head:
            yield TooLong(head, (tail + line)[-_EDGE_BYTES:])
        elif line.strip():
            yield line
        if not line.endswith(b"\n"):
            return
        head = tail = b""


def _message(line: bytes | TooLong) -> types.JSONRPCMessage | Refusal:
    """A line as a message."""
    if isinstance(line, TooLong):
        what = f"the message is longer than {MAX_MESSAGE_BYTES // 1024 // 1024} MiB"
        return _refusal(types.INVALID_REQUEST, what, _id_in(line))
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        known = _id_in(TooLong(line, line))
        if error.errors()[0]["type"] == "json_invalid":
            mended = _mended(line)
            if mended is not None:
                return _message(mended)
            return _refusal(types.PARSE_ERROR, "the line is not JSON", known)
        return _refusal(types.INVALID_REQUEST, "the line is no message of JSON-RPC 2.0", known)


def _mended(line: bytes) -> bytes | None:
    """The line with a sign in the place of halves of characters: programs cut a text in the middle of an emoji, and
    JSON can write what UTF-8 cannot. None where it is no better for it.
    """
    try:
        mended = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return None
    return mended if mended != line else None


def _refusal(code: int, what: str, request: int | str | None) -> Refusal:
    return Refusal(types.JSONRPCError(jsonrpc="2.0", id=request, error=types.ErrorData(code=code, message=what)))


def _id_in(line: TooLong) -> int | str | None:
    """The id of a request that is too long to be read: its client must not wait for an answer for ever."""
    found = _ID_FIRST.match(line.head) or _ID_LAST.search(line.tail)
    if found is None:
        return None
    text = found[1].decode("utf-8", "replace")
    return text[1:-1] if text.startswith('"') else int(text)


def log_to_file() -> None:
    """Warnings and faults go to the log: stderr is the agent's, who shows it to nobody or to everybody."""
    path = find_paths().log
    with contextlib.suppress(OSError, MdmemError):  # a disk that is only read takes no log
        private_folder(Path(path).parent)
        logs.to_file(path)
    logging.getLogger().setLevel(logging.WARNING)
