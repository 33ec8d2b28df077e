"""Lines of an activity log as Claude Code writes them, for stories that are invented."""

import datetime
import itertools
import json
from pathlib import Path
from typing import Any


class ClaudeLog:
    """One session's log; each call appends what happened."""

    def __init__(self, home: Path, cwd: Path, session: str = "s-1") -> None:
        folder = home / ".claude" / "projects" / str(cwd).replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{session}.jsonl"
        self.cwd, self.session = cwd, session
        self._number = itertools.count(1)
        self._began = datetime.datetime.now(datetime.UTC)  # a memory written before is older, whatever day it is

    def said(self, text: str) -> None:
        self._put("user", {"role": "user", "content": text}, origin={"kind": "human"})

    def ran(self, command: str, output: str, code: int = 0) -> None:
        """A command and how it ended."""
        call = f"toolu_{self.session}_{next(self._number)}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
        self._put("assistant", {"role": "assistant", "content": [use], "stop_reason": "tool_use"})
        told = output if code == 0 else f"Exit code {code}\n{output}"
        result = {"type": "tool_result", "tool_use_id": call, "content": told, "is_error": code != 0}
        whole: Any = {"stdout": output, "stderr": "", "interrupted": False} if code == 0 else f"Error: {told}"
        self._put("user", {"role": "user", "content": [result]}, toolUseResult=whole)

    def answered(self, text: str) -> None:
        message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
        self._put("assistant", message)
        self._put("system", None, subtype="turn_duration", durationMs=5)

    def _put(self, kind: str, message: Any, **more: Any) -> None:
        number = next(self._number)
        at = (self._began + datetime.timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        record = {
            "type": kind, "uuid": f"{self.session}-{number}", "timestamp": at,
            "sessionId": self.session, "cwd": str(self.cwd), "isSidechain": False, "version": "2.1.300",
            **({"message": message} if message else {}), **more,
        }  # fmt: skip
        with self.path.open("a") as log:
            log.write(json.dumps(record) + "\n")
