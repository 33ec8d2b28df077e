"""Codex's rollouts, of all three kinds of history: records in, events out."""

from __future__ import annotations

import re
import shlex
from urllib.parse import unquote, urlsplit

from mdmem.activity.events import Outcome
from mdmem.activity.log import (
    Json,
    Log,
    Moment,
    Reader,
    array,
    by_code,
    digest,
    maybe,
    number,
    obj,
    parsed,
    refused,
    text,
    texts,
    utc,
)

_ITEMS = frozenset(
    "message reasoning compaction web_search_call image_generation_call ghost_snapshot additional_tools".split()
)
_EVENTS = frozenset(
    "token_count agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break patch_apply_end"
    " mcp_tool_call_end web_search_end sub_agent_activity thread_rolled_back entered_review_mode exited_review_mode"
    " thread_goal_updated thread_settings_updated thread_settings_applied item_started turn_diff"
    " context_compacted".split()
)
_KINDS = frozenset("turn_context world_state token_usage_record".split())
_HEADER = re.compile(r"^Process exited with code (-?\d+)\s*$", re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID (\S+)\s*$", re.MULTILINE)
_FIRST = re.compile(r"Exit code: (-?\d+)\s*$", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_JSON_TOOLS = ("shell", "container.exec", "apply_patch", "")  # of older versions
_CONTEXT, _REQUEST = "# Context from my IDE setup:", "## My request for Codex:\n"
_NOT_A_PERSON = re.compile(
    r"\s*(<(environment_context|user_instructions|skill|turn_aborted|subagent_notification|user_shell_command"
    r"|hook_prompt|permissions|collaboration_mode|recommended_plugins)\b|# AGENTS\.md instructions)"
)
_BY_PERSON = re.compile(
    r"\s*<user_shell_command>\s*<command>\n?(.*?)\n?</command>\s*<result>\n?(.*?)\n?</result>", re.DOTALL
)


def knows(record: Json) -> bool:
    return isinstance(record.get("payload"), dict) and (
        record.get("type") in ("session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state")
    )


def read(log: Log, record: Json) -> None:
    payload, kind, state = obj(record.get("payload")), record.get("type"), log.state
    if kind == "session_meta":
        _meta(state, payload)
    if (number(record.get("ordinal")) or 0) < (number(state.get("history_start")) or 0):
        return  # a replay of the parent's history
    turn = maybe(payload.get("turn_id")) or maybe(state.get("turn"))
    log.now = Moment(
        session=text(state.get("session")),
        at=utc(record.get("timestamp")),
        cwd=maybe(state.get("cwd")),
        branch=maybe(state.get("branch")),
        subagent=maybe(state.get("subagent")),
        parent=maybe(state.get("parent")),
        turn=turn,
    )
    if kind == "response_item":
        _response_item(log, payload)
    elif kind == "event_msg":
        _event(log, payload)
    elif kind == "turn_context":
        state["turn"] = turn
        state["cwd"] = maybe(payload.get("cwd")) or state.get("cwd")
    elif kind == "compacted":
        log.compacted(digest(state.get("session"), record.get("timestamp")))
    elif kind not in _KINDS and kind != "session_meta" and not str(kind).startswith("inter_agent_"):
        log.unknown(kind)


def _meta(state: Json, meta: Json) -> None:
    """The first one is the file's; a second one begins the replay of a parent's history."""
    own, session = text(meta.get("id")), text(meta.get("session_id"))
    state["origin"] = own or session
    if "session" in state:
        return
    source = meta.get("source")
    spawned = obj(obj(obj(source).get("subagent")).get("thread_spawn"))
    thread = meta.get("thread_source")
    state |= {
        "session": session or own,
        "cwd": maybe(meta.get("cwd")),
        "branch": maybe(obj(meta.get("git")).get("branch")),
        "paginated": meta.get("history_mode") == "paginated",
        "history_start": number(meta.get("subagent_history_start_ordinal")),
    }
    if "subagent" in obj(source) or (isinstance(thread, str) and thread != "user"):
        state["subagent"] = own
        state["parent"] = maybe(spawned.get("parent_thread_id"))
    elif meta.get("forked_from_id"):
        state["parent"] = maybe(meta.get("forked_from_id"))


def _id(log: Log, *parts: object) -> str:
    """Forks keep the ids of turns and calls; where there is no turn, the thread that the history comes from."""
    return ":".join(str(part) for part in (log.now.turn or text(log.state.get("origin")), *parts))


# --- what is said, and turns -----------------------------------------------------------------------------------


def _event(log: Log, event: Json) -> None:
    kind = event.get("type")
    if kind == "user_message":
        if event.get("kind") in (None, "plain"):
            _person(log, text(event.get("message")))
    elif kind == "agent_message":
        _said(log, text(event.get("message")))
    elif kind in ("task_started", "turn_started"):
        log.state["turn"] = log.now.turn
        log.state["nth"] = {}
    elif kind in ("task_complete", "turn_complete", "turn_aborted"):
        log.turn_ended(_id(log, "end"))
    elif kind == "item_completed":
        log.state["paginated"] = True
        _item(log, obj(event.get("item")))
    elif kind == "shutdown_complete":
        log.session_ended(_id(log, "shutdown"))
    elif kind not in _EVENTS:
        log.unknown(f"event {kind}")


def _person(log: Log, said: str) -> None:
    """In a sub-agent's thread the agent above it speaks. A turn may hold the same words twice."""
    said = said.rpartition(_REQUEST)[2] if said.startswith(_CONTEXT) and _REQUEST in said else said
    if not log.state.get("subagent") and not _NOT_A_PERSON.match(said):
        log.said("person", said, _id(log, "user", digest(said), _nth(log, said)))


def _said(log: Log, said: str) -> None:
    log.said("assistant", said, _id(log, "agent", digest(said)))


def _nth(log: Log, said: str) -> int:
    counts: dict[str, int] = log.state.setdefault("nth", {})
    key = digest(said)
    counts[key] = counts.get(key, 0) + 1
    return counts[key]


def _item(log: Log, item: Json) -> None:
    kind = item.get("type")
    if kind == "UserMessage":
        _person(log, "\n".join(texts(item.get("content"), "text", "Text")))
    elif kind == "AgentMessage":
        _said(log, "\n".join(texts(item.get("content"), "text", "Text")))
    elif kind == "CommandExecution":
        _executed(log, item)
    elif kind == "FileChange" and item.get("status") == "completed":
        for path in obj(item.get("changes")):
            log.edited(_absolute(log, path), _id(log, item.get("id"), path))


# --- commands ----------------------------------------------------------------------------------------------------


def _executed(log: Log, item: Json) -> None:
    """A command of paginated history. A direct call stands there as a call, too: it counts here."""
    key, code, status = text(item.get("id")), number(item.get("exit_code")), item.get("status")
    call = log.calls.pop(key, None) or log.state.get("outlasting", {}).pop(key, None)
    log.now = log.now._replace(cwd=_folder(text(item.get("cwd"))) or log.now.cwd)
    outcome: Outcome = "unknown"
    if status == "declined":
        outcome, code = "declined", None
    elif status == "failed" or (status == "completed" and code):
        outcome = "failed"
    elif status == "completed" and code == 0:
        outcome = "ok"
    output = text(item.get("aggregated_output")) or text(item.get("stdout"))
    begun = type(log.source)(*call["source"]) if call else None
    log.ran(_script(item.get("command")), _id(log, key), outcome, code, output, begun)


def _response_item(log: Log, item: Json) -> None:
    kind = item.get("type")
    if kind in ("function_call", "custom_tool_call", "local_shell_call"):
        _call(log, item)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        _output(log, text(item.get("call_id")), "\n".join(texts(item.get("output"))))
    elif kind == "message" and item.get("role") == "user":
        _by_person(log, "\n".join(texts(item.get("content"))))
    elif kind not in _ITEMS and not str(kind).startswith(("tool_search", "inter_agent")):
        log.unknown(f"item {kind}")


def _call(log: Log, item: Json) -> None:
    key, name = text(item.get("call_id")), text(item.get("name"))
    given = parsed(item.get("arguments")) or obj(item.get("action"))
    record = _id(log, key)
    if name == "write_stdin":
        _go_on(log, key, str(given.get("session_id")))
    elif name == "apply_patch":
        patch = text(item.get("input")) or text(given.get("input"))
        files = _PATCHED.findall(patch)
        if files:
            log.call(key, path="\n".join(files), record=record, tool=name)
    elif name in ("exec_command", "shell_command", "shell", "container.exec") or item.get("type") == "local_shell_call":
        command = _script(given.get("cmd") or given.get("command"))
        folder = text(given.get("workdir")) or text(given.get("working_directory"))
        log.call(key, command=command, cwd=_absolute(log, folder) if folder else None, record=record, tool=name)


def _go_on(log: Log, key: str, session: str) -> None:
    """The call looks after a command that still runs: its output is that command's."""
    call = log.state.get("running", {}).pop(session, None)
    if call is not None:
        log.calls[key] = call


def _output(log: Log, key: str, output: str) -> None:
    call = log.calls.get(key)
    if call is None:
        return
    header = output.split("\nOutput:", 1)[0] if not output.startswith("Output:") else ""
    still = _RUNNING.search(header)
    if log.state.get("paginated") and not call["path"]:
        if still:  # its item may come after the end of the turn
            log.park("outlasting", key, log.calls.pop(key), 32)
        return
    del log.calls[key]
    if still:
        log.park("running", still[1], call, 32)
        return
    outcome, code, shown = _outcome(text(call.get("tool")), header, output)
    if call["path"]:
        _patched(log, call, outcome)
    else:
        log.finish(call, call["record"], outcome, code, shown)


def _outcome(tool: str, header: str, output: str) -> tuple[Outcome, int | None, str]:
    """How a command ended, by what stands before its output and never by what stands in it."""
    if tool in _JSON_TOOLS and output.startswith("{"):
        whole = parsed(output)
        code = number(obj(whole.get("metadata")).get("exit_code"))
        return by_code(code), code, text(whole.get("output"))
    found = _HEADER.search(header) if tool == "exec_command" else _FIRST.match(header)
    shown = output.partition("\nOutput:\n")[2]
    if found:
        return by_code(int(found[1])), int(found[1]), shown
    if "\nOutput:" not in output and refused(header.split("\n", 1)[0]):
        return "declined", None, ""
    return ("failed" if header.startswith("command timed out") else "unknown"), None, output


def _patched(log: Log, call: Json, outcome: Outcome) -> None:
    if outcome == "ok":
        for path in call["path"].split("\n"):
            log.edited(_absolute(log, path), f"{call['record']}:{path}")


def _by_person(log: Log, said: str) -> None:
    """A command that the person ran with `!`. All else in role `user` is said elsewhere, or not by the person."""
    found = _BY_PERSON.match(said)
    if found and not log.state.get("subagent"):
        outcome, code, shown = _outcome("shell_command", found[2].split("\nOutput:", 1)[0], found[2])
        log.ran(found[1], _id(log, "shell", digest(said)), outcome, code, shown)


def _script(command: object) -> str:
    """A command as the shell got it: what is wrapped in `bash -lc` without the wrapping."""
    if isinstance(command, str):
        return command
    words = [text(word) for word in array(command)]
    if len(words) == 3 and words[1] in ("-c", "-lc") and words[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh", "dash"):
        return words[2]
    return shlex.join(words)


def _folder(uri: str) -> str:
    return unquote(urlsplit(uri).path) if uri.startswith("file:") else uri


def _absolute(log: Log, path: str) -> str:
    cwd = log.now.cwd
    return path if path.startswith("/") or not cwd else f"{cwd.rstrip('/')}/{path}"


READER = Reader("codex", "jsonl", read, knows)
