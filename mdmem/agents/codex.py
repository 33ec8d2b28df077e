"""Codex's own files in; whether it runs hooks at all, and which of ours a person has approved, out. Changes nothing.

Codex keeps an approval per hook in config.toml, under `[hooks.state."<hooks.json>:<event>:<group>:<hook>"]`, counted
from 0. Its hash is Codex's business: we never write one, and only look whether there is one.
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any

from mdmem.agents import jsontext
from mdmem.agents.own import is_hook
from mdmem.errors import MdmemError
from mdmem.outputs import saving


def switched_off(config: str) -> str | None:
    """The setting that switches all hooks off, if one does."""
    features = _toml(config).get("features")
    names = ("hooks", "codex_hooks") if isinstance(features, dict) else ()
    return next((f"features.{name}" for name in names if features.get(name) is False), None)  # type: ignore[union-attr]


def unapproved(hooks: str, config: str) -> list[str]:
    """The events of our hooks for which Codex has no approval, or which were switched off there."""
    state = _toml(config).get("hooks", {})
    state = state.get("state") if isinstance(state, dict) else None
    records = {_place(key): value for key, value in state.items()} if isinstance(state, dict) else {}
    real = os.path.realpath(hooks)
    missing = []
    for event, group, number in _ours(hooks):
        record = records.get((real, re.sub(r"(?<!^)([A-Z])", r"_\1", event).lower(), group, number))
        if not isinstance(record, dict) or not record.get("trusted_hash") or record.get("enabled") is False:
            missing.append(event)
    return missing


def _place(key: str) -> tuple[str, str, int, int] | None:
    match = re.fullmatch(r"(.+):([a-z_]+):(\d+):(\d+)", key)
    return (os.path.realpath(match[1]), match[2], int(match[3]), int(match[4])) if match else None


def _ours(hooks: str) -> list[tuple[str, int, int]]:
    """Event, group and number of each of our hooks."""
    try:
        values = jsontext.parse((saving.read(hooks) or b"{}").decode("utf-8-sig"), comments=True).value["hooks"]
        return [
            (event, n, m)
            for event, groups in values.items()
            for n, group in enumerate(groups)
            for m, handler in enumerate(group["hooks"])
            if is_hook(handler, "codex")
        ]
    except (MdmemError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []  # what is wrong with that file, its own check says


def _toml(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads((saving.read(path) or b"").decode("utf-8-sig"))
    except (MdmemError, ValueError):
        return {}
