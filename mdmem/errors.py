"""One tree of errors, each with an exit code; and problems, which are not errors.

    MdmemError                 70  a fault of ours
     ├─ UsageError              2  the words of a command or call are wrong
     │   └─ AmbiguousError      2  a key fits several memories
     ├─ NotFoundError           3  no such memory, scope or folder
     ├─ RefusedError            4  not done, to protect something
     │   ├─ ChangedError        4  the file changed since it was read
     │   └─ UntrustedError      4  the project is not trusted here
     ├─ SilentError             5  the daemon or a server did not answer
     └─ MachineError            6  the machine refused: disk, permission, read-only
         ├─ LedgerError         6  the ledger is damaged or newer than this program
         ├─ LockError           6  another daemon or command holds the lock
         └─ ConfigError         6  the config cannot be used

An error stops a command. A `Problem` is trouble with one file: collected and shown, never raised.
"""

from __future__ import annotations

from typing import NamedTuple


class MdmemError(Exception):
    """Something a person should read: what happened, where, and what to do about it."""

    exit_code = 70

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class UsageError(MdmemError):
    exit_code = 2


class AmbiguousError(UsageError):
    """A key that fits several memories; `choices` lists them."""

    def __init__(self, what: str, *, choices: list[str], hint: str | None = None) -> None:
        super().__init__(what, hint=hint)
        self.choices = choices


class NotFoundError(MdmemError):
    exit_code = 3


class RefusedError(MdmemError):
    exit_code = 4


class ChangedError(RefusedError):
    """The file changed since it was read; `theirs` is what it holds now, `ours` what was to be written."""

    def __init__(self, what: str, *, where: str, theirs: bytes, ours: bytes, hint: str | None = None) -> None:
        super().__init__(what, where=where, hint=hint)
        self.theirs = theirs
        self.ours = ours


class UntrustedError(RefusedError):
    pass


class SilentError(MdmemError):
    exit_code = 5


class MachineError(MdmemError):
    exit_code = 6


class LedgerError(MachineError):
    pass


class LockError(MachineError):
    pass


class ConfigError(MachineError):
    pass


class Problem(NamedTuple):
    """Trouble with one file.

    `path` is relative to its scope folder (POSIX, printable); `line` counts from 1, or is None for the file as a
    whole; `code` is a stable word, listed in docs/errors.md; `hint` says what is accepted or what to do.
    """

    path: str
    line: int | None
    code: str
    message: str
    hint: str
