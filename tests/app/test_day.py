"""A day of mixed work of many agents: few things wait, and none of them is noise."""

import random
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mdmem.app import Answers, App, Local
from mdmem.candidates import inbox
from tests.activity.part import EXPECTED, LOGS, examples, place_of
from tests.conftest import Home

HOMES = {
    "claude-code": ".claude",
    "codex": ".codex",
    "copilot-cli": ".copilot",
    "cursor": ".cursor",
    "gemini-cli": "",
    "pi": ".pi/agent",
    "qwen-code": ".qwen",
}
AGENTS = list(HOMES)
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def another(data: bytes, copy: int) -> bytes:
    """The same work once more: every record has another id, and so has the session."""
    return _UUID.sub(lambda m: str(uuid.uuid5(uuid.NAMESPACE_OID, f"{copy}{m[0].decode()}")).encode(), data)


@pytest.fixture
def day(home: Home) -> Iterator[tuple[Answers, dict[str, str]]]:
    """Answers where every example lies in its agent's home, three times; and which example a path is a copy of."""
    names = [name for name in examples() if name.split("/")[0] in HOMES]
    random.Random(3).shuffle(names)
    copies: dict[str, str] = {}
    for copy in range(3):
        for name in names:
            agent, _, rest = place_of(name).partition("/")
            path = home.folder / HOMES[agent] / rest
            if copy:
                renamed = another(path.name.encode(), copy).decode()
                path = path.with_name(renamed if renamed != path.name else f"{path.stem}-{copy}{path.suffix}")
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(LOGS / name, path)
            if copy == 2:
                path.write_bytes(another(path.read_bytes(), copy))
            copies[str(path)] = name
    with Local(App()) as local:
        yield Answers(local), copies


@pytest.mark.slow
def test_a_day_of_mixed_work_leaves_few_questions_and_no_noise(day: tuple[Answers, dict[str, str]]) -> None:
    here, copies = day
    request: dict[str, Any] = {"op": "harvest", "since": "2020-01-01", "agents": AGENTS}
    told = here.answer(request)
    while not told["finished"]:
        told = here.answer(request | {"number": told["number"]})
    waiting = inbox.list_candidates(here.app.inbox_folder).waiting
    assert 5 < len(waiting) < 20
    keys = [str(one.candidate.fields["key"]) for one in waiting]
    assert len(set(keys)) == len(keys), "one key is one question"
    for one in waiting:
        for item in one.candidate.evidence:
            name = copies[item.path or ""]
            line = Path(item.path or "").read_bytes()[: item.offset].count(b"\n") + 1
            expected = EXPECTED["files"][name]
            good = {n for event in expected.get("events", []) for n in event["lines"]}
            good |= {said["line"] for said in expected.get("user_messages", [])}
            bad = {n for banned in expected.get("must_not", []) for n in banned["lines"]} - good
            assert line not in bad, (keys, name, line, item.text)
    secrets = [secret for expected in EXPECTED["files"].values() for secret in expected.get("secrets", [])]
    text = "".join(Path(one.path).read_text() for one in waiting)
    assert not [secret for secret in secrets if str(secret.get("value", secret)) in text]
