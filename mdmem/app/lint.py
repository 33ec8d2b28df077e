"""Memory files in, what is wrong with them out. Needs no index and no daemon: for `mdmem check`, pre-commit and CI."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mdmem import document, files
from mdmem.errors import Problem
from mdmem.files import Found
from mdmem.gates import secret_problems
from mdmem.memory import Memory

# Whether a [[link]] leads to something is not judged: it may name a memory of another scope, or one still to come.


def lint(folder: str, kind: str, rels: Iterable[str] | None = None) -> list[Problem]:
    """The problems of these files of a scope folder (all of it when None), by path and line.

    `kind`: user, project or agent. A path that is no memory (MEMORY.md, an ignored file) is passed over.
    """
    root = Path(folder)
    scan = files.scan(root) if rels is None else files.look(root, rels)
    problems = list(scan.problems)
    claims: dict[str, list[str]] = {}
    for found in scan.found:
        memory, its = _look_into(root, found, kind)
        problems += its
        if memory is not None and not _has_ended(memory):
            claims.setdefault(memory.key.casefold(), []).append(files.printable(found.rel))
    problems += [problem for key, paths in claims.items() for problem in _same_key(key, paths)]
    return sorted(problems, key=lambda p: (p.path, p.line or 0, p.code))


def _look_into(root: Path, found: Found, kind: str) -> tuple[Memory | None, list[Problem]]:
    read = files.read(root, found.rel)
    if read is None:
        return None, []
    if isinstance(read, Problem):
        return None, [read]
    path = files.printable(found.rel)
    secrets = secret_problems(read.data, path)
    if secrets:
        return None, secrets
    parsed = document.parse(read.data, path)
    if parsed.empty or parsed.broken:
        return None, parsed.problems
    memory, problems = document.memory_of(parsed, path=path, scope=kind)
    return memory, [*parsed.problems, *problems]


def _has_ended(memory: Memory) -> bool:
    return memory.status == "archived" or bool(memory.invalid_at or memory.superseded_by)


def _same_key(key: str, paths: list[str]) -> list[Problem]:
    return [
        Problem(
            path,
            None,
            "same-key",
            f"{paths[0]} has the key {key!r} too",
            "give one of them another `key:`, or archive it",
        )
        for path in paths[1:]
    ]
