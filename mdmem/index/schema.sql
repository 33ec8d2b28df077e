-- The index: everything here can be made again from the files. Times are UTC.

-- One row per fact about the index itself: 'vec_model', 'vec_dimension'.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value ANY
) STRICT, WITHOUT ROWID;

-- One row per scope folder that was ever indexed.
CREATE TABLE scope_folder (
  id         INTEGER PRIMARY KEY,
  scope      TEXT NOT NULL,               -- user | project | agent
  scope_ref  TEXT,                        -- NULL for user
  path       TEXT NOT NULL UNIQUE,        -- absolute, printable
  device     INTEGER,                     -- st_dev of the folder at its last scan
  inode      INTEGER,                     -- st_ino of the folder at its last scan
  state      TEXT NOT NULL DEFAULT 'ok',  -- ok | offline | unreadable: only 'ok' is recalled
  complete   INTEGER NOT NULL DEFAULT 0,  -- 1 once a whole scan has been written, set last
  head       TEXT,                        -- git HEAD that the dates were read at; NULL outside git
  last_scan  TEXT,                        -- RFC 3339
  last_change TEXT,                       -- RFC 3339
  last_drift INTEGER NOT NULL DEFAULT 0   -- memories that the last scan found differing, though no change told of them
) STRICT;

-- One row per memory. id = scope_folder.id << 32 | n, so that a range of ids is one folder: full-text
-- queries are bounded to a scope inside FTS5.
CREATE TABLE memory_entry (
  id            INTEGER PRIMARY KEY,
  folder_id     INTEGER NOT NULL REFERENCES scope_folder (id) ON DELETE CASCADE,
  path          TEXT NOT NULL,    -- relative, POSIX, printable
  path_raw      BLOB,             -- the same as bytes, where they are not UTF-8
  key           TEXT NOT NULL,    -- NFC
  key_folded    TEXT NOT NULL,    -- NFC, casefolded
  name          TEXT NOT NULL,
  description   TEXT NOT NULL,
  type          TEXT NOT NULL,
  confidence    REAL NOT NULL,    -- 0..1
  source        TEXT NOT NULL,
  domain        TEXT,
  topic         TEXT,
  status        TEXT,             -- as pinned in the file; NULL: follows from use
  stability     TEXT,
  valid_from    TEXT,             -- ISO day or RFC 3339
  invalid_at    TEXT,
  expires       TEXT,
  superseded_by TEXT,             -- key or link as the file says
  created       TEXT,             -- as the file says; NULL: see created_found
  updated       TEXT,
  created_found TEXT NOT NULL,    -- RFC 3339: first commit, else mtime
  updated_found TEXT NOT NULL,    -- RFC 3339: last commit, else mtime
  ended         INTEGER NOT NULL, -- 1: its own frontmatter ends it, whatever the day
  replaced_by   TEXT,             -- key of a memory of the same folder whose `supersedes` names this one
  front         TEXT NOT NULL,    -- JSON: entities, tags, aliases, derived_from, proof, probe, for, id, unknown keys
  size          INTEGER NOT NULL, -- bytes
  mtime_ns      INTEGER NOT NULL,
  ctime_ns      INTEGER NOT NULL,
  device        INTEGER NOT NULL,
  inode         INTEGER NOT NULL,
  looked_ns     INTEGER NOT NULL, -- when it was read, by our clock
  sha256        BLOB NOT NULL,    -- of the whole file
  wide          INTEGER NOT NULL, -- 1: written in Chinese, Japanese or Korean for the most part
  broken        INTEGER NOT NULL, -- the file can't be read as a memory now: 1 this is its last good state, 2 it
                                  -- never could, this is its text
  UNIQUE (folder_id, path)
) STRICT;
CREATE INDEX memory_entry_key ON memory_entry (folder_id, key_folded);
CREATE INDEX memory_entry_manifest ON memory_entry (folder_id, ended, replaced_by, type);
-- All that is asked of thousands of memories each time that a block is made.
CREATE INDEX memory_entry_standing ON memory_entry (folder_id, type, coalesce(updated, updated_found) DESC, key, path,
  status, valid_from, invalid_at, expires) WHERE broken = 0 AND superseded_by IS NULL AND replaced_by IS NULL;

-- What a link may call a memory besides its key: path, file name, name and aliases, folded.
CREATE TABLE memory_name (
  name     TEXT NOT NULL,
  entry_id INTEGER NOT NULL REFERENCES memory_entry (id) ON DELETE CASCADE,
  PRIMARY KEY (name, entry_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_name_entry ON memory_name (entry_id);

-- Full text. Same rowid as memory_entry; the text comes from tokens.py, the days that it names from days.py (in labels).
CREATE VIRTUAL TABLE memory_fts USING fts5 (
  name, description, body, labels,
  content = '', contentless_delete = 1,
  tokenize = "porter unicode61 remove_diacritics 2 tokenchars '_'"
);

-- The pieces of a memory that have, or are to have, a vector. memory_vec (made on first need) has the same ids.
CREATE TABLE memory_piece (
  id       INTEGER PRIMARY KEY,
  entry_id INTEGER NOT NULL REFERENCES memory_entry (id) ON DELETE CASCADE,
  n        INTEGER NOT NULL,            -- 0, 1, ... in the order of the text
  sha256   BLOB NOT NULL,               -- of the piece's text
  state    INTEGER NOT NULL DEFAULT 0,  -- 0 waiting, 1 has its vector, 2 failed and parked
  tries    INTEGER NOT NULL DEFAULT 0,
  retry_ns INTEGER NOT NULL DEFAULT 0   -- parked until then, by the wall clock
) STRICT;
CREATE INDEX memory_piece_entry ON memory_piece (entry_id);
CREATE INDEX memory_piece_waiting ON memory_piece (state, id) WHERE state != 1;

-- What memories are about.
CREATE TABLE memory_entity (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE             -- normalised, see entities.py
) STRICT;

-- Which memory is about what.
CREATE TABLE memory_entity_link (
  entry_id  INTEGER NOT NULL REFERENCES memory_entry (id) ON DELETE CASCADE,
  entity_id INTEGER NOT NULL REFERENCES memory_entity (id),
  PRIMARY KEY (entry_id, entity_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_entity_link_entity ON memory_entity_link (entity_id);

-- From a memory to what it names; `target` is folded as in edges.py and may name nothing that exists.
CREATE TABLE memory_edge (
  entry_id INTEGER NOT NULL REFERENCES memory_entry (id) ON DELETE CASCADE,
  kind     TEXT NOT NULL,               -- link | supersedes | derived_from | turn
  target   TEXT NOT NULL,
  PRIMARY KEY (entry_id, kind, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_edge_target ON memory_edge (kind, target);

-- Two memories that can't both hold.
CREATE TABLE memory_conflict (
  winner_id INTEGER NOT NULL REFERENCES memory_entry (id) ON DELETE CASCADE,
  loser_id  INTEGER NOT NULL REFERENCES memory_entry (id) ON DELETE CASCADE,
  reason    TEXT NOT NULL,
  waits     INTEGER NOT NULL,           -- 1: for a person; both are still recalled
  PRIMARY KEY (winner_id, loser_id)
) STRICT, WITHOUT ROWID;

-- Trouble with one file.
CREATE TABLE memory_problem (
  folder_id INTEGER NOT NULL REFERENCES scope_folder (id) ON DELETE CASCADE,
  path      TEXT NOT NULL,              -- relative, printable
  line      INTEGER,                    -- from 1; NULL: the file as a whole
  code      TEXT NOT NULL,
  message   TEXT NOT NULL,
  hint      TEXT NOT NULL,
  origin    TEXT NOT NULL               -- file: what is in it | scan: what a look met | whole: what only a
                                        -- look at the whole folder meets | key:<key>: two files claim it | ring:
                                        -- they supersede each other | manifest: MEMORY.md can't be written
) STRICT;
CREATE INDEX memory_problem_path ON memory_problem (folder_id, path);

-- Vectors by content, so that a rebuild or a branch switch costs nothing.
CREATE TABLE embedding_cache (
  model  TEXT NOT NULL,
  sha256 BLOB NOT NULL,
  vector BLOB NOT NULL,                 -- int8, normalised
  used   TEXT NOT NULL,                 -- the last day on which a memory held this text
  PRIMARY KEY (model, sha256)
) STRICT, WITHOUT ROWID;
