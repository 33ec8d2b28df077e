"""Memories in, their probes with what the ledger knows of them out; and what was found by running them, checked."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import Any

from mdmem.app.freshness import Freshness
from mdmem.app.recorded import read_allowed, read_probes
from mdmem.db import Connection
from mdmem.errors import NotFoundError, UsageError
from mdmem.files import from_printable
from mdmem.index import read
from mdmem.index.read import Entry
from mdmem.ledger import LastProbe, Place, Probed
from mdmem.outputs.json import absolute, place_json
from mdmem.scope import KINDS, PROJECT_FOLDER
from mdmem.upkeep.probes import MAX_PROBE, allowance, digest, unverified_since

_RESULT = "each is [scope, scope_ref, path, sha256, ok, exit_code, at, ms]"


def ask_of(ledger: str, entries: Sequence[Entry], looked: Freshness) -> list[dict[str, Any]]:
    """What there is to run: memory, text, place, and whether a person has allowed it; `why`: it can't be run now.

    Raises NotFoundError for a memory without a probe.
    """
    without = next((entry for entry in entries if not entry.more.get("probe")), None)
    if without is not None:
        raise NotFoundError(
            f"{without.key} has no probe",
            where=absolute(without),
            hint="give it a cheap command that checks it: mdmem edit KEY --set probe='...'",
        )
    marks = {entry.id: allowance(_probe(entry), _root(entry)) for entry in entries}
    allowed = read_allowed(ledger, list(marks.values()))
    return [
        {
            **place_json(entry),
            "rel": entry.path,
            "type": entry.type,
            "probe": _probe(entry),
            "root": _root(entry),
            "allowed": marks[entry.id] in allowed,
            "why": _why_not(entry, looked),
        }
        for entry in {entry.id: entry for entry in entries}.values()
    ]


def _probe(entry: Entry) -> str:
    return str(entry.more["probe"])


def _root(entry: Entry) -> str:
    """The project that a probe is run in; '' for the person's home."""
    folder = from_printable(entry.folder)
    is_project = entry.scope == "project" and os.path.basename(folder) == PROJECT_FOLDER
    return os.path.dirname(folder) if is_project else ""


def _why_not(entry: Entry, looked: Freshness) -> str | None:
    if entry.broken or not looked.vouches_for(entry):
        return "its file can't be read as it is now"
    if len(_probe(entry)) > MAX_PROBE:
        return f"it is longer than {MAX_PROBE} characters: more than a person looks through"
    return None


# --- what is known ---------------------------------------------------------------------------------------


def since(known: dict[Place, LastProbe], entry: Entry) -> str | None:
    """When a memory began to be unverified; see `upkeep.probes`."""
    found = known.get((entry.scope, entry.scope_ref or "", entry.path)) if known else None
    return unverified_since(found, entry.more.get("probe"), entry.updated) if found else None


def probe_of(ledger: str, entry: Entry) -> dict[str, Any]:
    """What `show` tells of a memory's probe."""
    known = read_probes(ledger)
    last = known.get((entry.scope, entry.scope_ref or "", entry.path))
    probed, probe = None, entry.more.get("probe")
    if last is not None and probe and last.sha256 == digest(probe):
        probed = {"ok": last.ok, "exit_code": last.exit_code, "at": last.at, "ms": last.ms}
    return {"probed": probed, "unverified_since": since(known, entry)}


def unverified(db: Connection, ledger: str) -> list[dict[str, Any]]:
    """All memories that are unverified, for `status`."""
    known = read_probes(ledger)
    found = (read.by_path(db, folder.id, place[2]) for place, folder in _folders(db, known))
    pairs = ((entry, since(known, entry)) for entry in found if entry is not None)
    return [{**place_json(entry), "since": at} for entry, at in pairs if at is not None]


def _folders(db: Connection, places: Iterable[Place]) -> list[tuple[Place, read.Folder]]:
    """Places with the folders that may hold them: the checkouts of a project share its ref."""
    folders = [folder for folder in read.folders(db) if folder.state == "ok"]
    return [(p, f) for p in sorted(places) for f in folders if (f.scope, f.scope_ref or "") == p[:2]]


# --- what was found --------------------------------------------------------------------------------------


def digests_of(values: object) -> list[bytes]:
    """Hashes as they cross the socket. Raises UsageError."""
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        with contextlib.suppress(ValueError):
            return [bytes.fromhex(value) for value in values]
    raise UsageError("this is no list of hashes", hint="each is a sha256 in hex")


def probed_of(rows: object) -> list[Probed]:
    """Results as they cross the socket. Raises UsageError."""
    if not (isinstance(rows, list) and all(isinstance(row, list) and len(row) == 8 for row in rows)):
        raise UsageError("this is no list of results", hint=_RESULT)
    return [_result(row) for row in rows]


def _result(row: list[Any]) -> Probed:
    scope, ref, path, sha256, ok, code, at, ms = row
    typed = ((ref, str | None), (path, str), (ok, bool), (code, int | None), (at, str), (ms, int))
    if scope not in KINDS or not all(isinstance(value, kind) for value, kind in typed):
        raise UsageError("this is no result of a probe", hint=_RESULT)
    return Probed(scope, ref, path, digests_of([sha256])[0], ok, code, at, ms)
