import os
import sys

import pytest

from mdmem.config.launcher import launcher
from mdmem.errors import ConfigError


def command(folder):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mdmem"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_command_that_was_called_is_named_as_it_was_called(tmp_path, monkeypatch):
    real = command(tmp_path / "venvs" / "mdmem-1.2")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/mdmem").symlink_to(real)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "bin/mdmem"), "connect"])
    assert launcher() == str(tmp_path / "bin/mdmem")


def test_a_relative_call_is_made_absolute(tmp_path, monkeypatch):
    command(tmp_path / "bin")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bin/mdmem"])
    assert launcher() == str(tmp_path / "bin/mdmem")


@pytest.mark.parametrize("argv", ["-c", "/somewhere/mdmem/__main__.py", ""])
def test_started_another_way_it_is_the_one_beside_the_interpreter(tmp_path, monkeypatch, argv):
    path = command(tmp_path / "my bin")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "my bin/python"))
    monkeypatch.setattr(sys, "argv", [argv])
    assert launcher() == str(path)


def test_then_the_one_on_the_path(tmp_path, monkeypatch):
    path = command(tmp_path / "on path")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere/python"))
    monkeypatch.setattr(sys, "argv", ["-m"])
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "empty"), str(tmp_path / "on path")]))
    assert launcher() == str(path)


def test_none_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere/python"))
    monkeypatch.setattr(sys, "argv", ["-m"])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="not installed") as error:
        launcher()
    assert "pipx" in (error.value.hint or "")
