"""The benches are programs in a folder, not a package: their folder is put on the path, and the corpus asked for."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import drivers  # noqa: E402
import measure  # noqa: E402


@pytest.fixture(scope="session")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> measure.Corpora:
    try:
        return measure.Corpora(tmp_path_factory.mktemp("corpora"))
    except SystemExit as e:
        pytest.skip(str(e.code))


@pytest.fixture
def floor() -> Iterator[drivers.Floor]:
    """A floor over an empty folder with a short name, not started."""
    with tempfile.TemporaryDirectory(prefix="mb-", dir="/tmp") as home:
        peer = drivers.Floor(Path(home))
        yield peer
        peer.stop()
