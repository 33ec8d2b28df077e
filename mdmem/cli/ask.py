"""A request in, its answer out: from the daemon, or, where none runs, from the index opened here."""

from __future__ import annotations

import os
from typing import Any

from mdmem import __version__
from mdmem.cli import say
from mdmem.config import Paths, find_paths
from mdmem.daemon import client
from mdmem.errors import (
    AmbiguousError,
    LockError,
    MachineError,
    MdmemError,
    NotFoundError,
    RefusedError,
    SilentError,
    UsageError,
)

Answer = dict[str, Any]

_OWN_SYNC = ("sync", "reindex", "reload")  # they bring the index up to date themselves, or need no index
_BY_CODE = {kind.exit_code: kind for kind in (UsageError, NotFoundError, RefusedError, SilentError, MachineError)}
LONG_S = 3_600.0
SHORT_S = 30.0
READ_LOCK_S = 0.5  # a question is answered from what is there, rather than waiting long
WRITE_LOCK_S = 2.0


def ask(request: dict[str, Any], paths: Paths | None = None) -> Answer:
    """The answer to a request; raises the MdmemError that it tells of.

    Without a daemon the caller's own scopes are synced first, unless another process is writing the index just now.
    """
    paths = paths or find_paths()
    answer = _from_daemon(paths, request)
    if answer is None:
        answer = _here(paths, request)
    if not answer.get("ok"):
        raise error_of(answer.get("error") or {})
    return answer


def _from_daemon(paths: Paths, request: dict[str, Any]) -> Answer | None:
    timeout_s = LONG_S if request["op"] in _OWN_SYNC else SHORT_S
    answer = client.ask(paths.socket, request, timeout_s=timeout_s)
    if answer is not None:
        warn_of_version(answer.get("version", __version__))
    return answer


def warn_of_version(version: object) -> None:
    """Say it when the daemon is of another version than this command."""
    if version != __version__:
        say.note(f"the daemon is mdmem {version}, this command is {__version__}; restart it: mdmem down && mdmem up")


def _here(paths: Paths, request: dict[str, Any]) -> Answer:
    from mdmem.db import DatabaseError, is_disk_trouble

    try:
        return _open_and_answer(paths, request)
    except DatabaseError as error:
        trouble = is_disk_trouble(error)
        if trouble is None:
            raise
        trouble.where = trouble.where or paths.state
        raise trouble from error


def _open_and_answer(paths: Paths, request: dict[str, Any]) -> Answer:
    from mdmem.app import Answers, App, Local

    app = App(paths)
    with Local(app, wait_s=WRITE_LOCK_S if request["op"] in _OWN_SYNC else READ_LOCK_S) as local:
        _log_to(paths.log)
        if local.store is None:
            # The holder may be a daemon that was just starting.
            answer = _from_daemon(paths, request)
            return answer if answer is not None else _as_it_is(local, request)
        if request["op"] not in _OWN_SYNC:
            scopes = app.caller(request.get("cwd"), request.get("agent"))
            local.sync({scope.folder: None for scope in scopes})
        return Answers(local).answer(request)


def _log_to(path: str) -> None:
    """Warnings and faults go to the log file, not to the person: what Python would do of itself is print them."""
    import logging

    from mdmem.daemon import logs

    logs.to_file(path)
    logging.getLogger().setLevel(logging.WARNING)


def _as_it_is(local: Any, request: dict[str, Any]) -> Answer:  # noqa: ANN401  # Local, imported only when needed
    from mdmem.app import Answers

    index = local.app.paths.index_db
    if not os.path.exists(index):  # pathlib costs 10 ms here
        raise LockError("another mdmem is making the index", where=index, hint="try again in a moment")
    say.note("another mdmem is writing the index: read as it is, without looking at the files first")
    return Answers(local).answer(request)


def make_findable(places: dict[str, list[str] | None], *, reload: bool = False) -> bool:
    """Have the index take in files that were just written: scope folder -> relative paths. Whether that worked.

    `reload`: a scope folder is new, or gone, so the daemon must read again which there are. The files are written
    whatever happens here, so trouble is said on stderr, and is no failure of the command.
    """
    try:
        paths = find_paths()
        told = _from_daemon(paths, {"op": "reload"}) if reload else None
        if told is None:
            ask({"op": "sync", "folders": places}, paths)
        elif not told.get("ok"):
            raise error_of(told.get("error") or {})
    except MdmemError as error:
        say.note(f"written, but not in the index yet: {error}" + (f" ({error.hint})" if error.hint else ""))
        return False
    return True


def error_of(told: dict[str, Any]) -> MdmemError:
    """The error that an answer tells of, as if it had been raised here."""
    what, hint = str(told.get("what") or "the request failed"), told.get("hint")
    choices = told.get("choices")
    if choices:
        return AmbiguousError(what, choices=list(choices), hint=hint)
    code = int(told.get("exit_code") or MdmemError.exit_code)
    error = _BY_CODE.get(code, MdmemError)(what, where=told.get("where"), hint=hint)
    error.exit_code = code
    return error


def working_folder() -> str | None:
    """Where the command was called; None when that folder is gone."""
    try:
        return os.getcwd()  # noqa: PTH109  # pathlib costs 10 ms here
    except OSError:
        return None
