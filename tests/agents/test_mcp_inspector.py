"""The MCP inspector's command line, a client that is not ours, speaks with `mdmem mcp`.

It comes from npm, into a folder of this test session; nothing has to be installed by hand but node and npm.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agents.test_mcp_program import served
from tests.agents.test_mcp_tools import GOOD
from tests.conftest import ROOT, Home

__all__ = ["served"]

PACKAGE = "@modelcontextprotocol/inspector@1.0.3"  # its command line runs on node 20; that of 2.x does not
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("npm") is None, reason=f"npm is not installed: it brings {PACKAGE}"),
]


@pytest.fixture(scope="session")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspector")
    env = os.environ | {"HOME": str(folder), "npm_config_update_notifier": "false"}
    done = subprocess.run(
        ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE],
        env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"by hand: npm install {PACKAGE}\n{done.stdout}{done.stderr}"
    return folder / "node_modules" / ".bin" / "mcp-inspector"


@pytest.fixture
def wrapper(home: Home) -> Path:
    """The command as it is installed."""
    import sys

    path = home.folder / "bin" / "mdmem"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m mdmem "$@"\n')
    path.chmod(0o755)
    return path


def test_the_inspector_lists_and_calls_everything(inspector: Path, wrapper: Path, served: Home) -> None:
    def inspect(method: str, *args: str) -> dict[str, Any]:
        done = subprocess.run(
            [str(inspector), "--cli", str(wrapper), "mcp", "--method", method, *args],
            env=served.env, cwd="/", capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (method, args, done.stdout, done.stderr)
        return dict(json.loads(done.stdout))

    tools = inspect("tools/list")["tools"]
    assert sorted(tool["name"] for tool in tools) == sorted(GOOD)
    assert all(tool["annotations"]["openWorldHint"] is False for tool in tools)
    for name, arguments in GOOD.items():
        words = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={value}")]
        told = inspect("tools/call", "--tool-name", name, *words)
        assert not told.get("isError"), (name, told)
        assert told["content"][0]["text"]
        assert "degraded" in told["structuredContent"]
    wrong = inspect("tools/call", "--tool-name", "search_memory", "--tool-arg", "query=x", "limit=1000")
    assert wrong["isError"]
    uris = [resource["uri"] for resource in inspect("resources/list")["resources"]]
    assert "mdmem://user/deploy%3Ablyck" in uris
    read = inspect("resources/read", "--uri", "mdmem://user/deploy%3Ablyck")
    assert "AWS CLI" in read["contents"][0]["text"]
    assert len(inspect("resources/templates/list")["resourceTemplates"]) == 3
