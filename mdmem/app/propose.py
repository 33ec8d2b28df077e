"""A proposed memory in; through the gates and, where they let it, into the inbox, out. The one way for all that is
proposed: by an agent's tool, by a program, or by what was learned from an activity log.
"""

from __future__ import annotations

import datetime
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mdmem import document, edit, files, gates
from mdmem.app.recalling import recall_of
from mdmem.app.recorded import read_rejection
from mdmem.app.requests import Request, text_of
from mdmem.candidates import inbox
from mdmem.candidates.inbox import Candidate, Evidence
from mdmem.db import Connection
from mdmem.errors import MdmemError, NotFoundError, Problem, UsageError
from mdmem.gates import Context, Proposed, Similar, Verdict
from mdmem.index import query_terms, read
from mdmem.index.read import Entry
from mdmem.ledger import stamp
from mdmem.memory import SOURCES
from mdmem.outputs.json import raw_rel
from mdmem.recall import Query
from mdmem.review.decide import Desk, approve, look
from mdmem.review.order import MAX_WAITING, confidence_of, lets_pass, met_again, room_for
from mdmem.scope import Scope

if TYPE_CHECKING:
    from mdmem.app import App
    from mdmem.app.answers import Answers, Backend

log = logging.getLogger(__name__)

LOOKED_AT = 5  # memories that might say the same
BLOCKING = ("secret", "transient", "duplicate", "quota")  # `confidence` keeps a candidate, as a weak one
AUTOMATIC = tuple(source for source in SOURCES if source != "stated")  # of memories that no person wrote


class Outcome(NamedTuple):
    """What became of a proposal. `waiting`: as it waits in the inbox; None where a gate refused it, or it says what is
    remembered already: then `why` says so.
    """

    verdicts: dict[str, Verdict]
    waiting: inbox.Waiting | None
    new: bool
    why: str | None


def propose(answers: Answers, request: Request) -> dict[str, Any]:
    """The answer to `propose`; see docs/json.md."""
    candidate = _candidate(request)
    answers.app.check_layout(answers.app.roster())  # an inbox inside a scope folder would be read as memories
    scope = _scope(answers.app, request, candidate)
    outcome = admit(answers.backend, scope, candidate._replace(scope=scope.kind, scope_ref=scope.ref))
    waiting = outcome.waiting
    return {
        "status": "waiting for approval" if waiting else "approved" if outcome.new else "refused",
        "candidate": waiting.key if waiting else None,
        "path": waiting.path if waiting else None,
        "action": waiting.candidate.action if waiting else candidate.action,
        "target": waiting.candidate.target if waiting else candidate.target,
        "new": outcome.new,
        "why": outcome.why,
        "gates": {name: {"passed": v.passed, "reason": v.reason} for name, v in outcome.verdicts.items()},
    }


def alike(answers: Answers, request: Request) -> dict[str, Any]:
    """The answer to `alike`: `keys` of memories of the same folder that say nearly the same as the one of `key`."""
    with answers.backend.reader() as db:
        folder = read.find_folder(db, text_of(request, "folder") or "")
        ids = () if folder is None else (folder.id,)
        found = read.by_keys(db, ids, [text_of(request, "key") or ""])
        if not found:
            return {"keys": []}
        entry = found[0]
        proposed = Proposed(entry.name, entry.description, "", entry.key, entry.scope, 1.0)
        near = _near(answers.backend, db, ids, proposed)
    return {"keys": [one.key for one in near if one.key != entry.key and one.nearness >= gates.SAME]}


def _scope(app: App, request: Request, candidate: Candidate) -> Scope:
    """Where it is to go: as it says, among the caller's own scopes; else the project here, else the user's."""
    cwd, agent = text_of(request, "cwd"), text_of(request, "agent")
    kind, ref = candidate.scope, candidate.scope_ref
    for scope in reversed(app.caller(cwd, agent)):
        if kind in (scope.kind, "") and ref in (scope.ref, None) and (kind or scope.kind != "agent"):
            return scope
    if kind == "agent" and agent and ref in (agent, None):
        return app.agent_scope(agent)  # the first of its own
    raise NotFoundError(f"there is no {kind} scope {ref or ''} for this caller", hint="see: mdmem status")


def admit(backend: Backend, scope: Scope, candidate: Candidate) -> Outcome:
    """Let a candidate for a scope through the gates, and wait in the inbox if they do."""
    proposed = _proposed(candidate)
    with backend.reader() as db:
        folder = read.find_folder(db, files.printable(scope.folder))
        ids = (folder.id,) if folder else ()
        replaced = candidate.target if candidate.action == "SUPERSEDE" else None
        near = [similar for similar in _near(backend, db, ids, proposed) if similar.key != replaced]
        held = sum(read.count_of_source(db, folder_id, AUTOMATIC) for folder_id in ids)
    context = Context(lambda _: near, held, backend.app.settings.gates.quota.of(scope.kind))
    verdicts = gates.run(proposed, context)
    refusals = [name for name in BLOCKING if name in verdicts and not verdicts[name].passed]
    if refusals:
        return _refused(backend, verdicts, refusals[0])
    settled = _settled(candidate, verdicts["duplicate"])
    if settled.action == "UPDATE" and _says_already(backend, ids, settled):
        unchanged = Verdict(False, f"{settled.target} says it already", "NOOP", settled.target)
        return _refused(backend, verdicts | {"duplicate": unchanged}, "duplicate")
    rejected = read_rejection(backend.app.paths.ledger_db, settled)
    if rejected is not None:
        return _refused(backend, {**verdicts, "rejected": Verdict(False, rejected)}, "rejected")
    return _wait(backend, settled, verdicts)


def _wait(backend: Backend, candidate: Candidate, verdicts: dict[str, Verdict]) -> Outcome:
    """Put it into the inbox, to what waits there under its key, or in the place of weaker ones."""
    folder = backend.app.inbox_folder
    kept = {name: inbox.Verdict(verdict.passed, verdict.reason) for name, verdict in verdicts.items()}
    waiting = inbox.list_candidates(folder).waiting
    same = next((one for one in waiting if _is_same(one.candidate, candidate)), None)
    if same is not None:
        now = _joined(same, candidate, kept)
        if now is not None:
            inbox.renew(folder, same, now)
        return Outcome(verdicts, now or same, False, None)
    new = inbox.Waiting("", "", candidate, kept)
    for weaker in room_for(waiting, new):
        if weaker is new:
            flood = Verdict(False, f"{MAX_WAITING} stronger ones wait for this scope already")
            return _refused(backend, {**verdicts, "flood": flood}, "flood")
        if inbox.drop(folder, weaker):
            backend.note_refusal("flood")
    waits, is_new = inbox.put(folder, candidate, kept)
    if is_new and lets_pass(candidate, kept, backend.app.settings.review.auto_approve):
        approved = _approved(backend, waits)
        return Outcome(verdicts, None if approved else waits, is_new, approved)
    return Outcome(verdicts, waits, is_new, None)


def _approved(backend: Backend, waits: inbox.Waiting) -> str | None:
    """Make a memory of what the person's settings let pass unasked; None where that can't be, and it waits on."""
    app = backend.app

    def find(scope: Scope, key: str) -> str | None:
        with backend.reader() as db:
            folder = read.find_folder(db, files.printable(scope.folder))
            found = read.by_keys(db, (folder.id,), [key]) if folder else []
        return found[0].path if found else None

    desk = Desk(
        app.inbox_folder, lambda c: app.scope_of(c.scope, c.scope_ref, None), find, backend.decided, lambda _: {},
        lambda: datetime.datetime.now(datetime.UTC), "process:mdmem",
    )  # fmt: skip
    try:
        done = approve(desk, look(desk, waits))
    except MdmemError as error:
        log.warning("not approved by itself", extra={"reason": str(error)})
        return None
    path = done.memory.path if done.memory else waits.key
    log.info("approved by itself", extra={"path": path})
    return f"review.auto_approve made it a memory: {path}"


def _is_same(waits: Candidate, candidate: Candidate) -> bool:
    """One key is one question, however often it was proved."""
    key = str(candidate.fields.get("key", "")).casefold()
    place = (waits.scope, waits.scope_ref, waits.action, waits.target)
    return (
        key != ""
        and str(waits.fields.get("key", "")).casefold() == key
        and place == (candidate.scope, candidate.scope_ref, candidate.action, candidate.target)
    )


def _joined(waits: inbox.Waiting, candidate: Candidate, kept: dict[str, inbox.Verdict]) -> inbox.Waiting | None:
    """What waits, with what was found for it since: more evidence, and the words that tell more. None: nothing new."""
    again = met_again(waits, candidate.evidence)
    if again is None or len(candidate.body) <= len(waits.candidate.body):
        return again
    told = candidate._replace(evidence=again.candidate.evidence, proposed=waits.candidate.proposed)
    return again._replace(candidate=told, gates=kept | {"confidence": again.gates["confidence"]})


def verdicts_of_edited(candidate: Candidate) -> dict[str, inbox.Verdict]:
    """What the gates say of a candidate whose words are a person's own now."""
    verdicts = gates.run(_proposed(candidate)._replace(by_person=True), Context(lambda _: (), 0, 0))
    return {name: inbox.Verdict(verdict.passed, verdict.reason) for name, verdict in verdicts.items()}


def _refused(backend: Backend, verdicts: dict[str, Verdict], gate: str) -> Outcome:
    backend.note_refusal(gate)
    return Outcome(verdicts, None, False, f"{gate}: {verdicts[gate].reason}")


def _settled(candidate: Candidate, verdict: Verdict) -> Candidate:
    """What is proposed under a key that is there changes the memory that has it."""
    if candidate.action == "ADD" and verdict.action == "UPDATE":
        return candidate._replace(action="UPDATE", target=verdict.target)
    return candidate


def _says_already(backend: Backend, ids: tuple[int, ...], candidate: Candidate) -> bool:
    with backend.reader() as db:
        for entry in read.by_keys(db, ids, [candidate.target or ""]):
            if " ".join(_body(entry).split()) == " ".join(candidate.body.split()):
                return True
    return False


def _body(entry: Entry) -> str:
    found = files.read(Path(files.from_printable(entry.folder)), raw_rel(entry))
    if found is None or isinstance(found, Problem):
        return ""
    return document.parse(found.data, entry.path).body


def _near(backend: Backend, db: Connection, ids: tuple[int, ...], proposed: Proposed) -> list[Similar]:
    """The memories of a scope that share most words with what is proposed, and that of the same key."""
    if not ids:
        return []
    same = read.by_keys(db, ids, [proposed.key]) if proposed.key else []
    said = f"{proposed.name}\n{proposed.description}\n{proposed.body}"
    query = Query(said, ids, mode="keyword", limit=LOOKED_AT)
    now = datetime.datetime.now(datetime.UTC)
    hits = recall_of(backend, db, lambda _: False).find(query, now).hits
    words = _words(proposed.name, proposed.description)
    found = {entry.key: entry for entry in [*(hit.entry for hit in hits), *same]}
    return [
        Similar(key, _likeness(words, _words(entry.name, entry.description)))
        for key, entry in found.items()
        if not entry.broken
    ]


def _words(*texts: str) -> frozenset[str]:
    return frozenset(query_terms(" ".join(texts)))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """What two share of all their words."""
    return len(one & other) / len(one | other) if one and other else 0.0


def _proposed(candidate: Candidate) -> Proposed:
    fields = {name: " ".join(value) if isinstance(value, list) else value for name, value in candidate.fields.items()}
    everything = "\n".join([candidate.body, *fields.values(), *(item.text for item in candidate.evidence)])
    return Proposed(
        fields.get("name", ""),
        fields.get("description", "") or candidate.body[:160],
        everything,
        fields.get("key", ""),
        candidate.scope,
        confidence_of(candidate),
    )


def _candidate(request: Request) -> Candidate:
    told = request.get("candidate")
    if not isinstance(told, dict):
        raise UsageError("candidate is no object", hint="see docs/json.md")
    fields, evidence = told.get("fields") or {}, told.get("evidence") or []
    if not isinstance(fields, dict) or not isinstance(evidence, list):
        raise UsageError("fields is no object, or evidence no list", hint="see docs/json.md")
    edit.check_fields(fields)
    body = text_of(told, "body") or ""
    edit.check_text(body, "the text")
    return Candidate(
        text_of(told, "scope") or "",
        text_of(told, "scope_ref"),
        {"source": "inferred", **fields},
        body,
        stamp(),
        text_of(told, "action") or "ADD",
        text_of(told, "target"),
        tuple(_evidence(item) for item in evidence),
    )


def _evidence(told: object) -> Evidence:
    if not isinstance(told, dict):
        raise UsageError("a piece of evidence is no object", hint="see docs/json.md")
    offset = told.get("offset")
    return Evidence(
        text_of(told, "text") or "",
        text_of(told, "agent"),
        text_of(told, "session"),
        text_of(told, "path"),
        offset if isinstance(offset, int) else None,
    )
