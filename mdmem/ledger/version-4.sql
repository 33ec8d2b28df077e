-- What was decided about proposed memories; the newest of a mark holds. Content-free: marks are hashes.
CREATE TABLE decision (
  id       INTEGER PRIMARY KEY,
  mark     TEXT NOT NULL,  -- sha256 of scope, key and words; or, for never, of a pattern: scope, type, start of the key
  decision TEXT NOT NULL,  -- approve | edit | reject | never
  evidence TEXT NOT NULL,  -- the kind of its evidence: stated | inferred | tool | imported
  at       TEXT NOT NULL
) STRICT;
CREATE INDEX decision_mark ON decision (mark, id);

-- What the last probe of a memory said. Known by scope and path; a rename takes its row along.
CREATE TABLE probe (
  scope        TEXT NOT NULL,
  scope_ref    TEXT NOT NULL,  -- '' for user
  path         TEXT NOT NULL,  -- relative, printable
  sha256       BLOB,           -- of the probe's text as it was run; NULL: none was run yet
  ok           INTEGER,        -- 1: verified
  exit_code    INTEGER,        -- NULL: it did not end by itself, or could not be started
  at           TEXT,
  ms           INTEGER,
  failed_since TEXT,           -- when this text failed first, since it last was verified
  doubted_at   TEXT,           -- when a log told, since then, that the like failed
  removed_at   TEXT,           -- of the file; kept for 30 days
  PRIMARY KEY (scope, scope_ref, path)
) STRICT, WITHOUT ROWID;

-- The probes that a person has allowed to be run.
CREATE TABLE probe_allowed (
  sha256 BLOB PRIMARY KEY,  -- of the folder that it is run in ('' for the person's home), a zero byte, and the exact text
  at     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
