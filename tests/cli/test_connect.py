"""`mdmem connect` and `disconnect` as they are typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Done, Home

Call = Callable[..., Done]


@pytest.fixture
def launcher(home: Home, monkeypatch: pytest.MonkeyPatch) -> str:
    path = home.folder / "bin" / "mdmem"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent))
    monkeypatch.setattr("sys.argv", [str(path)])
    return str(path)


def test_connect_tells_what_it_wrote_and_what_is_left_to_do(home: Home, call: Call, launcher: str) -> None:
    done = call("connect", "codex")

    assert done.code == 0
    assert f"made {home.folder}/.codex/hooks.json (hooks)" in done.out
    assert "next: type /hooks in Codex" in done.out
    assert call("connect", "codex").out == "codex: already connected\n"
    assert f"removed {home.folder}/.codex/config.toml" in call("disconnect", "codex").out
    assert call("disconnect", "codex").out == "codex: not connected\n"


def test_a_dry_run_is_a_diff(home: Home, call: Call, launcher: str) -> None:
    done = call("connect", "cursor", "--dry-run")

    assert f"+++ {home.folder}/.cursor/mcp.json" in done.out
    assert f'+      "command": "{launcher}"' in done.out
    assert not (home.folder / ".cursor").exists()


def test_as_json_it_is_one_object_per_agent(home: Home, call: Call, launcher: str) -> None:
    Path(home.folder / ".qwen").mkdir()
    done = call("connect", "--json")
    (found,) = done.json

    assert found["agent"] == "qwen"
    assert found["changes"] == [
        {
            "path": f"{home.folder}/.qwen/settings.json",
            "what": "hooks and MCP server",
            "action": "create",
            "backup": None,
            "command": None,
        }
    ]
    assert found["error"] is None
    assert call("disconnect", "--json").json[0]["changes"][0]["action"] == "remove"


def test_nothing_found_is_no_failure(home: Home, call: Call, launcher: str) -> None:
    done = call("connect", "--json")

    assert (done.code, done.json) == (0, [])
    assert "no agent that mdmem knows" in done.err
    assert call("disconnect").err == "no agent is connected\n"


def test_a_broken_file_is_named_with_its_line(home: Home, call: Call, launcher: str) -> None:
    path = home.folder / ".cursor/hooks.json"
    path.parent.mkdir()
    path.write_text('{\n  "hooks": {,}\n}\n')
    done = call("connect", "cursor", "qwen", "--json")

    assert done.code == 6
    assert f"error: {path}:2: it is not valid JSON" in done.err
    assert [bool(outcome["error"]) for outcome in json.loads(done.out)] == [True, False]
    assert path.read_text() == '{\n  "hooks": {,}\n}\n'


def test_with_a_broken_config_it_still_tells_what_it_did(home: Home, call: Call, launcher: str) -> None:
    config = Path(call("config", "path").out.strip())
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("this is = = not toml\n")
    for command, told in (("connect", "made"), ("disconnect", "removed")):
        done = call(command, "codex")

        assert done.code == 6
        assert f"{told} {home.folder}/.codex/hooks.json (hooks)" in done.out
        assert "the config is not TOML" in done.err


def test_a_wrong_name_is_wrong_usage(call: Call, launcher: str) -> None:
    done = call("connect", "cursr")

    assert done.code == 2
    assert "did you mean cursor?" in done.err


@pytest.mark.slow
def test_as_a_program_it_connects_and_disconnects(home: Home) -> None:
    (home.folder / ".gemini").mkdir()
    before = sorted(home.folder.rglob("*"))
    done = home.run("connect", "gemini", "--json")
    assert (done.code, done.json[0]["agent"]) == (0, "gemini")
    assert (home.folder / ".gemini/settings.json").is_file()
    assert home.run("disconnect", "gemini").code == 0

    left = [path for path in home.folder.rglob("*") if home.mdmem not in (path, *path.parents)]
    assert sorted(left) == before
    assert not (home.mdmem / "config.toml").exists()
