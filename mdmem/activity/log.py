"""What a reader works with while it goes through one log: records in, events and a small state out."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from mdmem.activity.events import Event, Outcome, Source, Who
from mdmem.files import printable

Json = dict[str, Any]
Form = Literal["jsonl", "json", "text", "sqlite"]

# What a reader may stumble over in a record that is shaped like none that it knows.
ODD = (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError, OverflowError)
EXCERPT_CHARS = 2_000
MAX_COMMAND_CHARS = 20_000  # a longer one carries a file; nothing is learned from it, and a cursor keeps open calls
MAX_OPEN_CALLS = 256
_PRIVATE = re.compile(r"<(/?)private\b[^>]*>", re.IGNORECASE)


class Reader(NamedTuple):
    """How one kind of log is read. `read` takes one record: a JSON object, a line of text, a whole document, or an open
    database, by the form. All that it must remember goes to the log's state.
    """

    agent: str
    form: Form
    read: Callable[[Log, Any], None]
    knows: Callable[[Any], bool]  # whether a record (or the names of a database's tables) is of this kind
    begin: Callable[[Log], None] | None = None  # what the path says
    skip: Callable[[Log, bytes], bool] | None = None  # a line that cannot matter, told without parsing it
    settle: Callable[[Log], None] | None = None  # the log has been quiet for a while
    to_end: Callable[[Log, Any], None] | None = None  # pass over all that a database holds


class Moment(NamedTuple):
    """What the events of one record have in common."""

    session: str = ""
    at: str | None = None
    cwd: str | None = None
    branch: str | None = None
    subagent: str | None = None
    parent: str | None = None
    turn: str | None = None


class Log:
    """One log, being read. `state` is JSON: with it another process goes on where this one stopped."""

    def __init__(self, agent: str, path: str, state: Json | None = None, clean: Callable[[str], str] = str) -> None:
        self.agent = agent
        self.path = path
        self.state: Json = {} if state is None else state
        self.clean = clean
        self.source = Source(printable(path))
        self.whole = ""  # of a document: its text, to find the place of an event in
        self.now = Moment()
        self.events: list[Event] = []
        self.skipped: Counter[str] = Counter()
        self.odd = 0  # rows that a reader stumbled over

    @property
    def calls(self) -> dict[str, Json]:
        """Commands that wait for their result, by the agent's id of the call."""
        found: dict[str, Json] = self.state.setdefault("calls", {})
        return found

    def said(self, who: Who, text: str, record: str) -> None:
        kept = self.learnable(text).strip()
        if kept:
            self._put("said", record, who=who, text=kept)

    def edited(self, path: str, record: str) -> None:
        self._put("edited", record, path=plain(path))

    def turn_ended(self, record: str) -> None:
        self.give_up()
        self._put("turn_ended", record)

    def session_ended(self, record: str) -> None:
        self.give_up()
        self._put("session_ended", record)

    def compacted(self, record: str) -> None:
        self._put("compacted", record)

    def call(
        self,
        key: str,
        *,
        command: str = "",
        path: str = "",
        cwd: str | None = None,
        record: str = "",
        **more: str | bool,
    ) -> None:
        """A command (or an edit of a file) was asked for. `record`: its id if no result ever comes; `more`: what the
        reader wants to know of it then.
        """
        if not key or len(command) > MAX_COMMAND_CHARS:
            return
        while len(self.calls) >= MAX_OPEN_CALLS:
            self._give_up_one(next(iter(self.calls)))
        now = self.now._replace(cwd=cwd or self.now.cwd)
        asked = {"command": command, "path": path, "record": record or key, "now": now, "source": self.source}
        self.calls[key] = asked | more

    def park(self, name: str, key: str, call: Json, most: int) -> None:
        """Keep a call that still runs behind its result, under a name of the reader's; of too many the first goes."""
        kept: dict[str, Json] = self.state.setdefault(name, {})
        kept[key] = call
        while len(kept) > most:
            kept.pop(next(iter(kept)))

    def result(
        self,
        key: str,
        record: str,
        outcome: Outcome,
        exit_code: int | None = None,
        output: str = "",
    ) -> None:
        """The result of a call that waits for one; any other is nothing to us."""
        call = self.calls.pop(key, None)
        if call is not None:
            self.finish(call, record, outcome, exit_code, output)

    def finish(self, call: Json, record: str, outcome: Outcome, exit_code: int | None, output: str) -> None:
        """The same for a call that was taken out before."""
        moment, begun = Moment(*call["now"]), Source(*call["source"])
        before, self.now = self.now, moment._replace(at=self.now.at or moment.at)
        if call["path"]:
            if outcome == "ok":
                self.edited(call["path"], record)
        else:
            self.ran(call["command"], record, outcome, exit_code, output, None if begun == self.source else begun)
        self.now = before

    def ran(
        self,
        command: str,
        record: str,
        outcome: Outcome,
        exit_code: int | None = None,
        output: str = "",
        call: Source | None = None,
    ) -> None:
        command = plain(command).strip()
        if not command or len(command) > MAX_COMMAND_CHARS or self.learnable(command) != command:
            return
        head, tail = excerpt(self.learnable(output))
        self._put("ran", record, command=command, outcome=outcome, exit_code=exit_code, head=head, tail=tail, call=call)

    def give_up(self) -> None:
        """No result will come any more for what waits for one."""
        for key in list(self.calls):
            self._give_up_one(key)

    def _give_up_one(self, key: str) -> None:
        call = self.calls.pop(key)
        self.finish(call, call["record"], "unknown", None, "")

    def each(self, rows: Iterable[tuple[Any, ...]], read: Callable[[Log, tuple[Any, ...]], None]) -> None:
        """Read rows of a database; one that is odd does not stop the others."""
        for row in rows:
            try:
                read(self, row)
            except ODD:
                self.odd += 1

    def locate(self, value: str) -> None:
        """What follows stands in the document where this text does, or stays where it was."""
        for ascii_only in (False, True):
            at = self.whole.find(json.dumps(value, ensure_ascii=ascii_only)) if value and self.whole else -1
            if at >= 0:
                offset = len(self.whole[:at].encode("utf-8", "replace"))
                self.source = self.source._replace(offset=offset, line=self.whole.count("\n", 0, at) + 1)
                return

    def unknown(self, kind: object) -> None:
        """A record that this reader does not know."""
        self.skipped[plain(str(kind))[:60]] += 1

    def learnable(self, text: str) -> str:
        """A text without what was injected into it, and without what the person marked as private."""
        text = plain(self.clean(text))
        return _without_private(text) if "<private" in text.lower() else text

    def _put(self, kind: Any, record: str, **more: Any) -> None:  # noqa: ANN401  # handed through to Event
        now = self.now
        self.events.append(
            Event(
                kind,
                self.agent,
                plain(now.session),
                plain(record),
                self.source,
                at=now.at,
                cwd=plain(now.cwd) if now.cwd else None,
                branch=plain(now.branch) if now.branch else None,
                subagent=now.subagent,
                parent=now.parent,
                turn=now.turn,
                **more,
            )
        )


# --- values that may be anything -----------------------------------------------------------------------------


def obj(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def array(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def maybe(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def parsed(value: object) -> Json:
    """JSON in a string (or the bytes of a column), as some agents keep it in their records."""
    return obj(decoded(value)) if isinstance(value, str | bytes) else obj(value)


def decoded(value: str | bytes) -> object:
    """Any JSON in a text; None where it is none."""
    try:
        return json.loads(value if isinstance(value, str) else value.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def texts(content: object, *kinds: str) -> list[str]:
    """The texts of a content: a string, or blocks of which some hold text."""
    if isinstance(content, str):
        return [content]
    blocks = [obj(block) for block in array(content)]
    return [text(block.get("text")) for block in blocks if not kinds or block.get("type") in kinds]


def plain(value: str) -> str:
    """A text that can be stored and sent: without lone surrogates."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def excerpt(output: str) -> tuple[str, str]:
    """The first and the last part of an output."""
    head = output[:EXCERPT_CHARS]
    return head, output[max(EXCERPT_CHARS, len(output) - EXCERPT_CHARS) :]


def digest(*parts: object) -> str:
    """An id for what has none in its log."""
    joined = "\0".join(str(part) for part in parts)
    return hashlib.blake2b(joined.encode("utf-8", "replace"), digest_size=12).hexdigest()


def utc(value: object) -> str | None:
    """A time as logs write it (ISO text, seconds or milliseconds) as UTC ISO text; None when it is none."""
    try:
        if isinstance(value, str):
            if value.endswith("Z") and len(value) <= 30:
                return value
            found = datetime.datetime.fromisoformat(value)
            found = found if found.tzinfo else found.replace(tzinfo=datetime.UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.datetime.fromtimestamp(value / 1000 if value > 1e11 else value, datetime.UTC)
        else:
            return None
        return found.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None


def by_code(code: int | None) -> Outcome:
    """How a command ended, where its exit code is all that tells."""
    return "unknown" if code is None else "failed" if code else "ok"


def refused(words: str) -> bool:
    """Whether the words of an error say that somebody refused the call."""
    return bool(_REFUSED.search(words[:300]))


_REFUSED = re.compile(
    r"\b(reject(ed|s)?|declin(ed|es)|denied (by|execution)|not allow(ed)?|did not allow|disallow(ed)?)\b", re.IGNORECASE
)


def _without_private(text: str) -> str:
    """What stands outside of all `<private>`; one that is not closed hides the rest."""
    kept: list[str] = []
    open_ones, at = 0, 0
    for tag in _PRIVATE.finditer(text):
        if not open_ones:
            kept.append(text[at : tag.start()])
        open_ones = max(open_ones - 1, 0) if tag[1] else open_ones + 1
        at = tag.end()
    return "".join(kept) + ("" if open_ones else text[at:])
