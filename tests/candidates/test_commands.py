"""Command lines labelled by hand: what each proves, and that none gives away what must not be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdmem.activity.events import Event, Source
from mdmem.candidates.candidate import Candidate
from mdmem.candidates.promote import Promoter

LINES = [
    line.split("\t")
    for line in Path(__file__).with_name("commands.tsv").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def ran(command: str, output: str = "", *, outcome: str = "ok", session: str = "s", **more: object) -> Event:
    event = Event("ran", "claude-code", session, f"{session}-{command}", Source("log.jsonl", 7, 1))
    code = {"ok": 0, "failed": 1}.get(outcome)
    return event._replace(
        command=command, head=output, outcome=outcome, exit_code=code, cwd="/home/me/work/shop", **more
    )


def learned(*events: Event) -> list[Candidate]:
    promoter = Promoter(mask=lambda text: text)
    return [found for event in events for found in promoter.feed(event) if isinstance(found, Candidate)]


@pytest.mark.parametrize(("keys", "command", "output"), [(*line, "")[:3] for line in LINES])
def test_what_a_command_proves(keys: str, command: str, output: str) -> None:
    found = learned(ran(command.replace("\\n", "\n"), output.replace("\\n", "\n")))

    named = {c.key + ("?" if c.confidence < 0.6 else "") for c in found}
    assert named == {key for key in keys.split(" ") if key != "-"}
