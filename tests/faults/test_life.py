"""Part F of the failure catalogue: start, stop, and what can be in the way of either."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from mdmem.app import App
from mdmem.daemon import client
from tests.conftest import ROOT, Daemon, Home, wait_until
from tests.daemon.live import assert_like_fresh, await_found, await_lost, found, listed, running, status

pytestmark = pytest.mark.slow
FAR = 30.0


def start(home: Home, *, env: dict[str, str] | None = None, **more: Any) -> subprocess.Popen[bytes]:
    """A daemon that may end at once; its words are in `stderr`."""
    return subprocess.Popen(
        [sys.executable, "-m", "mdmem.daemon"],
        cwd="/", env=home.env if env is None else env, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, **more,
    )  # fmt: skip


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, said = process.communicate(timeout=FAR)
    return process.returncode, said.decode()


def many(home: Home, count: int) -> None:
    home.user.mkdir(parents=True, exist_ok=True)
    for n in range(count):
        (home.user / f"m{n:05}.md").write_text(f"---\nname: Memory {n}\n---\nThe body of number{n}, {'word ' * 40}\n")


def test_f4_of_ten_started_at_once_one_lives_and_the_others_say_who(home: Home) -> None:
    processes = [start(home) for _ in range(10)]
    try:
        wait_until(lambda: sum(p.poll() is None for p in processes) == 1, "nine have ended", FAR)
        alive = next(p for p in processes if p.poll() is None)
        for process in processes:
            if process is not alive:
                code, said = ended(process)
                assert code == 6
                assert f"pid {alive.pid}" in said
                assert "Traceback" not in said
        answer = client.ask(str(home.mdmem / "run" / "mdmem.sock"), {"op": "ping"})
        assert answer is not None
        assert answer["pid"] == alive.pid
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(FAR)
            assert process.stderr is not None
            process.stderr.close()


def test_f5_a_stale_pid_in_the_lock_file_neither_stops_a_start_nor_harms_its_owner(home: Home) -> None:
    (home.mdmem / "run").mkdir(parents=True)
    (home.mdmem / "run" / "mdmem.lock").write_text(json.dumps({"pid": os.getpid(), "owner": "the daemon"}))
    with running(home) as daemon:
        assert daemon.ask("ping")["pid"] == daemon.process.pid


def test_f6_a_child_of_the_daemon_does_not_keep_the_lock(home: Home) -> None:
    """git runs as a child; had it the lock's descriptor, it would outlive the daemon with it."""
    with running(home) as daemon:
        lock = str(home.mdmem / "run" / "mdmem.lock")
        folder = Path(f"/proc/{daemon.process.pid}/fd")
        numbers = [fd.name for fd in folder.iterdir() if os.path.realpath(fd) == lock]
        assert len(numbers) == 1
        flags = Path(f"/proc/{daemon.process.pid}/fdinfo/{numbers[0]}").read_text().split("flags:")[1].split()[0]
        assert int(flags, 8) & os.O_CLOEXEC


def test_f7_a_stale_socket_is_replaced_and_a_home_of_120_bytes_works(home: Home) -> None:
    home.mdmem = home.folder / ("long" * 30) / "m"
    home.user = home.mdmem / "user"
    home.env["MDMEM_HOME"] = str(home.mdmem)
    os.environ["MDMEM_HOME"] = str(home.mdmem)
    path = App().paths.socket
    assert len(path) <= 100
    Path(path).parent.mkdir(mode=0o700, exist_ok=True)
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(path)
    stale.close()
    process = start(home)
    try:
        home.put("a.md", "the longword\n")
        wait_until(lambda: _answers(path), "it answers")
        sync = client.ask(path, {"op": "sync"})
        hits = client.ask(path, {"op": "search", "query": "longword", "mode": "keyword"})
        assert sync is not None
        assert hits is not None
        assert len(hits["hits"]) == 1
    finally:
        process.terminate()
        code, said = ended(process)
    assert code == 0, said
    assert not Path(path).exists()


def _answers(path: str) -> bool:
    return client.ask(path, {"op": "ping"}) is not None


@pytest.mark.parametrize(("number", "count"), [(signal.SIGTERM, 2_000), (signal.SIGINT, 500)])
def test_f9_a_signal_during_a_first_index_stops_it_soon_and_whole(
    home: Home, number: signal.Signals, count: int
) -> None:
    many(home, count)
    with running(home) as daemon:
        wait_until(lambda: status(daemon)["index"]["memories"] > 100 or _complete(daemon), "it is at work")
        started = time.monotonic()
        daemon.process.send_signal(number)
        assert daemon.process.wait(FAR) == 0
        took_s = time.monotonic() - started
    assert took_s < 5.0

    with running(home) as daemon:
        daemon.sync()
        assert status(daemon)["index"]["memories"] == count
        assert_like_fresh(home, daemon)


def _complete(daemon: Daemon) -> bool:
    return bool(status(daemon)["scopes"][0]["full_text"])


def test_f9_sighup_reads_config_and_scopes_again(home: Home, daemon: Daemon) -> None:
    daemon.sync()
    vault = home.folder / "mounted"
    home.put("m.md", "the mountword\n", vault)
    (home.mdmem / "config.toml").write_text(f'[[scopes.mounts]]\npath = "{vault}"\n')
    daemon.process.send_signal(signal.SIGHUP)
    await_found(daemon, "mountword")

    (home.mdmem / "config.toml").write_text("[[scopes.mounts\n")
    daemon.process.send_signal(signal.SIGHUP)
    home.put("n.md", "the nextword\n")
    await_found(daemon, "nextword")
    assert found(daemon, "mountword"), "a broken config changes nothing"
    assert daemon.ask("reload")["error"]["exit_code"] == 6

    (home.mdmem / "config.toml").write_text("")
    assert daemon.ask("reload")["ok"]
    await_lost(daemon, "mountword")


def test_f8_the_next_edit_is_indexed_after_an_exception_in_a_callback_or_the_death_of_an_observer(home: Home) -> None:
    """In this process, to reach the threads; all else is real."""
    from mdmem.daemon.run import Daemon as Parts

    app = App()
    parts = Parts(app)
    parts.start()
    try:
        where = {"op": "search", "query": "", "mode": "keyword"}
        path = app.paths.socket

        def finds(word: str) -> bool:
            answer = client.ask(path, where | {"query": word})
            return bool(answer and answer["hits"])

        home.put("a.md", "alphaword\n")
        wait_until(lambda: finds("alphaword"), "the watch works")
        watcher = parts.watches.watcher
        real, fails = watcher.changed, [True]

        def failing(folder: str, rel: str | bytes, is_folder: bool) -> None:
            if fails.pop() if fails else False:
                raise RuntimeError("injected")
            real(folder, rel, is_folder)

        watcher.changed = failing  # type: ignore[method-assign]
        home.put("b.md", "betaword\n")
        wait_until(lambda: finds("betaword"), "an exception loses nothing")
        watcher.changed = real  # type: ignore[method-assign]

        for observer in list(watcher._observers.values()):
            observer.stop()
            observer.join()
        home.put("c.md", "gammaword\n")
        wait_until(lambda: finds("gammaword"), "the observer is started again")
        home.put("d.md", "deltaword\n")
        wait_until(lambda: finds("deltaword"), "and its events arrive")
    finally:
        parts.stop()


def test_f8_a_watch_whose_events_stop_without_a_word_is_found_out(home: Home) -> None:
    """The kernel's reader thread dies: all of watchdog's own threads look alive, and nothing ever comes."""
    pytest.importorskip("watchdog.observers.inotify_c")
    from mdmem.daemon.run import Daemon as Parts

    os.environ["MDMEM_WATCH_HEARTBEAT_SECONDS"] = "0.5"
    try:
        parts = Parts(App())
    finally:
        del os.environ["MDMEM_WATCH_HEARTBEAT_SECONDS"]
    parts.start()
    try:
        folder = str(home.user)
        wait_until(lambda: parts.watches.modes.get(folder, ("", ""))[0] == "events", "it is watched")
        parts.watches._on_cookie = lambda folder, name: None  # type: ignore[method-assign]
        parts.watches.watcher._on_cookie = lambda folder, name: None
        parts.watches.watcher._on_change = lambda folder, rel: None
        wait_until(lambda: parts.watches.modes[folder][0] == "polling", "it is polled instead", 25.0)
        home.put("a.md", "alphaword\n")
        path = parts.app.paths.socket
        wait_until(
            lambda: bool((client.ask(path, {"op": "search", "query": "alphaword", "mode": "keyword"}) or {})["hits"]),
            "it is found by polling",
        )
    finally:
        parts.stop()


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ({"HOME": "", "MDMEM_HOME": ""}, None, ""),
        ({"XDG_RUNTIME_DIR": "", "LC_ALL": "C", "LANG": "C"}, None, ""),
        ({"MDMEM_HOME": "/proc/nowhere"}, 6, "/proc"),
        ({"MDMEM_WATCH_QUIET_MS": '"x"'}, 6, "watch.quiet_ms"),
    ],
    ids=["no home", "no runtime folder, C locale", "a home that cannot be", "a setting that is wrong"],
)
def test_f12_an_odd_environment_works_or_is_refused_in_words(
    home: Home, change: dict[str, str], code: int | None, word: str
) -> None:
    env = home.env | change
    if change.get("MDMEM_HOME") == "":
        env = {k: v for k, v in env.items() if k not in ("MDMEM_HOME", "HOME")} | {
            "XDG_DATA_HOME": f"{home.folder}/d", "XDG_STATE_HOME": f"{home.folder}/s",
            "XDG_CONFIG_HOME": f"{home.folder}/c", "XDG_RUNTIME_DIR": f"{home.folder}/r",
        }  # fmt: skip
    process = start(home, env=env)
    pause = threading.Event()
    deadline = time.monotonic() + 20
    sockets = [f"{home.folder}/s/mdmem/run/mdmem.sock", f"{home.folder}/m/run/mdmem.sock"]
    while process.poll() is None and time.monotonic() < deadline and not any(map(_answers, sockets)):
        pause.wait(0.02)
    process.terminate()
    got, said = ended(process)

    assert "Traceback" not in said
    assert got == (code or 0), said
    assert word in said


def test_f13_another_protocol_is_answered_with_a_restart_hint(daemon: Daemon) -> None:
    answer = client.ask(daemon.socket, {"op": "ping", "v": 99})

    assert answer is not None
    assert not answer["ok"]
    assert "mdmem up" in answer["error"]["hint"]


def test_a_broken_scopes_file_at_the_start_is_said_and_mended_while_it_runs(home: Home) -> None:
    home.mdmem.mkdir()
    (home.mdmem / "scopes.toml").write_text("[[project\n")
    with running(home) as daemon:
        home.put("a.md", "alphaword\n")
        wait_until(lambda: "scopes.toml" in daemon.stderr(), "it says so")
        (home.mdmem / "scopes.toml").write_text("")
        await_found(daemon, "alphaword")


def test_two_users_daemons_run_side_by_side(home: Home, tmp_path_factory: pytest.TempPathFactory) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    import shutil
    import tempfile

    other = Path(tempfile.mkdtemp(prefix="mo-", dir="/tmp"))
    shutil.copytree(ROOT / "mdmem", other / "src" / "mdmem")
    subprocess.run(["chown", "-R", "65534:65534", str(other)], check=True)
    # Not measured for coverage: another user may not write where that is kept.
    env = {k: v for k, v in home.env.items() if not k.startswith("COV")}
    env |= {"MDMEM_HOME": f"{other}/m", "HOME": str(other), "PYTHONPATH": f"{other}/src"}
    probe = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", "1"], check=False)
    if probe.returncode:
        pytest.skip("this Python cannot be run by another user")
    process = subprocess.Popen(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-m", "mdmem.daemon"],
        cwd="/", env=env, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with running(home) as daemon:
            home.put("mine.md", "mineword\n")
            wait_until(lambda: (other / "m" / "run" / "mdmem.sock").exists(), "the other one runs")
            await_found(daemon, "mineword")
            assert listed(daemon) == {"mine.md"}
            # Root may connect to anything; the daemon still speaks to its own user alone.
            with contextlib.closing(socket.socket(socket.AF_UNIX)) as stranger:
                stranger.settimeout(5)
                stranger.connect(str(other / "m" / "run" / "mdmem.sock"))
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    stranger.sendall(b'{"op": "ping"}\n')
                with contextlib.suppress(ConnectionResetError):
                    assert stranger.recv(100) == b""
    finally:
        process.terminate()
        process.wait(FAR)
        shutil.rmtree(other)
