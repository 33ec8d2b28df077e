"""The config in, Settings out, checked in a process of its own.

For the daemon: pydantic, once imported, would stay in its memory for good (17 MB).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import is_dataclass
from typing import Any

from mdmem.config.paths import environment
from mdmem.config.settings import Mount, ScopeSettings, Settings, as_dict, load
from mdmem.errors import ConfigError

LIMIT_S = 60.0


def load_apart(config_file: str) -> Settings:
    """What `settings.load` gives, or the ConfigError that it raises. Without a config no process is started."""
    if not os.path.exists(config_file) and not environment():
        return Settings()
    command = [sys.executable, "-m", "mdmem.config.apart", config_file]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False)
        answer = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return load(config_file)  # a process that cannot start another is none the worse for some weight
    if "error" in answer:
        raise ConfigError(**answer["error"])
    return build(answer["settings"])


def build(checked: dict[str, Any]) -> Settings:
    """Settings from what `as_dict` made of checked ones."""
    parts: dict[str, Any] = {}
    for name in checked:
        default = getattr(Settings(), name)
        values = {k: _value(getattr(default, k), v) for k, v in checked[name].items()}
        if isinstance(default, ScopeSettings):
            values["mounts"] = tuple(Mount(**mount) for mount in values["mounts"])
        parts[name] = type(default)(**values)
    return Settings(**parts)


def _value(default: Any, checked: Any) -> Any:  # noqa: ANN401  # of a setting
    if is_dataclass(default) and not isinstance(default, type):
        return type(default)(**checked)
    return tuple(checked) if isinstance(checked, list) else checked


def main(config_file: str) -> dict[str, Any]:
    try:
        return {"settings": as_dict(load(config_file))}
    except ConfigError as error:
        return {"error": {"what": error.what, "where": error.where, "hint": error.hint}}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])))
