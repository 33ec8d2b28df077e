"""The property: after any sequence of changes to the files, index and MEMORY.md equal those of a fresh build."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mdmem.index import read
from tests.bed import Bed

NAMES = ["a.md", "b.md", "B.md", "sub/a.md", "sub/c.md", "sub/deep/d.md", "z/e.md", "d'é.md", "部署.md", "x[1](y).md"]
KEYS = ["a", "deploy:blyck", "Deploy:Blyck", "sub/c", "部署"]
BODIES = [
    "The deploy runs with `npm run dist`. See [[a]] and [[missing]].",
    "# 部署流程\n\n先构建，再上传到 [[Blyck Tool]]。",
    "getUserById fails on `aws-cli`, as [[b]] says.",
    "Short.",
    "# Arco Design\n\n" + "A long paragraph about arco, with many words. " * 60,
]
TYPES = ["fact", "rule", "feedback", "project", "workflow", "nonsense"]
BROKEN = [
    "---\nname: [open\n---\nbody of a broken one\n",
    "---\nname: 'x\n---\nother\n",
    "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n",
]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A memory that parses."""
    front = {
        "key": draw(st.sampled_from([None, None, *KEYS])),
        "name": draw(st.sampled_from([None, "Blyck Tool", "名前 [x](y)", "a"])),
        "type": draw(st.sampled_from([None, *TYPES])),
        "status": draw(st.sampled_from([None, None, "archived", "stale", "wrong"])),
        "supersedes": draw(st.sampled_from([None, None, *KEYS, "[[b]]", "Blyck Tool"])),
        "superseded_by": draw(st.sampled_from([None, None, None, "a"])),
        "entities": draw(st.sampled_from([None, "[aws, Arco Design]", "blyck", "[部署]"])),
        "id": draw(st.sampled_from([None, None, None, "one", "two"])),
        "updated": draw(st.sampled_from([None, "2026-11-02", "2026-11-02T10:00:00+02:00"])),
        "expires": draw(st.sampled_from([None, None, "2020-01-01"])),
        "confidence": draw(st.sampled_from([None, "0.5", "high"])),
    }
    body = draw(st.sampled_from(BODIES))
    lines = "".join(f"{key}: {value}\n" for key, value in front.items() if value is not None)
    return f"---\n{lines}---\n{body}\n" if lines else body


class Folder(RuleBasedStateMachine):
    """A scope folder under an open store, and a second one beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp(prefix="mm-any-"))
        self.bed = Bed(self.top / "m")
        self.roots = [self.bed.folder, self.top / "m" / "agents" / "bob"]
        self.roots[1].mkdir(parents=True)
        self.scopes = [self.bed.scope, self.bed.app.agent_scope("bob")]
        self.away = False
        self.touched: set[tuple[int, str]] = set()

    # --- what a person does -----------------------------------------------------

    def there(self, n: int = 0) -> list[Path]:
        if n == 0 and self.away:
            return []
        return sorted(p for p in self.roots[n].rglob("*.md") if p.name != "MEMORY.md")

    def one(self, data: st.DataObject, n: int = 0) -> Path | None:
        files = self.there(n)
        return data.draw(st.sampled_from(files)) if files else None

    def note(self, path: Path) -> None:
        for n, root in enumerate(self.roots):
            if path.is_relative_to(root):
                self.touched.add((n, str(path.relative_to(root))))

    @initialize(text=texts())
    def start(self, text: str) -> None:
        self.write(NAMES[0], text, 0)

    @rule(name=st.sampled_from(NAMES), text=texts(), n=st.sampled_from([0, 0, 0, 1]))
    def write(self, name: str, text: str, n: int) -> None:
        if n == 0 and self.away:
            return
        path = self.roots[n] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        self.note(path)

    @rule(data=st.data())
    def copy(self, data: st.DataObject) -> None:
        path = self.one(data)
        if path is not None:
            target = self.roots[0] / data.draw(st.sampled_from(NAMES))
            if target != path:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)
                self.note(target)

    @rule(data=st.data(), keep=st.booleans())
    def link(self, data: st.DataObject, keep: bool) -> None:
        """A hard link into the other scope, which an edit in place changes too."""
        path = self.one(data)
        if path is not None:
            target = self.roots[1] / "linked.md"
            target.unlink(missing_ok=True)
            os.link(path, target)
            if not keep:
                path.unlink()
            self.note(target)
            self.note(path)

    @rule(data=st.data(), text=texts())
    def rewrite_keeping_the_time(self, data: st.DataObject, text: str) -> None:
        path = self.one(data)
        if path is not None:
            before = path.stat()
            path.write_text(text, "utf-8")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            self.note(path)

    @rule(data=st.data(), seconds=st.sampled_from([-86_400, 86_400, 0]))
    def touch(self, data: st.DataObject, seconds: int) -> None:
        path = self.one(data)
        if path is not None:
            at = path.stat().st_mtime_ns + seconds * 1_000_000_000
            os.utime(path, ns=(at, at))
            self.note(path)

    @rule(data=st.data())
    def rename(self, data: st.DataObject) -> None:
        path = self.one(data)
        if path is not None:
            target = self.roots[0] / data.draw(st.sampled_from(NAMES))
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
            self.moved(path, target)

    @rule(source=st.sampled_from(["sub", "sub/deep", "z"]), goal=st.sampled_from(["y", "sub", "z", "sub2"]))
    def rename_folder(self, source: str, goal: str) -> None:
        old, new = self.roots[0] / source, self.roots[0] / goal
        if not self.away and old.is_dir() and not new.exists():
            files = [p for p in self.there() if p.is_relative_to(old)]
            old.rename(new)
            for path in files:
                self.moved(path, new / path.relative_to(old))

    def moved(self, path: Path, target: Path) -> None:
        self.note(path)
        self.note(target)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        path = self.one(data)
        if path is not None:
            path.unlink()
            self.note(path)

    @rule(data=st.data())
    def empty(self, data: st.DataObject) -> None:
        path = self.one(data)
        if path is not None:
            path.write_text("", "utf-8")
            self.note(path)

    @rule(data=st.data(), text=st.sampled_from(BROKEN))
    def breaks(self, data: st.DataObject, text: str) -> None:
        path = self.one(data)
        if path is not None:
            path.write_text(text, "utf-8")
            self.note(path)

    @rule(text=st.sampled_from(BROKEN))
    def is_born_broken(self, text: str) -> None:
        path = self.roots[0] / "born.md"
        if not self.away and not path.exists():
            path.write_text(text, "utf-8")
            self.note(path)

    @rule(text=texts())
    def restore(self, text: str) -> None:
        for path in self.marked():
            path.write_text(text, "utf-8")
            self.note(path)

    def marked(self) -> list[Path]:
        """Files of which the index keeps the last good state: the one thing that a fresh build can't know."""
        entries = read.list_entries(self.bed.db, [f.id for f in read.folders(self.bed.db)])
        paths = [Path(e.folder) / e.path for e in entries if e.broken == read.LAST_GOOD]
        return [path for path in paths if path.exists()]

    @rule()
    def ignore(self) -> None:
        if not self.away:
            path = self.roots[0] / ".mdmemignore"
            path.unlink() if path.exists() else path.write_text("z/\n*c.md\n")
            self.note(path)

    @rule()
    def goes_offline_or_back(self) -> None:
        aside = self.top / "aside"
        (aside.rename(self.roots[0]) if self.away else self.roots[0].rename(aside))
        self.away = not self.away

    # --- what happens to us ---------------------------------------------------------

    @rule()
    def restart(self) -> None:
        self.bed.reopen()

    @rule()
    def index_is_deleted(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(self.bed.app.paths.index_db + suffix).unlink(missing_ok=True)
        if self.bed.store.is_replaced():
            self.bed.store.rebuild("its file was removed")

    @rule(offset=st.integers(0, 4_000), fill=st.binary(min_size=16, max_size=64))
    def index_is_damaged(self, offset: int, fill: bytes) -> None:
        self.bed.close()
        path = Path(self.bed.app.paths.index_db)
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(fill)
        from mdmem.app import Store

        self.bed.store = Store(self.bed.app)
        if not self.bed.store.is_sound():
            self.bed.store.rebuild("it was damaged")
        else:
            self.bed.store.rebuild("bytes that no check can tell")

    @rule(n=st.sampled_from([0, 0, 1]))
    def hints_only(self, n: int) -> None:
        """What the watch does: the paths that changed, nothing else."""
        hints = [rel for m, rel in self.touched if m == n]
        self.touched = {(m, rel) for m, rel in self.touched if m != n}
        self.bed.sync(hints, self.scopes[n])

    @rule(n=st.sampled_from([0, 1]))
    def whole(self, n: int) -> None:
        self.touched = {(m, rel) for m, rel in self.touched if m != n}
        self.bed.sync(None, self.scopes[n])

    # --- what must hold ---------------------------------------------------------------

    @rule()
    def equals_a_fresh_build(self) -> None:
        for n in (0, 1):
            self.whole(n)
        if not self.marked():
            self.compare()

    def compare(self) -> None:
        other = Bed(self.top / "fresh", user=self.roots[0])
        (self.top / "fresh" / "config.toml").write_text(
            f'[scopes]\nuser = "{self.roots[0]}"\nagents = "{self.roots[1].parent}"\n'
        )
        held = [self.manifest_of(n) for n in (0, 1)]
        scopes = [s._replace(folder=str(r)) for s, r in zip(self.scopes, self.roots, strict=True)]
        for scope in scopes:
            if Path(scope.folder).exists():
                other.sync(None, scope)
        mine, fresh = self.bed.dump(), other.dump()
        other.close()
        shutil.rmtree(self.top / "fresh")
        for table in fresh:
            assert mine[table] == fresh[table], table
        assert held == [self.manifest_of(n) for n in (0, 1)]

    def manifest_of(self, n: int) -> bytes | None:
        path = self.roots[n] / "MEMORY.md"
        return path.read_bytes() if path.exists() else None

    @invariant()
    def nothing_of_ours_lies_in_the_folder(self) -> None:
        if not self.away:
            assert not [
                p for p in self.roots[0].rglob("*") if p.is_file() and p.suffix != ".md" and p.name != ".mdmemignore"
            ]

    def teardown(self) -> None:
        if self.away:
            self.goes_offline_or_back()
        for n in (0, 1):
            self.whole(n)
        for path in self.marked():
            path.write_text("mended\n")
        try:
            self.equals_a_fresh_build()
        finally:
            self.bed.close()
            shutil.rmtree(self.top, ignore_errors=True)


SHRINK = os.environ.get("MDMEM_TEST_SHRINK")
RUNS = int(os.environ.get("MDMEM_TEST_SEQUENCES", "20"))
Folder.TestCase.settings = settings(
    max_examples=RUNS,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=RUNS == 20,
    database=None,
    phases=[Phase.generate] if SHRINK is None else list(Phase),  # a failure is told at once; shrinking takes minutes
    report_multiple_bugs=False,
)
TestAnySequence = Folder.TestCase
