"""A scope folder in, the index equal to it out: the one function behind every start, change, rescan and `mdmem sync`.

Level, not edge: hints say only where to look. What is done is always the same: list, compare, read what changed,
parse outside the transaction, write in one. A first index is written in batches, and is complete only at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from mdmem import files
from mdmem.db import Connection, transaction
from mdmem.errors import Problem
from mdmem.files import Found, Scan, printable
from mdmem.files.ignore import IGNORE_NAME
from mdmem.index import Row, Vectors, fold, read
from mdmem.index.read import Folder, Known
from mdmem.index.write import Writer
from mdmem.ledger import Ledger
from mdmem.reindex.look import Broken, Finding, Gone, Held, Readable, Same, Unclear, Unreadable, look_into, rfc3339
from mdmem.reindex.plan import MASS, is_mass_removal, plan
from mdmem.scope import Scope

BATCH = 500  # files of one transaction


class Outcome(NamedTuple):
    """What one sync did. `unclear`: relative paths to look at once more shortly (None: the whole folder)."""

    folder_id: int
    state: str
    added: int = 0
    changed: int = 0
    removed: int = 0
    problems: int = 0
    unclear: frozenset[str] | None = frozenset()
    touched: int = 0

    @property
    def moved(self) -> bool:
        return bool(self.added or self.changed or self.removed)


class Syncer:
    """Keeps one open index in step with scope folders. One thread at a time."""

    def __init__(self, db: Connection, ledger: Ledger, *, aliases: Mapping[str, str]) -> None:
        self.db = db
        self.vectors = Vectors(db)
        self.writer = Writer(db, self.vectors)
        self.ledger = ledger
        self.aliases = aliases
        self.under_way: tuple[int, int] | None = None  # files done, and of how many, for whoever wants to tell

    def sync(
        self,
        scope: Scope,
        hints: Iterable[str] | None = None,
        *,
        second_look: bool = False,
        should_stop: Callable[[], bool] | None = None,
    ) -> Outcome:
        """Make the index equal to a folder, or to these relative paths of it.

        `second_look`: what reads empty, broken or gone in a mass now counts. Stops early, and consistent, when
        `should_stop` says so; the next sync goes on from there.
        """
        root = Path(scope.folder)
        folder_id = self.writer.folder(scope, printable(scope.folder))
        try:
            return _Pass(self, scope, root, folder_id, second_look, should_stop or (lambda: False)).run(hints)
        except BaseException:
            self.writer.forget_caches()
            raise
        finally:
            self.under_way = None


class _Pass:
    """One sync of one folder."""

    def __init__(
        self,
        syncer: Syncer,
        scope: Scope,
        root: Path,
        folder_id: int,
        second_look: bool,
        should_stop: Callable[[], bool],
    ) -> None:
        self.s = syncer
        self.scope = scope
        self.root = root
        self.identity = files.folder_identity(root)
        self.folder_id = folder_id
        self.second_look = second_look
        self.should_stop = should_stop
        self.added: list[tuple[str, bytes]] = []
        self.moved: list[tuple[str, str]] = []
        self.changed = 0
        self.touched = 0  # same bytes, other times: nothing for a person, but dates may follow
        self.unclear: set[str] = set()
        self.keys: set[str] = set()
        self.kept_out: list[Problem] = []  # why files that are there are not looked into, or not indexed

    def run(self, hints: Iterable[str] | None) -> Outcome:
        folder = self._folder()
        if self._is_link():
            return self._away("offline")
        known_here = self.identity == (folder.device, folder.inode)
        if self.scope.kind == "project" and not self.scope.mount and self.root.is_symlink():
            return self._away("offline")  # a checkout may have put it there: what it leads to is not the project's
        paths = None if hints is None else sorted(set(hints))
        if paths is not None and not (folder.complete and folder.state == "ok" and known_here):
            paths = None  # a folder that was away, never whole, or is another one now is looked at as a whole
        if paths is not None and not {"", IGNORE_NAME}.isdisjoint(paths):
            paths = None  # the folder itself; or what is to be left out: any file may come or go by that
        scan = files.scan(self.root, should_stop=self.should_stop) if paths is None else files.look(self.root, paths)
        if scan.state != "ok":
            return self._away("offline" if scan.state == "missing" else "unreadable")
        if files.folder_identity(self.root) != self.identity:
            return Outcome(self.folder_id, folder.state, unclear=None)  # replaced while we looked
        known = read.known(self.s.db, self.folder_id, None if paths is None else map(printable, paths))
        if paths is None and self._emptied(folder, scan, known):
            return self._away("offline")
        return self._follow(folder, paths, scan, known)

    def _is_link(self) -> bool:
        """A checkout may put a link in the place of a project's folder: what it leads to is not the project's."""
        return self.scope.kind == "project" and not self.scope.mount and self.root.is_symlink()

    def _follow(self, folder: Folder, paths: list[str] | None, scan: Scan, known: dict[str, Known]) -> Outcome:
        todo = plan(scan.found, known, scan.unreadable)
        if not self.second_look and self._is_mass_removal(len(todo.removed), None if paths else len(known)):
            return Outcome(self.folder_id, folder.state, unclear=None)
        removed = {row.path: row for row in todo.removed}
        batches = [todo.read[at : at + BATCH] for at in range(0, len(todo.read), BATCH)] or [[]]
        for n, batch in enumerate(batches):
            self.s.under_way = (n * BATCH, len(todo.read))
            with files.Reader(self.root) as reader:
                findings = [(file, self._look(reader, file, known)) for file in batch if not self.should_stop()]
            if self.should_stop():
                return Outcome(self.folder_id, folder.state, unclear=None)
            with transaction(self.s.db):
                for file, finding in findings:
                    self._apply(file, finding, known, removed)
                self.s.writer.flush()
                if n == len(batches) - 1:
                    self._finish(paths, scan, removed, whole=paths is None)
        return self._outcome(removed, scan)

    def _is_mass_removal(self, removed: int, held: int | None) -> bool:
        """`held`: how many memories the folder has; counted only where it matters, for that takes a look at each."""
        if removed <= MASS:
            return False
        return is_mass_removal(removed, read.count_entries(self.s.db, self.folder_id) if held is None else held)

    def _folder(self) -> Folder:
        found = read.find_folder(self.s.db, printable(self.scope.folder))
        if found is None:
            raise LookupError(self.scope.folder)
        return found

    def _emptied(self, folder: Folder, scan: Scan, known: Mapping[str, Known]) -> bool:
        """An empty folder where a full one was, and not the same folder: a disk that is not mounted."""
        if scan.found or not known:
            return False
        return self.identity != (folder.device, folder.inode)

    def _away(self, state: str) -> Outcome:
        """The folder is not there, or can't be read: its rows stay, out of recall, and return with it."""
        self.s.writer.set_away(self.folder_id, state, _now())
        return Outcome(self.folder_id, state)

    def _look(self, reader: files.Reader, file: Found, known: Mapping[str, Known]) -> Finding:
        return look_into(
            self.scope,
            reader,
            file,
            known.get(printable(file.rel)),
            second_look=self.second_look,
            aliases=self.s.aliases,
        )

    def _apply(self, file: Found, finding: Finding, known: Mapping[str, Known], removed: dict[str, Known]) -> None:
        path = printable(file.rel)
        row = known.get(path)
        match finding:
            case Same(stat) if row:
                self.s.writer.touch(row.id, stat, rfc3339(stat.mtime_ns))
                self._note_key(row.id)  # which of two claimants is the newer may follow from it
                self.touched += 1
            case Unclear():
                self.unclear.add(file.rel)
            case Unreadable(problem):
                self.kept_out.append(problem)
            case Broken(stat, sha256, problems) if row:
                self.s.writer.mark_broken(row.id, stat, sha256, rfc3339(stat.mtime_ns))
                self._problems(path, "file", problems)
                self.changed += 1
            case Gone() if row:
                removed[path] = row
            case Held(problems):
                self._hold(path, row, problems, removed)
            case Readable(new, problems):
                self._put(new, row, removed)
                self._problems(path, "file", problems)
            case _:
                self._problems(path, "file", [])

    def _hold(self, path: str, row: Known | None, problems: list[Problem], removed: dict[str, Known]) -> None:
        self.kept_out += problems
        self._problems(path, "file", [])
        if row:
            removed[path] = row

    def _put(self, new: Row, row: Known | None, removed: dict[str, Known]) -> None:
        self.keys.add(fold(new.memory.key))
        if row is None:
            row = self._renamed(new.sha256, new.memory.id, removed)
            if row is None:
                self.added.append((new.path, new.sha256))
            else:
                del removed[row.path]
                self.moved.append((row.path, new.path))
                self._problems(row.path, "file", [])
                self._note_key(row.id)
        else:
            self._note_key(row.id)
            self.changed += 1
        self.s.writer.put(self.folder_id, new, row.id if row else None)

    def _renamed(self, sha256: bytes, own_id: str | None, removed: Mapping[str, Known]) -> Known | None:
        """The removed memory that a new file is: same bytes, or the same `id` in its frontmatter."""
        if not removed:
            return None
        same = next((row for row in removed.values() if row.sha256 == sha256), None)
        if same or not own_id:
            return same
        ids = read.ids_by_own_id(self.s.db, self.folder_id, own_id)
        return next((row for row in removed.values() if row.id in ids), None)

    def _note_key(self, entry_id: int) -> None:
        key = read.key_of(self.s.db, entry_id)
        if key is not None:
            self.keys.add(key)

    def _finish(self, paths: list[str] | None, scan: Scan, removed: Mapping[str, Known], *, whole: bool) -> None:
        """Inside the last transaction: what is gone, what the scan met, what follows for the folder as a whole."""
        for row in removed.values():
            self._note_key(row.id)
            self.s.writer.drop(row.id)
            self._problems(row.path, "file", [])
        self._scan_problems(paths, [*scan.problems, *self.kept_out])
        self.s.writer.resolve(self.folder_id, None if whole else self.keys)
        self._note_folder(scan, removed, whole=whole)

    def _scan_problems(self, paths: list[str] | None, problems: list[Problem]) -> None:
        whole = [p for p in problems if p.code in files.WHOLE_SCAN_CODES]
        problems = [p for p in problems if p.code not in files.WHOLE_SCAN_CODES]
        if paths is None:
            self._problems(None, "scan", problems)
            self._problems(None, "whole", whole)
            self.s.writer.drop_stray_problems(self.folder_id)
            return
        by_path: dict[str, list[Problem]] = {printable(path): [] for path in paths}
        for problem in problems:
            by_path.setdefault(problem.path, []).append(problem)
        for path, found in by_path.items():
            self._problems(path, "scan", found)

    def _problems(self, path: str | None, origin: str, problems: Iterable[Problem]) -> None:
        self.s.writer.put_problems(self.folder_id, path, origin, problems)

    def _note_folder(self, scan: Scan, removed: Mapping[str, Known], *, whole: bool) -> None:
        now = _now()
        drift = len(self.added) + len(self.moved) + self.changed + len(removed)
        self.s.writer.set_present(self.folder_id, self.identity, now, moved=drift > 0)
        if whole and not self.unclear and "" not in scan.unreadable:
            self.s.writer.set_scanned(self.folder_id, now, drift)

    def _outcome(self, removed: Mapping[str, Known], scan: Scan) -> Outcome:
        self.s.ledger.follow(
            self.scope.kind,
            self.scope.ref,
            moved=self.moved,
            removed=[(row.path, row.sha256) for row in removed.values()],
            added=self.added,
            now=_now(),
        )
        return Outcome(
            self.folder_id,
            "ok",
            len(self.added),
            self.changed + len(self.moved),
            len(removed),
            read.count_problems(self.s.db, self.folder_id),
            frozenset(self.unclear),
            self.touched,
        )


def _now() -> str:
    return rfc3339(time.time_ns())
