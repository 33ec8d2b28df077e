"""A closing message in, what the agent should check before it gives up out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def guard(
    ask: Callable[[dict[str, Any]], dict[str, Any]], message: str, prompt: str, who: dict[str, Any]
) -> str | None:
    del ask, message, prompt, who
    return None
