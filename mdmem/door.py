"""A program's calls in, plain dicts out: `mdmem.open()`. The same answers as the command line gives with --json."""

from __future__ import annotations

import datetime
import logging
import os
from collections.abc import Sequence
from typing import Any

from mdmem.config import find_paths
from mdmem.daemon.ask import Asking, working_folder
from mdmem.scope import check_ref

Memory = dict[str, Any]
Memories = list[Memory]  # inside Door, `list` is a method
# Where the program has set up no logging, Python would print our warnings.
logging.getLogger("mdmem").addHandler(logging.NullHandler())

_Names = str | Sequence[str]
_COUNTS = ("added", "changed", "removed", "problems", "ms")


class Door:
    """What one caller may ask: from a working directory, which decides on the project, and perhaps as an agent.

    A running daemon is asked; without one each call opens the index, looks at the caller's folders first, and closes
    it again, so that a Door holds nothing that another process waits for. Every call raises MdmemError.
    """

    def __init__(self, cwd: str | os.PathLike[str] | None = None, agent: str | None = None) -> None:
        self.cwd = working_folder() if cwd is None else os.path.abspath(os.fspath(cwd))
        self.agent = None if agent is None else check_ref(agent)
        self._asking = Asking(find_paths())

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open between calls."""

    def search(
        self,
        query: str,
        *,
        mode: str | None = None,
        scope: _Names = (),
        type: _Names = (),
        domain: str | None = None,
        limit: int = 10,
        include_invalid: bool = False,
        as_of: str | datetime.date | None = None,
    ) -> Memories:
        """The hits of `mdmem search --json`, best first."""
        day = as_of.isoformat() if isinstance(as_of, datetime.date) else as_of
        answer = self._ask("search", query=query, mode=mode, scope=_names(scope), type=_names(type), domain=domain,
                           limit=limit, include_invalid=include_invalid, as_of=day)  # fmt: skip
        hits: Memories = answer["hits"]
        return hits

    def show(self, key: str) -> Memory:
        """One memory with its `body`, as `mdmem show --json`; `key` may be a path, or enough of either."""
        memory: Memory = self._ask("show", key=key)["memory"]
        return memory

    def block(
        self,
        query: str | None = None,
        window_used: float = 0,
        budget: int | None = None,
        session: str | None = None,
    ) -> dict[str, Any]:
        """The text to put before an agent's prompt, and what stands in it, as `mdmem inject --json`.

        `window_used`: how much of the context window is in use, in percent; `budget`: tokens.
        """
        answer = self._ask("inject", query=query, window_used=window_used, budget=budget, session=session)
        return {name: value for name, value in answer.items() if name not in ("ok", "version")}

    def propose(
        self,
        text: str,
        *,
        name: str | None = None,
        key: str | None = None,
        type: str | None = None,
        scope: str | None = None,
        evidence: _Names = (),
    ) -> dict[str, Any]:
        """Let a memory wait in the inbox until the person approves it; or why a gate refused it (`why`).

        `scope`: the project here, where there is one, else the user's. `evidence`: lines that it follows from.
        """
        fields = {name: value for name, value in (("name", name), ("key", key), ("type", type)) if value}
        quoted = [{"text": line, "agent": self.agent} for line in _names(evidence)]
        candidate = {"scope": scope, "fields": fields, "body": text, "evidence": quoted}
        answer = self._ask("propose", candidate=candidate)
        return {name: value for name, value in answer.items() if name not in ("ok", "version")}

    def sync(self) -> dict[str, int]:
        """Returns when the index has everything that is on disk now; the counts of `mdmem sync --json`."""
        answer = self._ask("sync")
        return {name: answer[name] for name in _COUNTS}

    def list(
        self,
        *,
        scope: _Names = (),
        type: _Names = (),
        status: str | None = None,
        source: str | None = None,
        domain: str | None = None,
        tag: _Names = (),
        entity: _Names = (),
        limit: int | None = None,
        include_invalid: bool = False,
    ) -> Memories:
        """The memories of `mdmem list --json`, by scope and path."""
        answer = self._ask("list", scope=_names(scope), type=_names(type), status=status, source=source, domain=domain,
                           tag=_names(tag), entity=_names(entity), limit=limit,
                           include_invalid=include_invalid)  # fmt: skip
        found: Memories = answer["memories"]
        return found

    def _ask(self, op: str, **request: object) -> dict[str, Any]:
        return self._asking.ask({"op": op, "cwd": self.cwd, "agent": self.agent, **request})


def _names(given: _Names) -> list[str]:
    return [given] if isinstance(given, str) else [*given]
