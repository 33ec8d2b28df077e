"""The process that an agent starts at its events: what it prints, and that nothing can make it hurt the agent."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mdmem.agents import hook
from mdmem.config import find_paths
from mdmem.config.paths import likely_socket
from tests.conftest import ROOT, Daemon, Home
from tests.hooks.payloads import JUNK, PAYLOADS

ASKED = {"session_id": "s1", "cwd": "/", "prompt": "how do we deploy the shop to staging"}


@pytest.fixture
def shop(home: Home) -> Home:
    home.put("deploy.md", "---\ntype: procedure\n---\nDeploy the shop to staging with make deploy.\n")
    home.run("sync")
    return home


def logged(home: Home) -> list[str]:
    path = home.mdmem / "state" / "hook.log"
    return path.read_text().splitlines() if path.exists() else []


def fire(home: Home, agent: str, event: str, payload: Any, **kwargs: Any) -> str:
    """The hook's stdout. It must have ended with 0, and said nothing on stderr."""
    stdin = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    done = home.run("hook", agent, event, stdin=stdin, **kwargs)
    assert (done.code, done.err) == (0, "")
    return done.out


def block(home: Home, agent: str, event: str, payload: dict[str, Any]) -> str:
    """The hook's stdout, where it may take its time: the machine that runs the tests may be busy."""
    code = "import sys; from mdmem.agents import hook; hook.DEADLINE_S = 20.0; hook.main(sys.argv[1:])"
    before = len(logged(home))
    done = subprocess.run(
        [sys.executable, "-c", code, agent, event],
        input=json.dumps(payload).encode(), capture_output=True, env=home.env, cwd=home.work, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr, logged(home)[before:]) == (0, b"", [])
    return done.stdout.decode()


def test_with_a_daemon_the_block_comes_out(shop: Home, daemon: Daemon) -> None:
    printed = json.loads(block(shop, "claude-code", "UserPromptSubmit", ASKED))
    assert "make deploy" in printed["hookSpecificOutput"]["additionalContext"]
    assert block(shop, "claude-code", "UserPromptSubmit", ASKED) == "", "given already"


@pytest.mark.slow
def test_without_a_daemon_the_index_is_read(shop: Home) -> None:
    assert "make deploy" in block(shop, "gemini", "BeforeAgent", ASKED)
    assert block(shop, "gemini", "BeforeAgent", ASKED) == "", "given already"


@pytest.mark.slow
def test_what_was_given_without_a_daemon_is_known_to_the_next(shop: Home) -> None:
    assert block(shop, "codex", "UserPromptSubmit", ASKED)
    running = Daemon(shop)
    try:
        assert block(shop, "codex", "UserPromptSubmit", ASKED) == ""
    finally:
        running.stop()


@pytest.mark.slow
def test_a_file_that_changed_since_the_index_was_made_is_not_given_from_it(shop: Home) -> None:
    shop.put("deploy.md", "---\ntype: procedure\n---\nThe shop is deployed to staging by the pipeline alone.\n")
    assert "make deploy" not in block(shop, "claude-code", "UserPromptSubmit", ASKED)
    (shop.user / "deploy.md").unlink()
    assert "pipeline" not in block(shop, "claude-code", "UserPromptSubmit", ASKED | {"session_id": "s2"})


def test_nothing_is_set_up_at_all(home: Home) -> None:
    assert fire(home, "claude-code", "UserPromptSubmit", ASKED) == ""
    assert len(logged(home)) == 1


@pytest.mark.parametrize("raw", JUNK, ids=range(len(JUNK)))
def test_junk_on_stdin_is_one_line_in_the_log(shop: Home, raw: bytes) -> None:
    assert fire(shop, "claude-code", "Stop", raw) == ""
    assert len(logged(shop)) == 1
    assert "claude-code Stop" in logged(shop)[0]


@pytest.mark.parametrize(
    "args",
    [[], ["claude-code"], ["claude-code", "Stop", "more"], ["claude-code", "NoSuch"], ["nobody", "Stop"],
     ["claude-code", 'S"top'], ["../../x", "Stop"], ["claude-code", "$(touch x)"], ["克劳德", "Stop"], ["", ""]],
)  # fmt: skip
@pytest.mark.parametrize("running", [False, True])
def test_unknown_words_are_one_line_in_the_log(shop: Home, args: list[str], running: bool) -> None:
    with_daemon = Daemon(shop) if running else None
    try:
        done = shop.run("hook", *args, stdin=json.dumps(ASKED))
    finally:
        if with_daemon:
            with_daemon.stop()
    assert (done.code, done.out, done.err) == (0, "", "")
    said = (shop.folder / "daemon.err").read_text().splitlines() if running else []
    assert len(logged(shop) + [line for line in said if "not understood" in line]) == 1
    assert not (shop.work / "x").exists()


def test_an_endless_stdin_ends_in_time(shop: Home) -> None:
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "mdmem", "hook", "claude-code", "Stop"],
        stdin=read, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=shop.env,
    )  # fmt: skip
    os.close(read)
    try:
        assert process.communicate(timeout=20) == (b"", b"")
        assert process.returncode == 0
    finally:
        os.close(write)
    assert "took too long" in logged(shop)[0]


@pytest.fixture
def mute(shop: Home) -> Iterator[socket.socket]:
    """Something that listens where the daemon would, takes all and says nothing."""
    path = shop.mdmem / "run" / "mdmem.sock"
    path.parent.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        yield listening


def test_a_daemon_that_hangs_costs_no_more_than_the_deadline(shop: Home, mute: socket.socket) -> None:
    assert fire(shop, "claude-code", "UserPromptSubmit", ASKED) == ""
    assert "took too long" in logged(shop)[0]


def test_what_came_too_late_is_given_the_next_time(shop: Home, daemon: Daemon) -> None:
    os.kill(daemon.process.pid, signal.SIGSTOP)
    try:
        assert fire(shop, "claude-code", "UserPromptSubmit", ASKED) == ""
    finally:
        os.kill(daemon.process.pid, signal.SIGCONT)
    daemon.sync()
    assert "make deploy" in block(shop, "claude-code", "UserPromptSubmit", ASKED)
    assert block(shop, "claude-code", "UserPromptSubmit", ASKED) == ""


def test_what_could_not_be_printed_is_given_the_next_time(shop: Home, daemon: Daemon) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mdmem", "hook", "claude-code", "UserPromptSubmit"],
            input=json.dumps(ASKED).encode(), stdout=full, stderr=subprocess.PIPE, env=shop.env, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert "make deploy" in block(shop, "claude-code", "UserPromptSubmit", ASKED)
    assert block(shop, "claude-code", "UserPromptSubmit", ASKED) == ""


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"hook 5\nabc",
        b"hook x\n",
        b'{"ok": false, "error": {"what": "no such op"}}\n',
        b"hook 3\nabcdef",
        b"\xff" * 100,
    ],
)
def test_an_answer_in_other_words_or_cut_off_is_not_printed(shop: Home, mute: socket.socket, reply: bytes) -> None:
    def serve() -> None:
        connection, _ = mute.accept()
        with connection:
            while b"staging" not in connection.recv(1 << 16):
                pass
            connection.sendall(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        assert fire(shop, "claude-code", "UserPromptSubmit", ASKED) == ""
    finally:
        thread.join(20)
    assert len(logged(shop)) == 1


def test_a_payload_that_is_too_long_is_taken_and_left(shop: Home, daemon: Daemon) -> None:
    raw = b'{"prompt": "' + b"a" * (hook.MAX_PAYLOAD_BYTES + 10) + b'"}'
    assert fire(shop, "claude-code", "UserPromptSubmit", raw) == ""
    assert "too long" in logged(shop)[0]
    assert block(shop, "claude-code", "UserPromptSubmit", ASKED)


def test_with_a_daemon_the_guard_answers_and_nothing_is_logged(shop: Home, daemon: Daemon) -> None:
    gave_up = {"session_id": "s1", "cwd": "/", "last_assistant_message": "I don't have credentials to deploy the shop."}
    printed = json.loads(block(shop, "claude-code", "Stop", gave_up | {"stop_hook_active": False}))
    assert printed["decision"] == "block"
    assert block(shop, "claude-code", "Stop", gave_up | {"stop_hook_active": True}) == "", "once a turn"


@pytest.mark.parametrize(("agent", "event", "payload", "_understood"), PAYLOADS[::5])
def test_payloads_go_through_the_whole_program(
    shop: Home, daemon: Daemon, agent: str, event: str, payload: Any, _understood: Any
) -> None:
    printed = fire(shop, agent, event, payload)
    assert printed == "" or isinstance(json.loads(printed), dict)


def test_the_log_stays_small_and_private(home: Home) -> None:
    state = home.mdmem / "state"
    state.mkdir(parents=True)
    (state / "hook.log").write_bytes(b"x" * (hook.MAX_LOG_BYTES + 1))
    fire(home, "claude-code", "Stop", b"junk")
    assert len(logged(home)) == 1
    assert (state / "hook.log").stat().st_mode & 0o077 == 0


def test_a_pipe_in_the_place_of_the_log_holds_nothing_up(home: Home) -> None:
    path = home.mdmem / "state" / "hook.log"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    assert fire(home, "claude-code", "Stop", b"junk") == ""


def test_neither_the_prompt_nor_the_payload_is_ever_logged(shop: Home, daemon: Daemon) -> None:
    canary = "canary-7f3a91"
    for raw in (canary, json.dumps({"prompt": canary, "cwd": 3}), json.dumps([canary])):
        fire(shop, "claude-code", "UserPromptSubmit", raw.encode())
    daemon.stop()
    for raw in (canary, json.dumps({"prompt": canary, "cwd": 3}), json.dumps([canary])):
        fire(shop, "claude-code", "UserPromptSubmit", raw.encode())
    files = [path for path in shop.folder.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if canary.encode() in path.read_bytes()]


def test_help_is_for_people(home: Home) -> None:
    done = home.run("hook", "--help")
    assert done.code == 0
    assert "UserPromptSubmit" in done.out


def test_little_is_imported() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mdmem.agents import hook; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-E", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    ours = {"mdmem", "mdmem.agents", "mdmem.agents.hook", "mdmem.config", "mdmem.config.paths"}
    assert {name for name in loaded if name.startswith("mdmem")} == ours
    assert not loaded & {"typing", "re", "json", "socket", "enum", "contextlib", "pathlib"}


@pytest.mark.parametrize(
    "env",
    [
        {"MDMEM_HOME": "/tmp/x"},
        {"MDMEM_HOME": "~/m"},
        {"MDMEM_HOME": "/tmp/" + "a" * 120},
        {"HOME": "{tmp}/h"},
        {"XDG_STATE_HOME": "{tmp}/s"},
        {"XDG_STATE_HOME": "{tmp}/" + "a" * 120},
        {"XDG_RUNTIME_DIR": "{tmp}"},
        {"TMPDIR": "{tmp}"},
        {},
    ],
)
def test_the_likely_socket_is_where_the_daemon_has_it(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch, env: dict[str, str]
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.delenv("MDMEM_HOME")
    for name, value in env.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    assert likely_socket() == find_paths().socket
