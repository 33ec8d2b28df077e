"""What can go wrong with files, by the codes of the failure catalogue: the index after it is the index of the files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from mdmem.index import read
from mdmem.reindex.plan import MASS, RACY_NS
from mdmem.scope import Scope
from tests.bed import Bed, git, memory
from tests.models.hash_embedder import HashEmbedder


def equals_fresh(bed: Bed, tmp_path: Path) -> None:
    other = Bed(tmp_path / "fresh", user=bed.folder)
    other.sync()
    fresh = other.dump()
    other.close()
    shutil.rmtree(tmp_path / "fresh")

    assert bed.dump() == fresh


# --- A, B: editors and git ----------------------------------------------------------------------


@pytest.mark.parametrize("order", [("a.md", "b.md"), ("b.md", "a.md")])
def test_a10_two_files_that_claim_a_key_have_one_winner_in_either_order(
    bed: Bed, tmp_path: Path, order: tuple[str, str]
) -> None:
    for name in order:
        bed.put(name, memory(f"text of {name}", key="deploy", updated="2026-11-02"))
        bed.sync([name])

    assert bed.codes() == {("b.md", "same-key")}
    assert bed.found("text") == ["a.md", "b.md"]
    equals_fresh(bed, tmp_path)

    bed.put("b.md", memory("text of b", key="deploy", updated="2026-11-03"))
    bed.sync(["b.md"])
    assert bed.codes() == {("a.md", "same-key")}, "the newer wins"

    bed.put("a.md", memory("text of a", key="other"))
    bed.sync(["a.md"])
    assert bed.codes() == set()


def test_a10_a_stated_memory_wins_over_an_inferred_newer_one(bed: Bed) -> None:
    bed.put("a.md", memory("x", key="k", source="inferred", updated="2026-11-28"))
    bed.put("b.md", memory("x", key="K", source="stated", updated="2020-01-01"))
    bed.sync()

    assert bed.codes() == {("a.md", "same-key")}


def test_a10_a_touch_that_makes_another_claimant_the_newer_is_seen_with_a_hint_alone(bed: Bed, tmp_path: Path) -> None:
    a, b = bed.put("a.md", memory("x", key="k")), bed.put("b.md", memory("y", key="k"))
    os.utime(a, (1_700_000_000, 1_700_000_000))
    os.utime(b, (1_700_000_100, 1_700_000_100))
    bed.sync()
    assert bed.codes() == {("a.md", "same-key")}

    os.utime(a, (1_700_000_200, 1_700_000_200))
    bed.sync(["a.md"])
    assert bed.codes() == {("b.md", "same-key")}
    equals_fresh(bed, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_b1_a_branch_switch_of_5000_files_writes_one_manifest_and_embeds_nothing_on_the_way_back(
    bed: Bed, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mdmem.files import write

    written: list[str] = []
    really = write.write_generated

    def counted(folder: Path, name: str, *args: object, **more: object) -> bool:
        done: bool = really(folder, name, *args, **more)  # type: ignore[arg-type]
        written.extend([name] if done else [])
        return done

    git(bed.folder, "init", "-q", "-b", "main")
    for n in range(5_000):
        bed.put(f"d{n % 50}/m{n}.md", f"memory {n} on main")
    bed.put(".gitattributes", "MEMORY.md merge=union\n")
    git(bed.folder, "add", "-A")
    git(bed.folder, "commit", "-qm", "main")
    git(bed.folder, "checkout", "-qb", "other")
    for n in range(5_000):
        bed.put(f"d{n % 50}/m{n}.md", f"memory {n} elsewhere")
    git(bed.folder, "commit", "-qam", "other")
    git(bed.folder, "checkout", "-q", "main")
    bed.sync()
    bed.embed_all(embedder)
    held = "SELECT path, sha256, name, ended FROM memory_entry ORDER BY path"
    before = bed.db.execute(held).fetchall()
    monkeypatch.setattr(write, "write_generated", counted)

    (bed.folder / "MEMORY.md").unlink()
    git(bed.folder, "checkout", "-q", "other")
    bed.sync()
    assert read.vector_counts(bed.db) == (5_000, 0, 0)
    assert bed.found("elsewhere 77")
    git(bed.folder, "checkout", "-q", "main")
    bed.sync()

    assert bed.embed_all(embedder) == 0
    assert read.vector_counts(bed.db) == (0, 5_000, 0)
    assert len(written) <= 2
    assert bed.db.execute(held).fetchall() == before
    assert bed.found("elsewhere") == []


def test_b6_a_stash_and_its_return_embed_nothing_and_the_memory_leaves_in_between(
    bed: Bed, embedder: HashEmbedder
) -> None:
    git(bed.folder, "init", "-q")
    bed.put("a.md", "kept")
    git(bed.folder, "add", "-A")
    git(bed.folder, "commit", "-qm", "a")
    bed.put("b.md", "stashed and untracked")
    bed.sync()
    bed.embed_all(embedder)
    git(bed.folder, "stash", "-qu")
    bed.sync()
    assert bed.found("stashed") == []

    (bed.folder / "MEMORY.md").unlink()
    git(bed.folder, "stash", "pop", "-q")
    bed.sync()
    assert bed.found("stashed") == ["b.md"]
    assert bed.embed_all(embedder) == 0


@pytest.mark.parametrize("where", ["front", "body"])
def test_b4_a_memory_with_conflict_markers_keeps_its_last_good_state_until_it_is_resolved(bed: Bed, where: str) -> None:
    bed.put("a.md", memory("good old text", name="Good"))
    bed.sync()
    conflict = "<<<<<<< HEAD\nname: One\n=======\nname: Two\n>>>>>>> other\n"
    bed.put("a.md", f"---\n{conflict}---\nbody" if where == "front" else f"---\nname: N\n---\n{conflict}")
    bed.sync()
    entry = bed.entry("a.md")

    assert entry is not None
    assert (entry.name, entry.broken) == ("Good", read.LAST_GOOD)
    assert bed.codes() == {("a.md", "conflict-markers")}
    assert bed.found("good") == ["a.md"]

    bed.put("a.md", memory("resolved", name="One"))
    bed.sync()
    entry = bed.entry("a.md")
    assert entry is not None
    assert (entry.name, entry.broken) == ("One", 0)
    assert bed.codes() == set()


def test_b4_markers_in_a_code_fence_are_text(bed: Bed) -> None:
    bed.put("a.md", "How git shows it:\n\n```\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> b\n```\n")
    bed.sync()

    assert bed.codes() == set()


# --- C: names ----------------------------------------------------------------------------------


def test_c1_names_that_differ_by_case_alone_are_two_memories_and_reported(bed: Bed) -> None:
    bed.put("deploy.md", "lower")
    bed.put("Deploy.md", "upper")
    bed.sync()

    assert sorted(bed.paths()) == ["Deploy.md", "deploy.md"]
    assert {code for _, code in bed.codes()} == {"same-name", "same-key"}


def test_c1_a_rename_by_case_alone_keeps_the_memory(bed: Bed) -> None:
    path = bed.put("deploy.md", "text")
    bed.sync()
    before = bed.entry("deploy.md")
    path.rename(bed.folder / "Deploy.md")
    bed.sync()
    after = bed.entry("Deploy.md")

    assert before is not None
    assert after is not None
    assert after.id == before.id
    assert bed.codes() == set()


def test_c2_both_spellings_of_an_accent_find_the_memory_and_two_files_are_both_kept(bed: Bed) -> None:
    nfc, nfd = unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")
    bed.put(f"{nfd}.md", "the place to eat")
    bed.sync()
    assert [h.entry.path for h in bed.find(nfc)] == [f"{nfd}.md"]
    assert [h.entry.path for h in bed.find(nfd)] == [f"{nfd}.md"]
    assert bed.find(nfc)[0].why.exact_key

    bed.put(f"{nfc}.md", "the other place")
    bed.sync()
    assert len(bed.paths()) == 2
    assert {code for _, code in bed.codes()} == {"same-name", "same-key"}


def test_c7_folders_200_deep_end_in_a_report_and_the_rest_is_indexed(bed: Bed) -> None:
    bed.put("a.md", "near")
    here = os.open(bed.folder, os.O_RDONLY)
    for _ in range(200):
        os.mkdir("d" * 30, dir_fd=here)
        deeper = os.open("d" * 30, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    try:
        bed.sync()
        assert bed.paths() == ["a.md"]
        assert {code for _, code in bed.codes()} == {"too-deep"}
    finally:
        subprocess.run(["rm", "-rf", bed.folder / ("d" * 30)], check=True)


# --- D: contents -------------------------------------------------------------------------------


def test_d3_one_file_that_is_not_utf8_is_searchable_and_reported_among_100_good_ones(bed: Bed) -> None:
    for n in range(99):
        bed.put(f"m{n}.md", f"good text {n}")
    data = b"---\nname: Caf\xe9\n---\nlatin text \xe9\xe8\n"
    bed.put("bad.md", data)
    bed.sync()

    assert len(bed.paths()) == 100
    assert bed.found("latin") == ["bad.md"]
    assert {path for path, _ in bed.codes()} == {"bad.md"}
    assert (bed.folder / "bad.md").read_bytes() == data


def test_d4_nul_and_control_characters_cut_nothing(bed: Bed) -> None:
    bed.put("front.md", "---\nname: a\0b\n---\nbody of front")
    bed.put("body.md", "before \0 \x07 \x1b[31m after the nul")
    bed.put("name.md", '---\nname: "x\\u0000y"\n---\nnamed')
    bed.sync()

    assert bed.found("after") == ["body.md"]
    assert set(bed.paths()) == {"body.md", "front.md", "name.md"}
    assert bed.found("named") == ["name.md"]


def test_d5_an_empty_file_is_no_memory_until_it_is_filled_and_none_again_when_emptied(bed: Bed) -> None:
    path = bed.put("a.md", "")
    bed.put("blank.md", " \n\t\n")
    bed.sync()
    assert bed.paths() == []
    assert bed.codes() == set()

    bed.put("a.md", "filled")
    bed.sync(["a.md"])
    assert bed.paths() == ["a.md"]

    path.write_text("")
    assert bed.look(["a.md"]).unclear == {"a.md"}, "an editor may be half way"
    assert bed.paths() == ["a.md"]
    bed.look(["a.md"], second_look=True)
    assert bed.paths() == []


def test_d5_a_broken_memory_that_is_emptied_for_a_moment_is_not_lost(bed: Bed) -> None:
    bed.put("a.md", memory("good", key="keep:me"))
    bed.sync()
    bed.put("a.md", "---\nname: [open\n---\nbroken")
    bed.sync()
    bed.put("a.md", "")

    assert bed.look(["a.md"]).unclear == {"a.md"}
    assert bed.paths() == ["a.md"]


def test_d6_a_huge_file_is_reported_and_not_read(bed: Bed) -> None:
    with (bed.folder / "huge.md").open("wb") as file:
        file.truncate(1 << 30)
    bed.put("line.md", "word " * 200_000)
    bed.sync()

    assert bed.codes() >= {("huge.md", "too-large")}
    assert bed.found("word") == ["line.md"]


@pytest.mark.parametrize(
    "head", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"PK\x03\x04\x14\0\0\0", b"SQLite format 3\0\x10\0"]
)
def test_d7_a_binary_named_md_is_reported(bed: Bed, head: bytes) -> None:
    bed.put("binary.md", head + bytes(range(256)) * 20)
    bed.put("a.md", "text")
    bed.sync()

    assert "binary.md" in {path for path, _ in bed.codes()}
    assert bed.found("text") == ["a.md"]


BLOCKS = ["name: [open", "name: {a: b", "\tname: x\n\t- y: [", 'name: "open', "name: 'open", "a: b: c: d\n  - e",
          "- a\n b", "name: x\n name: y\n  z", "? [a\n: b", "&a [*a"]  # fmt: skip


def test_d8_thirty_broken_blocks_among_100_files_stay_findable_and_are_named_by_line(bed: Bed) -> None:
    for n in range(70):
        bed.put(f"good{n}.md", memory(f"good text {n}", name=f"Good {n}"))
    for n in range(30):
        bed.put(f"broken{n}.md", f"---\n{BLOCKS[n % len(BLOCKS)]}\n---\nfindable body{n}\n")
    bed.sync()

    assert len(bed.paths()) == 100
    for n in range(30):
        assert bed.found(f"body{n}") == [f"broken{n}.md"]
        assert bed.found(f"broken{n}") == [f"broken{n}.md"]
    problems = [row for _, row in read.problems(bed.db)]
    assert all(row[1] is not None and row[3] and row[4] for row in problems)
    assert not any(row[0].startswith("good") for row in problems)


def test_d8_what_never_parsed_follows_its_file_and_is_marked(bed: Bed, tmp_path: Path) -> None:
    bed.put("a.md", "---\nname: [open\n---\nfirst text\n")
    bed.sync()
    bed.put("a.md", "---\nname: [open\n---\nsecond text\n")
    bed.sync()
    entry = bed.entry("a.md")

    assert entry is not None
    assert entry.broken == read.LAST_TEXT
    assert bed.found("second") == ["a.md"]
    assert bed.found("first") == []
    equals_fresh(bed, tmp_path)


VALUES = ["2026-02-30", "9" * 5_000, "2026-11-02", "12:30", "0123", "1.10", "~", "no", ".inf", "-.nan", "1e999", "0x1F",
          "2026-11-02T25:00:00", "!!python/object x", "99999-01-01"]  # fmt: skip


def test_d13_any_scalar_in_any_known_field_is_indexed_and_comes_out_as_json(bed: Bed) -> None:
    fields = ("name", "key", "confidence", "created", "updated", "valid_from", "expires", "status", "type", "entities")
    for n, field in enumerate(fields):
        for m, value in enumerate(VALUES):
            bed.put(f"f{n}/v{m}.md", f"---\n{field}: {value}\n---\nbody {n} {m}\n")
    bed.sync()
    entries = read.list_entries(bed.db, [1])

    assert len(entries) == len(fields) * len(VALUES)
    from mdmem.outputs.json import memory_json

    assert json.loads(json.dumps([memory_json(e) for e in entries]))
    assert len(bed.found("body", limit=1_000, include_invalid=True)) == len(entries)


def test_d21_links_in_a_ring_to_itself_and_to_nothing_are_kept_and_end(bed: Bed) -> None:
    bed.put("a.md", memory("to [[b]]", supersedes="'[[b]]'"))
    bed.put("b.md", memory("to [[c]]", supersedes="'[[c]]'"))
    bed.put("c.md", memory("to [[a]]", supersedes="'[[a]]'"))
    bed.put("self.md", memory("to [[self]]", supersedes="self"))
    bed.put("missing.md", memory("to [[nowhere]]", supersedes="nowhere", superseded_by="nobody"))
    bed.sync()

    edges = [tuple(row[1:]) for row in bed.dump()["memory_edge"]]
    assert ("missing.md", "link", "nowhere") in edges
    assert ("self.md", "link", "self") in edges
    assert bed.found("self") == ["self.md"], "nothing supersedes itself"


# --- E: file system and time -------------------------------------------------------------------


def test_e3_one_file_linked_into_two_scopes_is_two_memories(bed: Bed) -> None:
    agents = Path(bed.app.agents_folder) / "bob"
    agents.mkdir(parents=True)
    scope = bed.app.agent_scope("bob")
    path = bed.put("a.md", "shared words")
    os.link(path, agents / "b.md")
    bed.sync()
    bed.sync(None, scope)
    assert sorted(bed.paths()) == ["a.md", "b.md"]

    with path.open("w") as file:
        file.write("edited words")
    bed.sync()
    bed.sync(None, scope)
    assert sorted(bed.found("edited")) == ["a.md", "b.md"]
    path.unlink()
    bed.sync()
    assert bed.found("edited") == ["b.md"]


def test_e5_what_cannot_be_read_keeps_its_row_and_is_reported(bed: Bed, tmp_path: Path) -> None:
    """In a process of another user: root reads everything."""
    bed.put("a.md", "public words")
    secret = bed.put("sub/secret.md", "guarded words")
    bed.put("shut/inside.md", "inner words")
    bed.sync()
    with secret.open("a") as file:
        file.write("more")
    secret.chmod(0)
    (bed.folder / "shut").chmod(0)
    bed.close()
    script = (
        "import sys; from pathlib import Path; from tests.bed import Bed\n"
        "b = Bed(Path(sys.argv[1])); b.sync(); print(sorted(b.paths())); print(sorted(b.codes())); b.close()"
    )
    command = [sys.executable, "-c", script, str(bed.root)]
    if os.getuid() == 0:
        for top, folders, files in os.walk(tmp_path):
            for name in [*folders, *files, "."]:
                os.chown(os.path.join(top, name), 1234, 1234)
        for parent in tmp_path.parents:
            if parent != Path("/") and parent.owner() == "root" and parent.stat().st_mode & 0o700 == 0o700:
                parent.chmod(parent.stat().st_mode | 0o011) if str(parent) != "/tmp" else None
        command = ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", *command]
    root = Path(__file__).parents[2]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root), "HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", env=env, check=False)
    secret.chmod(0o600)
    (bed.folder / "shut").chmod(0o700)
    bed.store = type(bed.store)(bed.app)
    if "No module named" in done.stderr or "Permission denied: '/" in done.stderr:
        pytest.skip(f"another user cannot reach the program here: {done.stderr[-200:]}")

    assert done.returncode == 0, done.stderr
    paths, codes = done.stdout.splitlines()
    assert paths == "['a.md', 'shut/inside.md', 'sub/secret.md']"
    assert codes == "[('shut', 'unreadable'), ('sub/secret.md', 'unreadable')]"


def away_and_back(bed: Bed, leave: Callable[[], None], come_back: Callable[[], None]) -> None:
    for n in range(40):
        bed.put(f"m{n}.md", f"words {n}")
    bed.sync()
    before = bed.dump()
    leave()
    assert bed.sync().state == "offline"
    assert bed.found("words") == []
    assert read.count_entries(bed.db, 1) == 40
    bed.reopen()
    assert bed.sync().state == "offline"
    come_back()
    bed.sync(["m0.md"])
    assert bed.dump() == before


def test_e13_a_folder_that_is_gone_is_offline_and_comes_back_whole(bed: Bed, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    away_and_back(bed, lambda: bed.folder.rename(aside), lambda: aside.rename(bed.folder) and None)


def test_e13_an_empty_folder_in_its_place_is_an_unmounted_disk(bed: Bed, tmp_path: Path) -> None:
    aside = tmp_path / "aside"

    def leave() -> None:
        bed.folder.rename(aside)
        bed.folder.mkdir()

    def come_back() -> None:
        bed.folder.rmdir()
        aside.rename(bed.folder)

    away_and_back(bed, leave, come_back)


def test_e13_a_file_where_the_folder_was_is_offline_too(bed: Bed, tmp_path: Path) -> None:
    bed.put("a.md", "words")
    bed.sync()
    shutil.rmtree(bed.folder)
    bed.folder.write_text("no folder")

    assert bed.sync().state == "offline"


def test_e13_a_mass_removal_waits_for_a_second_look(bed: Bed) -> None:
    paths = [bed.put(f"m{n}.md", f"words {n}") for n in range(2 * MASS)]
    bed.put("keep.md", "words kept")
    bed.sync()
    for path in paths:
        path.unlink()
    first = bed.look()
    assert first.unclear is None
    assert first.removed == 0
    assert read.count_entries(bed.db, 1) == 2 * MASS + 1

    again = bed.look(second_look=True)
    assert again.removed == 2 * MASS
    assert bed.paths() == ["keep.md"]


def test_e13_a_few_removals_count_at_once(bed: Bed) -> None:
    paths = [bed.put(f"m{n}.md", "words") for n in range(MASS)]
    bed.sync()
    for path in paths:
        path.unlink()

    assert bed.look().removed == MASS


def test_e15_an_edit_that_keeps_size_and_time_is_seen(bed: Bed) -> None:
    path = bed.put("a.md", "old words")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    bed.sync()
    with path.open("r+") as file:
        file.write("new")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    bed.sync()

    assert bed.found("new") == ["a.md"]


def test_e16_a_time_in_the_future_or_before_1970_is_no_order(bed: Bed, tmp_path: Path) -> None:
    future, past = bed.put("future.md", "one"), bed.put("past.md", "two")
    os.utime(future, (4_000_000_000, 4_000_000_000))
    os.utime(past, (-1_000, -1_000))
    bed.sync()
    for path, text in ((future, "six"), (past, "ten")):
        times = path.stat()
        path.write_text(text)
        os.utime(path, ns=(times.st_mtime_ns, times.st_mtime_ns))
    bed.sync()

    assert bed.found("six") == ["future.md"]
    assert bed.found("ten") == ["past.md"]
    assert bed.sync().changed == 0
    equals_fresh(bed, tmp_path)


def test_e16_a_racily_clean_file_is_hashed_and_an_old_one_is_not_read(bed: Bed) -> None:
    path = bed.put("a.md", "words")
    bed.sync()
    assert bed.look().touched == 1, "it changed within two seconds of our look: its hash decides"

    bed.db.execute("UPDATE memory_entry SET looked_ns = ?", (path.stat().st_ctime_ns + RACY_NS,))
    assert bed.look().touched == 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_e18_touching_5000_files_embeds_nothing(bed: Bed, embedder: HashEmbedder) -> None:
    paths = [bed.put(f"d{n % 20}/m{n}.md", f"memory number {n}") for n in range(5_000)]
    bed.sync()
    bed.embed_all(embedder)
    for path in paths:
        os.utime(path, (1_700_000_000, 1_700_000_000))
        path.chmod(0o640)
    outcome = bed.sync()

    assert (outcome.changed, outcome.touched) == (0, 5_000)
    assert bed.embed_all(embedder) == 0


# --- hints -------------------------------------------------------------------------------------


@pytest.mark.parametrize("hint", ["", ".mdmemignore"])
def test_a_hint_of_the_folder_itself_or_of_its_ignore_file_looks_at_all_of_it(bed: Bed, hint: str) -> None:
    bed.put("a.md", "one")
    bed.put("b.md", "two")
    bed.sync()
    bed.put(".mdmemignore", "b.md\n")
    bed.sync([hint])

    assert bed.paths() == ["a.md"]


@pytest.mark.parametrize(
    "hint", ["../outside.md", "/etc/passwd", "a//b.md", "nul\0.md", "./a.md", "sub/", "\udcff.md", "é" * 300]
)
def test_k6_a_hint_that_names_nothing_in_the_folder_does_nothing(bed: Bed, tmp_path: Path, hint: str) -> None:
    (tmp_path / "m" / "outside.md").write_text("outside")
    bed.put("a.md", "inside")
    bed.sync()
    outcome = bed.sync([hint])

    assert (outcome.added, outcome.changed, outcome.removed) == (0, 0, 0)
    assert bed.paths() == ["a.md"]


def test_a_hinted_folder_is_looked_at_with_all_below_it(bed: Bed) -> None:
    bed.sync()
    bed.put("sub/deep/a.md", "one")
    bed.put("other/b.md", "two")
    bed.put("x.md", "three")
    bed.sync(["sub"])
    bed.sync()
    (bed.folder / "sub").rename(bed.folder / "moved")
    bed.put("x.md", "three, edited")
    outcome = bed.sync(["sub", "moved"])

    assert (outcome.added, outcome.changed, outcome.removed) == (0, 1, 0)
    assert sorted(bed.paths()) == ["moved/deep/a.md", "other/b.md", "x.md"]


def test_a_rename_keeps_the_memory_by_content_or_by_the_id_that_a_person_wrote(bed: Bed) -> None:
    bed.put("a.md", "same content")
    bed.put("b.md", memory("text", id="mine"))
    bed.sync()
    ids = {e.path: e.id for e in read.list_entries(bed.db, [1])}
    (bed.folder / "a.md").rename(bed.folder / "c.md")
    (bed.folder / "b.md").unlink()
    bed.put("d.md", memory("edited while it moved", id="mine"))
    bed.sync()

    after = {e.path: e.id for e in read.list_entries(bed.db, [1])}
    assert after == {"c.md": ids["a.md"], "d.md": ids["b.md"]}


def test_a_scope_whose_ref_changes_keeps_its_rows(bed: Bed) -> None:
    bed.put("a.md", "words")
    bed.sync()
    bed.look(None, Scope("project", "renamed", str(bed.folder)))
    (folder,) = read.folders(bed.db)

    assert (folder.scope, folder.scope_ref) == ("project", "renamed")
    assert bed.paths() == ["a.md"]
