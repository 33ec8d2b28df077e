"""Requests in, answers out: the same for the control socket and for a command that finds no daemon.

A request is a JSON object with `op`; an answer is a JSON object with `ok`, and `error` when that is false.
"""

from __future__ import annotations

import contextlib
import datetime
import logging
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mdmem import document, files
from mdmem.app.app import App, Roster
from mdmem.app.conflicts import conflicts_of
from mdmem.app.freshness import MAX_LOOKS, Freshness
from mdmem.app.graph import MAX_HOPS, View, walk
from mdmem.app.inject import Turn, inject, note_of
from mdmem.app.listing import Filter
from mdmem.app.probing import ask_of, digests_of, probe_of, probed_of
from mdmem.app.recalling import recall_of
from mdmem.app.requests import (
    Request,
    are_paths,
    as_of,
    choice_of,
    limit_of,
    names_of,
    number_of,
    text_of,
    type_named,
    unknown,
    whole_of,
)
from mdmem.app.resolve import resolve
from mdmem.app.veil import veil
from mdmem.db import UNUSABLE, Connection, is_disk_trouble
from mdmem.errors import MdmemError, NotFoundError, Problem, SilentError, UsageError
from mdmem.index import fold, read
from mdmem.index.entities import normalise
from mdmem.index.read import Entry
from mdmem.ledger import Decided, Injection, Place, Probed, decided_of
from mdmem.memory import SOURCES, STATUSES
from mdmem.outputs.json import absolute, hit_json, memory_json, raw_rel
from mdmem.recall import MODES, Query, why_invalid
from mdmem.recall.grants import hidden_domains
from mdmem.scope import KINDS, Scope

if TYPE_CHECKING:
    from mdmem.app.learning import Learning

T = TypeVar("T")
log = logging.getLogger(__name__)

MAX_BUDGET = 1_000_000  # tokens of one block
EVENTS = ("compaction",)
PAUSES_S = (0.0, 0.05, 0.25, 1.0)  # before each look at an index that may be about to be made anew


class Backend(Protocol):
    """What answers need of whoever holds the databases: the daemon, or the command at hand."""

    app: App

    def reader(self) -> contextlib.AbstractContextManager[Connection]: ...
    def embed(self, text: str) -> bytes: ...
    def has_embedder(self) -> bool: ...
    def sync(self, folders: dict[str, list[str] | None] | None) -> dict[str, int]:
        """Make the index equal to folders (absolute path -> hints; None: all of it), or to all folders."""

    def catch_up(self, folders: dict[str, list[str] | None]) -> bool:
        """The same for a few paths, if it can be had at once; False when the index is being written by another, or
        the writer is busy for longer than a search may wait.
        """

    def reindex(self, *, vectors: bool) -> dict[str, int]: ...
    def seen(self, entry: Entry) -> None: ...
    def given(self, agent: str, session: str) -> dict[Place, bytes]:
        """What an agent's session still has before it: place -> sha256 as it was given."""

    def injected(self, agent: str, session: str, given: Sequence[Injection]) -> None: ...
    def forget_session(self, agent: str, session: str) -> None: ...
    def note_hook(self, agent: str, event: str) -> None: ...
    def allow_probes(self, allowed: Sequence[bytes]) -> None: ...
    def probed(self, results: Sequence[Probed]) -> None: ...
    def note_refusal(self, gate: str) -> None: ...
    def learn(self, work: Callable[[Learning], T]) -> T:
        """Run work that reads activity logs, where the ledger may be written."""

    def decided(self, made: Sequence[Decided], taken_back: Sequence[Decided]) -> None:
        """Decisions about proposed memories were made, or taken back; returns when that is noted."""

    def use(self, entry: Entry) -> dict[str, Any]: ...
    def used_between(self, first: str, last: str) -> list[Place]:
        """What was recalled by key in the days from `first` to `last`, the latest first."""

    def status(self) -> dict[str, Any]: ...
    def reload(self) -> None: ...


class Answers:
    """Answers requests from a backend."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.app = backend.app
        self._ops: dict[str, Callable[[Request], dict[str, Any]]] = {
            "search": self.search,
            "list": self.list_memories,
            "show": self.show,
            "inject": self.inject,
            "event": self.event,
            "instructions": self.instructions,
            "propose": self.propose,
            "alike": self.alike,
            "harvest": self.harvest,
            "find": self.find,
            "graph": self.graph,
            "conflicts": self.conflicts,
            "probes": self.probes,
            "allow_probes": self.allow_probes,
            "probed": self.probed,
            "sync": self.sync,
            "reindex": self.reindex,
            "status": self.status,
            "reload": self.reload,
            "decided": self.decided,
            "explain": self.explain,
        }

    def answer(self, request: Request) -> dict[str, Any]:
        """The answer to one request. Errors become answers; a fault of ours is logged and said to be one."""
        for pause_s in PAUSES_S:
            time.sleep(pause_s)
            try:
                return self._answer(request)
            except UNUSABLE as error:
                # Whoever lent the reader has set about making the index anew, and may be done already.
                log.warning("index is damaged", extra={"op": str(request.get("op")), "reason": str(error)})
        mending = SilentError("the index is damaged, and is being made anew", hint="ask again in a moment")
        return {"ok": False, "error": error_json(mending)}

    def _answer(self, request: Request) -> dict[str, Any]:
        op = self._ops.get(str(request.get("op")))
        try:
            if op is None:
                raise UsageError(f"{request.get('op')!r} is not an operation", hint=", ".join(self._ops))
            return {"ok": True, **self._veiled(request, op(request))}
        except MdmemError as error:
            return {"ok": False, "error": error_json(error)}
        except UNUSABLE:
            raise
        except Exception as error:
            trouble = is_disk_trouble(error)
            if trouble is not None:
                return {"ok": False, "error": error_json(trouble)}
            log.exception("request failed", extra={"op": str(request.get("op"))})
            what = f"a fault of ours ({type(error).__name__}); the log has the details"
            return {"ok": False, "error": {"what": what, "where": None, "hint": None, "exit_code": 70}}

    def _veiled(self, request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        hidden = self._hidden(request)
        if hidden:
            with self.backend.reader() as db:
                veil(db, _folder_ids(db, self._scopes(request)), hidden, answer)
        return answer

    # --- finding --------------------------------------------------------------

    def search(self, request: Request) -> dict[str, Any]:
        """Hits for `query`, best first."""
        text = text_of(request, "query") or ""
        mode = choice_of(request, "mode", MODES) or "hybrid"
        roster = self.app.roster()
        scopes = self._scopes(request, roster)
        looked = Freshness(self.backend)
        with self.backend.reader() as db:
            ids, unread = _folder_ids(db, scopes), _unread(db, scopes)
            answer = recall_of(self.backend, db, looked.freshen).find(self._query(request, text, mode, ids), _now())
        hits = [hit for hit in answer.hits if looked.vouches_for(hit.entry)]
        degraded = [*answer.degraded, *unread, *self._missing(request, roster)]
        if len(hits) < len(answer.hits):
            degraded.append(f"{len(answer.hits) - len(hits)} left out: their files moved on and are not indexed yet")
        return {"hits": [hit_json(hit, answer.mode, degraded) for hit in hits], "degraded": degraded}

    def _query(self, request: Request, text: str, mode: str, ids: tuple[int, ...]) -> Query:
        return Query(
            text,
            ids,
            mode=mode,
            types=frozenset(type_named(name) for name in names_of(request, "type")),
            domain=text_of(request, "domain"),
            limit=limit_of(request),
            include_invalid=bool(request.get("include_invalid")),
            as_of=as_of(request),
            hidden_domains=self._hidden(request),
        )

    def _missing(self, request: Request, roster: Roster) -> list[str]:
        """What the caller might expect to be asked, and was not."""
        folder = self.app.untrusted_at(text_of(request, "cwd"), roster)
        missing = (
            [f"{folder} is not trusted, and was not searched: mdmem trust {Path(folder).parent}"] if folder else []
        )
        trouble = self.app.projects.trouble
        return [*missing, f"{trouble.where}: {trouble.what}; what it said before still holds"] if trouble else missing

    def list_memories(self, request: Request) -> dict[str, Any]:
        """All memories of the caller's scopes, filtered, by scope and path."""
        wanted = self._filter(request)
        limit = whole_of(request, "limit", 1, sys.maxsize) if request.get("limit") is not None else None
        roster = self.app.roster()
        with self.backend.reader() as db:
            ids = _folder_ids(db, self._scopes(request, roster))
            about = [read.ids_about(db, ids, name) for name in wanted.entities]
            entries = [e for e in read.list_entries(db, ids) if all(e.id in found for found in about)]
        now = _now()
        listed = [
            memory_json(entry) | {"invalid": why_invalid(entry, now)} for entry in entries if wanted.takes(entry, now)
        ]
        return {"memories": listed[:limit], "degraded": self._missing(request, roster)}

    def _filter(self, request: Request) -> Filter:
        aliases = self.app.settings.recall.aliases
        status = choice_of(request, "status", STATUSES)
        return Filter(
            types=frozenset(type_named(name) for name in names_of(request, "type")),
            status=status,
            source=choice_of(request, "source", tuple(SOURCES)),
            domain=fold(text_of(request, "domain") or ""),
            tags=frozenset(fold(tag) for tag in names_of(request, "tag")),
            entities=tuple(normalise(name, aliases) for name in names_of(request, "entity")),
            ended_too=bool(request.get("include_invalid") or status),
            hidden_domains=self._hidden(request),
        )

    def _hidden(self, request: Request) -> frozenset[str]:
        return hidden_domains(self.app.settings.recall.grants, text_of(request, "agent"))

    def graph(self, request: Request) -> dict[str, Any]:
        """What is joined to the memory that `key` means, within `hops` steps. Errors as in `_resolve`."""
        hops = whole_of(request, "hops", 2, MAX_HOPS)
        with self.backend.reader() as db:
            start = self._resolve(db, request)
            ids = _folder_ids(db, self._scopes(request))
            view = View(ids, self._hidden(request), bool(request.get("include_invalid")), _now())
            return walk(db, start, view, hops)

    def conflicts(self, request: Request) -> dict[str, Any]:
        """The memories of the caller's scopes that can't both hold."""
        with self.backend.reader() as db:
            ids = _folder_ids(db, self._scopes(request))
            return {"conflicts": conflicts_of(db, ids, self._hidden(request))}

    def probes(self, request: Request) -> dict[str, Any]:
        """The probes of the memories that `keys` mean, or of all that hold. Errors as in `resolve`."""
        keys = names_of(request, "keys")
        looked = Freshness(self.backend)
        with self.backend.reader() as db:
            for _ in range(MAX_LOOKS):
                if keys:
                    found = [self._resolve(db, request | {"key": key}) for key in keys]
                else:
                    found = self._with_probe(db, request)
                if not looked.freshen(found):
                    break
        probes = ask_of(self.app.paths.ledger_db, found, looked)
        return {"probes": probes, "degraded": self._missing(request, self.app.roster())}

    def _with_probe(self, db: Connection, request: Request) -> list[Entry]:
        wanted, now = self._filter(request), _now()
        entries = read.list_entries(db, _folder_ids(db, self._scopes(request)))
        return [e for e in entries if wanted.takes(e, now) and '"probe"' in e.front and e.more.get("probe")]

    def allow_probes(self, request: Request) -> dict[str, Any]:
        """A person has allowed probes to be run: `allowed` is a list of their hashes (hex)."""
        self.backend.allow_probes(digests_of(request.get("allowed")))
        return {}

    def probed(self, request: Request) -> dict[str, Any]:
        """Probes were run: `results`."""
        self.backend.probed(probed_of(request.get("results")))
        return {}

    def find(self, request: Request) -> dict[str, Any]:
        """The one memory that `key` means: its listing, scope folder and relative path. Errors as in `resolve`."""
        with self.backend.reader() as db:
            entry = self._resolve(db, request)
        memory = memory_json(entry) | {"invalid": why_invalid(entry, _now())}
        return {"memory": memory, "folder": entry.folder, "rel": raw_rel(entry)}

    def show(self, request: Request) -> dict[str, Any]:
        """One memory with its text, read from its file; counts as a use."""
        with self.backend.reader() as db:
            entry = self._resolve(db, request)
        found = files.read(Path(entry.folder), raw_rel(entry))
        if found is None or isinstance(found, Problem):
            why = found.message if found else "its file is gone"
            raise NotFoundError(f"{entry.key}: {why}", where=absolute(entry), hint="see: mdmem status")
        parsed = document.parse(found.data, entry.path)
        self.backend.seen(entry)
        invalid = why_invalid(entry, _now())
        return {
            "memory": memory_json(entry)
            | entry.more
            | self.backend.use(entry)
            | probe_of(self.app.paths.ledger_db, entry)
            | {"body": parsed.body, "warning": f"not recalled now: {invalid}" if invalid else None},
            "text": found.data.decode("utf-8", "replace"),
        }

    def inject(self, request: Request) -> dict[str, Any]:
        """The block for a turn of an agent: what it is told of memory, and what of that it was not told before."""
        turn = Turn(
            (text_of(request, "query") or "").strip(),
            cwd=text_of(request, "cwd"),
            agent=text_of(request, "agent"),
            session=text_of(request, "session"),
            window_used=number_of(request, "window_used", 0, 100),
            budget=int(number_of(request, "budget", 1, MAX_BUDGET) or self.app.settings.inject.max_inject_tokens),
            hidden_domains=self._hidden(request),
            recalls=request.get("recall") is not False,
            note=note_of(request.get("note"), self.backend.injected),
        )
        roster = self.app.roster()
        scopes = self._scopes(request, roster)
        answer = inject(self.backend, turn, lambda db: _folder_ids(db, scopes), Freshness(self.backend), _now())
        return answer | {"degraded": [*answer["degraded"], *self._missing(request, roster)]}

    def event(self, request: Request) -> dict[str, Any]:
        """Something happened to an agent's session. After a compaction it is given everything again."""
        session = text_of(request, "session")
        if choice_of(request, "event", EVENTS) is None or not session:
            raise UsageError("which event, of which session?", hint=f"event is one of: {', '.join(EVENTS)}")
        self.backend.forget_session(text_of(request, "agent") or "", session)
        return {}

    def _resolve(self, db: Connection, request: Request) -> Entry:
        ids = _folder_ids(db, self._scopes(request))
        return resolve(db, ids, text_of(request, "key") or "", text_of(request, "cwd"), self._hidden(request))

    def explain(self, request: Request) -> dict[str, Any]:
        """How a query is understood, and every candidate with its reasons: the window `debug query`."""
        from mdmem.index import match_expression, query_terms

        text = text_of(request, "query") or ""
        return {
            "terms": query_terms(text),
            "expression": match_expression(text),
            **self.search(request | {"limit": request.get("limit", 50), "include_invalid": True}),
        }

    # --- keeping --------------------------------------------------------------

    def sync(self, request: Request) -> dict[str, Any]:
        """Returns when the index has everything that was on disk when asked."""
        folders = request.get("folders")
        if folders is not None and not (isinstance(folders, dict) and all(map(are_paths, folders.values()))):
            raise UsageError("folders is no object of folder -> relative paths, or null for all of it")
        return self.backend.sync(folders)

    def reindex(self, request: Request) -> dict[str, Any]:
        return self.backend.reindex(vectors=bool(request.get("vectors")))

    def status(self, request: Request) -> dict[str, Any]:
        status = self.backend.status()
        here = self.app.untrusted_at(text_of(request, "cwd"))
        if here and here not in [u["path"] for u in status["untrusted"]]:
            status["untrusted"].append({"path": here, "reason": "not trusted here"})
        return {"status": status}

    def instructions(self, request: Request) -> dict[str, Any]:
        """Bring the marked sections of agents' instruction files up to date."""
        from mdmem.app.instructions import follow_instructions  # a hook has no use for it

        return follow_instructions(self)

    def propose(self, request: Request) -> dict[str, Any]:
        """Let a proposed memory through the gates, and wait in the inbox."""
        from mdmem.app.propose import propose

        return propose(self, request)

    def alike(self, request: Request) -> dict[str, Any]:
        """Memories that say nearly the same as one."""
        from mdmem.app.propose import alike

        return alike(self, request)

    def harvest(self, request: Request) -> dict[str, Any]:
        """Read a part of the activity logs of the past."""
        from mdmem.app.harvesting import harvest

        return harvest(self.backend, request)

    def reload(self, request: Request) -> dict[str, Any]:
        self.backend.reload()
        return {}

    def decided(self, request: Request) -> dict[str, Any]:
        """Note decisions about proposed memories: `made`, and those `taken_back`."""
        self.backend.decided(decided_of(request.get("made")), decided_of(request.get("taken_back")))
        return {}

    def _scopes(self, request: Request, roster: Roster | None = None) -> list[Scope]:
        """The caller's scopes, narrowed to the kinds it asks for."""
        scopes = self.app.caller(text_of(request, "cwd"), text_of(request, "agent"), roster)
        kinds = names_of(request, "scope")
        for kind in kinds:
            if kind not in KINDS:
                raise unknown("scope", kind, KINDS)
        return [s for s in scopes if not kinds or s.kind in kinds]


def error_json(error: MdmemError) -> dict[str, Any]:
    """An error as it crosses the socket."""
    return {
        "what": error.what,
        "where": error.where,
        "hint": error.hint,
        "exit_code": error.exit_code,
        "choices": getattr(error, "choices", None),
    }


def _folder_ids(db: Connection, scopes: Sequence[Scope]) -> tuple[int, ...]:
    wanted = {files.printable(scope.folder) for scope in scopes}
    return tuple(f.id for f in read.folders(db) if f.path in wanted and f.state == "ok")


def _unread(db: Connection, scopes: Sequence[Scope]) -> list[str]:
    """What can't be found yet, because its folder is being read for the first time."""
    whole = {folder.path for folder in read.folders(db) if folder.complete}
    paths = [files.printable(s.folder) for s in scopes if files.folder_identity(Path(s.folder)) is not None]
    return [
        f"{path} is being read for the first time, and not all of it is found yet; see `mdmem status`"
        for path in paths
        if path not in whole
    ]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
