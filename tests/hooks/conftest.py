import pytest

from mdmem.app import Answers
from mdmem.hooks import Hooks
from tests.app.conftest import here
from tests.beds import bed, embedder

__all__ = ["bed", "embedder", "here", "hooks"]


@pytest.fixture
def hooks(here: Answers) -> Hooks:
    """As the daemon has them: one object for all calls."""
    return Hooks(here)
