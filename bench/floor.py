"""In: a folder of markdown, a database file, a socket path. Out: a daemon that does the least it can.

The measure of what the product's duties cost: frontmatter is split by hand, one contentless FTS5 table holds the text
with Chinese in overlapping pairs, watchdog follows the folder. No vectors, no manifest, no entities.

    python bench/floor.py FOLDER DB SOCKET
"""

from __future__ import annotations

import json
import os
import queue
import re
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from typing import NoReturn

import apsw
from watchdog import events
from watchdog.observers import Observer

QUIET_S, MOST_S = 0.025, 0.25
RESERVED = {"MEMORY.md", "README.md", "index.md", "log.md"}
STOP_WORDS = """
the of to and a an in is that for it as with on be by this are or from at not was but have when we if then so can must
should each one all after before only into more than same no do how what where which who why i you does
"""
STOP = frozenset(STOP_WORDS.split())
CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
WORD = re.compile(r"[^\W_]+")
# Not opened, not closed: our own reading raises those.
FOLLOWED = [
    *(events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent),
    *(events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent),
]
SCHEMA = """
create table if not exists file(id integer primary key, path text unique not null, size int, mtime_ns int);
create virtual table if not exists text using fts5(head, labels, body, content='', contentless_delete=1);
"""
LOOK_UP = "select f.path, -t.rank from text t join file f on f.id = t.rowid where text match ? order by t.rank limit ?"


def pairs(text: str) -> str:
    """Chinese runs as overlapping pairs; all else as it is."""
    return CJK.sub(lambda m: " " + " ".join(cut(m[0])) + " ", text)


def cut(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def match(query: str) -> str:
    """Every word or pair quoted and OR-ed; English stop words only where nothing else was asked."""
    terms = WORD.findall(pairs(query.lower()))
    return " OR ".join(f'"{t}"' for t in dict.fromkeys([t for t in terms if t not in STOP] or terms))


def split(text: str) -> tuple[str, str, str]:
    """(name and description, the other values, body), for the common shapes of frontmatter only."""
    end = text.find("\n---\n", 3) if text.startswith("---\n") else -1
    if end < 0:
        return "", "", text
    head: list[str] = []
    labels: list[str] = []
    for line in text[4:end].split("\n"):
        key, colon, value = line.partition(":")
        (head if key in ("name", "description") else labels).append(value if colon else line)
    return " ".join(head), " ".join(labels), text[end + 5 :]


def wanted(path: str, root: str) -> bool:
    parts = path[len(root) + 1 :].split("/")
    return path.endswith(".md") and parts[-1] not in RESERVED and not any(p.startswith(".") for p in parts)


def walk(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for e in entries:
            if not e.name.startswith("."):
                if e.is_dir(follow_symlinks=False):
                    yield from walk(e.path)
                else:
                    yield e


def connect(db: str) -> apsw.Connection:
    con = apsw.Connection(db)
    con.set_busy_timeout(5000)  # before any other pragma: a lock met in journal_mode would otherwise raise
    con.execute("pragma journal_mode=wal; pragma synchronous=normal")
    return con


class Floor(events.FileSystemEventHandler):
    """One writer, one reader, one queue between the watcher and the writer."""

    def __init__(self, root: str, db: str) -> None:
        self.root, self.read = root, 0
        self.changes: queue.SimpleQueue[str | None] = queue.SimpleQueue()  # None asks for a full scan
        self.writer = connect(db)
        self.writer.execute(SCHEMA)
        self.reader = connect(db)
        self.reading = threading.Lock()

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        for path in filter(None, (os.fsdecode(event.src_path), os.fsdecode(event.dest_path))):
            if not event.is_directory and wanted(path, self.root):
                self.changes.put(path)
            elif event.is_directory and "/." not in path[len(self.root) :]:
                self.changes.put(None)

    def scan(self) -> None:
        """Read what the stat says is new or changed; drop what is gone."""
        known = {p: (s, m) for p, s, m in self.writer.execute("select path, size, mtime_ns from file")}
        there = {e.path: e.stat() for e in walk(self.root) if wanted(e.path, self.root)}
        changed = [p for p, st in there.items() if known.get(p) != (st.st_size, st.st_mtime_ns)]
        self.put([*changed, *(known.keys() - there.keys())])

    def put(self, paths: Iterable[str]) -> None:
        """Bring these paths up to date, in one transaction."""
        with self.writer:
            for path in paths:
                self.one(path)

    def one(self, path: str) -> None:
        db = self.writer
        for (old,) in db.execute("delete from file where path = ? returning id", (path,)).fetchall():
            db.execute("delete from text where rowid = ?", (old,))
        try:
            with open(path, "rb") as f:
                st, data = os.fstat(f.fileno()), f.read()
        except FileNotFoundError:
            return
        self.read += 1
        parts = split(data.decode("utf-8", "replace"))
        db.execute("insert into file(path, size, mtime_ns) values(?, ?, ?)", (path, st.st_size, st.st_mtime_ns))
        db.execute(
            "insert into text(rowid, head, labels, body) values(?, ?, ?, ?)",
            (db.last_insert_rowid(), *map(pairs, parts)),
        )

    def follow(self) -> NoReturn:
        """Gather changes until it is quiet, then write them; a dead writer ends the process, loudly."""
        try:
            while True:
                batch, start = {self.changes.get()}, time.monotonic()
                while (left := start + MOST_S - time.monotonic()) > 0:
                    try:
                        batch.add(self.changes.get(timeout=min(QUIET_S, left)))
                    except queue.Empty:
                        break
                self.scan() if None in batch else self.put(p for p in batch if p)
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    def search(self, query: str, limit: int) -> list[dict[str, object]]:
        words = match(query)
        with self.reading:
            rows = self.reader.execute(LOOK_UP, (words, limit)).fetchall() if words else []
        return [{"path": path, "score": score} for path, score in rows]

    def answer(self, client: socket.socket) -> None:
        with client, client.makefile("rwb") as lines:
            for line in lines:
                asked = json.loads(line)
                if asked["op"] == "ping":
                    said: object = {"ok": True, "pid": os.getpid(), "read": self.read}
                else:
                    said = self.search(asked["query"], asked.get("limit", 10))
                lines.write(json.dumps(said, ensure_ascii=False).encode() + b"\n")
                lines.flush()


def main(root: str, db: str, path: str) -> None:
    floor = Floor(os.path.realpath(root), db)
    observer = Observer()
    observer.schedule(floor, floor.root, recursive=True, event_filter=FOLLOWED)
    observer.start()  # before the scan, so that nothing falls between the two
    floor.scan()
    threading.Thread(target=floor.follow, daemon=True).start()
    if os.path.exists(path):
        os.unlink(path)
    with socket.socket(socket.AF_UNIX) as server:  # only now: whoever gets an answer gets a whole index
        server.bind(path)
        server.listen(64)
        while True:
            threading.Thread(target=floor.answer, args=(server.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:4])
