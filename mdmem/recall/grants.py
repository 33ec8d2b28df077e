"""A role's grants and a memory in; whether the role may see it, or write it as a rule, out. Pure.

Reading fails open: only a domain granted "none" is hidden. Writing rules fails closed: a role that has a table of
grants needs "write". A role is the id of an agent, a domain is compared folded, like a key; `*` is every domain that
the table doesn't name, and no domain at all, and counts for writing alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from mdmem.errors import RefusedError
from mdmem.index import fold

Grants = Mapping[str, Mapping[str, str]]  # role -> domain -> none | read | write

ANY = "*"
_BARE = re.compile(r"[A-Za-z0-9_-]+")  # a key that TOML takes without quotes


def hidden_domains(grants: Grants, role: str | None) -> frozenset[str]:
    """The domains, folded, whose memories a role must not see."""
    table = _table(grants, role) or {}
    return frozenset(domain for domain, grant in table.items() if grant == "none" and domain != ANY)


def may_write_rule(grants: Grants, role: str | None, domain: str | None) -> bool:
    """Whether a role may put down, change or move a rule of a domain (None or '': of none)."""
    table = _table(grants, role)
    return table is None or table.get(fold(domain or ANY), table.get(ANY)) == "write"


def check_writing(grants: Grants, role: str | None, type_name: str, domain: str | None, *, where: str) -> None:
    """Raise RefusedError where a role may not write a memory; `where` is the config, and the hint its missing line."""
    if type_name != "rule" or may_write_rule(grants, role, domain):
        return
    what = f"in the domain {domain!r}" if domain else "without a domain"
    table, line = f"[recall.grants.{_toml_key(role or '')}]", f'{_toml_key(domain or ANY)} = "write"'
    raise RefusedError(f"{role} may not write rules {what}", where=where, hint=f"under {table} it takes: {line}")


def _table(grants: Grants, role: str | None) -> dict[str, str] | None:
    if role is None or role not in grants:
        return None
    return {fold(domain): grant for domain, grant in grants[role].items()}


def _toml_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)
