"""What it costs to read activity logs: MB/s of Claude Code's, memory, and the CPU of a tail with nothing to do.

    python bench/activity.py --mb 256 --files 500 --seconds 60

The floor of the first is json.loads of every line, in the same run and the same process; each is the best of three.
Memory is what the process holds at most after half of the log, and after all of it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import measure

from mdmem.activity import Tail, detect, read_log
from mdmem.activity.feed import Notes, feed_lines, new_log, open_log
from mdmem.activity.lines import Spot
from mdmem.ledger import Ledger
from mdmem.recall.block import without_blocks

WORDS = "the queue retries deploy staging build release worker index cache token limit error passed failed done".split()


def records(luck: random.Random) -> Iterator[dict[str, Any]]:
    """A session without end: a prompt, then replies, commands, files that are read and edited, as in real logs."""

    def prose(count: int) -> str:
        return " ".join(luck.choices(WORDS, k=count))

    n = 0
    while True:
        base = {
            "parentUuid": f"{luck.getrandbits(128):032x}",
            "isSidechain": False,
            "sessionId": "224b4f95-bbe4-4b40-a495-15fac9dad3f0",
            "timestamp": "2026-11-12T08:15:05.137Z",
            "cwd": "/home/dev/work/app",
            "gitBranch": "main",
            "version": "2.1.266",
        }

        def uuid() -> str:
            return f"{luck.getrandbits(128):032x}"

        content: Any = prose(40)
        yield base | {
            "type": "user",
            "uuid": uuid(),
            "origin": {"kind": "human"},
            "message": {"role": "user", "content": content},
        }
        for step in range(12):
            n += 1
            yield assistant(base, uuid(), {"type": "text", "text": prose(60)})
            name = ("Bash", "Read", "Edit")[step % 3]
            key = f"toolu_{n:024x}"
            given = {
                "Bash": {"command": f"make {prose(3)}"},
                "Read": {"file_path": "/a"},
                "Edit": {"file_path": "/b", "new_string": prose(80)},
            }
            yield assistant(base, uuid(), {"type": "tool_use", "id": key, "name": name, "input": given[name]})
            output = prose({"Bash": 300, "Read": 1_500, "Edit": 10}[name])
            result: dict[str, Any] = {"stdout": output, "stderr": "", "interrupted": False}
            if name != "Bash":
                result = {"file": {"content": output}, "originalFile": prose(1_000)}
            block = {"tool_use_id": key, "type": "tool_result", "content": output, "is_error": False}
            yield base | {
                "type": "user",
                "uuid": uuid(),
                "message": {"role": "user", "content": [block]},
                "toolUseResult": result,
            }
        yield {
            "type": "file-history-snapshot",
            "messageId": uuid(),
            "snapshot": {"files": [prose(50) for _ in range(5)]},
        }
        yield base | {"type": "system", "subtype": "turn_duration", "uuid": uuid(), "durationMs": 5}


def assistant(base: dict[str, Any], uuid: str, block: dict[str, Any]) -> dict[str, Any]:
    message = {
        "id": f"msg_{uuid}",
        "role": "assistant",
        "content": [block],
        "usage": {"input_tokens": 11, "output_tokens": 96},
    }
    return base | {"type": "assistant", "uuid": uuid, "message": message}


def write(path: Path, mb: int) -> int:
    luck, size = random.Random(7), 0
    with path.open("wb") as file:
        for record in records(luck):
            line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            size += file.write(line)
            if size >= mb << 20:
                return size
    return size


def rss_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def best(run: Callable[[], object]) -> float:
    spent = []
    for _ in range(3):
        began = time.process_time()
        run()
        spent.append(time.process_time() - began)
    return min(spent)


def floor(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def read(path: Path) -> int:
    reader = detect(str(path))
    assert reader is not None
    return sum(1 for _ in read_log(str(path), reader, without_blocks))


def flat(path: Path) -> tuple[float, float]:
    """The most memory held after a half, and after all."""
    reader = detect(str(path))
    assert reader is not None
    log, notes, spot, half = new_log(reader, str(path), clean=without_blocks), Notes(), Spot(), 0.0
    size = path.stat().st_size
    with open_log(str(path)) as file:
        while spot.offset < size:
            end = feed_lines(log, reader, file, spot, notes)
            log.events.clear()
            if spot.offset < size // 2:
                half = rss_mb()
            spot = end
    return half, rss_mb()


def tailed(folder: Path, path: Path) -> float:
    """The same through the tail: with the ledger, and every event kept."""
    ledger = Ledger(str(folder / "ledger.db"))
    tail = Tail(ledger, {"claude-code": [str(folder / "claude")]}, clean=without_blocks)
    tail.list_logs()
    target = folder / "claude/projects/-w/s.jsonl"
    target.parent.mkdir(parents=True)
    os.replace(path, target)
    tail.look(str(target))
    began = time.process_time()
    while tail.poll(lambda events, memo: []):
        pass
    spent = time.process_time() - began
    ledger.close()
    os.replace(target, path)
    return spent


def idle(folder: Path, files: int, seconds: float) -> tuple[float, float]:
    """CPU in percent of one core with so many logs that nobody writes to, asked every second; and one look's ms."""
    root = folder / "idle"
    for n in range(files):
        path = root / f"projects/-w{n % 40}/s{n}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"type":"mode","sessionId":"x"}\n', "utf-8")
    ledger = Ledger(str(folder / "idle.db"))
    tail = Tail(ledger, {"claude-code": [str(root)]}, clean=without_blocks)
    while tail.poll(lambda events, memo: []):
        pass
    began, cpu, polls = time.monotonic(), time.process_time(), 0
    while time.monotonic() - began < seconds:
        tail.poll(lambda events, memo: [])
        polls += 1
        time.sleep(1.0)
    spent = time.process_time() - cpu
    ledger.close()
    return 100 * spent / (time.monotonic() - began), 1000 * spent / polls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=256)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", metavar="FILE", help="append raw results, a JSON object a line")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="mdmem-activity-"))
    try:
        path = folder / "log.jsonl"
        mb = write(path, args.mb) / 1e6
        before = rss_mb()
        half, whole = flat(path)
        parsed = mb / best(lambda: floor(path))
        reader = mb / best(lambda: read(path))
        tail = mb / tailed(folder, path)
        percent, ms = idle(folder, args.files, args.seconds)
        print(f"memory: {before:.0f} MB before, at most {half:.0f} in half of {mb:.0f} MB, {whole:.0f} in all")
        print(f"json.loads of every line: {parsed:.0f} MB/s, reader: {reader:.0f}, tail with ledger: {tail:.0f}")
        print(f"idle, {args.files} logs, asked every second: {percent:.2f} % of a core, {ms:.1f} ms a look")
        facts = {"rss_mb": [before, half, whole], "json_mb_s": parsed, "reader_mb_s": reader, "tail_mb_s": tail}
        measure.record(args, "activity", mb=mb, files=args.files, idle_percent=percent, look_ms=ms, **facts)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
