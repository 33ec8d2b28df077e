-- What was decided about proposed memories; the newest of a mark holds. Content-free: marks are hashes.
CREATE TABLE decision (
  id       INTEGER PRIMARY KEY,
  mark     TEXT NOT NULL,  -- sha256 of scope, key and words; or, for never, of a pattern: scope, type, start of the key
  decision TEXT NOT NULL,  -- approve | edit | reject | never
  evidence TEXT NOT NULL,  -- the kind of its evidence: stated | inferred | tool | imported
  at       TEXT NOT NULL
) STRICT;
CREATE INDEX decision_mark ON decision (mark, id);
