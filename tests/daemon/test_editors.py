"""Part A of the failure catalogue: how editors and sync programs save, seen by a running daemon."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from tests.conftest import Daemon, Home, wait_until
from tests.daemon.live import (
    Writes,
    assert_like_fresh,
    await_found,
    await_lost,
    dump_live,
    found,
    listed,
    running,
    status,
)

TEXT = "---\nname: Deploy\n---\nWe deploy with the oldword script.\n"


def entry_ids(home: Home) -> list[tuple[int, str]]:
    from mdmem.db import INDEX, open_reader

    db = open_reader(INDEX, str(home.mdmem / "state" / "index.db"))
    try:
        return [(int(i), str(p)) for i, p in db.execute("SELECT id, path FROM memory_entry ORDER BY path")]
    finally:
        db.close()


def descriptions(home: Home) -> list[str]:
    """What the index says now; no search, which would look at the files first."""
    return [str(row[6]) for row in dump_live(home)["memory_entry"]]


def reindexed(daemon: Daemon) -> int:
    return daemon.stderr().count('"reindexed"')


class Watching(threading.Thread):
    """Searches in a loop; remembers whether the memory was ever missing."""

    def __init__(self, daemon: Daemon, query: str) -> None:
        super().__init__()
        self.daemon_under_test, self.query = daemon, query
        self.over = threading.Event()
        self.asked = self.missed = 0

    def run(self) -> None:
        while not self.over.is_set():
            self.asked += 1
            self.missed += not found(self.daemon_under_test, self.query)

    def __enter__(self) -> Watching:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()


def test_a1_a_save_in_vim_is_one_change_of_the_same_memory(home: Home, daemon: Daemon) -> None:
    if not shutil.which("vim"):
        pytest.skip("vim is not installed")
    path = home.put("deploy.md", TEXT)
    daemon.sync()
    wait_until((home.user / "MEMORY.md").exists, "there is a manifest")
    before, old = entry_ids(home), "oldword"

    for backupcopy in ("yes", "no", "auto"):
        reindexes, new = reindexed(daemon), f"newword{backupcopy}"
        with Watching(daemon, "deploy script") as watching, Writes(home.user / "MEMORY.md") as writes:
            subprocess.run(
                ["vim", "-u", "NONE", "-N", "-es", "-c", f"set backup writebackup swapfile backupcopy={backupcopy}",
                 "-c", f"%s/{old}/{new}/", "-c", "w", "-c", "q", str(path)],
                check=False, timeout=20, env=home.env | {"TERM": "dumb"}, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            await_found(daemon, new)
            daemon.sync()
        old = new

        assert entry_ids(home) == before, backupcopy
        assert not watching.missed, backupcopy
        assert reindexed(daemon) - reindexes <= 1, backupcopy
        assert writes.count <= 1, backupcopy
        assert listed(daemon) == {"deploy.md"}, backupcopy
    assert_like_fresh(home, daemon)


def test_a2_what_emacs_leaves_beside_a_memory_is_no_memory(home: Home, daemon: Daemon) -> None:
    path = home.put("deploy.md", TEXT)
    os.symlink("somebody@host.1234:1700000000", home.user / ".#deploy.md")
    home.put("#deploy.md#", "autosaved oldword")
    home.put("deploy.md~", "backup oldword")
    assert daemon.sync()["ok"]

    assert listed(daemon) == {"deploy.md"}
    (home.user / ".#deploy.md").unlink()  # a real one would rightly keep emacs from saving
    if shutil.which("emacs"):
        subprocess.run(
            ["emacs", "--batch", "-Q", str(path), "--eval", "(progn (goto-char (point-max)) (insert \"newword\\n\")"
             " (setq make-backup-files t) (save-buffer))"],
            check=True, timeout=30, env=home.env, capture_output=True,
        )  # fmt: skip
        await_found(daemon, "newword")
        assert listed(daemon) == {"deploy.md"}


def test_a3_a_memory_is_never_missing_while_it_is_truncated_and_written_again(home: Home, daemon: Daemon) -> None:
    path = home.put("deploy.md", TEXT)
    daemon.sync()

    with Watching(daemon, "deploy script") as watching:
        for n, pause_ms in enumerate([50, 100, 150, 200, 250, 300]):
            with path.open("r+b") as file:
                file.truncate(0)
                file.flush()
                threading.Event().wait(pause_ms / 1000)  # the pause of the editor is what is tested
                file.write(TEXT.replace("oldword", f"newword{n}").encode())
            await_found(daemon, f"newword{n}")

    assert watching.asked > 10
    assert not watching.missed
    assert len(entry_ids(home)) == 1


def test_a4_a_save_in_nano_with_backups_is_one_memory(home: Home, daemon: Daemon) -> None:
    if not shutil.which("nano"):
        pytest.skip("nano is not installed")
    import pty

    path = home.put("deploy.md", TEXT)
    daemon.sync()
    before = entry_ids(home)
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execvp("nano", ["nano", "--ignorercfiles", "--backup", str(path)])
    try:
        os.read(terminal, 1)
        os.write(terminal, b"newword \x0f\r\x18")
        await_found(daemon, "newword")
        wait_until(lambda: _ended(pid, terminal), "nano ends")
    finally:
        os.close(terminal)

    daemon.sync()
    assert entry_ids(home) == before
    assert (home.user / "deploy.md~").exists()


def _ended(pid: int, terminal: int) -> bool:
    import select

    while select.select([terminal], [], [], 0)[0]:
        try:
            if not os.read(terminal, 4096):
                break
        except OSError:
            break
    return os.waitpid(pid, os.WNOHANG)[0] == pid


def jetbrains(path: Path, data: bytes) -> None:
    """The safe write of JetBrains: the new text in a temporary name, the old one put aside, then two renames."""
    temporary = path.with_name(path.name + "___jb_tmp___")
    old = path.with_name(path.name + "___jb_old___")
    temporary.write_bytes(data)
    path.rename(old)
    temporary.rename(path)
    old.unlink()


def kate(path: Path, data: bytes) -> None:
    """QSaveFile: a temporary name with six random letters, then a rename over it."""
    temporary = path.with_name(f"{path.name}.aB3xYz")
    temporary.write_bytes(data)
    temporary.rename(path)


def gnome(path: Path, data: bytes) -> None:
    """GIO: .goutputstream-XXXXXX, the old one linked as a backup, a rename over it."""
    temporary = path.with_name(".goutputstream-AB12CD")
    temporary.write_bytes(data)
    os.link(path, path.with_name(path.name + "~"))
    temporary.rename(path)


def unlink_first(path: Path, data: bytes) -> None:
    """Delete, then make it anew."""
    path.unlink()
    path.write_bytes(data)


def test_a4_the_calls_of_other_editors_are_one_change_of_the_same_memory(home: Home, daemon: Daemon) -> None:
    path = home.put("deploy.md", TEXT)
    daemon.sync()
    before = entry_ids(home)

    for save in (jetbrains, kate, gnome, unlink_first):
        reindexes = reindexed(daemon)
        save(path, TEXT.replace("oldword", f"word{save.__name__}").encode())
        await_found(daemon, f"word{save.__name__}")
        daemon.sync()

        assert entry_ids(home) == before, save.__name__
        assert reindexed(daemon) - reindexes <= 1, save.__name__
        assert listed(daemon) == {"deploy.md"}, save.__name__


def test_a5_settings_of_obsidian_wake_nobody_and_its_trash_is_a_delete(home: Home, daemon: Daemon) -> None:
    path = home.put("deploy.md", TEXT)
    home.put(".obsidian/workspace.json", "{}")
    (home.user / ".trash").mkdir()
    daemon.sync()
    last_change, reindexes = status(daemon)["scopes"][0]["last_change"], reindexed(daemon)

    for n in range(100):
        home.put(".obsidian/workspace.json", f'{{"n": {n}}}')
        home.put(".obsidian/templates.md", f"template oldword {n}")
    daemon.sync()
    assert (status(daemon)["scopes"][0]["last_change"], reindexed(daemon)) == (last_change, reindexes)
    assert listed(daemon) == {"deploy.md"}

    path.rename(home.user / ".trash" / "deploy.md")
    await_lost(daemon, "oldword")


@pytest.mark.parametrize("copy_first", [True, False])
def test_a6_a_conflict_copy_is_shown_and_not_indexed_in_either_order(home: Home, copy_first: bool) -> None:
    names = ["deploy (conflicted copy 2026-11-02).md", "deploy.md"]
    with running(home) as daemon:
        for name in names if copy_first else reversed(names):
            home.put(name, TEXT)
            daemon.sync()

        assert listed(daemon) == {"deploy.md"}
        assert "conflict-copy" in {p["code"] for p in status(daemon)["problems"]}
        (home.user / "deploy.md").rename(home.user / ".deploy.md.icloud")
        daemon.sync()
        assert listed(daemon) == {"deploy.md"}, "a stub keeps what is known of it"


def test_a7_the_copies_and_versions_of_syncthing_bring_nothing_back(home: Home, daemon: Daemon) -> None:
    home.put("deploy.md", TEXT)
    home.put("deploy.sync-conflict-20261102-101010-ABCDEFG.md", TEXT)
    home.put(".syncthing.deploy.md.tmp", TEXT)
    home.put(".stversions/deploy~20261102-101010.md", TEXT)
    daemon.sync()

    assert listed(daemon) == {"deploy.md"}


def test_a9_renamed_folders_leave_no_memory_lost_or_doubled(home: Home, daemon: Daemon) -> None:
    folder = home.user / "d0"
    home.put("d0/seed.md", "seed\n")
    for n in range(1, 201):
        target = home.user / f"d{n}"
        (folder / f"m{n}.md").write_text(f"memory number{n}\n")
        folder.rename(target)
        (target / f"late{n}.md").write_text(f"late number{n}\n")
        folder = target
    wait_until(lambda: len(dump_live(home)["memory_entry"]) == 401, "all are there, by events alone")

    assert_like_fresh(home, daemon)


def test_a9_a_folder_moved_out_leaves_and_one_moved_in_comes(home: Home, daemon: Daemon) -> None:
    home.put("ops/a.md", "alphaword\n")
    home.put("ops/deep/b.md", "betaword\n")
    await_found(daemon, "alphaword")
    outside = home.folder / "outside"
    (home.user / "ops").rename(outside)
    await_lost(daemon, "alphaword")
    await_lost(daemon, "betaword")

    (outside / "deep" / "c.md").write_text("gammaword\n")  # its old watch may still report this
    outside.rename(home.user / "back")
    await_found(daemon, "gammaword")
    (home.user / "back" / "deep" / "d.md").write_text("deltaword\n")
    await_found(daemon, "deltaword")
    assert_like_fresh(home, daemon)


@pytest.mark.parametrize("order", [1, -1])
def test_a10_of_two_with_one_key_the_same_one_wins_in_either_order(home: Home, daemon: Daemon, order: int) -> None:
    for name in ["a.md", "b.md"][::order]:
        home.put(name, f"---\nkey: deploy\nname: {name[0]}\n---\ntext of {name}\n")
        daemon.sync()

    assert listed(daemon) == {"a.md", "b.md"}
    assert_like_fresh(home, daemon)


def test_a8_a_busy_file_is_not_put_off_until_it_is_quiet(home: Home, daemon: Daemon) -> None:
    path = home.put("busy.md", "round nothing\n")
    daemon.sync()
    reindexes = reindexed(daemon)
    seen = set()
    pause = threading.Event()
    for n in range(50):
        path.write_text(f"round number{n} of many\n")
        pause.wait(0.04)  # two seconds of saves are what is tested
        seen.add(descriptions(home)[0])
    await_found(daemon, "number49")

    assert len(seen) >= 3, "states on the way were indexed, though the file was never quiet"
    assert reindexed(daemon) - reindexes <= 20, "fifty saves are not fifty reindexes, however long they took"
