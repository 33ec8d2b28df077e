"""`call(*args)`: one command line in this process, in a home of its own."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mdmem.cli import main
from tests.conftest import Done, Home


class Input(io.TextIOWrapper):
    """Standard input that is no terminal."""

    def __init__(self, text: str | bytes) -> None:
        super().__init__(io.BytesIO(text.encode() if isinstance(text, str) else text), "utf-8")


@pytest.fixture
def call(
    home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Done]]:
    """Run `mdmem ARGS` here; `stdin` is empty unless given."""
    monkeypatch.chdir(home.work)
    root = logging.getLogger()
    before, level = list(root.handlers), root.level

    def run(*args: Any, stdin: str | bytes = "") -> Done:
        monkeypatch.setattr("sys.stdin", Input(stdin))
        capsys.readouterr()
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    yield run
    for handler in [handler for handler in root.handlers if handler not in before]:
        handler.close()
    root.handlers[:] = before
    root.setLevel(level)


@pytest.fixture
def project(home: Home, call: Callable[..., Done]) -> Any:
    """A trusted project around the working directory; its scope folder."""
    assert call("init", ".").code == 0
    return home.work / ".mdmem"
