"""Fixtures around `Bed`, for the rooms that are tested in one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bed import Bed
from tests.conftest import Home
from tests.models.hash_embedder import HashEmbedder


@pytest.fixture
def bed(home: Home, tmp_path: Path) -> Iterator[Bed]:
    """An empty mdmem, its store open, in a private environment."""
    made = Bed(tmp_path / "m")
    yield made
    made.close()


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()
