"""The text that Gemini CLI and Qwen Code make of a command's end: in comes the text, out how it ended.

Both write "success" for a command that failed. What tells is a few lines at the end, below the output; so they are read
from the end, and the same words inside the output count for nothing.
"""

from __future__ import annotations

import re

from mdmem.activity.events import Outcome
from mdmem.activity.log import refused

_FIELD = re.compile(r"(Error|Exit Code|Signal|Background PIDs|Process Group PGID): ?(.*)")
_BEGIN = re.compile(r"(Command|Directory|Output|Stdout): ?")
_UNFINISHED = re.compile(
    r"(Command|Background|Process|Shell)\b(?!:)[^\n]*"
    r"\b(background|timed out|timeout|cancelled|canceled|started with PID)\b"
    r"|\[Operation Cancelled\]|Operation cancelled",
    re.IGNORECASE,
)
_NOTHING = ("(none)", "")  # in a field; a pseudo terminal gives 0 for no signal
_WRAPPED = re.compile(r"\s*<(untrusted_context|tool_output|untrusted)>\n?(.*?)\n?</\1>", re.DOTALL)


def outcome(status: object, whole: str) -> tuple[Outcome, int | None, str]:
    """How a command ended, its exit code and its output, from the status of the call and the text of its result."""
    wrapped = _WRAPPED.match(whole)
    body = (wrapped[2] if wrapped else whole).strip("\n")
    if status == "cancelled":
        return "declined" if refused(body) else "unknown", None, ""
    fields, above = _fields(body)
    if status == "error" and fields and _BEGIN.match(body):  # newer ones say so of a command that ran, too
        return "failed", _by_fields(fields, "")[1] or None, _output(above)
    if status == "error":
        return "declined" if refused(body) else "failed", None, body
    if status != "success" or _UNFINISHED.match(body) or (not fields and not _BEGIN.match(body)):
        return "unknown", None, body
    return _by_fields(fields, _output(above))


def _by_fields(fields: dict[str, str], output: str) -> tuple[Outcome, int | None, str]:
    code = fields.get("Exit Code", "")
    if re.fullmatch(r"-?\d+", code) and int(code):
        return "failed", int(code), output
    if fields.get("Error", "(none)") not in _NOTHING or fields.get("Signal", "0") not in (*_NOTHING, "0"):
        return "failed", None, output
    if code == "(none)":  # no code and no signal: how it ended is not said
        return "unknown", None, output
    return "ok", 0, output


def _fields(body: str) -> tuple[dict[str, str], str]:
    """The fields at the end of a text, and what stands above them. A hint may follow them after a blank line."""
    lines = body.rstrip().split("\n")
    end = len(lines)
    if not _FIELD.match(lines[-1]):
        blank = max((at for at, line in enumerate(lines) if not line.strip()), default=-1)
        if blank > 0 and lines[blank - 1].startswith("Process Group PGID:"):
            end = blank
    found: dict[str, str] = {}
    while end and (field := _FIELD.match(lines[end - 1])) and field[1] not in found:
        found[field[1]] = field[2].strip()
        end -= 1
    return found, "\n".join(lines[:end])


def _output(above: str) -> str:
    """What the command wrote, without the fields that stand before it."""
    for name in ("\nOutput: ", "\nStdout: "):
        if name in above and _BEGIN.match(above):
            return above.partition(name)[2]
    return above.removeprefix("Output: ")
