"""Events in, candidates out: what a success proves, what the person said is to hold, what a failure puts in doubt.

Nothing here reads a file or a clock. What is kept between events is small and may be lost: it makes chains longer and
spares repetition, no more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from mdmem.activity.events import Event
from mdmem.candidates import rules as rule_files
from mdmem.candidates import shell, wishes
from mdmem.candidates.candidate import Candidate, Doubt, Evidence
from mdmem.candidates.match import Match, Matcher, Setting, quoted

_MAX_SESSIONS = 64
_MAX_STEPS = 8
_PER_SESSION, _PER_DAY = 16, 20  # candidates from commands, a day counted per folder; what a person said always counts
_MAX_DAYS = 64
_MAX_QUOTE, _MAX_DESCRIPTION = 160, 160
_GOALS = ("deploy", "publish")  # what a chain leads to
_NOT_ON_THE_WAY = {"deploy": ("test",), "publish": ("test", "deploy")}


@dataclass(frozen=True, slots=True)
class _Step:
    match: Match

    @property
    def kind(self) -> str:
        return self.match.rule.kind

    @property
    def shown(self) -> str:
        return self.match.shown


@dataclass(slots=True)
class _Session:
    steps: list[_Step] = field(default_factory=list)  # of this turn
    turn: int = 0
    given: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)  # key -> turn and chain


class Promoter:
    """Feed it every event once, in the order of its log.

    `mask` replaces secrets in a text; a candidate that it would change is dropped whole, evidence that it changes is
    kept masked. `root_of` gives the root of the project that a folder lies in, None where it lies in none.
    """

    def __init__(
        self,
        *,
        mask: Callable[[str], str],
        own_rules: str | None = None,
        root_of: Callable[[str], str | None] | None = None,
    ) -> None:
        self._mask = mask
        self._own_rules = own_rules
        self._root_of = root_of
        self._loaded: Matcher | None = None  # the rules cost 20 ms: when the first command comes
        self._sessions: OrderedDict[tuple[str, str, str | None], _Session] = OrderedDict()
        self._days: OrderedDict[tuple[str, str], set[str]] = OrderedDict()  # keys of a day in a folder

    def feed(self, event: Event) -> list[Candidate | Doubt]:
        """What an event teaches. The same key comes again when another session or a longer chain proves it."""
        session = self._session(event)
        if event.kind == "ran":
            return list(self._ran(event, session))
        if event.kind == "session_ended":
            self._sessions.pop((event.agent, event.session, event.subagent), None)
        if event.kind != "edited" and not (event.kind == "said" and event.who == "assistant"):
            session.steps.clear()
            session.turn += 1
        if event.kind == "said" and event.who == "person" and event.subagent is None:
            return [found for wish in wishes.find(event.text) if (found := self._wished(wish, event))]
        return []

    def _session(self, event: Event) -> _Session:
        name = (event.agent, event.session, event.subagent)
        session = self._sessions.setdefault(name, _Session())
        self._sessions.move_to_end(name)
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def _ran(self, event: Event, session: _Session) -> Iterator[Candidate | Doubt]:
        if event.outcome == "failed":
            yield from self._failed(event, session)
        if event.outcome != "ok":
            return
        proved = shell.proved(shell.read(event.command), event.exit_code)
        met: dict[str, list[Match]] = {}
        found = [match for match in self._matches(proved, event) if not match.one_off]
        for match in _together(found, session):
            met.setdefault(match.key, []).append(match)
        chains: dict[str, tuple[str, ...]] = {}
        for matches in met.values():  # every step stands before a chain is asked for
            for match in matches:
                _add_step(session, match)
                chains[match.key] = _chain(session, match)
        for key, matches in met.items():
            if matches[0].rule.kind != "step" and self._is_news(matches[-1], chains[key], session, event):
                candidate = self._candidate(matches, chains[key], event)
                if candidate:
                    yield candidate

    def _failed(self, event: Event, session: _Session) -> Iterator[Doubt]:
        """Only where one thing alone can have failed: of a chain nobody knows which link broke."""
        matches = [m for m in self._matches(shell.read(event.command).commands, event, failed=True) if not m.one_off]
        matches = [match for match in matches if match.rule.kind != "step"]
        if matches and len({match.key for match in matches}) == 1 and matches[0].rule.type == "capability":
            key = matches[0].key
            session.given.pop(key, None)
            yield Doubt(
                key, matches[0].rule.kind, self._evidence(event, f"{matches[0].shown} → failed"), event.cwd, event.at
            )

    def _matches(self, commands: tuple[shell.Command, ...], event: Event, *, failed: bool = False) -> Iterator[Match]:
        root = self._root_of(event.cwd) if self._root_of and event.cwd else None
        output = "" if failed else f"{event.head}\n{event.tail}"
        for command in commands:
            yield from self._matcher().find(command, Setting(event.cwd, root), output)

    def _matcher(self) -> Matcher:
        self._loaded = self._loaded or Matcher(rule_files.load(self._own_rules))
        return self._loaded

    def _is_news(self, match: Match, chain: tuple[str, ...], session: _Session, event: Event) -> bool:
        """Another turn proves a capability anew, a longer chain tells more; the rest of a session is repetition."""
        key, before = match.key, session.given.get(match.key)
        if before is None:
            today = self._today(event)
            if len(session.given) >= _PER_SESSION or (key not in today and len(today) >= _PER_DAY):
                return False
            today.add(key)
        elif (before[0] == session.turn or match.rule.kind not in _GOALS) and not _tells_more(chain, before[1]):
            return False
        session.given[key] = session.turn, chain
        return True

    def _today(self, event: Event) -> set[str]:
        name = (event.at or "")[:10], event.cwd or ""
        today = self._days.setdefault(name, set())
        self._days.move_to_end(name)
        if len(self._days) > _MAX_DAYS:
            self._days.popitem(last=False)
        return today

    def _candidate(self, matches: list[Match], chain: tuple[str, ...], event: Event) -> Candidate | None:
        match = matches[-1]
        rule = match.rule
        output = f"{event.head}\n{event.tail}"
        quote = next((line for p in (rule.shows, rule.output) if p and (line := quoted(p, output))), "")
        said = f' → exit 0: "{quote[:_MAX_QUOTE]}"' if quote else " → exit 0"
        about = match.text(rule.about)
        probe = next((filled for one in rule.probe if (filled := match.filled(one))), None)
        entities = [filled for m in matches for one in m.rule.entities if (filled := m.filled(one))]
        found = Candidate(
            key=match.key,
            type=rule.type,
            kind=rule.kind,
            name=match.text(rule.name),
            description=about[:_MAX_DESCRIPTION],
            body=_body(about, chain),
            scope="user" if rule.scope == "user" else "project",
            confidence=0.5 if match.weak else 1.0,
            source="tool",
            evidence=(self._evidence(event, " && ".join(dict.fromkeys(m.shown for m in matches)) + said),),
            cwd=event.cwd,
            at=event.at,
            entities=tuple(dict.fromkeys(entities)),
            proof="; ".join(dict.fromkeys(f"{m.short} ok" for m in matches)),
            probe=probe,
            chain=chain,
        )
        return self._clean(found)

    def _wished(self, wish: wishes.Wish, event: Event) -> Candidate | None:
        if self._matcher().renderer.hides(wish.text):
            return None
        return self._clean(
            Candidate(
                key=wish.key,
                type=wish.type,
                kind="user_rule",
                name=wish.text if len(wish.text) <= 80 else wish.text[:79].rstrip() + "…",
                description=wish.text[:_MAX_DESCRIPTION],
                body=wish.text,
                scope="user" if wish.everywhere or not event.cwd else "project",
                confidence=wish.confidence,
                source="stated",
                evidence=(self._evidence(event, wish.text),),
                cwd=event.cwd,
                at=event.at,
            )
        )

    def _evidence(self, event: Event, text: str) -> Evidence:
        source = event.source
        return Evidence(event.agent, event.session, source.path, source.offset, self._mask(text), source.row)

    def _clean(self, candidate: Candidate) -> Candidate | None:
        """None where a secret stands in it; evidence is masked already."""
        texts = (candidate.key, candidate.name, candidate.description, candidate.body, candidate.proof, candidate.probe)
        parts = [text for text in (*texts, *candidate.entities, *candidate.chain) if text]
        if any(self._mask(text) != text for text in parts):
            return None
        return replace(candidate, name=candidate.name or candidate.key)


def _tells_more(chain: tuple[str, ...], before: tuple[str, ...]) -> bool:
    return len(chain) > len(before) and set(before) <= set(chain)


def _together(matches: list[Match], session: _Session) -> list[Match]:
    """A deploy that names no environment belongs to one beside it that does: an upload, then the invalidation."""
    before = [step.match for step in session.steps]
    out: list[Match] = []
    for match in matches:
        near = [*(before if match.rule.follows else []), *matches]
        named = [
            m for m in near if m.rule.kind == match.rule.kind == "deploy" and m.target == match.target and m.names_place
        ]
        out.append(
            replace(match, key=named[-1].key, fields={**match.fields, "place": named[-1].fields["place"]})
            if named and not match.names_place
            else match
        )
    return out


def _add_step(session: _Session, match: Match) -> None:
    step = _Step(match)
    if match.rule.way or match.rule.kind == "test":
        session.steps = [one for one in session.steps if one.shown != step.shown][-(_MAX_STEPS * 4) :]
        session.steps.append(step)


def _chain(session: _Session, match: Match) -> tuple[str, ...]:
    """The shortest way to a success: what changed something on the way there, each thing once, as it last succeeded."""
    kind = match.rule.kind
    if kind not in _GOALS:
        return (match.shown,)
    steps = [step for step in session.steps if step.kind not in _NOT_ON_THE_WAY[kind]]
    last_of = {
        step.match.key if step.kind == "build" else step.shown: step.shown for step in steps
    }  # a build once, its last
    way = [step.shown for step in steps if step.shown in last_of.values()]
    return tuple(way[-_MAX_STEPS:]) if match.shown in way else (*way[-_MAX_STEPS + 1 :], match.shown)


def _body(about: str, chain: tuple[str, ...]) -> str:
    if len(chain) < 2:
        return f"{about}\n"
    steps = "\n".join(f"{n}. `{command}`" for n, command in enumerate(chain, 1))
    return f"{about}\n\nThe steps that led there, in order:\n\n{steps}\n"
