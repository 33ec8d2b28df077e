"""One person's mdmem in a folder, in this process: files in, what the index says out. No daemon, no mock."""

from __future__ import annotations

import datetime
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mdmem.app import App, Store
from mdmem.config import Paths
from mdmem.index import read
from mdmem.recall import Hit, Query, Recall
from mdmem.reindex.sync import Outcome
from mdmem.scope import Scope
from tests.models.hash_embedder import HashEmbedder

NOW = datetime.datetime(2026, 11, 29, 12, tzinfo=datetime.UTC)


def paths_in(root: Path) -> Paths:
    run = f"{root}/run"
    return Paths(str(root), f"{root}/state", run, f"{root}/config.toml", f"{run}/mdmem.sock")


class Bed:
    """An app with its store open. `user` overrides where the user's scope folder lies."""

    def __init__(self, root: Path, *, user: Path | None = None) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        if user is not None:
            (root / "config.toml").write_text(f'[scopes]\nuser = "{user}"\n')
        self.app = App(paths_in(root))
        self.app.prepare_folders()
        self.store = Store(self.app)
        self.folder = Path(self.app.user_scope.folder)

    @property
    def scope(self) -> Scope:
        return self.app.user_scope

    @property
    def db(self) -> Any:
        return self.store.db

    def close(self) -> None:
        self.store.close()

    def reopen(self) -> None:
        """A restart."""
        self.store.close()
        self.store = Store(self.app)

    def put(self, rel: str, text: str | bytes, folder: Path | None = None) -> Path:
        path = (folder or self.folder) / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def look(self, hints: Iterable[str] | None = None, scope: Scope | None = None, **more: Any) -> Outcome:
        """One sync, without a second look."""
        return self.store.sync(scope or self.scope, hints, **more)

    def sync(self, hints: Iterable[str] | None = None, scope: Scope | None = None) -> Outcome:
        """A sync with the second look, without the pause before it; then the manifest."""
        scope = scope or self.scope
        outcome = self.store.sync(scope, hints)
        if outcome.unclear is None or outcome.unclear:
            again = self.store.sync(scope, outcome.unclear, second_look=True)
            outcome = again._replace(
                added=outcome.added + again.added,
                changed=outcome.changed + again.changed,
                removed=outcome.removed + again.removed,
            )
        self.store.update_manifest(scope)
        return outcome

    def dump(self) -> dict[str, list[Any]]:
        return read.dump(self.store.db)

    def manifest(self, scope: Scope | None = None) -> str:
        return (Path((scope or self.scope).folder) / "MEMORY.md").read_text("utf-8", "surrogateescape")

    def paths(self) -> list[str]:
        return [e.path for e in read.list_entries(self.db, [f.id for f in read.folders(self.db) if f.state == "ok"])]

    def entry(self, path: str) -> read.Entry | None:
        folder = read.find_folder(self.db, str(self.folder))
        return read.by_path(self.db, folder.id, path) if folder else None

    def codes(self) -> set[tuple[str, str]]:
        """(path, code) of every problem."""
        return {(str(row[0]), str(row[2])) for _, row in read.problems(self.db)}

    def problems(self) -> list[tuple[str, Any]]:
        """(folder, (path, line, code, message, hint)) of every problem."""
        return read.problems(self.db)

    def find(self, text: str, mode: str = "keyword", *, now: datetime.datetime = NOW, **more: Any) -> list[Hit]:
        embedder = more.pop("embedder", None)
        ids = more.pop("folder_ids", None)
        folder_ids = tuple(f.id for f in read.folders(self.db) if f.state == "ok") if ids is None else ids
        recall = Recall(self.db, embed=embedder.query if embedder else None)
        return recall.find(Query(text, folder_ids, mode=mode, **more), now).hits

    def found(self, text: str, mode: str = "keyword", **more: Any) -> list[str]:
        return [hit.entry.path for hit in self.find(text, mode, **more)]

    def embed_all(self, embedder: HashEmbedder) -> int:
        """Give every waiting piece its vector, as the daemon does in the background; how many texts that took."""
        from mdmem import document, files
        from mdmem.index import Piece, digest, pieces_of

        before = embedder.texts_seen
        self.store.use_model(embedder.id, embedder.canary())
        while rows := read.waiting_pieces(self.db, 500):
            pieces = [Piece(*row) for row in rows]
            entries = read.entries(self.db, {piece.entry_id for piece in pieces})
            texts: dict[bytes, str] = {}
            for entry in entries.values():
                found = files.read(Path(entry.folder), files.from_printable(entry.path))
                assert isinstance(found, files.Read)
                parsed = document.parse(found.data, entry.path)
                memory, _ = document.memory_of(parsed, path=entry.path, scope=entry.scope)
                texts |= {digest(text): text for text in pieces_of(memory)}
            vectors = embedder.passages([texts[piece.sha256] for piece in pieces])
            assert all(isinstance(vector, bytes) for vector in vectors)
            self.store.syncer.vectors.put(list(zip(pieces, vectors, strict=True)))  # type: ignore[arg-type]
        return embedder.texts_seen - before


def git(folder: Path, *args: str) -> str:
    """Run git with an identity of its own and no settings of the machine's."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    done = subprocess.run(["git", *args], cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or args[0] in ("merge", "rebase"), done.stderr
    return done.stdout


def memory(body: str, **front: str) -> str:
    """A memory's text; underscores in keys stay."""
    lines = "".join(f"{key}: {value}\n" for key, value in front.items())
    return f"---\n{lines}---\n{body}\n" if front else f"{body}\n"
