"""Activity logs in, candidates in the inbox out: read, promoted, led through the gates. One thread owns it.

What is found goes to an outbox in the ledger, in the transaction that moves the log's cursor; only then does it become
a file. A process that dies anywhere between loses nothing, and the inbox knows what it holds already.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import json
import logging
import math
import os
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mdmem import files, gates
from mdmem.activity import (
    Event,
    Fields,
    Found,
    Place,
    Progress,
    Tail,
    Trouble,
    find_any,
    from_hook,
    harvest,
    named,
    read_log,
    stat_log,
)
from mdmem.app.propose import admit
from mdmem.candidates import inbox
from mdmem.candidates.promote import Promoter
from mdmem.config.paths import log_roots
from mdmem.errors import ConfigError, NotFoundError, Problem, RefusedError, UsageError
from mdmem.index import read
from mdmem.index.read import Entry
from mdmem.ledger import Ledger, stamp
from mdmem.recall.block import without_blocks
from mdmem.scope import Scope, project_root

if TYPE_CHECKING:
    from mdmem.app import App
    from mdmem.app.answers import Answers

log = logging.getLogger(__name__)

# Agents whose logs go by another name than their settings.
LOG_NAMES = {"gemini": "gemini-cli", "copilot": "copilot-cli", "qwen": "qwen-code"}
# Agents whose hooks don't tell when a history was compacted, by the names in their logs, and their own: what a session
# was given is to be given again then.
_COMPACTS_UNSEEN = {LOG_NAMES[agent]: agent for agent in ("gemini",)}
AT_ONCE = 50
LOOKED_BACK_S = 7 * 24 * 3600.0


class Learning:
    """Follows the logs of the agents that the settings name."""

    def __init__(self, answers: Answers, ledger: Ledger) -> None:
        self.answers = answers
        self.app = answers.app
        self.ledger = ledger
        settings = self.app.settings.learn
        self.follows = (*settings.agents, *settings.logs)
        projects = [project.root for project in self.app.projects.all()]
        self.tail = Tail(
            ledger,
            _roots(settings.agents, projects),
            others=[_other(name, fields) for name, fields in settings.logs.items()],
            clean=without_blocks,
            own=self.app.paths.data,
        )
        self.promoter = promoter_of(self.app)
        self._harvest: tuple[int, Iterator[Progress]] | None = None

    def step(self) -> bool:
        """Read a piece of what is new, and file what was found; whether there was anything."""
        busy = self.tail.poll(self._follow)
        return self.deliver() or busy

    def look(self, path: str) -> None:
        """A hint that a log was written to."""
        self.tail.look(path)

    def take_hook(self, payload: dict[str, Any]) -> None:
        """What a hook of Cursor proves: its logs don't say how commands ended."""
        self.tail.take(from_hook(payload, stamp(), without_blocks), self._find)

    def problems(self) -> list[Problem]:
        """What could not be read in the logs of the last days, each kind once: an agent that writes something new does
        so in all its logs, and what an mdmem of last month did not know may be known by now.
        """
        since = time.time() - LOOKED_BACK_S
        found: dict[tuple[str, str], list[Trouble]] = {}
        for trouble in self.tail.problems():
            if _changed_at(trouble.path) >= since:
                found.setdefault((trouble.agent, trouble.what), []).append(trouble)
        return [_problem(troubles) for troubles in found.values()]

    def preview(
        self, since: datetime.datetime, agents: Sequence[str], paths: Sequence[str] = ()
    ) -> Iterator[dict[str, Any]]:
        """What a harvest would find, before any gate. Nothing is kept."""
        first = stamp(since)
        promoter = promoter_of(self.app)
        tail = self._tail_of(agents)
        logs, unread = self._at(agents, paths) if paths else (tail.logs(), [])
        yield from ({"Unread": {"path": one.path, "what": one.trouble}} for one in unread)
        for found in logs:
            if found.mtime_ns < since.timestamp() * 1e9:
                continue
            for event in read_log(found.path, found.reader, without_blocks):
                if (event.at is None or event.at >= first) and not tail.is_own(event):
                    yield from ({type(one).__name__: dataclasses.asdict(one)} for one in promoter.feed(event))

    def under_way(
        self, number: int | None, since: datetime.datetime, agents: Sequence[str], paths: Sequence[str]
    ) -> tuple[int, Iterator[Progress]]:
        """A harvest that goes on, or a new one: its number, and the past of the logs, one log a step. One that is not
        known any more is begun anew: what was used is not used again.
        """
        if number is None or self._harvest is None or self._harvest[0] != number:
            number = (self._harvest[0] if self._harvest else 0) + 1
            tail = self._tail_of(agents)
            found, unread = self._at(agents, paths) if paths else (tail.list_logs(), [])
            self._harvest = number, itertools.chain(unread, self._past(tail, since, found))
        return self._harvest

    def _past(self, tail: Tail, since: datetime.datetime, found: Sequence[Found]) -> Iterator[Progress]:
        for progress in harvest(tail, self._find, since, found):
            while self.deliver():
                pass
            yield progress

    def _at(self, agents: Sequence[str], paths: Sequence[str]) -> tuple[list[Found], list[Progress]]:
        """The logs at these paths, the latest first, and what could not be read there; of these agents alone, where
        some are named.
        """
        names = {LOG_NAMES.get(agent, agent) for agent in agents}
        told = {name: _other(name, fields).reader for name, fields in self.app.settings.learn.logs.items()}
        own = [reader for name, reader in told.items() if name in names]
        found: list[Found] = []
        unread: list[Progress] = []
        for path in paths:
            if not os.path.exists(path):
                raise NotFoundError("nothing is there to harvest", where=path)
            there = list(find_any(path, own[0] if own and len(names) == 1 else None))
            if not there and not os.path.isdir(path):
                raise UsageError("this is no activity log that mdmem knows", where=path, hint="see: docs/learning.md")
            for log, reader in there:
                if isinstance(reader, OSError):
                    unread.append(Progress(0, len(there), log, "", 0, reader.strerror or str(reader)))
                elif (not names or reader.agent in names) and (about := stat_log(log, reader)):
                    found.append(about)
        return sorted(dict.fromkeys(found), key=lambda log: -log.mtime_ns), unread

    def _tail_of(self, agents: Sequence[str]) -> Tail:
        """The logs of these agents, of all that there are where none is named."""
        names = [LOG_NAMES.get(agent, agent) for agent in agents]
        known = _roots([*log_roots(), "aider"], [project.root for project in self.app.projects.all()])
        for name in names:
            if name not in known and name not in self.app.settings.learn.logs:
                raise UsageError(f"there is no agent {name!r}", hint=f"one of: {', '.join(sorted(known))}")
        others = [_other(name, told) for name, told in self.app.settings.learn.logs.items()
                  if not names or name in names]  # fmt: skip
        roots = {name: known[name] for name in names or known if name in known}
        return Tail(self.ledger, roots, others=others, clean=without_blocks, own=self.app.paths.data)

    def deliver(self) -> bool:
        """File what was found; whether anything was."""
        found = self.ledger.waiting(AT_ONCE)
        for number, told in found:
            self._file(json.loads(told))
            self.ledger.filed([number])
        return bool(found)

    def _follow(self, events: list[Event], memo: dict[str, Any]) -> list[bytes]:
        for event in events:
            if event.kind == "compacted" and event.agent in _COMPACTS_UNSEEN:
                self.answers.backend.forget_session(_COMPACTS_UNSEEN[event.agent], event.session)
        return self._find(events, memo)

    def _find(self, events: list[Event], _memo: dict[str, Any]) -> list[bytes]:
        found = [one for event in events for one in self.promoter.feed(event)]
        return [json.dumps({type(one).__name__: dataclasses.asdict(one)}).encode() for one in found]

    def _file(self, told: dict[str, Any]) -> None:
        if "Doubt" in told:
            return self._doubt(told["Doubt"])
        made = told["Candidate"]
        scope = self._scope(made)
        for entry in self._known(made["key"], made["cwd"]):
            self.ledger.vouched(entry.scope, entry.scope_ref, entry.path, _moment(made["at"]))
        try:
            admit(self.answers.backend, scope, _candidate(made, scope))
        except (UsageError, RefusedError) as error:
            # No file can hold it, or the inbox is full: it would be the same the next time.
            log.warning("a candidate was left out", extra={"reason": str(error)})

    def _doubt(self, told: dict[str, Any]) -> None:
        """A command failed that a memory says works: it wants to be verified."""
        for entry in self._known(told["key"], told["cwd"]):
            self.ledger.doubted(entry.scope, entry.scope_ref, entry.path, _moment(told["at"]))

    def _known(self, key: str, cwd: str | None) -> list[Entry]:
        """The memories of this key that somebody at work in a folder sees."""
        folders = {files.printable(scope.folder) for scope in self.app.caller(cwd)}
        with self.answers.backend.reader() as db:
            ids = [f.id for f in read.folders(db) if f.path in folders]
            return read.by_keys(db, ids, [key])

    def _scope(self, made: dict[str, Any]) -> Scope:
        project = self.app.project_of(made["cwd"]) if made["scope"] == "project" else None
        return project or self.app.user_scope


def _problem(troubles: Sequence[Trouble]) -> Problem:
    """The same trouble with some logs, told of one of them."""
    one = troubles[0]
    times = sum(trouble.times for trouble in troubles)
    logs = f" in {len(troubles)} logs" if len(troubles) > 1 else ""
    return Problem(one.path, one.line, "log-unread", f"{one.agent}: {one.what}, {times} times{logs}", "")


def _changed_at(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except (OSError, ValueError):
        return math.inf  # that it is gone, or cannot be looked at, may be the trouble


def promoter_of(app: App) -> Promoter:
    rules = app.settings.learn.rules
    return Promoter(mask=gates.mask, own_rules=rules and os.path.expanduser(rules), root_of=project_root)


def _roots(agents: Sequence[str], projects: Sequence[str]) -> dict[str, list[str]]:
    """Where these agents keep their logs; Aider does in each project."""
    known = log_roots()
    known["aider"] = [*known.get("aider", ()), *projects]
    return {name: known[name] for name in (LOG_NAMES.get(agent, agent) for agent in agents) if name in known}


def _other(name: str, told: dict[str, str]) -> Place:
    fields = {key: value for key, value in told.items() if key != "path"}
    unknown = fields.keys() - set(Fields._fields)
    if "path" not in told or unknown:
        what = f"{sorted(unknown)[0]!r} is no field of a record" if unknown else "no path is given"
        raise ConfigError(f"learn.logs.{name}: {what}", hint=f"path, and any of: {', '.join(Fields._fields)}")
    return named(name, told["path"], Fields(**fields))


def _moment(at: str | None) -> str:
    """When a log says that it was; now, where it says nothing that is a time."""
    try:
        datetime.datetime.fromisoformat(at or "")
    except ValueError:
        return stamp()
    return at or stamp()


def _candidate(made: dict[str, Any], scope: Scope) -> inbox.Candidate:
    """What the promoter made, as a file of the inbox."""
    plain = {name: made[name] for name in ("name", "description", "type", "key", "source", "proof", "probe")}
    fields: dict[str, str | list[str]] = {name: str(value) for name, value in plain.items() if value}
    fields["confidence"] = f"{made['confidence']:g}"
    if made["entities"]:
        fields["entities"] = list(made["entities"])
    evidence = tuple(
        inbox.Evidence(e["text"], e["agent"], e["session"], e["path"], e["offset"]) for e in made["evidence"]
    )
    fields["derived_from"] = list(dict.fromkeys(f"{e.agent}:{e.session}" for e in evidence))
    return inbox.Candidate(scope.kind, scope.ref, fields, made["body"], stamp(), evidence=evidence)
