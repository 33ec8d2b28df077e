"""Our own logging: to stderr in the foreground, to a rotating file in the background.

No memory text ever goes in; should it all the same, no secret does.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import sys
import time
from io import TextIOWrapper

from mdmem.gates import mask

_PLAIN = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "taskName"}
REPEAT_S = 60.0  # the same message and facts are written at most once in this time


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and the facts given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {"time": _utc(record.created), "level": record.levelname, "logger": record.name}
        line["message"] = mask(record.getMessage())
        line |= {k: _masked(v) for k, v in record.__dict__.items() if k not in _PLAIN}
        if record.exc_info:
            line["traceback"] = mask(_traceback(record))
        return json.dumps(line, ensure_ascii=False, default=lambda value: mask(str(value)))


def _masked(value: object) -> object:
    """A fact without secrets, however deep they lie in it."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {_masked(k): _masked(v) for k, v in value.items()}
    return [_masked(v) for v in value] if isinstance(value, (list, tuple, set)) else value


class Readable(logging.Formatter):
    """One line for a person at a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        facts = " ".join(f"{k}={v}" for k, v in record.__dict__.items() if k not in _PLAIN and v is not None)
        text = f"{_utc(record.created)} {record.levelname.lower():7} {record.getMessage()} {facts}".rstrip()
        return mask(f"{text}\n{_traceback(record)}" if record.exc_info else text)


class NoFlood(logging.Filter):
    """Lets the same warning through once a minute: a thousand bad files must not push the journal out."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str, ...], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        key = (record.name, record.getMessage(), str(getattr(record, "folder", "")), str(getattr(record, "event", "")))
        now = time.monotonic()
        if now - self._seen.get(key, -REPEAT_S) < REPEAT_S:
            return False
        self._seen[key] = now
        return True


def to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Readable() if sys.stderr.isatty() else JsonLines())
    _install(handler)


def to_file(path: str) -> None:
    """A file of at most 1 MB, and two older ones; 0600."""
    handler = _PrivateFile(path, maxBytes=1_000_000, backupCount=2, encoding="utf-8")
    handler.setFormatter(JsonLines())
    _install(handler)


class _PrivateFile(logging.handlers.RotatingFileHandler):
    """Every file it opens is 0600, whatever the umask."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, opener=_private)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the base class's name
        """A full disk must not make more words than it swallows."""


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _install(handler: logging.Handler) -> None:
    handler.addFilter(NoFlood())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for noisy in ("watchdog", "httpx", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _traceback(record: logging.LogRecord) -> str:
    """Where it happened, and the kind of error: its message may quote a memory, so only ours are written."""
    import traceback

    from mdmem.errors import MdmemError

    _, error, trace = record.exc_info  # type: ignore[misc]
    said = str(error) if isinstance(error, MdmemError | OSError) else ""
    return "".join(traceback.format_tb(trace)) + f"{type(error).__name__}: {said}".rstrip(": ")


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"
