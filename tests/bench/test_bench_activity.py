"""The bench of the activity logs runs to its end in the small, and writes its results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import measure

from tests.conftest import ROOT


def test_reading_logs_is_measured(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    flags = ["--mb", "1", "--files", "5", "--seconds", "0.1", "--json", str(results)]
    program = Path(measure.__file__).with_name("activity.py")
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, str(program), *flags], capture_output=True, text=True, timeout=60, env=env)

    assert done.returncode == 0, done.stderr
    result = json.loads(results.read_text())
    assert result["mb"] > 1
    assert min(result["json_mb_s"], result["reader_mb_s"], result["tail_mb_s"]) > 0
