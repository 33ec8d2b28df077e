"""The running process in, the command by which others start mdmem out: agents' hooks, the service manager."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from mdmem.errors import ConfigError


def launcher() -> str:
    """The absolute path of the `mdmem` command that is running, as it was called: links are not followed, for they are
    what stays when a newer version is installed (pipx, uv tool).

    Raises ConfigError when there is no such command.
    """
    called = os.path.abspath(sys.argv[0])
    beside = os.path.join(os.path.dirname(sys.executable), "mdmem")
    for path in (called, beside, shutil.which("mdmem")):
        if path and os.path.basename(path) == "mdmem" and os.access(path, os.X_OK) and Path(path).is_file():
            return os.path.abspath(path)
    raise ConfigError(
        "the command `mdmem` is not installed, so nothing else could start it",
        hint="install it (pipx install mdmem, or make up) and run this again",
    )
