"""The agents whose hooks are understood: what each event means, where its payload says what, and what may be answered.

Sources: the hook references of the agents, as read in November 2026. Adding an agent is adding an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

Means = Literal["start", "prompt", "compaction", "said", "turn_end", "seen"]
Shape = Callable[[str, str], dict[str, Any]]  # event, text -> what is printed as JSON


class Agent(NamedTuple):
    """One agent. Fields of payloads are tried in their order; `context` and `go_on` are None where the agent takes no
    such answer. `at_start`: whether it takes context when a session starts without harm; else it comes with a prompt.
    `idle`: triggers of its event before a compaction that come where nothing is compacted. `tells_looping`: whether
    `stop_hook_active: true` can be believed.
    """

    events: Mapping[str, Means]
    context: Shape | None
    go_on: Shape | None
    session: tuple[str, ...] = ("session_id",)
    cwd: tuple[str, ...] = ("cwd",)
    prompt: tuple[str, ...] = ("prompt",)
    message: tuple[str, ...] = ("last_assistant_message",)
    transcript: tuple[str, ...] = ("transcript_path",)
    at_start: bool = True
    idle: tuple[str, ...] = ()
    tells_looping: bool = True


def _claude_context(event: str, text: str) -> dict[str, Any]:
    # Codex fails a hook whose answer has a field more than these.
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _block(_event: str, text: str) -> dict[str, Any]:
    return {"decision": "block", "reason": text}


def _deny(_event: str, text: str) -> dict[str, Any]:
    return {"decision": "deny", "reason": text}


def _copilot_context(_event: str, text: str) -> dict[str, Any]:
    return {"additionalContext": text}


def _cursor_context(event: str, text: str) -> dict[str, Any]:
    return (
        {"continue": True, "additional_context": text}
        if event == "beforeSubmitPrompt"
        else {"additional_context": text}
    )


_CLAUDE_EVENTS: dict[str, Means] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreCompact": "compaction",
    "PostCompact": "compaction",
    "Stop": "turn_end",
    "SessionEnd": "seen",
}

AGENTS: dict[str, Agent] = {
    "claude-code": Agent(_CLAUDE_EVENTS, _claude_context, _block),
    "codex": Agent(_CLAUDE_EVENTS, _claude_context, _block),
    # `submitted_prompt` is the person's text where `prompt` is a continuation.
    # 0.15, the last for Node 20, says of every turn that it goes on because of a hook.
    "qwen": Agent(_CLAUDE_EVENTS, _claude_context, _block, prompt=("submitted_prompt", "prompt"), tells_looping=False),
    "gemini": Agent(
        {
            "SessionStart": "start",
            "BeforeAgent": "prompt",
            "PreCompress": "compaction",
            "AfterAgent": "turn_end",
            "SessionEnd": "seen",
        },
        _claude_context,
        _deny,
        message=("prompt_response",),
        # Headless it puts what it was given at the start before the first prompt, and when it resumes a session it
        # leaves out every prompt that begins so. `PreCompress` comes before each request, whatever the size.
        at_start=False,
        idle=("auto",),
    ),
    "cursor": Agent(
        {
            "sessionStart": "start",
            "beforeSubmitPrompt": "prompt",
            "preCompact": "compaction",
            "afterAgentResponse": "said",
            "stop": "turn_end",
            "sessionEnd": "seen",
            "postToolUse": "seen",
            "postToolUseFailure": "seen",
        },
        _cursor_context,
        lambda _event, text: {"followup_message": text},
        session=("conversation_id", "session_id"),
        cwd=("cwd", "workspace_roots"),
        message=("text",),
    ),
    "copilot": Agent(
        {
            "sessionStart": "start",
            "userPromptSubmitted": "prompt",
            "preCompact": "compaction",
            "agentStop": "turn_end",
            "sessionEnd": "seen",
            "postToolUseFailure": "seen",
        },
        _copilot_context,
        _block,
        session=("sessionId", "session_id"),
        message=("lastAssistantMessage", "last_assistant_message"),
        transcript=("transcriptPath", "transcript_path"),
    ),
    # What it prints is thrown away: it is told of memory by its instruction file and the MCP server.
    "goose": Agent(
        {"SessionStart": "seen", "UserPromptSubmit": "seen", "Stop": "seen", "SessionEnd": "seen"},
        None,
        None,
        cwd=("working_dir", "cwd"),
        prompt=("message",),
    ),
    # The payloads and answers of our own plugin.
    "opencode": Agent(
        {"session.start": "start", "prompt": "prompt", "session.compacted": "compaction", "session.idle": "turn_end"},
        lambda _event, text: {"context": text},
        lambda _event, text: {"continue": text},
    ),
}
