"""How memories are used: counts and times in, the same out; kept over renames, and for 30 days over a removal.

What agents were given in their prompts is kept beside it, for 30 days.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import NamedTuple

from mdmem.db import LEDGER, Connection, as_int, open_writer, scalar, transaction
from mdmem.ledger import cursors, decisions, injections, probes
from mdmem.ledger.cursors import Cursor
from mdmem.ledger.decisions import Decided
from mdmem.ledger.injections import Injection, Place
from mdmem.ledger.moment import stamp
from mdmem.ledger.probes import Probed

KEEP_DAYS = 30
HOOK = "hook"  # names of timers are "hook AGENT EVENT"
_EPOCH = datetime.date(1970, 1, 1).toordinal()
MAX_USED = 60


class Use(NamedTuple):
    """How often a memory was recalled by key, and when last (RFC 3339)."""

    hit_count: int
    last_seen: str | None


def find_use(db: Connection, scope: str, scope_ref: str | None, path: str) -> Use:
    """How a memory was used; zero and None where it never was."""
    row = db.execute(
        "SELECT hit_count, last_seen FROM memory_use WHERE scope = ? AND scope_ref = ? AND path = ?"
        " AND removed_at IS NULL",
        (scope, scope_ref or "", path),
    ).fetchone()
    return Use(as_int(row[0]), None if row[1] is None else str(row[1])) if row else Use(0, None)


def find_used_between(db: Connection, first: str, last: str) -> list[Place]:
    """What was recalled by key in the days from `first` to `last` (ISO), the latest first; at most MAX_USED."""
    rows = db.execute(
        "SELECT scope, scope_ref, path FROM memory_use WHERE removed_at IS NULL"
        " AND substr(last_seen, 1, 10) BETWEEN ? AND ? ORDER BY last_seen DESC, scope, scope_ref, path LIMIT ?",
        (first, last, MAX_USED),
    )
    return [(str(row[0]), str(row[1]), str(row[2])) for row in rows]


def find_hooks(db: Connection) -> dict[tuple[str, str], str]:
    """When hooks last came in: (agent, event) -> time."""
    rows = db.execute("SELECT name, last FROM timer WHERE name LIKE ?", (f"{HOOK} % %",))
    found = ((str(row[0]).split(" ", 2), str(row[1])) for row in rows)
    return {(agent, event): last for (_, agent, event), last in found}


def find_refusals(db: Connection) -> dict[str, int]:
    """How often each gate refused what was proposed."""
    return {str(row[0]): as_int(row[1]) for row in db.execute("SELECT gate, count FROM refusal ORDER BY gate")}


class Ledger:
    """The open ledger. Every method is one transaction."""

    def __init__(self, path: str, *, hurried: bool = False) -> None:
        """`hurried`: see `open_writer`."""
        self.path = path
        self.db: Connection = open_writer(LEDGER, path, hurried=hurried)

    def close(self) -> None:
        self.db.close()

    def seen(self, scope: str, scope_ref: str | None, path: str, now: str) -> None:
        """A memory was recalled by key."""
        with transaction(self.db):
            self.db.execute(
                "INSERT INTO memory_use (scope, scope_ref, path, hit_count, last_seen) VALUES (?, ?, ?, 1, ?)"
                " ON CONFLICT DO UPDATE SET hit_count = hit_count + 1, last_seen = excluded.last_seen",
                (scope, scope_ref or "", path, now),
            )
            injections.mark_opened(self.db, (scope, scope_ref or "", path), now)

    def injected(self, agent: str, session: str, given: Sequence[Injection], now: str) -> None:
        """Memories were given to an agent's session ("" where the caller names none)."""
        with transaction(self.db):
            injections.put(self.db, agent, session, given, now)

    def given(self, agent: str, session: str) -> dict[Place, bytes]:
        return injections.find_given(self.db, agent, session)

    def forget_session(self, agent: str, session: str) -> None:
        """A session was compacted: what it was given may be gone from its context."""
        with transaction(self.db):
            injections.forget_session(self.db, agent, session)

    def use(self, scope: str, scope_ref: str | None, path: str) -> Use:
        return find_use(self.db, scope, scope_ref, path)

    def follow(
        self,
        scope: str,
        scope_ref: str | None,
        *,
        moved: list[tuple[str, str]],
        removed: list[tuple[str, bytes]],
        added: list[tuple[str, bytes]],
        now: str,
    ) -> None:
        """Files of one scope moved (old path, new path), went and came (path, sha256).

        What went keeps its row, marked; what comes finds its own again by path, else by content.
        """
        ref = scope_ref or ""
        if not self._any(scope, ref):
            return  # most scopes have no history yet: a first index of 10,000 files asks once
        with transaction(self.db):
            for old, new in moved:
                self.db.execute(
                    "UPDATE OR REPLACE memory_use SET path = ? WHERE scope = ? AND scope_ref = ? AND path = ?",
                    (new, scope, ref, old),
                )
            injections.follow_moves(self.db, scope, ref, moved)
            probes.follow(self.db, scope, ref, moved, [p for p, _ in removed], [p for p, _ in added], now)
            self.db.executemany(
                "UPDATE memory_use SET removed_at = ?, sha256 = ? WHERE scope = ? AND scope_ref = ? AND path = ?",
                [(now, sha256, scope, ref, path) for path, sha256 in removed],
            )
            for path, sha256 in added:
                self.db.execute(
                    "UPDATE OR IGNORE memory_use SET removed_at = NULL, sha256 = NULL, path = ?1"
                    " WHERE scope = ?2 AND scope_ref = ?3 AND removed_at IS NOT NULL"
                    " AND (path = ?1 OR path = (SELECT path FROM memory_use"
                    " WHERE scope = ?2 AND scope_ref = ?3 AND sha256 = ?4 AND removed_at IS NOT NULL"
                    " ORDER BY removed_at DESC, path LIMIT 1))",
                    (path, scope, ref, sha256),
                )

    def _any(self, scope: str, ref: str) -> bool:
        return bool(
            self.db.execute(
                "SELECT 1 WHERE EXISTS (SELECT 1 FROM memory_use WHERE scope = ?1 AND scope_ref = ?2)"
                " OR EXISTS (SELECT 1 FROM injection WHERE scope = ?1 AND scope_ref = ?2)"
                " OR EXISTS (SELECT 1 FROM probe WHERE scope = ?1 AND scope_ref = ?2)",
                (scope, ref),
            ).fetchone()
        )

    def cursor(self, path: bytes) -> Cursor | None:
        return cursors.find_cursor(self.db, path)

    def cursors_of(self, device: int, inode: int) -> list[Cursor]:
        return cursors.find_by_inode(self.db, device, inode)

    def noted_logs(self) -> list[tuple[bytes, str, str]]:
        """Path, agent and notes (JSON) of each activity log of which something is noted."""
        return cursors.all_notes(self.db)

    def seen_records(self, keys: Sequence[int], *, used: bool = False) -> set[int]:
        """Which of these records were seen before; `used`: only those that were not passed over as past."""
        return cursors.seen(self.db, keys, used=used)

    def tailed(
        self,
        now: str,
        *,
        cursor: Cursor | None = None,
        instead_of: bytes | None = None,
        keys: Sequence[int] = (),
        used: bool = True,
        found: Sequence[bytes] = (),
    ) -> None:
        """A part of an activity log was read, all at once: how far (in place of another path's cursor, where the file
        was moved), the records that were used or only passed over, and what was found in them.
        """
        day = datetime.datetime.fromisoformat(now).toordinal() - _EPOCH
        with transaction(self.db):
            if instead_of is not None:
                cursors.drop_cursor(self.db, instead_of)
            if cursor is not None:
                cursors.put_cursor(self.db, cursor, now)
            cursors.put_seen(self.db, keys, day, used=used)
            cursors.put_found(self.db, found, now)

    def start_tails(self, made: Sequence[Cursor], now: str) -> None:
        """Logs that were met for the first time."""
        with transaction(self.db):
            for cursor in made:
                cursors.put_cursor(self.db, cursor, now)

    def waiting(self, limit: int = 100) -> list[tuple[int, bytes]]:
        """What was found in activity logs and is not a file yet, the oldest first: (id, JSON)."""
        return cursors.waiting(self.db, limit)

    def filed(self, ids: Sequence[int]) -> None:
        """These are files now."""
        with transaction(self.db):
            cursors.drop_found(self.db, ids)

    def expire_records(self, now: str) -> None:
        today = datetime.datetime.fromisoformat(now)
        before = today - datetime.timedelta(days=cursors.SEEN_DAYS)
        with transaction(self.db):
            cursors.expire(self.db, today.toordinal() - _EPOCH, stamp(before))

    def last(self, timer: str) -> str | None:
        """When something that is done now and then was done last; None when it never was."""
        found = scalar(self.db, "SELECT last FROM timer WHERE name = ?", (timer,))
        return None if found is None else str(found)

    def note_hook(self, agent: str, event: str, now: str) -> None:
        """A hook of an agent came in: the proof that it fires."""
        self.note(f"{HOOK} {agent} {event}", now)

    def refused(self, gate: str, now: str) -> None:
        """A gate refused what was proposed."""
        with transaction(self.db):
            self.db.execute(
                "INSERT INTO refusal VALUES (?, 1, ?)"
                " ON CONFLICT DO UPDATE SET count = count + 1, last = excluded.last",
                (gate, now),
            )

    def note(self, timer: str, now: str) -> None:
        with transaction(self.db):
            self.db.execute("INSERT OR REPLACE INTO timer VALUES (?, ?)", (timer, now))

    def decided(self, made: Sequence[Decided], taken_back: Sequence[Decided] = ()) -> None:
        """Decisions about proposed memories were made, or taken back."""
        with transaction(self.db):
            decisions.take_back(self.db, taken_back)
            decisions.put(self.db, made)

    def allow_probes(self, allowed: Sequence[bytes], now: str) -> None:
        """A person has allowed these probes (hashes of place and text) to be run."""
        with transaction(self.db):
            probes.allow(self.db, allowed, now)

    def probed(self, results: Sequence[Probed]) -> None:
        """Probes were run."""
        with transaction(self.db):
            probes.put(self.db, results)

    def doubted(self, scope: str, scope_ref: str | None, path: str, at: str) -> None:
        """A log told at a time (RFC 3339) that what a memory says failed: it is unverified until verified again."""
        with transaction(self.db):
            probes.doubt(self.db, (scope, scope_ref or "", path), at)

    def vouched(self, scope: str, scope_ref: str | None, path: str, at: str) -> None:
        """A log told at a time that what a memory says worked: what was doubted before is so no longer."""
        with transaction(self.db):
            probes.vouch(self.db, (scope, scope_ref or "", path), at)

    def expire(self, before: str) -> int:
        """Drop the history of what was removed, and what was given, before a time; how many memories were removed."""
        with transaction(self.db):
            injections.expire(self.db, before)
            probes.expire(self.db, before)
            self.db.execute("DELETE FROM memory_use WHERE removed_at IS NOT NULL AND removed_at < ?", (before,))
            return self.db.changes()
