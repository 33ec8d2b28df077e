"""A hook's call in, what is printed for the agent out. Whatever goes wrong, nothing is printed and a line is logged."""

from __future__ import annotations

import functools
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mdmem.hooks.payload import Call, read_call
from mdmem.hooks.table import AGENTS

if TYPE_CHECKING:
    from mdmem.app.answers import Answers

log = logging.getLogger(__name__)

MAX_SESSIONS = 512  # remembered at once: more agents than that don't run on one machine
MAX_LOGGED_NAME = 60
MAX_KEPT = 1_000  # characters of a prompt, for the guard at the end of its turn


Held = Callable[[], None]


class Session:
    """What the turn under way is about: the prompt, the last words of the agent, and whether it was asked to go on."""

    def __init__(self) -> None:
        self.prompt = ""
        self.said = ""
        self.asked = False


class Hooks:
    """Answers hooks from answers to requests. Without `remembers` this object lives for one call alone. `heard` is told
    of each call, and must not take long.
    """

    def __init__(
        self, answers: Answers, *, remembers: bool = True, heard: Callable[[Call], None] = lambda _: None
    ) -> None:
        self.answers = answers
        self.heard = heard
        self.remembers = remembers
        self._sessions: OrderedDict[tuple[str, str], Session] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, agent: str, event: str, raw: bytes, held: list[Held] | None = None) -> bytes:
        """What the agent's hook prints: one JSON object, or nothing. Never raises.

        With `held`, that memories were given is not noted but put there, to be called when the agent has them.
        """
        try:
            call = read_call(agent, event, raw)
        except ValueError as error:
            names = {"agent": agent[:MAX_LOGGED_NAME], "event": event[:MAX_LOGGED_NAME]}
            log.warning("a hook was not understood", extra={**names, "reason": str(error)})
            return b""
        try:
            self.answers.backend.note_hook(call.agent, call.event)
            self.heard(call)
            printed = self._act(call, held)
        except Exception:
            log.exception("a hook was not answered", extra={"agent": call.agent, "event": call.event})
            return b""
        return json.dumps(printed, ensure_ascii=False).encode("utf-8", "replace") if printed else b""

    def _act(self, call: Call, held: list[Held] | None) -> dict[str, Any] | None:
        session = self._session(call)
        if call.means == "start":
            return self._start(call, held)
        if call.means == "prompt":
            # A notice that no person wrote, of work in the background say, leaves what the turn is about.
            session.prompt, session.said, session.asked = call.prompt[:MAX_KEPT] or session.prompt, "", False
            return self._context(call, held, query=call.prompt) if call.prompt else None
        if call.means == "compaction":
            self._forget(call)
        elif call.means == "said":
            session.said = call.message
        elif call.means == "turn_end":
            return self._turn_end(call, session)
        return None

    def _session(self, call: Call) -> Session:
        with self._lock:
            key = (call.agent, call.session or "")
            session = self._sessions.pop(key, None) or Session()
            self._sessions[key] = session
            if len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return session

    def _start(self, call: Call, held: list[Held] | None) -> dict[str, Any] | None:
        """Notes, feedback and rules. A session that was resumed still has them before it."""
        if call.afresh:
            self._forget(call)
        return self._context(call, held, recall=False) if AGENTS[call.agent].at_start else None

    def _forget(self, call: Call) -> None:
        if call.session:
            self._ask(call, {"op": "event", "event": "compaction", "session": call.session})

    def _context(self, call: Call, held: list[Held] | None, **what: Any) -> dict[str, Any] | None:  # noqa: ANN401
        context = AGENTS[call.agent].context
        if context is None:
            return None
        if held is not None:
            what["note"] = lambda *given: held.append(functools.partial(self.answers.backend.injected, *given))
        answer = self._ask(call, {"op": "inject", "session": call.session, **what})
        text = str(answer.get("text") or "")
        return context(call.event, text) if text else None

    def _turn_end(self, call: Call, session: Session) -> dict[str, Any] | None:
        """The guard against giving up on what can be done: once in a turn, and never where it can't be told whether
        this turn was asked before.
        """
        go_on = AGENTS[call.agent].go_on
        message = call.message or session.said
        told = call.looping is not None or self.remembers
        if go_on is None or not message or call.looping or session.asked or not told:
            return None
        from mdmem.hooks.guard import guard

        who = {"cwd": call.cwd, "agent": call.agent}
        text = guard(self.answers.answer, message, session.prompt or call.prompt, who)
        if text is None:
            return None
        session.asked = True
        return go_on(call.event, text)

    def _ask(self, call: Call, request: dict[str, Any]) -> dict[str, Any]:
        answer = self.answers.answer({"cwd": call.cwd, "agent": call.agent, **request})
        if not answer.get("ok"):
            error = answer.get("error") or {}
            log.warning("a hook got no memory", extra={"agent": call.agent, "reason": str(error.get("what"))})
        return answer
