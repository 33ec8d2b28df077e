"""What an activity log says happened: the one shape that every reader makes. Plain data, no I/O."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["said", "ran", "edited", "turn_ended", "session_ended", "compacted"]
Who = Literal["person", "assistant"]
Outcome = Literal["ok", "failed", "unknown", "declined"]


class Source(NamedTuple):
    """Where in a log an event stands. `path`: the file as found, printable; `offset`: bytes from its start, or None in
    a database; `line`: 1-based, or None; `row`: of a database, such as "part:prt_12".
    """

    path: str
    offset: int | None = None
    line: int | None = None
    row: str | None = None


class Event(NamedTuple):
    """One event. A command and its result are one `ran`, made when the result is known (or is known to stay unknown).

    `id` is the agent's own id of the record (a fork or a resume repeats it), or a hash where the log has none: the same
    thing read twice has the same id. `at` is UTC ISO text. `head` and `tail` are the first and last part of a command's
    output, at most 2,000 characters each; `tail` is "" when `head` is all of it.
    """

    kind: Kind
    agent: str
    session: str
    id: str
    source: Source
    at: str | None = None
    cwd: str | None = None
    branch: str | None = None
    subagent: str | None = None  # id of the sub-agent whose work it is
    parent: str | None = None  # session that this one was forked or spawned from
    turn: str | None = None  # the agent's own id of the turn, where it has one
    who: Who | None = None  # said
    text: str = ""  # said
    command: str = ""  # ran: as the shell got it
    outcome: Outcome | None = None  # ran
    exit_code: int | None = None
    head: str = ""
    tail: str = ""
    path: str = ""  # edited: absolute where the log says so
    call: Source | None = None  # ran: where the command stands, when its result stands elsewhere
