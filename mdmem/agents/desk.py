"""A question for one caller in, the daemon's answer out, or that of the index opened here."""

from __future__ import annotations

import threading
from typing import Any

from mdmem.agents.caller import Who
from mdmem.config import find_paths
from mdmem.daemon.ask import Answer, Asking, error_of
from mdmem.errors import MdmemError

# Without a daemon the index is opened by one call at a time: a second one would find it locked, and read it as it is.
_ALONE = threading.Lock()
NO_DAEMON = "no daemon runs, so the files were looked at for this answer alone; start one with: mdmem up"


class Desk:
    """Asks for one caller during one call. `notes`: what is to be said of how the answers came to be."""

    def __init__(self, who: Who) -> None:
        self.who = who
        self.notes: list[str] = []
        self._asking = Asking(find_paths(), self._note, lambda: self._note(NO_DAEMON))

    def ask(self, op: str, **request: Any) -> Answer:  # noqa: ANN401  # JSON
        """The answer. Raises the MdmemError that it tells of."""
        asked = {"op": op, "cwd": self.who.cwd, "agent": self.who.agent, **request}
        answer = self._asking.ask_daemon(asked)
        if answer is None:
            with _ALONE:
                return self._asking.ask(asked)
        if not answer.get("ok"):
            raise error_of(answer.get("error") or {})
        return answer

    def tell_daemon(self, op: str, **request: Any) -> None:  # noqa: ANN401  # JSON
        """Say that a file was written. Without a daemon the next question looks at the files first."""
        try:
            answer = self._asking.ask_daemon({"op": op, **request})
            if answer is not None and not answer.get("ok"):
                raise error_of(answer.get("error") or {})
        except MdmemError as error:
            self._note(f"written, but not in the index yet: {error}")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
