"""The floor must be right before its speed means anything."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import apsw
import drivers
import floor as program
import measure
import pytest


def save(peer: drivers.Peer, rel: str, text: str) -> None:
    path = peer.folder / rel
    path.parent.mkdir(parents=True, exist_ok=True)
    measure.replace(path, text.encode())


def found(peer: drivers.Peer, query: str, want: list[str]) -> bool:
    return measure.until(lambda: sorted(peer.search(query)) == want, 5) is not None


def test_a_saved_file_is_found_and_a_removed_one_is_not(floor: drivers.Floor) -> None:
    floor.start()
    save(floor, "deep/er/one.md", "---\nname: zqone\n---\n\nzqbody\n")

    assert found(floor, "zqone", ["deep/er/one.md"])
    assert found(floor, "zqbody", ["deep/er/one.md"])

    (floor.folder / "deep/er/one.md").unlink()

    assert found(floor, "zqone", [])


def test_a_changed_file_loses_its_old_words(floor: drivers.Floor) -> None:
    save(floor, "one.md", "zqbefore\n")
    floor.start()

    assert floor.search("zqbefore") == ["one.md"]

    save(floor, "one.md", "zqafter\n")

    assert found(floor, "zqafter", ["one.md"])
    assert floor.search("zqbefore") == []


def test_a_folder_moved_in_renamed_and_moved_out_is_followed(floor: drivers.Floor) -> None:
    floor.start()
    outside = floor.home / "outside"
    outside.mkdir()
    (outside / "one.md").write_text("zqmoved\n")
    outside.rename(floor.folder / "inside")

    assert found(floor, "zqmoved", ["inside/one.md"])

    (floor.folder / "inside").rename(floor.folder / "renamed")

    assert found(floor, "zqmoved", ["renamed/one.md"])

    (floor.folder / "renamed").rename(outside)

    assert found(floor, "zqmoved", [])


def test_a_second_start_reads_nothing_that_is_unchanged(floor: drivers.Floor) -> None:
    for k in range(5):
        save(floor, f"{k}.md", f"zqkeep number{k}\n")
    floor.start()

    assert floor.ask({"op": "ping"})["read"] == 5

    floor.stop()
    save(floor, "3.md", "zqkeep changed while nobody looked\n")
    (floor.folder / "4.md").unlink()
    floor.start()

    assert floor.ask({"op": "ping"})["read"] == 1
    assert sorted(floor.search("zqkeep")) == ["0.md", "1.md", "2.md", "3.md"]


def test_what_is_not_a_memory_is_not_found(floor: drivers.Floor) -> None:
    for rel in ("MEMORY.md", "sub/README.md", ".hidden.md", ".git/note.md", "plain.txt"):
        save(floor, rel, "zqnever\n")
    save(floor, "real.md", "zqnever\n")
    floor.start()
    save(floor, ".git/later.md", "zqnever\n")
    save(floor, "real2.md", "zqnever\n")

    assert found(floor, "zqnever", ["real.md", "real2.md"])


def test_two_characters_of_chinese_are_found_inside_a_run(floor: drivers.Floor) -> None:
    save(floor, "one.md", "我们已经决定使用索引文件。\n")
    save(floor, "two.md", "没有那个词。\n")
    floor.start()

    assert floor.search("索引") == ["one.md"]
    assert floor.search("用索") == ["one.md"]


@pytest.mark.parametrize("query", ["", " ", '"', "C++", "o'brien", "-x", "a AND", "NEAR(", "*", "body:", "\x00", "的"])
def test_no_query_breaks_the_floor(floor: drivers.Floor, query: str) -> None:
    floor.start()

    assert floor.search(query) == []


def test_a_database_locked_at_start_loses_no_save(floor: drivers.Floor) -> None:
    floor.start()
    floor.stop()
    lock = apsw.Connection(str(floor.db))
    lock.execute("begin exclusive")
    release = threading.Timer(0.5, lock.execute, ["rollback"])
    release.start()
    save(floor, "one.md", "zqlocked\n")
    floor.start(timeout_s=10)
    release.join()
    lock.close()

    assert floor.search("zqlocked") == ["one.md"]

    save(floor, "two.md", "zqlater\n")

    assert found(floor, "zqlater", ["two.md"])


def test_a_floor_that_cannot_start_says_why(floor: drivers.Floor) -> None:
    shutil.rmtree(floor.folder)

    with pytest.raises(drivers.PeerError, match=r"(?s)ended at start.*No such file"):
        floor.start(timeout_s=10)


def test_frontmatter_is_split_by_hand() -> None:
    text = "---\nname: A name\ntags:\n  - one\ntype: fact\n---\n\nBody\n"

    assert program.split(text) == (" A name", "   - one  fact", "\nBody\n")
    assert program.split("no frontmatter") == ("", "", "no frontmatter")
    assert program.split("---\nnever closed") == ("", "", "---\nnever closed")


def test_stop_words_are_asked_for_only_when_alone() -> None:
    assert program.match("how do we handle the cache") == '"handle" OR "cache"'
    assert program.match("the") == '"the"'
    assert program.match("git 索引库") == '"git" OR "索引" OR "引库"'


def test_the_home_of_a_peer_needs_no_person(tmp_path: Path) -> None:
    peer = drivers.Mdmem(tmp_path, "hash", "http://127.0.0.1:1/v1")
    environment = peer.environment()

    assert environment["MDMEM_HOME"] == str(tmp_path)
    assert [k for k in environment if k.startswith("MDMEM_")] == ["MDMEM_HOME"]
    assert 'model = "openai"\nurl = "http://127.0.0.1:1/v1"' in (tmp_path / "config.toml").read_text()
