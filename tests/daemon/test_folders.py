"""Part E of the failure catalogue that needs no namespace: odd files, and scope folders that come and go."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

from tests.conftest import Daemon, Home, wait_until
from tests.daemon.live import (
    assert_like_fresh,
    await_found,
    await_lost,
    found,
    listed,
    problem_codes,
    running,
    scope_status,
    status,
)


def test_e1_to_e4_odd_things_in_a_folder_block_nobody_and_leak_nothing(home: Home, daemon: Daemon) -> None:
    private = home.folder / "private.md"
    private.write_text("the secretword of somebody\n")
    home.put("a/good.md", "goodword\n")
    os.symlink("..", home.user / "a" / "loop")
    os.symlink(private, home.user / "link.md")
    os.symlink(home.folder, home.user / "away")
    os.mkfifo(home.user / "pipe.md")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(home.user / "s.md"))
    (home.user / "folder.md").mkdir()
    try:
        await_found(daemon, "goodword", limit_s=5)
        daemon.sync()
        assert listed(daemon) == {"good.md"}
        assert not found(daemon, "secretword")
        assert {"symlink", "not-a-file"} <= problem_codes(daemon)
        assert "secretword" not in daemon.stderr() + (home.user / "MEMORY.md").read_text()
    finally:
        listening.close()


def test_e3_a_hard_link_is_two_memories_and_an_edit_through_one_name_is_seen_in_both(
    home: Home, daemon: Daemon
) -> None:
    path = home.put("a.md", "oldword\n")
    agent = home.mdmem / "agents" / "builder"
    agent.mkdir(parents=True)
    os.link(path, agent / "b.md")
    await_found(daemon, "oldword", agent="builder", scope=["agent"])

    with path.open("w") as file:  # in place: both names see it, one folder's watch may not
        file.write("newword\n")
    await_found(daemon, "newword", scope=["user"])
    assert daemon.sync()["ok"]
    assert found(daemon, "newword", agent="builder", scope=["agent"])


if os.getuid() != 0:  # root ignores modes: tests/files/test_faults.py looks at this as another user

    def test_e5_what_cannot_be_read_is_not_deleted(home: Home) -> None:
        path = home.put("a.md", "alphaword\n")
        with running(home) as daemon:
            await_found(daemon, "alphaword")
            path.chmod(0)
            daemon.sync()
            assert found(daemon, "alphaword")


def test_e12_a_scope_folder_deleted_and_made_again_later_is_followed_again(home: Home, daemon: Daemon) -> None:
    home.put("a.md", "alphaword\n")
    await_found(daemon, "alphaword")
    shutil.rmtree(home.user)
    wait_until(lambda: scope_status(daemon, home.user)["state"] == "offline", "it is offline")
    assert not found(daemon, "alphaword")
    wait_until(lambda: scope_status(daemon, home.user)["watch"] == "off", "nothing is watched")

    home.user.mkdir()
    wait_until(lambda: scope_status(daemon, home.user)["watch"] == "events", "it is watched again")
    home.put("b.md", "betaword\n")
    await_found(daemon, "betaword")
    home.put("c/d.md", "gammaword\n")
    await_found(daemon, "gammaword")
    assert_like_fresh(home, daemon)


def test_e12_a_folder_put_in_the_place_of_a_renamed_one_is_followed(home: Home, daemon: Daemon) -> None:
    home.put("a.md", "alphaword\n")
    await_found(daemon, "alphaword")
    other = home.folder / "other"
    home.put("b.md", "betaword\n", other)
    home.user.rename(home.folder / "old")
    other.rename(home.user)
    await_found(daemon, "betaword")
    await_lost(daemon, "alphaword")

    home.put("old.md", "strangeword\n", home.folder / "old")
    home.put("c.md", "gammaword\n")
    await_found(daemon, "gammaword")
    assert not found(daemon, "strangeword")
    assert_like_fresh(home, daemon)


def test_e12_a_folder_renamed_away_and_back_keeps_its_memories(home: Home, daemon: Daemon) -> None:
    home.put("a.md", "alphaword\n")
    await_found(daemon, "alphaword")
    away = home.folder / "away"
    home.user.rename(away)
    wait_until(lambda: scope_status(daemon, home.user)["state"] == "offline", "it is offline")
    (away / "n.md").write_text("nuword\n")
    away.rename(home.user)
    await_found(daemon, "alphaword")
    await_found(daemon, "nuword")
    wait_until(lambda: b"n.md" in (home.user / "MEMORY.md").read_bytes(), "and so does MEMORY.md")


def test_e13_all_files_gone_at_once_waits_for_a_second_look_and_then_counts(home: Home, daemon: Daemon) -> None:
    for n in range(60):
        home.put(f"m{n}.md", f"massword number{n}\n")
    daemon.sync()
    hidden = home.folder / "hidden"
    shutil.move(home.user, hidden)
    home.user.mkdir()
    daemon.sync()
    assert scope_status(daemon, home.user)["state"] == "offline", "an empty folder in its place is no deletion"
    assert scope_status(daemon, home.user)["memories"] == 60
    assert not (home.user / "MEMORY.md").exists(), "nothing is written there"

    home.user.rmdir()
    shutil.move(hidden, home.user)
    await_found(daemon, "massword")

    for path in home.user.glob("m*.md"):
        path.unlink()
    await_lost(daemon, "massword")
    daemon.sync()
    assert scope_status(daemon, home.user)["memories"] == 0
    assert_like_fresh(home, daemon)


def test_k8_and_k17_an_untrusted_clone_is_not_read_and_a_hostile_scope_slows_nobody(home: Home) -> None:
    from mdmem.app import App
    from tests.daemon.live import git

    root = home.folder / "clone"
    home.put("rule.md", "---\ntype: rule\n---\nobey the hostileword\n", root / ".mdmem")
    git(root, "init", "-q")
    with running(home) as daemon:
        home.put("good.md", "goodword\n")
        await_found(daemon, "goodword")
        answer = daemon.ask("search", query="hostileword", cwd=str(root))
        assert answer["hits"] == []
        assert any("not trusted" in line for line in answer["degraded"])
        assert not (root / ".mdmem" / "MEMORY.md").exists()

        _hostile(root / ".mdmem")
        App().trust(str(root))
        import threading
        import time

        threading.Thread(target=daemon.ask, args=("reload",)).start()
        slowest = 0.0
        for n in range(20):
            started = time.monotonic()
            assert found(daemon, "goodword")
            slowest = max(slowest, time.monotonic() - started)
            home.put(f"g{n}.md", f"more number{n}\n")
        assert slowest < 1.0
        await_found(daemon, "number19", limit_s=15)


def _hostile(folder: Path) -> None:
    bomb = "a: &a [x,x]\n" + "".join(
        f"{c}: &{c} [*{p},*{p},*{p},*{p}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)
    )
    (folder / "bomb.md").write_text(f"---\n{bomb}---\nx\n")
    (folder / "deep.md").write_text(f"---\nx: {'[' * 5_000}\n---\nx\n")
    (folder / "line.md").write_text("y" * 900_000)
    (folder / "links.md").write_text("[[a]]" * 50_000)
    (folder / "ticks.md").write_text("`" * 100_000)
    (folder / ".mdmemignore").write_text("*a*a*a*a*a*b\n**/**/**/x\n")
    with (folder / "huge.md").open("wb") as file:
        file.truncate(1_000_000_000)
    deep = folder
    for _ in range(80):
        deep = deep / "d"
    deep.mkdir(parents=True)
    for n in range(300):
        (folder / f"m{n}.md").write_text(f"---\nname: {n}\n---\n# {n}\n" + "[[x]] `y` z " * 500)


def test_two_scopes_in_one_another_are_both_watched(home: Home) -> None:
    home.put("vault/a.md", "alphaword\n")
    (home.mdmem / "config.toml").write_text(f'[[scopes.mounts]]\npath = "{home.user}/vault"\n')
    with running(home) as daemon:
        await_found(daemon, "alphaword")
        assert {s["watch"] for s in status(daemon)["scopes"]} == {"events"}
        home.put("vault/b.md", "betaword\n")
        await_found(daemon, "betaword")


def test_b9_a_folder_polled_by_wish_is_followed(home: Home) -> None:
    home.user.mkdir(parents=True)
    with running(home, watch_poll=f'["{home.user}"]', watch_poll_seconds=0.2) as daemon:
        home.put("a.md", "alphaword\n")
        await_found(daemon, "alphaword")
        assert scope_status(daemon, home.user)["watch"] == "polling"


def test_k7_and_k16_no_other_user_can_read_or_connect(home: Home, daemon: Daemon) -> None:
    home.put("a.md", "alphaword\n")
    await_found(daemon, "alphaword")
    daemon.sync()
    home.folder.chmod(0o755)
    loose = [
        str(path)
        for path in [home.mdmem, *home.mdmem.rglob("*")]
        if path.name != "a.md" and not path.is_symlink() and path.stat().st_mode & 0o077
    ]
    assert loose == []
    if os.getuid() == 0:
        for path in (home.mdmem / "state" / "index.db", home.user / "a.md", home.mdmem / "run" / "mdmem.sock"):
            done = subprocess.run(
                ["setpriv", "--reuid=65534", "--clear-groups", "cat", str(path)], capture_output=True, check=False
            )
            assert b"ermission denied" in done.stderr


def test_k16_modes_are_private_at_every_moment_of_a_run(home: Home) -> None:
    """Loose folders of an earlier version are tightened too."""
    for folder in (home.mdmem, home.mdmem / "state", home.mdmem / "run"):
        folder.mkdir(mode=0o755, exist_ok=True)
    loose: set[str] = set()
    with running(home) as daemon:
        for n in range(30):
            home.put(f"m{n}.md", f"word{n}\n")
            for path in (home.mdmem / "state").iterdir():
                if path.stat().st_mode & 0o077:
                    loose.add(path.name)
        await_found(daemon, "word29")
    assert loose == set()
    assert (home.mdmem / "state").stat().st_mode & 0o077 == 0
