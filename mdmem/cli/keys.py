"""Keystrokes of a terminal, or lines where there is none, in; single characters out."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
import unicodedata
from collections.abc import Callable, Iterator
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_END = ""


def read_key(prompt: Callable[[], None]) -> str:
    """One character; "" at the end of input. `prompt` writes the line to answer on, again after a stop.

    On a terminal it is one keystroke: what was typed before is thrown away, for it was meant for something else, and so
    is what comes in one piece with more (an arrow key, a paste). Elsewhere it is a line that holds one character.
    """
    try:
        descriptor = sys.stdin.fileno()
        plain = termios.tcgetattr(descriptor)
    except (OSError, ValueError, termios.error):
        prompt()
        return _read_line()
    return _read_stroke(descriptor, plain, prompt)


def _read_line() -> str:
    line = sys.stdin.readline()
    if not line:
        return _END
    word = line.strip()
    return word if len(word) == 1 else "\0"  # nothing that anybody asks for


def _read_stroke(descriptor: int, plain: list[object], prompt: Callable[[], None]) -> str:
    single = [*plain]
    flags, characters = single[3], single[6]
    assert isinstance(flags, int)  # noqa: S101  # as termios gives them
    assert isinstance(characters, list)  # noqa: S101
    single[3] = flags & ~(termios.ICANON | termios.ECHO)
    single[6] = [*characters]
    single[6][termios.VMIN], single[6][termios.VTIME] = 1, 0  # type: ignore[index]

    def turn(attributes: list[object]) -> None:
        with contextlib.suppress(OSError, termios.error):  # the terminal may be gone
            termios.tcsetattr(descriptor, termios.TCSAFLUSH, attributes)  # type: ignore[arg-type]

    def start() -> None:
        turn(single)
        prompt()

    with _restored(lambda: turn(plain), start):
        start()
        try:
            data = os.read(descriptor, 1024)
        except OSError:
            return _END
    text = unicodedata.normalize("NFKC", data.decode("utf-8", "replace"))
    if data in (b"", b"\x04"):  # without canonical mode control-D is a character like any other
        return _END
    return text if len(text) == 1 else "\0"


@contextlib.contextmanager
def _restored(restore: Callable[[], None], start: Callable[[], None]) -> Iterator[None]:
    """The terminal as it was on every way out: an end, an error, a signal that ends or stops the process."""

    def leave(number: int, frame: FrameType | None) -> None:
        restore()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def pause(number: int, frame: FrameType | None) -> None:
        leave(number, frame)  # here the process stands still until it is told to go on
        signal.signal(number, pause)
        start()

    before = {number: signal.signal(number, leave) for number in _ENDING}
    before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, pause)
    try:
        yield
    finally:
        restore()
        for number, handler in before.items():
            signal.signal(number, handler)
