-- The ledger: what is known from nowhere else. Losing it loses no memory. Times are RFC 3339 UTC.

-- How a memory was used. Known by scope and path; a rename takes its row along.
CREATE TABLE memory_use (
  scope         TEXT NOT NULL,
  scope_ref     TEXT NOT NULL DEFAULT '',  -- '' for user
  path          TEXT NOT NULL,             -- relative, printable
  sha256        BLOB,                      -- of the file when it was removed: finds it again under another name
  hit_count     INTEGER NOT NULL DEFAULT 0,
  last_seen     TEXT,
  removed_at    TEXT,                      -- kept for 30 days
  PRIMARY KEY (scope, scope_ref, path)
) STRICT, WITHOUT ROWID;

-- Timers that must survive a restart.
CREATE TABLE timer (
  name TEXT PRIMARY KEY,
  last TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What was given to agents in their prompts, and whether it was then opened. Kept for 30 days. No prompt is stored.
CREATE TABLE injection (
  id         INTEGER PRIMARY KEY,
  agent      TEXT NOT NULL,              -- '' when the caller named none
  session    TEXT NOT NULL,              -- the agent's own name for it; '' when the caller named none
  scope      TEXT NOT NULL,
  scope_ref  TEXT NOT NULL,              -- '' for user
  path       TEXT NOT NULL,              -- relative, printable; a rename takes it along
  sha256     BLOB NOT NULL,              -- of the file as it was given
  reason     TEXT NOT NULL,              -- notes | always | recalled | priority
  at         TEXT NOT NULL,
  in_context INTEGER NOT NULL DEFAULT 1, -- 0: the session was compacted since, and may have lost it
  opened_at  TEXT                        -- when it was first recalled by key after that
) STRICT;
CREATE INDEX injection_session ON injection (agent, session) WHERE in_context = 1;
CREATE INDEX injection_memory ON injection (scope, scope_ref, path, id);
