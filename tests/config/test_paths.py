"""Where things are: below MDMEM_HOME, or in the platform's folders; and what is read of the environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mdmem.config import find_paths
from mdmem.config.paths import MAX_SOCKET_BYTES, editor, environment, secret, wants_no_color
from mdmem.errors import ConfigError


def test_all_lies_below_mdmem_home(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_HOME", "/tmp/x y")
    paths = find_paths()

    assert (paths.user, paths.agents, paths.inbox) == ("/tmp/x y/user", "/tmp/x y/agents", "/tmp/x y/inbox")
    assert (paths.index_db, paths.ledger_db) == ("/tmp/x y/state/index.db", "/tmp/x y/state/ledger.db")
    assert (paths.lock, paths.socket) == ("/tmp/x y/run/mdmem.lock", "/tmp/x y/run/mdmem.sock")
    assert (paths.config_file, paths.scopes_file) == ("/tmp/x y/config.toml", "/tmp/x y/scopes.toml")
    assert paths.log == "/tmp/x y/state/mdmem.log"


def test_a_home_with_a_tilde_or_relative_is_made_absolute(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_HOME", "~/mem")
    assert find_paths().data == f"{os.environ['HOME']}/mem"
    monkeypatch.setenv("MDMEM_HOME", "mem")
    assert find_paths().data == str(Path.cwd() / "mem")


def test_without_it_the_platform_says_where(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MDMEM_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "/d")
    monkeypatch.setenv("XDG_STATE_HOME", "/s")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/c")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/r")
    paths = find_paths()

    assert (paths.data, paths.state, paths.config_file) == ("/d/mdmem", "/s/mdmem", "/c/mdmem/config.toml")


def test_f12_without_any_home_it_says_what_to_set(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MDMEM_HOME")
    monkeypatch.setenv("HOME", "not/absolute")
    with pytest.raises(ConfigError) as told:
        find_paths()
    assert "MDMEM_HOME" in str(told.value.hint)


def test_f7_a_socket_path_that_is_too_long_moves_to_a_short_one(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_HOME", "/tmp/" + "é" * 60)
    first, again = find_paths().socket, find_paths().socket

    assert first == again
    assert len(os.fsencode(first)) <= MAX_SOCKET_BYTES
    monkeypatch.setenv("MDMEM_HOME", "/tmp/" + "é" * 61)
    assert find_paths().socket != first


def test_what_the_environment_says(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MDMEM_WATCH_QUIET_MS", "20")
    monkeypatch.setenv("OTHER", "x")
    assert environment() == {"WATCH_QUIET_MS": "20", "EMBEDDER_MODEL": "none"}

    monkeypatch.setenv("KEY", " secret ")
    monkeypatch.setenv("EMPTY", "  ")
    assert (secret("KEY"), secret("EMPTY"), secret("UNSET")) == ("secret", None, None)

    assert editor() is None
    monkeypatch.setenv("EDITOR", "vi")
    assert editor() == "vi"
    monkeypatch.setenv("VISUAL", "code -w")
    assert editor() == "code -w"

    assert not wants_no_color()
    monkeypatch.setenv("NO_COLOR", "")
    assert not wants_no_color()
    monkeypatch.setenv("NO_COLOR", "1")
    assert wants_no_color()


@pytest.mark.parametrize("name", ["XDG_RUNTIME_DIR", "TMPDIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"])
def test_f_whoever_has_the_same_state_meets_the_same_daemon_and_lock(
    home: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Cron, containers and agents' sandboxes leave variables of a session out, or change them."""
    monkeypatch.delenv("MDMEM_HOME")
    monkeypatch.delenv(name, raising=False)
    without = find_paths()
    monkeypatch.setenv(name, str(tmp_path))
    assert (find_paths().lock, find_paths().socket) == (without.lock, without.socket)


@pytest.mark.parametrize("name", ["HOME", "XDG_STATE_HOME"])
def test_f_another_home_of_the_same_user_has_a_daemon_of_its_own(
    home: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("MDMEM_HOME")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    first = find_paths()
    monkeypatch.setenv(name, str(tmp_path))
    assert {find_paths().lock, find_paths().socket}.isdisjoint({first.lock, first.socket})
