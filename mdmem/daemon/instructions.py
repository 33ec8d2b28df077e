"""Changes of memories in, agents' instruction files brought up to date out, on a thread of their own."""

from __future__ import annotations

import logging
import threading

from mdmem.app import Answers
from mdmem.app.instructions import follow_instructions
from mdmem.daemon.worker import Worker

log = logging.getLogger(__name__)

QUIET_S = 1.0  # a burst of changes is written once
EVERY_S = 3_600.0  # what holds changes with the time, too
BUSY_S = 10.0  # until git is asked again whether it has finished


class Instructions(threading.Thread):
    """Waits for the worker to have written manifests. A file is written only where its section differs."""

    def __init__(self, worker: Worker, answers: Answers) -> None:
        super().__init__(name="instructions", daemon=True)
        self.worker = worker
        self.answers = answers
        self._told: set[str] = set()  # problems, so that each is logged once
        self._busy = False

    def run(self) -> None:
        while not self.worker.stopping.is_set():
            self.worker.manifests_written.wait(BUSY_S if self._busy else EVERY_S)
            self.worker.manifests_written.clear()
            if self.worker.stopping.wait(QUIET_S):
                return
            try:
                self._follow()
            except Exception:
                log.exception("instruction files were not looked at")

    def _follow(self) -> None:
        followed = follow_instructions(self.answers)
        for path in followed["written"]:
            log.info("instructions", extra={"path": path})
        problems = {f"{problem['path']}: {problem['message']}" for problem in followed["problems"]}
        for problem in problems - self._told:
            log.warning("instructions could not be written", extra={"reason": problem})
        self._told = problems
        self._busy = followed["busy"]
