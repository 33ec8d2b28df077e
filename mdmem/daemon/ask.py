"""A request in, its answer out: from the daemon, or, where none runs, from the index opened here. Prints nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from mdmem import __version__
from mdmem.config import Paths
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

# They bring the index up to date themselves, or need no index.
_OWN_SYNC = ("sync", "reindex", "reload", "decided", "allow_probes", "probed")
_BY_CODE = {kind.exit_code: kind for kind in (UsageError, NotFoundError, RefusedError, SilentError, MachineError)}
LONG_S = 3_600.0
SHORT_S = 30.0
READ_LOCK_S = 0.5  # a question is answered from what is there, rather than waiting long
WRITE_LOCK_S = 2.0


def _log_note(text: str) -> None:
    import logging  # a command has another way to tell, and doesn't pay for this one

    logging.getLogger(__name__).info("answered", extra={"note": text})


def _nothing() -> None:
    """An index opened here needs nothing else."""


class Asking(NamedTuple):
    """Who asks, and how it wants to be told. `note`: told in a line how the answer came to be; `opening`: called once
    the index is opened here.
    """

    paths: Paths
    note: Callable[[str], None] = _log_note
    opening: Callable[[], None] = _nothing

    def ask(self, request: dict[str, Any]) -> Answer:
        """The answer to a request; raises the MdmemError that it tells of.

        Without a daemon the caller's own scopes are synced first, unless another process is writing the index just
        now.
        """
        answer = self.ask_daemon(request)
        if answer is None:
            answer = self._here(request)
        if not answer.get("ok"):
            raise error_of(answer.get("error") or {})
        return answer

    def ask_daemon(self, request: dict[str, Any]) -> Answer | None:
        """The daemon's answer, an error as it stands in it; None where no daemon runs."""
        timeout_s = LONG_S if request["op"] in _OWN_SYNC else SHORT_S
        answer = client.ask(self.paths.socket, request, timeout_s=timeout_s)
        if answer is not None:
            self.note_version(answer.get("version", __version__))
        return answer

    def note_version(self, version: object) -> None:
        """Say it when the daemon is of another version than this program."""
        if version != __version__:
            self.note(
                f"the daemon is mdmem {version}, this command is {__version__}; restart it: mdmem down && mdmem up"
            )

    def _here(self, request: dict[str, Any]) -> Answer:
        from mdmem.db import DatabaseError, is_disk_trouble

        try:
            return self._open_and_answer(request)
        except DatabaseError as error:
            trouble = is_disk_trouble(error)
            if trouble is None:
                raise
            trouble.where = trouble.where or self.paths.state
            raise trouble from error

    def _open_and_answer(self, request: dict[str, Any]) -> Answer:
        from mdmem.app import Answers, App, Local

        app = App(self.paths)
        with Local(app, wait_s=WRITE_LOCK_S if request["op"] in _OWN_SYNC else READ_LOCK_S) as local:
            self.opening()
            if local.store is None:
                # The holder may be a daemon that was just starting.
                answer = self.ask_daemon(request)
                return answer if answer is not None else self._as_it_is(local, request)
            if request["op"] not in _OWN_SYNC:
                scopes = app.caller(request.get("cwd"), request.get("agent"))
                local.sync({scope.folder: None for scope in scopes})
            return Answers(local).answer(request)

    def _as_it_is(self, local: Any, request: dict[str, Any]) -> Answer:  # noqa: ANN401  # Local, imported when needed
        from mdmem.app import Answers

        index = self.paths.index_db
        if not os.path.exists(index):  # pathlib costs 10 ms here
            raise LockError("another mdmem is making the index", where=index, hint="try again in a moment")
        self.note("another mdmem is writing the index: read as it is, without looking at the files first")
        return Answers(local).answer(request)


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
    """Where the process was started or has gone; None when that folder is gone."""
    try:
        return os.getcwd()  # noqa: PTH109  # pathlib costs 10 ms here
    except OSError:
        return None
