"""Scope folders in, an index in step with them out: see `sync`, and `dates` for what git knows of them."""
