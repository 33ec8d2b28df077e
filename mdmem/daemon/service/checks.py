"""The service in, what `mdmem doctor` has to say of it out. Nothing where no service is installed."""

from __future__ import annotations

from collections.abc import Iterator

from mdmem.app.doctor import Finding
from mdmem.config import Paths
from mdmem.daemon.service.install import State, find_manager, state
from mdmem.errors import MachineError


def checks(paths: Paths) -> list[Finding]:
    """Findings of the service, as `app.doctor` has them."""
    try:
        found = state(paths, find_manager())
    except MachineError as error:
        return [Finding("service", False, "service-unreadable", str(error), "look at its permissions")]
    if not found.installed:
        return []
    return list(_of(found)) or [Finding("service", True, "ok", f"{found.manager}: {found.state}")]


def _of(found: State) -> Iterator[Finding]:
    anew = "mdmem service install"
    if found.edited:
        yield Finding(
            "service", False, "service-edited", f"{found.path} was written or changed by somebody else than mdmem",
            f"move it away, then: {anew}",
        )  # fmt: skip
    elif not found.launcher_exists:
        yield Finding("service", False, "service-launcher-gone", f"it starts {found.launcher}, which is gone", anew)
    elif not found.current:
        yield Finding("service", False, "service-outdated", f"{found.path} is not what this mdmem would write", anew)
    if not found.reachable:
        yield Finding("service", False, "service-unreachable", str(found.reason), "log in as yourself, not by su")
    elif found.state == "failed":
        yield Finding("service", False, "service-failed", "the daemon ended with a failure, and stays down", anew)
