"""The state of everything, as `mdmem status` shows it."""

from __future__ import annotations

from typing import Any

from mdmem.app.app import App
from mdmem.app.probing import unverified
from mdmem.app.recorded import read_refusals
from mdmem.candidates import inbox
from mdmem.db import Connection
from mdmem.files import folder_identity, printable
from mdmem.index import read
from mdmem.index.read import Folder
from mdmem.models import why_none
from mdmem.scope import Scope


def status_of(app: App, db: Connection, *, daemon: dict[str, Any] | None) -> dict[str, Any]:
    """`status --json`. `daemon`: what only the running daemon knows (`daemon`, `watch` by folder, `embedder`,
    `pending`, `notice`); None when none runs.
    """
    live = daemon or {}
    roster = app.roster()
    folders = {f.path: f for f in read.folders(db)}
    waiting, done, parked = read.vector_counts(db)
    if app.settings.embedder.model == "none":
        waiting = parked = 0  # nothing is going to be made
    return {
        "daemon": live.get("daemon")
        or {"running": False, "pid": None, "version": None, "uptime_s": None, "rss_mb": None},
        "scopes": [_scope_json(db, s, folders.get(printable(s.folder)), live) for s in roster.scopes],
        "index": {
            "path": app.paths.index_db,
            "memories": sum(read.count_entries(db, f.id) for f in folders.values() if f.state == "ok"),
            "pending": live.get("pending", 0),
            "pending_vectors": waiting + parked,
            "parked_vectors": parked,
            "vectors": done,
            "vectors_left_s": live.get("vectors_left_s"),
            "last_sync": max((f.last_scan or "" for f in folders.values()), default="") or None,
            "notice": live.get("notice"),
        },
        "embedder": live.get("embedder") or _embedder_json(app, db),
        "llm": None,
        "candidates": inbox.count(app.inbox_folder),
        "auto_approve": len(app.settings.review.auto_approve),
        "conflicts": 0,
        "learning": live.get("learning", []),
        "refusals": read_refusals(app.paths.ledger_db),
        "problems": [
            *live.get("log_problems", []),
            *_trouble(app),
            *(problem_json(folder, row) for folder, row in read.problems(db)),
        ],
        "unverified": unverified(db, app.paths.ledger_db),
        "untrusted": [{"path": printable(path), "reason": why} for path, why in roster.untrusted],
    }


def _trouble(app: App) -> list[dict[str, Any]]:
    error = app.projects.trouble
    if error is None:
        return []
    hint = f"{error.hint}; what it said before still holds"
    return [{"path": error.where, "line": None, "code": "scopes-broken", "message": error.what, "hint": hint}]


def problem_json(folder: str, row: tuple[Any, ...]) -> dict[str, Any]:
    path, line, code, message, hint = row
    where = folder if path == "." else f"{folder}/{path}"
    return {"path": where, "line": line, "code": code, "message": message, "hint": hint}


def _scope_json(db: Connection, scope: Scope, folder: Folder | None, live: dict[str, Any]) -> dict[str, Any]:
    watch, reason = live.get("watch", {}).get(scope.folder, ("off", None if live else "no daemon runs"))
    done, pieces = read.folder_vectors(db, folder.id) if folder else (0, 0)
    return {
        "scope": scope.kind,
        "scope_ref": scope.ref,
        "path": printable(scope.folder),
        "memories": read.count_entries(db, folder.id) if folder else 0,
        "state": _state(scope, folder),
        "watch": watch,
        "watch_reason": reason,
        "last_change": folder.last_change if folder else None,
        "last_scan": folder.last_scan if folder else None,
        "last_drift": folder.last_drift if folder else 0,
        "full_text": bool(folder and folder.complete),
        "vectors": f"{done}/{pieces}",
    }


def _state(scope: Scope, folder: Folder | None) -> str:
    from pathlib import Path

    if folder_identity(Path(scope.folder)) is None:
        return "offline"
    if folder is not None and folder.state != "ok":
        return folder.state
    return "read-only" if scope.mount else "ok"


def _embedder_json(app: App, db: Connection) -> dict[str, Any]:
    settings = app.model_settings()
    from mdmem.index.vectors import vector_model

    model, dimension = vector_model(db)
    return {"model": model or settings.model, "dimension": dimension, "state": why_none(settings) or "not loaded"}
