from collections.abc import Iterator

import pytest

from mdmem.app import Answers, Local
from tests.bed import Bed
from tests.beds import bed, embedder

__all__ = ["bed", "embedder"]


@pytest.fixture
def here(bed: Bed) -> Iterator[Answers]:
    """Answers as a command gives them that finds no daemon."""
    bed.close()
    with Local(bed.app) as local:
        yield Answers(local)
    bed.store = type(bed.store)(bed.app)
