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
