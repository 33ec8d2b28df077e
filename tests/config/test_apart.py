"""The config checked in a process of its own: the same settings, the same words, and no pydantic here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mdmem.config import settings
from mdmem.config.apart import load_apart
from mdmem.errors import ConfigError

TEXT = """
[scopes]
mounts = [{path = "/x", scope = "agent", ref = "claude"}]
[watch]
quiet_ms = 70
poll = ["/a", "/b"]
[recall]
aliases = {k8s = "kubernetes"}
[recall.grants.bot]
ops = "write"
[embedder]
model = "none"
"""


def test_the_settings_are_those_of_the_check_at_hand(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(TEXT)

    assert load_apart(str(file)) == settings.load(str(file))


def test_a_wrong_value_is_told_in_the_same_words(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[watch]\nquiet = 5\n")
    with pytest.raises(ConfigError) as here:
        settings.load(str(file))
    with pytest.raises(ConfigError) as apart:
        load_apart(str(file))

    assert (str(apart.value), apart.value.hint) == (str(here.value), here.value.hint)


def test_a_daemon_with_a_config_carries_no_pydantic(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(TEXT)
    code = (
        "import sys; from mdmem.config.apart import load_apart;"
        f" load_apart({str(file)!r}); print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_where_no_process_can_be_started_the_check_is_made_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(TEXT)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))

    assert load_apart(str(file)) == settings.load(str(file))
