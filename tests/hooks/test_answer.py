import json
import logging
from typing import Any

import pytest

from mdmem.app.recorded import read_hooks
from mdmem.hooks import Hooks
from mdmem.hooks.answer import Held
from mdmem.hooks.table import AGENTS
from tests.bed import Bed
from tests.hooks.payloads import JUNK, ODD, PAYLOADS

PROMPT = {
    "claude-code": "UserPromptSubmit", "codex": "UserPromptSubmit", "qwen": "UserPromptSubmit", "gemini": "BeforeAgent",
    "cursor": "beforeSubmitPrompt", "copilot": "userPromptSubmitted", "opencode": "prompt",
}  # fmt: skip
ASKED = "how do we deploy the shop to staging"


@pytest.fixture
def memories(bed: Bed) -> None:
    bed.put("deploy.md", "---\ntype: procedure\n---\nDeploy the shop to staging with make deploy.\n")
    bed.put("tone.md", "---\ntype: feedback\n---\nNever push on a Friday.\n")
    bed.put("tea.md", "The tea kitchen is on the second floor.\n")
    bed.sync()


def ask(hooks: Hooks, agent: str, event: str, **payload: Any) -> Any:
    payload = {"session_id": "s1", "sessionId": "s1", "conversation_id": "s1", "cwd": "/", **payload}
    printed = hooks.answer(agent, event, json.dumps(payload).encode())
    return json.loads(printed) if printed else None


def text_of(answer: dict[str, Any]) -> str:
    """The context in an agent's answer, wherever that agent wants it."""
    inner = answer.get("hookSpecificOutput", answer)
    return str(inner.get("additionalContext") or inner.get("additional_context") or inner.get("context"))


SHAPES = {
    "claude-code": {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "…"}},
    "codex": {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "…"}},
    "qwen": {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "…"}},
    "gemini": {"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "…"}},
    "cursor": {"continue": True, "additional_context": "…"},
    "copilot": {"additionalContext": "…"},
    "opencode": {"context": "…"},
}


def blank(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: blank(inner) for name, inner in value.items()}
    return "…" if isinstance(value, str) and value.startswith("<mdmem-block") else value


@pytest.mark.usefixtures("memories")
@pytest.mark.parametrize("agent", PROMPT)
def test_a_prompt_gets_what_fits_it_in_the_agents_own_shape(hooks: Hooks, agent: str) -> None:
    answer = ask(hooks, agent, PROMPT[agent], prompt=ASKED)
    assert "make deploy" in text_of(answer)
    assert blank(answer) == SHAPES[agent]


@pytest.mark.usefixtures("memories")
def test_a_notice_that_no_person_wrote_leaves_what_the_turn_is_about(hooks: Hooks) -> None:
    ask(hooks, "claude-code", "UserPromptSubmit", prompt=ASKED)
    ask(hooks, "claude-code", "UserPromptSubmit", prompt="<task-notification>\n<task-id>b1</task-id>")
    gave_up = {"last_assistant_message": "I don't have permission.", "stop_hook_active": False}
    assert ask(hooks, "claude-code", "Stop", **gave_up)["decision"] == "block"


@pytest.mark.usefixtures("memories")
@pytest.mark.parametrize("agent", [agent for agent in PROMPT if AGENTS[agent].at_start])
def test_a_start_gets_what_is_always_given_and_no_more(hooks: Hooks, agent: str) -> None:
    start = next(event for event, means in AGENTS[agent].events.items() if means == "start")
    text = text_of(ask(hooks, agent, start, source="startup"))
    assert "Friday" in text
    assert "make deploy" not in text
    assert ask(hooks, agent, start, source="resume") is None, "a resumed session still has it"


@pytest.mark.usefixtures("memories")
def test_gemini_gets_all_with_its_first_prompt_and_nothing_again_at_each_request(hooks: Hooks) -> None:
    """Seen in 0.61.0: a prompt with context of the start before it is lost on resume, and each request announces a
    compression.
    """
    assert ask(hooks, "gemini", "SessionStart", source="startup") is None
    text = text_of(ask(hooks, "gemini", "BeforeAgent", prompt=ASKED))
    assert "Friday" in text
    assert "make deploy" in text
    assert ask(hooks, "gemini", "PreCompress", trigger="auto") is None
    assert ask(hooks, "gemini", "BeforeAgent", prompt=ASKED) is None
    assert ask(hooks, "gemini", "PreCompress", trigger="manual") is None
    assert "make deploy" in text_of(ask(hooks, "gemini", "BeforeAgent", prompt=ASKED))


def test_the_result_of_a_tool_begins_no_turn(bed: Bed, hooks: Hooks) -> None:
    """Qwen sends it as an empty prompt."""
    bed.put("ship.md", "---\ntype: capability\nkey: deploy:shop\n---\nDeploy the shop with ./ship.sh.\n")
    assert hooks.answers.answer({"op": "sync"})["ok"]
    cannot = {"last_assistant_message": "I have no credentials for it.", "stop_hook_active": True}  # always, in 0.15
    ask(hooks, "qwen", "UserPromptSubmit", prompt="deploy the shop")
    ask(hooks, "qwen", "UserPromptSubmit", prompt="")
    assert ask(hooks, "qwen", "Stop", **cannot), "it still knows what was asked"
    ask(hooks, "qwen", "UserPromptSubmit", prompt="")
    assert ask(hooks, "qwen", "Stop", **cannot) is None, "once a turn"


@pytest.mark.usefixtures("memories")
def test_what_was_given_is_not_given_again_until_the_context_is_gone(hooks: Hooks) -> None:
    assert "make deploy" in text_of(ask(hooks, "claude-code", "UserPromptSubmit", prompt=ASKED))
    assert ask(hooks, "claude-code", "UserPromptSubmit", prompt=ASKED) is None
    assert ask(hooks, "claude-code", "PreCompact", trigger="auto") is None
    again = text_of(ask(hooks, "claude-code", "UserPromptSubmit", prompt=ASKED))
    assert "make deploy" in again
    assert "Friday" in again


@pytest.mark.usefixtures("memories")
def test_what_did_not_arrive_is_given_again(hooks: Hooks) -> None:
    payload = json.dumps({"session_id": "s1", "cwd": "/", "prompt": ASKED}).encode()
    held: list[Held] = []
    first = hooks.answer("claude-code", "UserPromptSubmit", payload, held)
    assert first
    assert hooks.answer("claude-code", "UserPromptSubmit", payload, held) == first
    held[0]()
    assert hooks.answer("claude-code", "UserPromptSubmit", payload, held) == b""


@pytest.mark.parametrize(
    ("agent", "prompt", "stop", "message"),
    [("cursor", "beforeSubmitPrompt", "stop", "text"), ("gemini", "BeforeAgent", "AfterAgent", "prompt_response"),
     ("copilot", "userPromptSubmitted", "agentStop", "lastAssistantMessage")],
)  # fmt: skip
def test_what_the_guard_said_is_no_new_turn(
    bed: Bed, hooks: Hooks, agent: str, prompt: str, stop: str, message: str
) -> None:
    bed.put("ship.md", "---\ntype: capability\nkey: deploy:shop\n---\nDeploy the shop with ./ship.sh.\n")
    assert hooks.answers.answer({"op": "sync"})["ok"]
    ask(hooks, agent, prompt, prompt="deploy the shop")
    said = ask(hooks, agent, stop, **{message: "I can't deploy the shop: no credentials."})
    (text,) = (value for name, value in said.items() if name != "decision")
    assert ask(hooks, agent, prompt, prompt=text) is None
    assert ask(hooks, agent, stop, **{message: "I can't deploy the shop: no credentials."}) is None
    ask(hooks, agent, prompt, prompt="try to deploy the shop again")
    assert ask(hooks, agent, stop, **{message: "I can't deploy the shop: no credentials."})


@pytest.mark.usefixtures("memories")
def test_a_cleared_session_starts_anew(hooks: Hooks) -> None:
    assert ask(hooks, "claude-code", "SessionStart", source="startup")
    assert "Friday" in text_of(ask(hooks, "claude-code", "SessionStart", source="clear"))


@pytest.mark.usefixtures("memories")
def test_sessions_and_sub_agents_are_told_apart(hooks: Hooks) -> None:
    assert ask(hooks, "claude-code", "UserPromptSubmit", prompt=ASKED)
    assert ask(hooks, "claude-code", "UserPromptSubmit", prompt=ASKED, session_id="s2")
    assert ask(hooks, "claude-code", "UserPromptSubmit", prompt=ASKED, agent_id="a1")
    assert ask(hooks, "codex", "UserPromptSubmit", prompt=ASKED)


@pytest.mark.usefixtures("memories")
def test_text_that_no_person_typed_gets_nothing(hooks: Hooks) -> None:
    assert ask(hooks, "claude-code", "UserPromptSubmit", prompt=f"<task-notification>{ASKED}") is None


@pytest.mark.usefixtures("memories")
def test_an_agent_that_takes_no_context_is_given_none(hooks: Hooks) -> None:
    for event in AGENTS["goose"].events:
        assert hooks.answer("goose", event, json.dumps({"session_id": "s", "message": ASKED}).encode()) == b""


@pytest.mark.usefixtures("memories")
@pytest.mark.parametrize(("agent", "event", "payload", "_understood"), PAYLOADS)
def test_an_answer_is_one_json_object_or_nothing(
    hooks: Hooks, caplog: pytest.LogCaptureFixture, agent: str, event: str, payload: Any, _understood: Any
) -> None:
    printed = hooks.answer(agent, event, json.dumps(payload).encode())
    assert printed == b"" or isinstance(json.loads(printed), dict)
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert read_hooks(hooks.answers.app.paths.ledger_db)[agent, event]


@pytest.mark.parametrize("raw", JUNK)
def test_junk_is_one_log_line_and_nothing_printed(hooks: Hooks, caplog: pytest.LogCaptureFixture, raw: bytes) -> None:
    assert hooks.answer("claude-code", "UserPromptSubmit", raw) == b""
    assert [record.getMessage() for record in caplog.records] == ["a hook was not understood"]
    assert read_hooks(hooks.answers.app.paths.ledger_db) == {}


@pytest.mark.usefixtures("memories")
@pytest.mark.parametrize("payload", ODD)
@pytest.mark.parametrize(
    ("agent", "event"),
    [("claude-code", "UserPromptSubmit"), ("gemini", "AfterAgent"), ("cursor", "stop"), ("qwen", "SessionStart")],
)
def test_odd_payloads_hurt_nothing(
    hooks: Hooks, caplog: pytest.LogCaptureFixture, agent: str, event: str, payload: dict[str, Any]
) -> None:
    printed = hooks.answer(agent, event, json.dumps(payload).encode())
    assert printed == b"" or isinstance(json.loads(printed), dict)
    assert printed.count(b"<mdmem-block") <= 1
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]


def test_a_fault_of_ours_is_logged_and_nothing_is_printed(
    hooks: Hooks, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(hooks.answers, "answer", fail)
    assert hooks.answer("claude-code", "UserPromptSubmit", json.dumps({"prompt": ASKED}).encode()) == b""
    assert [record.getMessage() for record in caplog.records] == ["a hook was not answered"]


@pytest.mark.usefixtures("memories")
def test_the_caps_of_agents_hold(hooks: Hooks, bed: Bed) -> None:
    for number in range(300):
        bed.put(f"rule{number}.md", f"---\ntype: rule\n---\nRule {number}: {'word ' * 40}\n")
    hooks.answers.backend.sync(None)
    text = text_of(ask(hooks, "claude-code", "SessionStart", source="startup"))
    assert len(text) <= 10_000
    assert "left out" in text or "more" in text
