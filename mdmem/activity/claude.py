"""Claude Code's transcripts: records in, events out."""

from __future__ import annotations

import re

from mdmem.activity.events import Outcome
from mdmem.activity.log import Json, Log, Moment, Reader, array, maybe, obj, text, texts, utc

SHELLS = ("Bash", "PowerShell")
EDITS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
# Records that are appended beside the conversation: nothing happened in them.
SIDECARS = frozenset(
    "summary custom-title ai-title last-prompt mode permission-mode agent-name agent-setting agent-color"
    " queue-operation file-history-snapshot file-history-delta pr-link relocated ended cost-state progress tag"
    " api-request api-request-blob api-request-shape atis-latch tools-used".split()
)
_SYSTEM = frozenset("stop_hook_summary local_command informational api_error away_summary bridge_status".split())
_EXIT = re.compile(r"Exit code (\d+)\b")
_TYPE = re.compile(rb'\{"type":"([\w-]+)"')
_USE_ID = b'"tool_use_id":"'
_LONG_LINE_BYTES = 2_048

# What the client puts in the place of the person's text, alone or around it.
_ELEMENTS = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|post-tool-use-hook|user-prompt-submit-hook"
    r"|task-notification|teammate-message|persisted-output)\b[^>]*>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
_NOT_A_PERSON = re.compile(
    r"<(command-|local-command-|bash-|user-memory-|fork-boilerplate|tick\b|channel\b)|\[Request interrupted"
    r"|\[Image: source"
    r"|Caveat: The messages below|This session is being continued from a previous conversation"
    r"|(Stop|SubagentStop|PreToolUse|PostToolUse|UserPromptSubmit)\b[^\n]{0,60}hook|API Error\b|No response requested"
)
# The client ended it: the exit code, where there is one, is that of the signal.
_STOPPED = re.compile(r"(Error: )?(Exit code \d+\n)?(Command timed out after|\[Request interrupted|Interrupted)")
_NEVER_RAN = re.compile(r"The user (doesn't want|rejected)|User rejected|Permission to use \S+ has been denied")
_TASK = re.compile(r"<task-id>([^<]+)</task-id>")
_STATUS = re.compile(r"<status>(\w+)</status>")
_TASK_EXIT = re.compile(r"\bexit code (\d+)\b")


def knows(record: Json) -> bool:
    """A record of the chain, or one of those beside it."""
    if "uuid" in record and "provenance" not in record:
        is_qwens = "parts" in obj(record.get("message"))
        known = record.get("type") in ("user", "assistant", "attachment", "system")
        return known and "isSidechain" in record and not is_qwens
    return record.get("type") in SIDECARS and ("sessionId" in record or "leafUuid" in record or "snapshot" in record)


def skip(log: Log, line: bytes) -> bool:
    """Whether a line can be passed over unread: a record beside the chain, or the result of a tool that runs nothing.

    The client writes keys unescaped and without spaces; a line that does otherwise is read.
    """
    kind = _TYPE.match(line)
    if kind:
        return kind[1].decode() in SIDECARS
    if len(line) < _LONG_LINE_BYTES or b'"toolUseResult":' not in line:
        return False
    # Plain searching: a regular expression takes ten times as long, and these lines are most of a log.
    found, at = False, line.find(_USE_ID)
    while at >= 0:
        start = at + len(_USE_ID)
        if line[at - 1 : at] != b"\\":  # in a string, it would stand behind one
            found = True
            if line[start : line.find(b'"', start)].decode("utf-8", "replace") in log.calls:
                return False
        at = line.find(_USE_ID, start)
    return found


def read(log: Log, record: Json) -> None:
    kind = record.get("type")
    if kind == "user":
        _moment(log, record)
        _user(log, record)
    elif kind == "assistant":
        _moment(log, record)
        _assistant(log, record)
    elif kind == "system":
        _moment(log, record)
        _system(log, record)
    elif kind == "attachment":
        _moment(log, record)
        _queued(log, record)
    elif kind not in SIDECARS:
        log.unknown(kind)


def settle(log: Log) -> None:
    """Some sessions write no end of a turn: a last reply and then quiet is one."""
    ending = log.state.pop("ending", None)
    if ending:
        before = log.source
        log.now, log.source = Moment(*ending["now"]), type(before)(*ending["source"])
        log.turn_ended(ending["record"])
        log.source = before


def _moment(log: Log, record: Json) -> None:
    aside, turn = record.get("isSidechain") is True, maybe(record.get("promptId"))
    if not aside:  # replies carry no id of the prompt
        turn = log.state["turn"] = turn or maybe(log.state.get("turn"))
    log.now = Moment(
        session=text(record.get("sessionId")),
        at=utc(record.get("timestamp")),
        cwd=maybe(record.get("cwd")),
        branch=maybe(record.get("gitBranch")),
        subagent=(maybe(record.get("agentId")) or "sidechain") if aside else None,
        turn=turn,
    )


# --- the person and the assistant ------------------------------------------------------------------------------


def _user(log: Log, record: Json) -> None:
    content = obj(record.get("message")).get("content")
    results = [block for block in map(obj, array(content)) if block.get("type") == "tool_result"]
    for block in results:
        _result(log, record, block, alone=len(results) == 1)
    origin = obj(record.get("origin")).get("kind")
    if origin is not None:
        log.state["origins"] = True  # from here on the client says of each prompt where it comes from
    said = "\n".join(one for one in texts(content, "text") if not _NOT_A_PERSON.match(one.lstrip()))
    if said.lstrip().startswith("<task-notification>") and origin != "human":
        _background_ended(log, said, text(record.get("uuid")))
    elif not results and "toolUseResult" not in record and _is_person(log, record, origin):
        _said(log, said, text(record.get("uuid")))


def _is_person(log: Log, record: Json, origin: object) -> bool:
    if any(
        record.get(flag) is True for flag in ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
    ):
        return False
    if obj(record.get("message")).get("role") not in ("user", None) or record.get("promptSource") == "system":
        return False
    if origin is not None:
        return origin == "human"
    # A headless client says of no prompt where it comes from, also where it goes on with a session of another.
    return not log.state.get("origins") or record.get("promptSource") == "sdk"


def _said(log: Log, said: str, record: str) -> None:
    said = _ELEMENTS.sub("", said).strip()
    if said and not _NOT_A_PERSON.match(said) and not re.fullmatch(r"<([\w:-]+)\b[^>]*>.*</\1>", said, re.DOTALL):
        settle_before(log)
        log.said("person", said, record)


def settle_before(log: Log) -> None:
    """The person goes on: a turn whose end was not written has ended."""
    now = log.now
    settle(log)
    log.now = now


def _queued(log: Log, record: Json) -> None:
    """What was typed while the agent worked, or that a command in the background ended meanwhile."""
    attachment = obj(record.get("attachment"))
    if attachment.get("type") != "queued_command" or record.get("isSidechain") is True:
        return
    origin, mode = obj(attachment.get("origin")).get("kind"), attachment.get("commandMode")
    prompt = "\n".join(texts(attachment.get("prompt"), "text"))
    if mode == "task-notification" and origin != "human":
        _background_ended(log, prompt, text(record.get("uuid")))
    if origin not in (None, "human") or mode not in (None, "prompt"):
        return
    said = _ELEMENTS.sub("", prompt).strip()
    if said and not _NOT_A_PERSON.match(said) and attachment.get("isMeta") is not True:
        log.said("person", said, text(record.get("uuid")))


def _assistant(log: Log, record: Json) -> None:
    message = obj(record.get("message"))
    uuid = text(record.get("uuid"))
    if record.get("isApiErrorMessage") is True:
        return
    for at, block in enumerate(map(obj, array(message.get("content")))):
        if block.get("type") == "text":
            log.said("assistant", text(block.get("text")), f"{uuid}:{at}" if at else uuid)
        elif block.get("type") == "tool_use":
            _call(log, block, uuid)
    if message.get("stop_reason") == "end_turn" and record.get("isSidechain") is not True:
        log.state["ending"] = {"record": f"{uuid}:end", "now": log.now, "source": log.source}


def _system(log: Log, record: Json) -> None:
    kind = record.get("subtype")
    if kind == "turn_duration":
        log.state.pop("ending", None)
        log.turn_ended(text(record.get("uuid")))
    elif kind == "compact_boundary":
        log.compacted(text(record.get("uuid")))
    elif kind not in _SYSTEM:
        log.unknown(f"system {kind}")


# --- commands ------------------------------------------------------------------------------------------------


def _call(log: Log, block: Json, uuid: str) -> None:
    key, name, given = text(block.get("id")), block.get("name"), obj(block.get("input"))
    if name in SHELLS:
        log.call(key, command=text(given.get("command")), record=f"{key}:{uuid}")
    elif name in EDITS:
        log.call(key, path=text(given.get("file_path")) or text(given.get("notebook_path")), record=f"{key}:{uuid}")


def _result(log: Log, record: Json, block: Json, *, alone: bool) -> None:
    key = text(block.get("tool_use_id"))
    call = log.calls.pop(key, None)
    if call is None:
        return
    output = "\n".join(texts(block.get("content"), "text"))
    more = record.get("toolUseResult")
    outcome, code = _edit(block, record) if call["path"] else _outcome(block, record, output)
    if isinstance(more, dict) and alone and not call["path"]:
        output = "\n".join(one for one in (text(more.get("stdout")), text(more.get("stderr"))) if one) or output
        task = text(more.get("backgroundTaskId"))
        if task:
            log.park("background", task, call, 16)
    log.finish(call, f"{key}:{text(record.get('uuid'))}", outcome, code, output)


def _edit(block: Json, record: Json) -> tuple[Outcome, None]:
    wrong = block.get("is_error") is True or "toolDenialKind" in record or isinstance(record.get("toolUseResult"), str)
    return ("failed" if wrong else "ok"), None


def _outcome(block: Json, record: Json, output: str) -> tuple[Outcome, int | None]:
    more = record.get("toolUseResult")
    told = more if isinstance(more, str) else output
    code = _EXIT.match(told.removeprefix("Error: ")) or _EXIT.match(output)
    said_no = _NEVER_RAN.match(told.removeprefix("Error: ")) or _NEVER_RAN.match(output)
    if record.get("toolDenialKind") or (block.get("is_error") is True and said_no):
        return "declined", None
    if isinstance(more, dict) and any(
        more.get(key) for key in ("interrupted", "backgroundTaskId", "backgroundedByUser", "timedOutAfterMs")
    ):
        return "unknown", None
    if (isinstance(more, str) or block.get("is_error") is True) and _STOPPED.match(told):
        return "unknown", None
    if code:
        return ("failed", int(code[1])) if int(code[1]) else ("unknown", None)
    if block.get("is_error") is True or told.startswith("Error:") or output.startswith("<tool_use_error>"):
        return "failed", None
    if not isinstance(more, dict):
        return "unknown", None
    return "ok", None if more.get("returnCodeInterpretation") else 0


def _background_ended(log: Log, notice: str, uuid: str) -> None:
    """The end of a command in the background: text, and so a success only when it names the exit code."""
    task, status, code = _TASK.search(notice), _STATUS.search(notice), _TASK_EXIT.search(notice)
    call = log.state.get("background", {}).pop(task[1].strip(), None) if task else None
    if call is None or status is None:
        return
    exit_code = int(code[1]) if code else None
    if status[1] == "failed" or exit_code:
        log.finish(call, uuid, "failed", exit_code, "")
    elif status[1] == "completed" and exit_code == 0:
        log.finish(call, uuid, "ok", 0, "")


READER = Reader("claude-code", "jsonl", read, knows, skip=skip, settle=settle)
