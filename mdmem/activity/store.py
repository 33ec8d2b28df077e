"""Another program's database: which tables and columns it has. Its versions differ in both."""

from __future__ import annotations

from mdmem.db import Connection


def tables_of(db: Connection) -> set[str]:
    return {str(row[0]) for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def columns(db: Connection, table: str, short: str, names: str) -> str:
    """The columns of a table for a SELECT, as text of SQL: NULL for each that this version does not have."""
    there = {str(row[0]) for row in db.execute("SELECT name FROM pragma_table_info(?)", (table,))}
    return ", ".join(f"{short}.{name}" if name in there else "NULL" for name in names.split())
