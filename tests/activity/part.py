"""Example logs in the folders where agents keep them, and a tail that keeps all that it finds."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from mdmem.activity import Event, Source, Tail
from mdmem.ledger import Ledger
from mdmem.recall.block import without_blocks

LOGS = Path(__file__).parent / "logs"
EXPECTED: dict[str, Any] = json.loads((LOGS / "expected.json").read_text("utf-8"))
# Seeds of databases, in the order in which they are applied -> the database.
SEEDS = {
    "opencode/opencode.db": ["opencode/v1.sql", "opencode/v1-more.sql"],
    "opencode/opencode-next.db": ["opencode/v2.sql", "opencode/v2-more.sql"],
    "goose/sessions/sessions.db": ["goose/sessions.sql", "goose/sessions-after-compaction.sql"],
}


def place_of(name: str) -> str:
    """Where an example lies in the folders of its agent."""
    return name.replace("pi/", "pi/sessions/", 1).replace("goose/2025", "goose/sessions/2025")


def examples() -> list[str]:
    """The names of all example files that are files of an agent."""
    every = [path.relative_to(LOGS).as_posix() for path in LOGS.rglob("*") if path.is_file()]
    return sorted(name for name in every if name != "expected.json" and not name.endswith(".sql"))


def roots(folder: Path) -> dict[str, list[str]]:
    names = "claude-code codex opencode goose copilot-cli pi qwen-code cursor".split()
    found = {name: [str(folder / name)] for name in names}
    found["gemini-cli"] = [str(folder / "gemini-cli/.gemini")]
    found["aider"] = [str(folder / "aider/brindle-docs")]
    found["openclaw"] = [str(folder / "openclaw")]
    return found


def put_all(folder: Path, *, databases: bool = True) -> None:
    """All examples, each where its agent would have it."""
    for name in examples():
        target = folder / place_of(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(LOGS / name, target)
    for name, seeds in SEEDS.items() if databases else ():
        for statement in statements(seeds[0]):
            apply(folder / name, statement)


def put_more(folder: Path) -> None:
    """What happened to the databases after that: rows were changed, added, taken away."""
    for name, seeds in SEEDS.items():
        for statement in statements(seeds[1]):
            apply(folder / name, statement)


def statements(seed: str) -> list[str]:
    return (LOGS / seed).read_text("utf-8").splitlines()


def apply(database: Path, statement: str) -> None:
    database.parent.mkdir(parents=True, exist_ok=True)
    db = apsw.Connection(str(database))
    db.set_busy_timeout(5_000)
    db.execute("PRAGMA synchronous = OFF")
    db.execute(statement)
    db.close()


def keep(events: list[Event], memo: dict[str, Any]) -> list[bytes]:
    """Everything counts, as it is."""
    memo["count"] = memo.get("count", 0) + len(events)
    return [json.dumps(event).encode() for event in events]


class Clock:
    def __init__(self) -> None:
        self.at = 1_000.0

    def __call__(self) -> float:
        return self.at


class Bench:
    """A folder with logs, a ledger, and a tail that can be made anew like a process that starts again."""

    def __init__(self, folder: Path, *, met: bool = True, **more: Any) -> None:
        self.folder = folder
        self.clock = Clock()
        self.more = more
        self.ledger = Ledger(str(folder / "ledger.db"))
        self.restart()
        if met:
            self.tail.list_logs()  # while nothing is there: all that comes is new

    def restart(self) -> None:
        self.ledger.close()
        self.ledger = Ledger(str(self.folder / "ledger.db"))
        self.ledger.db.execute("PRAGMA synchronous = OFF")  # no test takes the power away
        self.tail = Tail(self.ledger, roots(self.folder), clean=without_blocks, clock=self.clock, **self.more)

    def poll(self) -> None:
        """Until there is nothing more to read."""
        self.clock.at += 100
        while self.tail.poll(keep):
            self.clock.at += 100

    def found(self) -> list[Event]:
        """All that is in the outbox."""
        return [event_of(json.loads(found)) for _, found in self.ledger.waiting(100_000)]

    def write(self, rel: str, data: bytes, *, mode: str = "ab") -> Path:
        path = self.folder / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode) as file:
            file.write(data)
        return path

    def close(self) -> None:
        self.ledger.close()


def event_of(values: list[Any]) -> Event:
    event = Event(*values)
    return event._replace(source=Source(*event.source), call=Source(*event.call) if event.call else None)


def keys(events: list[Event]) -> list[tuple[str, str, str]]:
    """What was found, comparable between folders: Aider's ids hold the folder."""
    return sorted((e.agent, e.kind, str(e.source.offset) if e.agent == "aider" else e.id) for e in events)


def line(**record: Any) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def writes(seed: random.Random) -> Iterator[tuple[str, bytes | str]]:
    """All examples in pieces, in any order between files and in their own within one: (name, bytes or a statement)."""
    waiting: dict[str, list[bytes | str]] = {}
    for name in examples():
        data = (LOGS / name).read_bytes()
        cuts = (
            sorted(seed.randrange(len(data) + 1) for _ in range(seed.randrange(6))) if not name.endswith("json") else []
        )
        waiting[name] = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    for name in SEEDS:
        waiting[name] = [statement for seed in SEEDS[name] for statement in statements(seed)]
    while waiting:
        name = seed.choice(sorted(waiting))
        for _ in range(min(len(waiting[name]), seed.randrange(1, 30))):
            yield name, waiting[name].pop(0)
        if not waiting[name]:
            del waiting[name]


def write_piece(bench: Bench, name: str, piece: bytes | str) -> None:
    if isinstance(piece, str):
        apply(bench.folder / name, piece)
    else:
        bench.write(place_of(name), piece)
