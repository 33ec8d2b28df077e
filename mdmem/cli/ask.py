"""A request in, its answer out; what is to be said about how it came to be goes to stderr."""

from __future__ import annotations

from typing import Any

from mdmem.cli import say
from mdmem.config import find_paths
from mdmem.daemon.ask import Answer, Asking, error_of
from mdmem.errors import MdmemError


def ask(request: dict[str, Any]) -> Answer:
    """The answer to a request, from the daemon or from the index opened here. Raises the MdmemError it tells of."""
    return _asking().ask(request)


def warn_of_version(version: object) -> None:
    """Say it when the daemon is of another version than this command."""
    _asking().note_version(version)


def _asking() -> Asking:
    return Asking(find_paths(), say.note, _log_to_file)


def _log_to_file() -> None:
    """Warnings and faults go to the log file, not to the person: what Python would do of itself is print them."""
    import logging

    from mdmem.daemon import logs

    logs.to_file(find_paths().log)
    logging.getLogger().setLevel(logging.WARNING)


def make_findable(places: dict[str, list[str] | None], *, reload: bool = False) -> bool:
    """Have the index take in files that were just written: scope folder -> relative paths. Whether that worked.

    `reload`: a scope folder is new, or gone, so the daemon must read again which there are. The files are written
    whatever happens here, so trouble is said on stderr, and is no failure of the command.
    """
    try:
        asking = _asking()
        told = asking.ask_daemon({"op": "reload"}) if reload else None
        if told is None:
            asking.ask({"op": "sync", "folders": places})
        elif not told.get("ok"):
            raise error_of(told.get("error") or {})
    except MdmemError as error:
        say.note(f"written, but not in the index yet: {error}" + (f" ({error.hint})" if error.hint else ""))
        return False
    return True
