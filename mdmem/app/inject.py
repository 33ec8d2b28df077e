"""A turn of an agent in, the block for its prompt out: notes, what is always given, and what fits the prompt."""

from __future__ import annotations

import datetime
import hashlib
import itertools
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mdmem import document, files
from mdmem.app.freshness import MAX_LOOKS, Freshness
from mdmem.app.probing import since
from mdmem.app.recalling import recall_of
from mdmem.app.recorded import read_probes
from mdmem.db import Connection
from mdmem.errors import Problem
from mdmem.index import read
from mdmem.index.read import Entry, Standing
from mdmem.ledger import Injection, LastProbe, Place
from mdmem.memory import TYPES
from mdmem.outputs.json import place_json, raw_rel
from mdmem.recall import Query
from mdmem.recall.block import ALWAYS, NOTES, Block, Item, Limits, compose, fitting, item, limits_of
from mdmem.recall.validity import moment, why_not_at

if TYPE_CHECKING:
    from mdmem.app.answers import Backend

MIN_PROMPT, MIN_WIDE_PROMPT = 20, 10  # characters; a shorter prompt says too little to search for
FEW_TOKENS = 50  # of a usual line: how many are read at first follows from it
MAX_NOTES = 32
SPARE = 5

# Prompts that say nothing but "go on", whatever stands around their letters.
CONTROL_WORDS = frozenset(
    "continue|go on|go ahead|proceed|carry on|keep going|keep going please|please continue|continue please|resume"
    "|next|yes|y|yes please|yep|yeah|sure|ok|okay|k|fine|good|great|perfect|thanks|thank you|no|n|nope|stop|cancel"
    "|retry|try again|again|do it|yes do it|yes go ahead|ok go ahead|please go ahead|yes please continue|sounds good"
    "|looks good|lgtm|yes please go ahead|ok continue|okay continue|yes continue|please go on|please proceed"
    "|continue from where you left off|please continue from where you left off|weiter|continuer|continua"
    "|继续|请继续|继续吧|好|好的|可以|是|是的|对|行|嗯|没问题|开始|开始吧|下一步|停|停止|取消|不|不是|谢谢|重试|再试一次|好的继续"
    "|好的请继续|繼續|請繼續|沒問題|開始|謝謝|続けて|続けてください|はい|いいえ|お願いします|계속|계속해|계속해줘|네|아니요".split(
        "|"
    )
)
_NOT_WORDS = re.compile(r"[\W_]+")
# Scripts without spaces, or of syllables: kana, ideographs, hangul. No pattern: its compiling would be felt in a hook.
_WIDE = (
    ("\u3040", "\u30ff"),
    ("\u3400", "\u9fff"),
    ("\uac00", "\ud7a3"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
)
LONG_PROMPT = 200  # characters: says something in any script


Note = Callable[[str, str, Sequence[Injection]], None]  # agent, session, what was given


class Turn(NamedTuple):
    """What is known of a turn. `window_used`: percent of the context window; `budget`: tokens."""

    prompt: str
    cwd: str | None = None
    agent: str | None = None
    session: str | None = None
    window_used: float | None = None
    budget: int = 4_000
    hidden_domains: frozenset[str] = frozenset()  # that the agent may not read
    recalls: bool = True  # False: notes and what is always given alone
    note: Note | None = None  # takes what was given, for the ledger; None: it is not noted


def note_of(asked: object, ledger: Note) -> Note | None:
    """Who takes down what was given: the ledger, nobody, or a caller within this process, once it has arrived."""
    return asked if callable(asked) else None if asked is False else ledger


def inject(
    backend: Backend,
    turn: Turn,
    folder_ids: Callable[[Connection], tuple[int, ...]],
    looked: Freshness,
    now: datetime.datetime,
) -> dict[str, Any]:
    """The answer to `inject`; see docs/json.md."""
    given = backend.given(turn.agent or "", turn.session) if turn.session else {}
    probes = read_probes(backend.app.paths.ledger_db)
    with backend.reader() as db:
        ids = folder_ids(db)
        for _ in range(MAX_LOOKS):
            making = _Making(backend, db, turn, ids, now, looked, probes)
            items, unread = making.items()
            if not looked.freshen([one.entry for one in items]):
                break
        stamps = making.stamps(items)
        new = [one for one in items if given.get(_place(one.entry), b"") != stamps.get(one.entry.id)]
        told = [one for one in new if looked.vouches_for(one.entry)]
        block = compose(told, limits_of(turn.agent, turn.budget), unread=unread)
    if block.memories and turn.note:
        turn.note(turn.agent or "", turn.session or "", [_noted(one, stamps) for one in block.memories])
    return _answer(block, making.degraded)


def recall_count(turn: Turn) -> int:
    """How many memories may be recalled for a turn: fewer, the fuller its window is; none for a prompt that says
    nothing.
    """
    if not turn.recalls or (turn.prompt and not says_something(turn.prompt)):
        return 0
    used = turn.window_used or 0
    return 5 if used < 50 else 2 if used <= 80 else 0


def says_something(prompt: str) -> bool:
    """Whether a prompt is worth a search."""
    text = prompt.strip()
    if len(text) > LONG_PROMPT:
        return True
    wide = any(low <= char <= high for char in text for low, high in _WIDE)
    if len(text) < (MIN_WIDE_PROMPT if wide else MIN_PROMPT):
        return False
    return _NOT_WORDS.sub("" if wide else " ", text).strip().casefold() not in CONTROL_WORDS


class _Making:
    """One look at the index for one block."""

    def __init__(
        self,
        backend: Backend,
        db: Connection,
        turn: Turn,
        ids: tuple[int, ...],
        now: datetime.datetime,
        looked: Freshness,
        probes: dict[Place, LastProbe],
    ) -> None:
        self.backend = backend
        self.db = db
        self.turn = turn
        self.ids = ids
        self.now = now
        self.looked = looked
        self.degraded: list[str] = []
        self._probes = probes
        self._hidden = read.ids_of_domains(db, ids, turn.hidden_domains)

    def items(self) -> tuple[list[Item], int]:
        """What this turn is to be told, whatever the session was told before; and how many of what is always told have
        no room: they have none in the next turn either, or a long list would drip into the window turn by turn.
        """
        notes = self._notes()
        always, unread = self._always(limits_of(self.turn.agent, self.turn.budget))
        standing = [*notes, *always]
        return [*standing, *self._recalled({one.entry.id for one in standing})], unread

    def _item(self, entry: Entry, reason: str) -> Item:
        return item(entry, reason, unverified_since=since(self._probes, entry))

    def _notes(self) -> list[Item]:
        """Notes of the agent itself, newest first, with their text as it is in the file now."""
        if not self.turn.agent:
            return []
        own = [f.id for f in read.folders(self.db) if f.id in self.ids and f.scope == "agent"]
        found = []
        for entry in self._entries(own, [NOTES], MAX_NOTES):
            body = _body(entry)
            if body.strip():
                found.append(item(entry, NOTES, body))
        return found

    def _always(self, limits: Limits) -> tuple[list[Item], int]:
        """Feedback and rules, newest first, as many as there is room for; and how many more there are."""
        total = 0
        for folder_id, name in itertools.product(self.ids, sorted(ALWAYS)):
            if self._hidden:
                total += len(self._standing(folder_id, name, sys.maxsize))
                continue
            undated, dated = read.count_standing(self.db, folder_id, name)
            total += undated + sum(why_not_at(row, self.now) is None for row in dated)
        depth = limits.tokens // FEW_TOKENS + 1
        while True:
            items = [self._item(entry, "always") for entry in self._entries(self.ids, sorted(ALWAYS), depth)]
            room = fitting(items, limits)
            if room < len(items) or len(items) >= total:
                return items[:room], max(total - room, 0)
            depth *= 4

    def _entries(self, folder_ids: Sequence[int], types: Sequence[str], limit: int) -> list[Entry]:
        """Memories of some types that hold now, newest first: `limit` of them, or all there are."""
        rows = [row for pair in itertools.product(folder_ids, types) for row in self._standing(*pair, limit)]
        entries = read.entries(self.db, (row.id for row in sorted(rows, key=_age)[:limit]))
        return sorted(entries.values(), key=_order)

    def _standing(self, folder_id: int, type_name: str, limit: int) -> list[Standing]:
        depth = limit
        while True:
            rows = read.standing(self.db, folder_id, type_name, depth)
            held = [row for row in rows if row.id not in self._hidden and why_not_at(row, self.now) is None]
            if len(held) >= limit or len(rows) < depth:
                return held[:limit]
            depth *= 4

    def stamps(self, items: Sequence[Item]) -> dict[int, bytes]:
        """What a session that was told of a memory knows it by: its file, and whether it is unverified."""
        stamps = read.stamps(self.db, [one.entry.id for one in items])
        doubtful = [one.entry for one in items if since(self._probes, one.entry)]
        return stamps | {e.id: hashlib.sha256(b"unverified" + stamps.get(e.id, b"")).digest() for e in doubtful}

    # --- recall ---------------------------------------------------------------

    def _recalled(self, taken: set[int]) -> list[Item]:
        """The part that follows from the prompt; where nothing is found, by type."""
        count = recall_count(self.turn)
        if not count or not self.ids:
            return []
        folder = Path(self.turn.cwd).name if self.turn.cwd else ""
        for text in dict.fromkeys((self.turn.prompt, self.turn.agent or "", folder)):
            found = self._found(text, count, taken) if text else []
            if found:
                return [self._item(entry, "recalled") for entry in found]
        return [self._item(entry, "priority") for entry in self._by_priority(count, taken)]

    def _found(self, text: str, count: int, taken: set[int]) -> list[Entry]:
        # Asked for are a few more than are given: notes that stand in the block anyway, files that can't be read now.
        types, hidden = frozenset(TYPES) - ALWAYS, self.turn.hidden_domains
        query = Query(text, self.ids, types=types, limit=count + SPARE, hidden_domains=hidden)
        answer = recall_of(self.backend, self.db, self.looked.freshen).find(query, self.now)
        self.degraded = answer.degraded
        found = [hit.entry for hit in answer.hits if not hit.entry.broken and hit.entry.id not in taken]
        return found[:count]

    def _by_priority(self, count: int, taken: set[int]) -> list[Entry]:
        found: list[Entry] = []
        for name in sorted(TYPES.keys() - ALWAYS, key=lambda name: TYPES[name].fold_rank):
            entries = self._entries(self.ids, [name], count + (len(taken) if name == NOTES else 0))
            found += [entry for entry in entries if entry.id not in taken]
            if len(found) >= count:
                break
        return found[:count]


def _body(entry: Entry) -> str:
    """The text of a memory as it is in its file now; "" where it can't be read."""
    found = files.read(Path(files.from_printable(entry.folder)), raw_rel(entry))
    if found is None or isinstance(found, Problem):
        return ""
    parsed = document.parse(found.data, entry.path)
    return "" if parsed.broken else parsed.body


def _age(row: Standing) -> tuple[float, str, str]:
    return -moment(row.updated).timestamp(), row.key, row.path


def _order(entry: Entry) -> tuple[float, str, str, str, str]:
    return -moment(entry.updated).timestamp(), entry.key, entry.scope, entry.scope_ref or "", entry.path


def _place(entry: Entry) -> Place:
    return entry.scope, entry.scope_ref or "", entry.path


def _noted(one: Item, stamps: dict[int, bytes]) -> Injection:
    entry = one.entry
    return Injection(entry.scope, entry.scope_ref, entry.path, stamps.get(entry.id, b""), one.reason)


def _answer(block: Block, degraded: list[str]) -> dict[str, Any]:
    memories = [{**place_json(one.entry), "reason": one.reason} for one in block.memories]
    return {
        "text": block.text,
        "tokens": block.tokens,
        "memories": memories,
        "left_out": block.left_out,
        "degraded": degraded,
    }
