"""The story that mdmem exists for, from one end to the other, with the programs that a person and an agent use."""

import json
from pathlib import Path

import pytest

from tests.app.claude_log import ClaudeLog
from tests.conftest import Daemon, Home, wait_until

CANNOT = "I prepared everything, but I can't deploy to staging: I have no credentials for it."


def hook(home: Home, event: str, session: str, **payload: object) -> dict[str, object]:
    """What the hook prints. The machine that runs the tests may be busy, and a hook gives up then."""
    told = {"session_id": session, "cwd": str(home.work), **payload}
    for _ in range(20):
        done = home.run("hook", "claude-code", event, stdin=json.dumps(told))
        assert (done.code, done.err) == (0, "")
        if done.out:
            return dict(json.loads(done.out))
    return {}


@pytest.mark.slow
def test_what_worked_once_is_known_the_next_time(home: Home) -> None:
    (home.folder / ".claude").mkdir()
    ClaudeLog(home.folder, home.work, "before").said("hello")
    daemon = Daemon(home)
    try:
        # An agent is connected, and a deploy fails, then works.
        assert home.run("connect", "claude-code").code == 0
        wait_until(lambda: daemon.ask("status")["status"]["learning"], "its logs are followed")
        log = ClaudeLog(home.folder, home.work, "s-1")
        log.said("please deploy to staging")
        log.ran("make deploy ENV=staging", "error: not logged in", code=2)
        log.ran("aws sso login --profile staging", "Successfully logged in")
        log.ran("make deploy ENV=staging", "released 42 to staging")
        log.answered("It is deployed.")
        home.run("hook", "claude-code", "SessionEnd", stdin=json.dumps({"transcript_path": str(log.path)}))
        wait_until(lambda: daemon.ask("status")["status"]["candidates"] > 0, "it is proposed")

        # Nothing of it is a memory yet.
        assert hook(home, "UserPromptSubmit", "s-2", prompt="deploy the shop to staging please") == {}

        # The person looks at the proof, and approves.
        (shown,) = [c for c in home.run("review", "--json").json if c["key"].startswith("deploy")]
        assert shown["type"] == "capability"
        assert shown["evidence"][0]["path"] == str(log.path)
        assert "make deploy ENV=staging" in shown["evidence"][0]["text"]
        assert home.run("review", "--approve", shown["key"]).code == 0
        (memory,) = [path for path in home.user.glob("*.md") if path.name != "MEMORY.md"]
        assert "candidate:" not in memory.read_text()
        daemon.sync()

        # The next session's block has it.
        answer = hook(home, "UserPromptSubmit", "s-3", prompt="deploy the shop to staging please")
        assert "make deploy ENV=staging" in str(answer)

        # An agent that gives up is told of it, once.
        answer = hook(home, "Stop", "s-3", last_assistant_message=CANNOT, stop_hook_active=False)
        assert answer["decision"] == "block"
        assert "deploy" in str(answer["reason"])
        done = {"last_assistant_message": CANNOT, "stop_hook_active": True}
        assert home.run("hook", "claude-code", "Stop", stdin=json.dumps({"session_id": "s-3", **done})).out == ""
        quiet = {"session_id": "s-3", "last_assistant_message": CANNOT, "stop_hook_active": False}
        assert home.run("hook", "claude-code", "Stop", stdin=json.dumps(quiet)).out == "", "asked once this turn"
    finally:
        daemon.stop()


@pytest.mark.slow
def test_connect_save_and_the_block_comes_out(home: Home) -> None:
    """As a new user would try it: connect, a memory saved in an editor, a prompt."""
    (home.folder / ".codex").mkdir()
    (home.folder / ".codex/config.toml").write_text('model = "m"  # mine\n')
    before = {path: path.read_bytes() for path in (home.folder / ".codex").iterdir()}
    daemon = Daemon(home)
    try:
        assert home.run("connect", "codex").code == 0
        home.put("staging.md", "The staging database listens on port 5433.\n")
        daemon.sync()
        hooks = json.loads(Path(home.folder / ".codex/hooks.json").read_text())["hooks"]
        assert "hook codex UserPromptSubmit" in str(hooks["UserPromptSubmit"])
        told = {
            "session_id": "c-1",
            "turn_id": "t",
            "cwd": str(home.work),
            "prompt": "which port has the staging database",
        }
        for _ in range(20):
            done = home.run("hook", "codex", "UserPromptSubmit", stdin=json.dumps(told))
            if done.out:
                break
        assert "5433" in json.loads(done.out)["hookSpecificOutput"]["additionalContext"]
        assert home.run("disconnect", "codex").code == 0
    finally:
        daemon.stop()
    kept = {path: path.read_bytes() for path in (home.folder / ".codex").iterdir() if ".mdmem" not in path.name}
    assert {path: data for path, data in kept.items() if path in before} == before
