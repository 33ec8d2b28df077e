"""A probe that a person has allowed in, how it ended and the end of what it printed out.

It is run with stdin closed, without a terminal, in a process group of its own, which ends with it. What leaves the
group by itself (a daemon) is beyond reach.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from typing import NamedTuple

from mdmem.gates import mask
from mdmem.outputs.reveal import reveal
from mdmem.upkeep.probes import plain_words

LIMIT_S = 20.0
KEPT_BYTES = 16 * 1024
SHOWN_LINES, SHOWN_COLUMNS = 8, 160
_LAST_READS = 4  # behind its end: a pipe holds no more
_LOOK_S = 0.02  # how often it is looked whether a process ended while others hold its output open
# Colours and titles; what a secret could be cut in two by goes before secrets are looked for.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Ran(NamedTuple):
    """How a probe ended. `why`: what kept it from succeeding. `output`: lines that are safe to show, and few."""

    ok: bool
    exit_code: int | None
    ms: int
    why: str | None
    output: tuple[str, ...]


def command_of(probe: str) -> list[str]:
    """The argument list of a probe: its own words, or, where it needs one, a shell that is given it as it stands."""
    words = plain_words(probe)
    # A word of the shell's own (`command -v aws`) is no program.
    is_program = words is not None and ("/" in words[0] or shutil.which(words[0]) is not None)
    return words if words is not None and is_program else ["/bin/sh", "-c", probe]


def run(probe: str, folder: str, *, limit_s: float = LIMIT_S) -> Ran:
    """Run a probe in a folder and wait for it, at most so long."""
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            command_of(probe),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Ran(False, None, 0, f"it can't be run: {reason}", ())
    try:
        printed = _watch(process, started + limit_s)
    finally:
        is_over = process.poll() is not None
        _end_group(process)
        if process.stdout is not None:
            process.stdout.close()
    ms = round((time.monotonic() - started) * 1000)
    output = shown(printed)
    if not is_over:
        return Ran(False, None, ms, f"it took longer than {limit_s:g} s, and was ended", output)
    code = process.returncode
    if code < 0:
        return Ran(False, 128 - code, ms, f"it was ended by signal {-code}", output)
    return Ran(code == 0, code, ms, f"exit code {code}" if code else None, output)


def _watch(process: subprocess.Popen[bytes], give_up: float) -> bytes:
    """The end of what a process prints until it ends or its time is over. Whoever else holds its output open is not
    waited for.
    """
    assert process.stdout is not None  # noqa: S101  # for the type: it was asked for
    descriptor = process.stdout.fileno()
    os.set_blocking(descriptor, False)
    kept = b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while process.poll() is None and (left_s := give_up - time.monotonic()) > 0:
            selector.select(min(left_s, _LOOK_S))
            some = _read(descriptor)
            if some == b"":
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(give_up - time.monotonic(), 0))
                return kept
            kept = (kept + (some or b""))[-KEPT_BYTES:]
    for _ in range(_LAST_READS):
        kept = (kept + (_read(descriptor) or b""))[-KEPT_BYTES:]
    return kept


def _read(descriptor: int) -> bytes | None:
    """What can be had at once: b"" at the end, None where there is nothing yet."""
    try:
        return os.read(descriptor, 65_536)
    except BlockingIOError:
        return None


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left; macOS says so in its own way
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # what became another user's process can't be ended
        process.wait(1.0)


def shown(printed: bytes) -> tuple[str, ...]:
    """The last lines of what was printed, without secrets, and without anything that a terminal would obey."""
    text = printed.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    if len(printed) >= KEPT_BYTES:
        text = text.partition("\n")[2]  # half a line may begin with half a secret
    text = mask(_CONTROLS.sub("", _ANSI.sub("", text)))
    lines = [line.rstrip() for line in text.expandtabs().split("\n") if line.strip()]
    return tuple(_short(reveal(line)) for line in lines[-SHOWN_LINES:])


def _short(line: str) -> str:
    return line if len(line) <= SHOWN_COLUMNS else f"{line[: SHOWN_COLUMNS - 1]}…"
