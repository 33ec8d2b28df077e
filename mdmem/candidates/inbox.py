"""A candidate in, its file in the inbox out."""
