"""The machine refuses: full, read-only, unmounted, silent, out of watches. In private namespaces, by real mounts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from tests.conftest import ROOT, Home, wait_until
from tests.daemon.live import (
    assert_like_fresh,
    await_found,
    await_lost,
    found,
    listed,
    problem_codes,
    running,
    scope_status,
    stamp,
    status,
)
from tests.faults.machine import MOUNTS, ask, boxed, inside, needs, needs_namespaces, write_inside

pytestmark = pytest.mark.slow


def limited(name: str, value: int) -> list[str]:
    needs_namespaces("-Ur")
    return ["unshare", "-Ur", "sh", "-c", f'echo {value} > /proc/sys/user/{name} && exec "$@"', "sh"]


@pytest.mark.parametrize(
    ("name", "value", "sysctl"),
    [("max_inotify_watches", 8, "max_user_watches"), ("max_inotify_instances", 0, "max_user_instances")],
)
def test_e9_and_e10_without_watches_folders_are_polled_and_status_says_why(
    home: Home, name: str, value: int, sysctl: str
) -> None:
    for n in range(20):
        home.put(f"d{n}/m{n}.md", f"number{n}\n")
    with boxed(home, limited(name, value), watch_poll_seconds=0.3) as daemon:
        await_found(daemon, "number19")
        scope = scope_status(daemon, home.user)
        assert scope["watch"] == "polling"
        assert sysctl in scope["watch_reason"]
        home.put("d19/new.md", "newword\n")
        home.put("e/f/g.md", "deepword\n")
        await_found(daemon, "newword")
        await_found(daemon, "deepword")
        assert daemon.stderr().count("\n") < 20
        assert_like_fresh(home, daemon)


def test_e9_sub_folders_made_after_the_limit_is_reached_are_noticed(home: Home) -> None:
    home.put("a.md", "alphaword\n")
    settings = {"watch_heartbeat_seconds": 0.5, "watch_poll_seconds": 0.3}
    with boxed(home, limited("max_inotify_watches", 8), **settings) as daemon:
        await_found(daemon, "alphaword")
        assert scope_status(daemon, home.user)["watch"] == "events"
        for n in range(20):
            home.put(f"d{n}/m{n}.md", f"number{n}\n")
        wait_until(lambda: scope_status(daemon, home.user)["watch"] == "polling", "it is polled from now on")
        home.put("d19/new.md", "newword\n")
        await_found(daemon, "newword")


def test_e13_a_disk_that_goes_away_takes_its_memories_offline_and_brings_them_back(home: Home) -> None:
    needs_namespaces("--mount")
    disk = home.folder / "disk"
    disk.mkdir()
    home.user.mkdir(parents=True)
    with boxed(home, MOUNTS) as daemon:
        inside(daemon, "mount", "--bind", str(disk), str(home.user))
        write_inside(daemon, home.user / "a.md", "diskword\n")
        for n in range(30):
            (disk / f"m{n}.md").write_text(f"number{n}\n")
        await_found(daemon, "diskword")
        await_found(daemon, "number29")
        wait_until(lambda: (disk / "MEMORY.md").exists() and b"m29" in (disk / "MEMORY.md").read_bytes(), "manifest")
        before = stamp(disk / "MEMORY.md")

        inside(daemon, "umount", str(home.user))
        wait_until(lambda: scope_status(daemon, home.user)["state"] == "offline", "it is offline")
        ask(daemon, "sync")
        assert scope_status(daemon, home.user)["memories"] == 31
        assert not found(daemon, "diskword")
        assert list(home.user.iterdir()) == [], "nothing is written under the mount point"

        inside(daemon, "mount", "--bind", str(disk), str(home.user))
        await_found(daemon, "diskword")
        ask(daemon, "sync")
        assert stamp(disk / "MEMORY.md") == before
        (disk / "late.md").write_text("lateword\n")
        await_found(daemon, "lateword")


def test_e14_changes_that_raise_no_event_are_found_by_the_scan(home: Home) -> None:
    needs_namespaces("--mount")
    layers = home.folder / "layers"
    for name in ("lower", "upper", "work"):
        (layers / name).mkdir(parents=True)
    (layers / "lower" / "a.md").write_text("alphaword\n")
    home.user.mkdir(parents=True)
    # overlay needs an upper folder on a file system that is no overlay itself
    script = (
        f'mount -t tmpfs none {layers} && mkdir {layers}/lower {layers}/upper {layers}/work'
        f' && echo alphaword > {layers}/lower/a.md'
        f' && mount -t overlay overlay -o lowerdir={layers}/lower,upperdir={layers}/upper,workdir={layers}/work'
        f' {home.user} && exec "$@"'
    )  # fmt: skip
    prefix = [*MOUNTS, "sh", "-c", script, "sh"]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("overlay cannot be mounted here")
    with boxed(home, prefix, watch_rescan_minutes=0.03) as daemon:
        await_found(daemon, "alphaword")
        write_inside(daemon, layers / "lower" / "b.md", "betaword\n")
        write_inside(daemon, layers / "upper" / "c.md", "gammaword\n")
        await_found(daemon, "gammaword")
        await_found(daemon, "betaword")


def test_e6_a_read_only_scope_is_indexed_and_the_manifest_is_a_problem(home: Home) -> None:
    needs_namespaces("--mount")
    home.put("a.md", "alphaword\n")
    script = f'mount --bind {home.user} {home.user} && mount -o remount,bind,ro {home.user} && exec "$@"'
    with boxed(home, [*MOUNTS, "sh", "-c", script, "sh"]) as daemon:
        await_found(daemon, "alphaword")
        wait_until(lambda: "manifest-not-written" in problem_codes(daemon), "status says so")
        home.put("b.md", "betaword\n")  # from outside the namespace, where it is writable
        await_found(daemon, "betaword")

        inside(daemon, "mount", "-o", "remount,bind,rw", str(home.user))
        ask(daemon, "sync")
        wait_until(lambda: b"b.md" in (home.user / "MEMORY.md").read_bytes(), "it is written when it can be")
        wait_until(lambda: "manifest-not-written" not in problem_codes(daemon), "and no problem any more")


def test_e7_a_full_disk_leaves_the_old_manifest_whole_and_is_got_over(home: Home) -> None:
    needs_namespaces("--mount")
    home.user.mkdir(parents=True)
    script = f'mount -t tmpfs -o size=64k,mode=700 none {home.user} && exec "$@"'
    with boxed(home, [*MOUNTS, "sh", "-c", script, "sh"]) as daemon:
        write_inside(daemon, home.user / "a.md", "alphaword\n")
        await_found(daemon, "alphaword")
        wait_until(lambda: "a.md" in inside(daemon, "cat", f"{home.user}/MEMORY.md"), "the manifest is made")
        old = inside(daemon, "cat", f"{home.user}/MEMORY.md")
        inside(daemon, "sh", "-c", f"dd if=/dev/zero of={home.user}/fill bs=4k 2>/dev/null || true")
        inside(daemon, "mv", f"{home.user}/a.md", f"{home.user}/b.md")
        wait_until(lambda: listed(daemon) == {"b.md"}, "the rename is indexed")
        wait_until(lambda: "manifest-not-written" in problem_codes(daemon), "status says so")
        assert inside(daemon, "cat", f"{home.user}/MEMORY.md") == old

        inside(daemon, "rm", f"{home.user}/fill")
        ask(daemon, "sync")
        wait_until(
            lambda: "b.md" in inside(daemon, "cat", f"{home.user}/MEMORY.md"), "it is written when there is room"
        )


def test_e7_a_full_state_folder_is_said_and_got_over(home: Home) -> None:
    needs_namespaces("--mount")
    state = home.mdmem / "state"
    state.mkdir(parents=True, mode=0o700)
    script = f'mount -t tmpfs -o size=1m,mode=700 none {state} && exec "$@"'
    with boxed(home, [*MOUNTS, "sh", "-c", script, "sh"]) as daemon:
        home.put("a.md", "alphaword\n")
        await_found(daemon, "alphaword")
        inside(daemon, "sh", "-c", f"dd if=/dev/zero of={state}/fill bs=4k 2>/dev/null || true")
        for n in range(200):
            home.put(f"m{n}.md", f"number{n} {'word ' * 200}\n")
        wait_until(lambda: "the disk is full" in daemon.stderr(), "it says so")
        assert found(daemon, "alphaword"), "searching goes on"
        assert daemon.process.poll() is None

        inside(daemon, "rm", f"{state}/fill")
        inside(daemon, "mount", "-o", "remount,size=50m", str(state))
        await_found(daemon, "number199", limit_s=30)
        wait_until(lambda: status(daemon)["index"]["memories"] == 201, "all are there")
        assert daemon.stderr().count("\n") < 40


def test_e5_what_is_closed_to_us_is_not_deleted(home: Home) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    needs("setpriv")
    path = home.put("a.md", "alphaword\n")
    home.put("sub/b.md", "betaword\n")
    source = home.folder / "src"
    shutil.copytree(ROOT / "mdmem", source / "mdmem")
    home.env["PYTHONPATH"] = str(source)
    subprocess.run(["chown", "-R", "65534:65534", str(home.folder)], check=True)
    as_other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable]
    if subprocess.run([*as_other, "-c", "import apsw"], env=home.env, capture_output=True, check=False).returncode:
        pytest.skip("this Python cannot be run by another user")

    def asked(op: str, **more: object) -> dict[str, Any]:
        """Root is a stranger to that daemon: its own user asks."""
        request = {"op": op, **more}
        code = f"import json; from mdmem.daemon import client; print(json.dumps(client.ask({socket!r}, {request!r})))"
        done = subprocess.run([*as_other, "-c", code], env=home.env, capture_output=True, text=True, check=False)
        return dict(json.loads(done.stdout or "null") or {})

    socket = f"{home.mdmem}/run/mdmem.sock"
    process = subprocess.Popen([*as_other, "-m", "mdmem.daemon"], env=home.env, cwd="/", stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: bool(asked("search", query="betaword", mode="keyword").get("hits")), "it is indexed")
        path.chmod(0)
        (home.user / "sub").chmod(0)
        assert asked("sync")["ok"]
        names = {os.path.basename(m["path"]) for m in asked("list")["memories"]}
        assert names == {"a.md", "b.md"}
        assert "unreadable" in {p["code"] for p in asked("status")["status"]["problems"]}
        path.chmod(0o600)
        (home.user / "sub").chmod(0o700)
        assert asked("sync")["ok"]
        assert "unreadable" not in {p["code"] for p in asked("status")["status"]["problems"]}
    finally:
        process.terminate()
        process.wait(20)


def test_e11_and_e17_what_happened_while_it_was_stopped_is_found_in_spite_of_a_full_queue(home: Home) -> None:
    with running(home) as daemon:
        home.put("a.md", "alphaword\n")
        await_found(daemon, "alphaword")
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            for n in range(12_000):
                path = home.user / f"d{n % 50}" / f"m{n}.md"
                if n < 50:
                    path.parent.mkdir()
                path.write_text(f"number{n}\n")
            (home.user / "late").mkdir()
            (home.user / "late" / "late.md").write_text("lateword\n")
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        wait_until(lambda: status(daemon)["index"]["memories"] == 12_002, "all are there, without being asked", 60)
        (home.user / "late" / "after.md").write_text("afterword\n")
        await_found(daemon, "afterword")
        assert_like_fresh(home, daemon)


def test_b1_a_branch_switch_of_2000_memories_is_few_manifests(home: Home) -> None:
    from tests.daemon.live import Writes, git, repository

    root = repository(home)
    folder = root / ".mdmem"
    with running(home) as daemon:
        ask(daemon, "sync")
        (root / ".gitignore").write_text("MEMORY.md\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "x")
        git(root, "checkout", "-qb", "many")
        for n in range(2_000):
            home.put(f"d{n % 40}/m{n}.md", f"---\nname: m{n}\n---\nnumber{n}\n", folder)
        git(root, "add", "-A")
        git(root, "commit", "-qm", "many")
        ask(daemon, "sync")
        threading.Event().wait(1.0)
        with Writes(folder / "MEMORY.md") as writes:
            git(root, "checkout", "-q", "main")
            await_lost(daemon, "number1999", cwd=str(root))
            ask(daemon, "sync")
            threading.Event().wait(1.0)
            there = writes.count
            git(root, "checkout", "-q", "many")
            await_found(daemon, "number1999", cwd=str(root))
            wait_until(lambda: status(daemon)["index"]["memories"] == 2_001, "all are back")
            ask(daemon, "sync")
            threading.Event().wait(1.0)
        assert there <= 2
        assert writes.count - there <= 2
        assert_like_fresh(home, daemon)
