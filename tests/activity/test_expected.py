"""The example logs, held against what they are known to hold."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from mdmem.activity import Event, Notes, detect, harvest, read_log
from mdmem.activity.feed import feed_lines, new_log, open_log
from mdmem.activity.lines import Spot
from mdmem.recall.block import without_blocks
from tests.activity.part import (
    EXPECTED,
    LOGS,
    SEEDS,
    Bench,
    apply,
    examples,
    keep,
    keys,
    put_all,
    put_more,
    write_piece,
    writes,
)

FILES: dict[str, dict[str, Any]] = EXPECTED["files"]
NO_SUCCESS = {"failure", "declined", "unknown_outcome", "spoofed_header", "not_a_command", "assistant_claim"}
NOT_A_PERSON = {"injected_text", "not_user_text", "duplicate"}


def whole(name: str, folder: Path) -> tuple[list[Event], dict[str, int]]:
    """All events of one example, and the line of each row where it is a database."""
    database = next((db for db, seeds in SEEDS.items() if name in seeds), None)
    if database is None:
        path = LOGS / name
        reader = detect(str(path))
        return (list(read_log(str(path), reader, without_blocks)) if reader else []), {}
    upto = SEEDS[database].index(name)
    rows: dict[str, int] = {}
    path = folder / "store.db"
    for seed in SEEDS[database][: upto + 1]:
        for number, statement in enumerate((LOGS / seed).read_text("utf-8").splitlines(), 1):
            apply(path, statement)
            if seed == name:
                rows |= dict.fromkeys(row_ids(statement), number)
    reader = detect(str(path))
    assert reader is not None
    return list(read_log(str(path), reader, without_blocks)), rows


def row_ids(statement: str) -> Iterator[str]:
    """The id in an INSERT or an UPDATE of one row."""
    if statement.startswith("INSERT") and "VALUES ('" in statement:
        yield statement.split("VALUES ('", 1)[1].split("'", 1)[0]
    elif statement.startswith("UPDATE"):
        yield statement.rsplit("WHERE id='", 1)[-1].split("'", 1)[0]


def lines_of(event: Event, rows: dict[str, int]) -> set[int]:
    found = {source.line for source in (event.source, event.call) if source and source.line}
    found |= {
        rows.get(source.row.split(":", 1)[1], 0) for source in (event.source, event.call) if source and source.row
    }
    return found


def lines_in(item: dict[str, Any]) -> set[int]:
    return set(item["lines"])


@pytest.mark.parametrize("name", sorted(FILES))
def test_an_example_gives_what_must_be_found_and_nothing_that_must_not(name: str, tmp_path: Path) -> None:
    events, rows = whole(name, tmp_path)
    expected = FILES[name]
    for wanted in expected.get("events", []):
        if wanted["required"] and wanted["kind"] != "user_rule":
            good = [e for e in events if e.kind == "ran" and e.outcome == "ok" and wanted["command"] in e.command]
            assert any(lines_of(e, rows) & lines_in(wanted) for e in good), wanted
    for banned in expected.get("must_not", []):
        here = [e for e in events if lines_of(e, rows) & lines_in(banned)]
        if banned["why"] in NO_SUCCESS:
            assert not [e for e in here if e.outcome == "ok"], banned
        if banned["what"] == "user_rule" and banned["why"] in NOT_A_PERSON:
            own = {said["line"] for said in expected.get("user_messages", [])}
            assert not [e for e in here if e.who == "person" and not lines_of(e, rows) & own], banned


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_person_said_what_they_said_and_nothing_else(name: str, tmp_path: Path) -> None:
    events, rows = whole(name, tmp_path)
    repeated: set[int] = set()
    for repeat in FILES[name].get("repeats", []):
        first, last = repeat["lines"][0], repeat["lines"][-1]
        repeated |= set(range(first, last + 1))
    mine = [e for e in events if e.who == "person" and (not rows or lines_of(e, rows) - {0})]
    said = [e.text for e in mine if not lines_of(e, rows) & repeated]
    wanted = [one["text"] for one in FILES[name].get("user_messages", [])]

    assert said == wanted


@pytest.mark.parametrize("name", [name for name in sorted(FILES) if "turns" in FILES[name]])
def test_turns_end_where_they_end(name: str, tmp_path: Path) -> None:
    events, rows = whole(name, tmp_path)
    ended = set().union(*(lines_of(e, rows) for e in events if e.kind == "turn_ended"))
    last = {turn["last_line"] for turn in FILES[name]["turns"]}

    assert last <= ended


LINES = [name for name in examples() if (made := detect(str(LOGS / name))) and made.form != "json"]


@pytest.mark.parametrize("name", LINES)
def test_a_line_at_a_time_in_a_process_each_gives_the_same(name: str) -> None:
    """All that a reader remembers goes through JSON after each line."""
    path = str(LOGS / name)
    reader = detect(path)
    assert reader is not None
    log, notes, spot, found = new_log(reader, path), Notes(), Spot(), []
    with open_log(path) as file:
        while spot != (spot := feed_lines(log, reader, file, spot, notes, 1, end=end_of_line(file, spot.offset))):
            found += log.events
            log, notes = new_log(reader, path, json.loads(json.dumps(log.state))), Notes(notes.to_json())

    assert list({(e.kind, e.id): e for e in reversed(found)}.values())[::-1] == list(read_log(path, reader))
    assert notes.bad == (1 if "ce128857" in name else 0)


def end_of_line(file: BinaryIO, offset: int) -> int:
    file.seek(offset)
    return offset + (file.read().find(b"\n") + 1)


def test_evidence_stands_where_it_is_said_to_stand() -> None:
    path = LOGS / "claude-code/projects/-home-dev-work-brindle/224b4f95-bbe4-4b40-a495-15fac9dad3f0.jsonl"
    reader, data = detect(str(path)), path.read_bytes()
    assert reader
    events = list(read_log(str(path), reader))

    assert events
    for event in events:
        at, number = event.source.offset, event.source.line
        assert at is not None
        assert data.count(b"\n", 0, at) + 1 == number
        assert at == 0 or data[at - 1 : at] == b"\n"
        needle = (event.text or event.head or event.path).split("\n")[0].split('"')[0].encode()
        assert needle in data[at : data.index(b"\n", at)]


def test_all_files_at_once_give_each_thing_once(bench: Bench) -> None:
    put_all(bench.folder)
    bench.clock.at += 100
    bench.tail.list_logs()
    bench.poll()
    put_more(bench.folder)
    bench.poll()
    found = bench.found()

    assert len(keys(found)) == len(set(keys(found)))
    for agent, candidates in EXPECTED["candidates_after_all_files"].items():
        assert candidates["required"]
        assert [e for e in found if e.agent == agent]
    check_required(found)
    bench.restart()
    bench.tail.list_logs()
    bench.poll()
    assert keys(bench.found()) == keys(found)


def test_a_harvest_of_everything_gives_each_thing_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, met=False)
    put_all(tmp_path)
    bench.poll()
    assert bench.found() == []
    since = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
    told = list(harvest(bench.tail, keep, since, bench.tail.list_logs()))
    put_more(tmp_path)
    bench.poll()
    found = bench.found()

    assert told[-1].done == told[-1].of == len(told)
    assert not [one for one in told if one.trouble]
    assert len(keys(found)) == len(set(keys(found)))
    check_required(found)
    assert sum(one.events for one in harvest(bench.tail, keep, since, bench.tail.list_logs())) == 0
    bench.close()


def check_required(found: list[Event]) -> None:
    for name, expected in FILES.items():
        for wanted in expected.get("events", []):
            if not wanted["required"]:
                continue
            if wanted["kind"] == "user_rule":
                said = [
                    e for e in found if e.who == "person" and wanted["text"] in e.text and e.agent == expected["agent"]
                ]
                assert said, (name, wanted)
            else:
                good = [e for e in found if e.outcome == "ok" and wanted["command"] in e.command]
                assert [e for e in good if e.agent == expected["agent"]], (name, wanted)


@pytest.mark.parametrize("seed", range(8))
def test_in_any_order_and_any_pieces_the_same_is_found(tmp_path: Path, seed: int) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "pieces").mkdir()
    at_once = Bench(tmp_path / "whole")
    put_all(at_once.folder)
    at_once.tail.list_logs()
    at_once.poll()
    put_more(at_once.folder)
    at_once.poll()
    wanted = keys(at_once.found())
    at_once.close()
    pieces = Bench(tmp_path / "pieces")
    luck = random.Random(seed)
    # What a document or a database holds for a moment counts, so that more may be found than at the end.
    for name, piece in writes(luck):
        if isinstance(piece, str) and "DELETE" in piece:
            pieces.poll()  # what is taken away before anybody looked cannot be found
        write_piece(pieces, name, piece)
        if luck.random() < 0.25:
            pieces.clock.at += 100
            pieces.tail.poll(keep)
        if luck.random() < 0.05:
            pieces.restart()
    pieces.clock.at += 100
    pieces.poll()
    found = keys(pieces.found())

    assert len(found) == len(set(found))
    missing = set(wanted) - set(found)
    assert not missing
    assert not [key for key in set(found) - set(wanted) if key[0] not in ("opencode", "goose")]
    check_required(pieces.found())
    pieces.close()
