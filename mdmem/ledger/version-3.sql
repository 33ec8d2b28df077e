-- How far the activity logs of agents were read, and what is needed to go on from there.
CREATE TABLE cursor (
  path       BLOB PRIMARY KEY,  -- of the log, as the system has it
  agent      TEXT NOT NULL,
  device     INTEGER NOT NULL,
  inode      INTEGER NOT NULL,
  offset     INTEGER NOT NULL,  -- after the last complete line that was read; 0 for a database
  line       INTEGER NOT NULL,  -- how many lines that were; -1: not counted yet
  skipping   INTEGER NOT NULL,  -- 1: inside a line that is too long
  head       BLOB NOT NULL,     -- hash of the first head_bytes: another one is another file
  head_bytes INTEGER NOT NULL,
  last       BLOB NOT NULL,     -- hash of the last bytes before offset
  past       INTEGER NOT NULL,  -- offset at first contact: what stands before it was left out
  state      TEXT NOT NULL,     -- JSON: what the reader remembers
  memo       TEXT NOT NULL,     -- JSON: what those remember who look for things in the events
  notes      TEXT NOT NULL,     -- JSON: counts of what could not be read
  read_at    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX cursor_inode ON cursor (device, inode);

-- Records that were read, by a hash of the agent's own id: a fork or a resume repeats them. Kept for a year.
CREATE TABLE seen_record (
  key  INTEGER PRIMARY KEY,
  day  INTEGER NOT NULL,         -- days since 1970-01-01
  used INTEGER NOT NULL          -- 0: passed over, since it is older than the first contact
) STRICT;

-- What was found in the logs and is not a file yet.
CREATE TABLE outbox (
  id    INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice
  found BLOB NOT NULL,          -- JSON
  at    TEXT NOT NULL
) STRICT;

-- How often a gate refused what was proposed.
CREATE TABLE refusal (
  gate  TEXT PRIMARY KEY,
  count INTEGER NOT NULL,
  last  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
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
