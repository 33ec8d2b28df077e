"""`mdmem mcp` as a program: with and without a daemon, its streams, and what clients do to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mdmem.agents.mcp_host import MAX_HELLO_BYTES
from mdmem.agents.wire import MAX_MESSAGE_BYTES
from tests.agents.clients import program, talk, text_of
from tests.agents.test_mcp_tools import DEPLOY, GOOD
from tests.conftest import ROOT, Daemon, Home, wait_until

slow = pytest.mark.slow

INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_memories", "arguments": {}}}


class Running:
    """`mdmem mcp`, spoken to line by line."""

    def __init__(self, home: Home, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mdmem", "mcp"],
            env=home.env | (env or {}), cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def say(self, *messages: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        for message in messages:
            self.process.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read() if self.process.stderr else b""
        return dict(json.loads(line))

    def open(self) -> dict[str, Any]:
        self.say(INITIALIZE)
        answer = self.hear()
        self.say(INITIALIZED)
        return answer

    def end(self) -> tuple[int, list[dict[str, Any]], str]:
        """Close its input; exit code, what else it answered, and stderr."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, [json.loads(line) for line in (out or b"").splitlines()], err.decode()


@contextlib.contextmanager
def running(home: Home, env: dict[str, str] | None = None) -> Iterator[Running]:
    started = Running(home, env)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.communicate()


@pytest.fixture(params=["alone", "daemon"])
def served(request: pytest.FixtureRequest, home: Home) -> Home:
    """A home with a memory in it; with a daemon, and without."""
    home.put("deploy.md", DEPLOY)
    if request.param == "daemon":
        daemon: Daemon = request.getfixturevalue("daemon")
        assert daemon.sync()["ok"]
    return home


def hosts(daemon: Daemon) -> list[psutil.Process]:
    children = psutil.Process(daemon.process.pid).children()
    return [child for child in children if "mdmem.agents.mcp_host" in child.cmdline()]


# --- with and without a daemon --------------------------------------------------


@slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_lists_and_calls_every_tool(served: Home, mode: str) -> None:
    async def everything(client: Any) -> tuple[list[str], dict[str, Any], list[Any], Any]:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        answers = {name: await client.call_tool(name, GOOD[name]) for name in tools}
        resources = (await client.list_resources()).resources
        return tools, answers, resources, await client.read_resource("mdmem://user/deploy%3Ablyck")

    tools, answers, resources, read = talk(program(served), everything, mode)
    assert sorted(tools) == sorted(GOOD)
    for name, answer in answers.items():
        assert not answer.is_error, (name, text_of(answer))
    assert "deploy:blyck" in text_of(answers["search_memory"])
    assert "mdmem://user/deploy%3Ablyck" in [resource.uri for resource in resources]
    assert read.contents[0].text == DEPLOY


@slow
def test_who_calls_comes_from_the_environment_or_the_command_line(served: Home) -> None:
    async def note(client: Any) -> Any:
        return (await client.call_tool("update_notes", {"text": "x"})).structured_content["path"]

    agents = served.mdmem / "agents"
    assert talk(program(served, env={"MDMEM_AGENT": "builder"}), note) == str(agents / "builder" / "notes.md")
    assert talk(program(served, "--agent", "other"), note) == str(agents / "other" / "notes.md")
    assert talk(program(served), note) == str(agents / "mcp" / "notes.md")

    async def proposed(client: Any) -> Any:
        return (await client.call_tool("propose_memory", {"text": "x", "scope": "project"})).content[0].text

    (served.work / "site").mkdir()
    assert served.run("init", "site").code == 0
    for started in (
        program(served, env={"MDMEM_CWD": "~/work/site"}),
        program(served, "--cwd", "site/.mdmem", cwd=served.work),
        program(served, cwd=served.work / "site"),
    ):
        assert "in project:site" in talk(started, proposed)


def test_notes_are_found_at_once(daemon: Daemon, home: Home) -> None:
    async def note(client: Any) -> Any:
        await client.call_tool("update_notes", {"text": "The walrus is blue."})
        await client.call_tool("update_notes", {"text": "The heron is grey."})
        return (await client.call_tool("search_memory", {"query": "heron", "mode": "keyword"})).structured_content

    assert [hit["key"] for hit in talk(program(home), note)["memories"]] == ["notes"]


def test_all_that_was_asked_is_answered_before_the_end(served: Home) -> None:
    with running(served) as started:
        started.say(INITIALIZE, INITIALIZED, LIST, {**LIST, "id": "three"})
        code, answers, err = started.end()

    assert (code, err) == (0, "")
    assert next(answer["id"] for answer in answers) == 1
    assert {answer["id"] for answer in answers} == {1, 2, "three"}


@slow
def test_l6_the_handshake_waits_for_no_index(home: Home) -> None:
    """The config is broken, so that no index can be opened: the answer to initialize needs none."""
    (home.mdmem).mkdir()
    (home.mdmem / "config.toml").write_text("[recall]\nnonsense = 1\n")
    with running(home) as started:
        assert started.open()["result"]["serverInfo"]["name"] == "mdmem"
        started.say(LIST)
        told = started.hear()["result"]

    assert told["isError"]
    assert "nonsense is not a setting" in told["content"][0]["text"]


@slow
def test_a_daemon_that_stops_and_starts_again_is_not_felt(home: Home) -> None:
    home.put("deploy.md", DEPLOY)
    first = Daemon(home)
    try:
        with running(home) as started:
            started.open()
            first.stop()
            started.say(LIST)
            alone = started.hear()["result"]
            second = Daemon(home)
            try:
                started.say({**LIST, "id": 3})
                again = started.hear()["result"]
                with running(home) as other:
                    other.open()
                    other.say(LIST)
                    assert not other.hear()["result"]["isError"]
            finally:
                second.stop()
            code, _, _ = started.end()
    finally:
        first.stop()

    assert "no daemon runs" in alone["content"][0]["text"]
    assert again["structuredContent"]["notes"] == []
    assert (again["structuredContent"]["total"], code) == (1, 0)


# --- the warm host --------------------------------------------------------------


@slow
def test_l7_many_clients_share_one_host_and_one_watcher(daemon: Daemon, home: Home) -> None:
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(running(home)) for _ in range(5)]
        for client in clients:
            client.say(INITIALIZE, INITIALIZED, LIST)
        for client in clients:
            assert client.hear()["id"] == 1
            assert not client.hear()["result"]["isError"]
        (host,) = hosts(daemon)

        assert not any(
            "inotify" in os.readlink(f"/proc/{host.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{host.pid}/fd")
        )
        for client in clients:
            maps = Path(f"/proc/{client.process.pid}/maps").read_text()
            assert "pydantic_core" not in maps, "the program itself is thin"
            assert "_ssl" not in maps


@slow
def test_a_host_that_was_killed_is_told_of_and_comes_back(daemon: Daemon, home: Home) -> None:
    with running(home) as started:
        started.open()
        (host,) = hosts(daemon)
        host.kill()
        host.wait(10)
        wait_until(lambda: started.process.poll() is not None, "the program ends")
        _, err = started.process.communicate()

    assert started.process.returncode == 5
    assert b"error: the MCP server of the daemon ended" in err
    with running(home) as started:
        assert started.open()["result"]
        (again,) = hosts(daemon)
        assert again.pid != host.pid


@slow
def test_the_host_ends_with_the_daemon_however_that_ends(home: Home) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        daemon = Daemon(home)
        with running(home) as started:
            started.open()
            (host,) = hosts(daemon)
            daemon.process.send_signal(number)
            daemon.process.wait(10)
            assert host.is_running(), "it serves its client"
            started.say(LIST)
            assert started.hear()["id"] == 2
        wait_until(lambda host=host: not host.is_running() or host.status() == "zombie", "the host ends")
        daemon.stop()
    assert not (home.mdmem / "run" / "mdmem.sock").exists() or home.run("up").code == 0
    home.run("down")


@slow
def test_a_host_that_cannot_start_leaves_the_program_to_serve_itself(home: Home, tmp_path: Path) -> None:
    broken = tmp_path / "mcp_types"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise SystemExit(3)")
    path = home.env["PYTHONPATH"]
    home.env["PYTHONPATH"] = f"{tmp_path}:{path}"
    daemon = Daemon(home)
    home.env["PYTHONPATH"] = path
    try:
        with running(home) as started:
            started.open()
            started.say(LIST)
            assert not started.hear()["result"]["isError"]
    finally:
        daemon.stop()


def test_the_hosts_socket_is_for_this_person_alone(daemon: Daemon, home: Home) -> None:
    path = home.mdmem / "run" / "mcp.sock"

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for said in (b"", b"junk\n", b'{"v": 99}\n', b"[]\n", b"x" * (MAX_HELLO_BYTES + 10)):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(str(path))
            with contextlib.suppress(OSError):
                connection.sendall(said)
                connection.shutdown(socket.SHUT_WR)
                assert connection.recv(10) == b""
    with running(home) as started:
        assert started.open()["result"]


# --- streams --------------------------------------------------------------------


@slow
def test_l5_a_library_that_prints_from_c_does_not_reach_the_client(home: Home, tmp_path: Path) -> None:
    home.put("deploy.md", DEPLOY)
    (tmp_path / "apsw.py").write_text(
        "import ctypes, os, sys\n"
        "print('a banner')\nos.write(1, b'raw\\n')\n"
        "libc = ctypes.CDLL(None)\nlibc.printf(b'from C\\n')\nlibc.fflush(None)\n"
        "os.system('echo from a child')\n"
        f"sys.path.remove({str(tmp_path)!r})\ndel sys.modules['apsw']\nimport apsw\n"
    )
    with running(home, {"PYTHONPATH": f"{tmp_path}:{ROOT}"}) as started:
        started.say(INITIALIZE, INITIALIZED, LIST)
        code, answers, err = started.end()

    assert (code, [answer["id"] for answer in answers]) == (0, [1, 2])
    assert not answers[1]["result"]["isError"]
    for words in ("a banner", "raw", "from C", "from a child"):
        assert words in err


def test_without_a_standard_output_it_says_so(home: Home) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m mdmem mcp >&-"], env=home.env, capture_output=True, stdin=subprocess.DEVNULL,
        timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 6
    assert b"Traceback" not in done.stderr


@slow
def test_l8_a_client_that_vanishes_leaves_nothing_behind(served: Home) -> None:
    for say in ([], [INITIALIZE], [INITIALIZE, INITIALIZED, LIST], [b'{"jsonrpc": "2.0", "id": 1, "meth']):
        with running(served) as started:
            started.say(*say)
            assert started.process.stdout is not None
            started.process.stdout.close()
            started.process.stdout = None
            code, _, err = started.end()
            assert code == 0, err
            assert "Traceback" not in err


def test_l8_junk_is_answered_as_junk_and_does_no_harm(served: Home) -> None:
    junk = [
        b"\n", b"hello\n", b"{}\n", b"[]\n", b"\xff\xfe\x00\n", b'{"jsonrpc": "2.0"}\n', b"null\n", b'"x"\n',
        b"{" * 5_000 + b"\n",
        b'{"jsonrpc": "2.0", "id": 7, "method": "no/such"}\n', b'{"jsonrpc": "2.0", "id": 8, "method": "tools/call"}\n',
        b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": 3, "arguments": []}}\n',
        b'{"jsonrpc": "2.0", "id": 99, "result": {}}\n',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}\n',
        b'{"jsonrpc": "2.0", "id": 10, "method": "resources/read", "params": {"uri": "\\ud800"}}\n',
    ]  # fmt: skip
    with running(served) as started:
        started.open()
        started.say(*junk, LIST)
        code, answers, err = started.end()

    by_id: dict[Any, list[dict[str, Any]]] = {}
    for answer in answers:
        by_id.setdefault(answer["id"], []).append(answer)
    assert (code, err) == (0, "")
    assert {answer["error"]["code"] for answer in by_id[None]} <= {-32700, -32600}
    assert len(by_id[None]) >= 7
    assert all("error" in by_id[number][0] for number in (7, 8, 9))
    assert "error" in by_id[10][0]
    assert not by_id[2][0]["result"]["isError"]


@pytest.mark.parametrize("closed", [0, 2])
def test_a_standard_stream_that_is_closed_is_taken_by_nothing_else(served: Home, closed: int) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}{"<" if closed == 0 else ">"}&-', "sh", sys.executable, "-m", "mdmem", "mcp"],
        input=b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n', capture_output=True, cwd=served.work, env=served.env,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ([] if closed == 0 else [1])


def test_a_request_with_half_a_character_or_too_deep_is_answered_by_its_id(served: Home) -> None:
    params = b'"params": {"name": "search_memory", "arguments": %s}'
    call = b'{"jsonrpc": "2.0", "id": %d, "method": "tools/call", ' + params + b"}\n"
    with running(served) as started:
        started.open()
        started.say(call % (71, b'{"query": "deploy \\ud83d"}'), call % (72, b"[" * 900 + b"]" * 900), LIST)
        code, answers, err = started.end()

    by_id = {answer["id"]: answer for answer in answers}
    assert (code, err) == (0, "")
    assert not by_id[71]["result"]["isError"]
    assert "error" in by_id[72]


@slow
@pytest.mark.parametrize("last", [False, True])
def test_l8_a_request_of_50_mb_is_refused_by_its_id_and_the_session_goes_on(served: Home, last: bool) -> None:
    padding = b'"params": {"name": "propose_memory", "arguments": {"text": "' + b'x, \\"id\\": 5, ' * 3_700_000 + b'"}}'
    head = b'{"jsonrpc": "2.0", ' + (b"" if last else b'"id": 42, ') + b'"method": "tools/call", '
    with running(served) as started:
        started.open()
        started.say(head + padding + (b', "id": 42' if last else b"") + b"}\n", LIST)
        code, answers, err = started.end()

    assert len(padding) > 50_000_000 > MAX_MESSAGE_BYTES
    assert (code, err) == (0, "")
    refused = next(answer for answer in answers if answer["id"] == 42)
    assert "longer than 4 MiB" in refused["error"]["message"]
    assert not next(answer for answer in answers if answer["id"] == 2)["result"]["isError"]
    assert not (served.mdmem / "inbox").exists()


@slow
def test_a_message_just_below_the_bound_goes_through(served: Home) -> None:
    text = "x" * (MAX_MESSAGE_BYTES - 500)
    asked = {**LIST, "params": {"name": "search_memory", "arguments": {"query": text}}}
    with running(served) as started:
        started.open()
        started.say(asked)
        told = started.hear()

    assert "at most 10000 characters" in told["result"]["content"][0]["text"]
