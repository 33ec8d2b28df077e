"""The machine and the state folders in, one finding a check, each with its repair, out. Changes nothing."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mdmem import __version__
from mdmem.app.app import App
from mdmem.db import INDEX, LEDGER, DatabaseError, missing_parts, open_reader, quick_check
from mdmem.errors import MdmemError
from mdmem.files import file_system
from mdmem.index.health import Health, examine
from mdmem.models import same_weights, verify_weights, why_none

MIN_FREE_BYTES = 200_000_000
MIN_WATCHES = 65_536
Status = dict[str, Any]


class Finding(NamedTuple):
    """What one check found. `code` is a stable word (docs/errors.md); `hint` is the repair, '' where none is needed."""

    check: str
    ok: bool
    code: str
    message: str
    hint: str = ""


def diagnose(app: App, status: Status | None, silent: MdmemError | None) -> list[Finding]:
    """Every check, in the order in which a person would mend things.

    `status`: what the running daemon says (its `status` answer), None where none runs; `silent`: how it failed to
    answer.
    """
    findings = [_config(app)]
    if not findings[0].ok:
        return findings
    checks: list[Callable[[], Iterator[Finding]]] = [
        _sqlite,
        lambda: _permissions(app),
        lambda: _space(app),
        _git,
        lambda: _daemon(status, silent),
        lambda: _watches(status),
        lambda: _index(app),
        lambda: _ledger(app),
        lambda: _embedder(app),
    ]
    for check in checks:
        findings += check()
    return findings


def _config(app: App) -> Finding:
    try:
        roster = app.roster()
        app.check_layout(roster)
        app.model_settings()
    except MdmemError as error:
        return Finding("config", False, "config-unusable", str(error), error.hint or "mdmem config edit")
    return Finding("config", True, "ok", f"{app.paths.config_file}: {len(roster.scopes)} scope folders")


def _sqlite() -> Iterator[Finding]:
    for missing in missing_parts():
        yield Finding(
            "sqlite", False, "sqlite-part-missing", missing, "install mdmem anew: pip install --force-reinstall mdmem"
        )
        return
    yield Finding("sqlite", True, "ok", "full text and vectors work")


def _permissions(app: App) -> Iterator[Finding]:
    """Memories are private: what is ours is ours alone."""
    paths = app.paths
    found = False
    for path in (
        paths.data, paths.state, paths.runtime, os.path.dirname(paths.socket), app.user_scope.folder, paths.socket,
        paths.lock, paths.index_db, paths.ledger_db, paths.log, paths.scopes_file,
    ):  # fmt: skip
        finding = _mode(path)
        if finding:
            found = True
            yield finding
    if not found:
        yield Finding("permissions", True, "ok", "folders and files are yours alone")


def _mode(path: str) -> Finding | None:
    try:
        info = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Finding(
            "permissions", False, "not-reachable", f"{path}: {error.strerror}", "look at the folders above it"
        )
    if info.st_uid != os.geteuid():
        return Finding(
            "permissions",
            False,
            "not-yours",
            f"{path} belongs to user {info.st_uid}",
            f"chown it, or move it away: {path}",
        )
    if info.st_mode & 0o077:
        mode = "700" if stat.S_ISDIR(info.st_mode) else "600"
        now = oct(stat.S_IMODE(info.st_mode))[2:]
        return Finding(
            "permissions", False, "too-open", f"{path} can be reached by others ({now})", f"chmod {mode} {path}"
        )
    return None


def _space(app: App) -> Iterator[Finding]:
    for name, path in (("state", app.paths.state), ("data", app.paths.data)):
        there = next(p for p in (Path(path), *Path(path).parents) if p.exists())
        free = shutil.disk_usage(there).free
        if free < MIN_FREE_BYTES:
            yield Finding("disk", False, "disk-almost-full", f"{path}: {free // 1_000_000} MB free", "make room")
        else:
            yield Finding("disk", True, "ok", f"{name}: {free // 1_000_000_000} GB free")
    kind, foreign = file_system(Path(app.paths.state))
    if foreign:
        yield Finding(
            "disk", False, "state-on-network", f"{app.paths.state} lies on {kind}, where SQLite's journal is not safe",
            "set MDMEM_HOME to a folder on a local disk",
        )  # fmt: skip


def _git() -> Iterator[Finding]:
    git = shutil.which("git")
    if git:
        yield Finding("git", True, "ok", git)
    else:
        yield Finding("git", False, "git-missing", "git is not on PATH: dates come from files", "install git")


def _daemon(status: Status | None, silent: MdmemError | None) -> Iterator[Finding]:
    if silent is not None:
        yield Finding("daemon", False, "daemon-silent", str(silent), silent.hint or "mdmem down && mdmem up")
    elif status is None:
        yield Finding("daemon", False, "daemon-down", "not running: files are looked at only when asked", "mdmem up")
    elif status["daemon"]["version"] != __version__:
        told = f"mdmem {status['daemon']['version']} runs, this is {__version__}"
        yield Finding("daemon", False, "daemon-version", told, "mdmem down && mdmem up")
    else:
        yield Finding("daemon", True, "ok", f"running, pid {status['daemon']['pid']}")


def _watches(status: Status | None) -> Iterator[Finding]:
    limit = _watch_limit()
    if limit is not None and limit < MIN_WATCHES:
        yield Finding(
            "watch", False, "watch-limit-low", f"only {limit} folders can be watched on this machine",
            "sudo sysctl fs.inotify.max_user_watches=524288",
        )  # fmt: skip
    for scope in status["scopes"] if status else []:
        yield _watch(scope)


def _watch(scope: dict[str, Any]) -> Finding:
    told = f"{scope['path']}: {scope['watch']}" + (f" ({scope['watch_reason']})" if scope["watch_reason"] else "")
    if scope["state"] == "unreadable":
        return Finding("watch", False, "folder-unreadable", told, "give yourself permission to read it")
    if scope["watch"] == "polling" and "limit" in (scope["watch_reason"] or ""):
        return Finding("watch", False, "watches-exhausted", told, scope["watch_reason"].partition(": ")[2])
    return Finding("watch", True, "ok", told)


def _watch_limit() -> int | None:
    try:
        return int(Path("/proc/sys/fs/inotify/max_user_watches").read_text("ascii"))
    except (OSError, ValueError):
        return None


def _index(app: App) -> Iterator[Finding]:
    health = _health(app)
    if health is None:
        if Path(app.paths.index_db).exists():
            yield Finding("index", False, "index-damaged", f"{app.paths.index_db} cannot be read", "mdmem reindex")
        else:
            yield Finding("index", True, "ok", "not made yet")
    elif not health.whole:
        told = (
            f"damaged, or out of step: {health.memories} memories, {health.full_texts} full texts;"
            f" {health.vectors_due} vectors due, {health.vectors} there"
        )
        yield Finding("index", False, "index-damaged", told, "mdmem reindex")
    else:
        yield Finding("index", True, "ok", f"sound; {health.memories} memories, {health.vectors} vectors")
        for folder in health.incomplete:
            yield Finding("index", False, "index-incomplete", f"{folder} was never read to its end", "mdmem sync")


def _health(app: App) -> Health | None:
    try:
        db = open_reader(INDEX, app.paths.index_db)
        try:
            return examine(db)
        finally:
            db.close()
    except DatabaseError:
        return None


def _ledger(app: App) -> Iterator[Finding]:
    if not Path(app.paths.ledger_db).exists():
        return
    try:
        db = open_reader(LEDGER, app.paths.ledger_db)
        try:
            sound = quick_check(db)
        finally:
            db.close()
    except DatabaseError:
        sound = False
    if sound:
        yield Finding("ledger", True, "ok", "sound")
    else:
        yield Finding(
            "ledger",
            False,
            "ledger-damaged",
            f"{app.paths.ledger_db} is damaged",
            "mdmem down && mdmem up: it is moved aside, and use counts start anew",
        )


def _embedder(app: App) -> Iterator[Finding]:
    settings = app.model_settings()
    for file, ok, told in verify_weights(settings.model):
        if not ok:
            yield Finding(
                "embedder", False, "embedder-files", f"{file}: {told}", "install mdmem's embedder anew with pip"
            )
            return
    why = why_none(settings)
    if why:
        off = settings.model == "none"
        yield Finding("embedder", off, "ok" if off else "embedder-missing", why, "" if off else why.partition(": ")[2])
        return
    yield _canary(app)


def _canary(app: App) -> Finding:
    """One real vector, and whether it is the one that the index's vectors were made with."""
    embedder = app.embedder()
    assert embedder is not None  # noqa: S101  # why_none said so
    try:
        vector = embedder.canary()
        name = embedder.id
    except MdmemError as error:
        return Finding("embedder", False, "embedder-silent", str(error), error.hint or "mdmem config test-embedder")
    finally:
        embedder.close()
    health = _health(app)
    if health and health.canary and len(health.canary) == len(vector) and not same_weights(health.canary, vector):
        return Finding(
            "embedder", False, "embedder-changed", f"{name} has other weights than the index", "mdmem reindex --vectors"
        )
    return Finding("embedder", True, "ok", f"{name} answers")
