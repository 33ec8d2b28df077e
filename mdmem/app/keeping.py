"""A proposal that passed the gates in; what becomes of it out: it waits, gives way, or is a memory at once."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mdmem import files
from mdmem.app.recorded import read_rejection
from mdmem.candidates import inbox
from mdmem.candidates.inbox import Candidate, Verdict, Waiting
from mdmem.errors import MdmemError
from mdmem.index import fold, read
from mdmem.outputs.json import raw_rel
from mdmem.review.decide import Desk, approve, look
from mdmem.review.order import MAX_WAITING, lets_pass, met_again, room_for
from mdmem.scope import Scope

if TYPE_CHECKING:
    from mdmem.app.answers import Backend

log = logging.getLogger(__name__)
BY_RULE = "process:mdmem"


class Kept(NamedTuple):
    """`waiting`: as it waits, or, where `memory` is the path of what it became, as it did for a moment. None where it
    does not: then `why` says why.
    """

    waiting: Waiting | None
    new: bool = False
    memory: str | None = None
    why: str | None = None


def keep(backend: Backend, scope: Scope, candidate: Candidate, gates: Mapping[str, Verdict]) -> Kept:
    """Have a candidate wait, unless a person has decided about it before, stronger ones fill the inbox, or a rule of
    theirs lets it pass.
    """
    rejected = read_rejection(backend.app.paths.ledger_db, candidate)
    if rejected:
        return Kept(None, why=f"decided: {rejected}")
    folder = backend.app.inbox_folder
    waiting, new = inbox.put(folder, candidate, gates)
    if not new:
        return Kept(_strengthened(folder, waiting, candidate))
    if lets_pass(candidate, gates, backend.app.settings.review.auto_approve):
        return _approved(backend, scope, waiting)
    for weaker in room_for(inbox.list_candidates(folder).waiting, waiting):
        if inbox.drop(folder, weaker) and weaker.key == waiting.key:
            return Kept(None, why=f"room: {MAX_WAITING} wait in this scope that are more certain")
    return Kept(waiting, new)


def _strengthened(folder: str, waiting: Waiting, candidate: Candidate) -> Waiting:
    """The one that waits already, with what speaks for it since."""
    again = met_again(waiting, candidate.evidence)
    return again if again is not None and inbox.renew(folder, waiting, again) else waiting


def _approved(backend: Backend, scope: Scope, waiting: Waiting) -> Kept:
    desk = desk_of(backend, scope)
    try:
        done = approve(desk, look(desk, waiting))
    except MdmemError as error:
        log.warning("not approved by rule", extra={"candidate": waiting.key, "reason": str(error)})
        return Kept(waiting, True)
    log.info("approved by rule", extra={"candidate": waiting.key})
    backend.catch_up({scope.folder: [files.from_printable(made.rel) for made in done.made]})
    return Kept(waiting, True, memory=done.memory.path if done.memory else None)


def desk_of(backend: Backend, scope: Scope) -> Desk:
    """What it takes to approve by a rule: no person is asked, and none is named."""

    def find(_: Scope, key: str) -> str | None:
        with backend.reader() as db:
            folder = read.find_folder(db, files.printable(scope.folder))
            entries = read.by_keys(db, (folder.id,), [key]) if folder else []
        return next((files.printable(raw_rel(entry)) for entry in entries if fold(entry.key) == fold(key)), None)

    return Desk(
        str(Path(backend.app.inbox_folder)), lambda _: scope, find, backend.decided, lambda _: {},
        lambda: datetime.datetime.now(datetime.UTC), BY_RULE,
    )  # fmt: skip
