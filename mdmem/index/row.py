"""A memory and what is known of its file in, everything the index keeps of it out. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from mdmem.index.days import day_words
from mdmem.index.edges import edges_of, names_of
from mdmem.index.entities import entities_of
from mdmem.index.pieces import digest, pieces_of
from mdmem.index.tokens import fold, index_text, is_wide
from mdmem.memory import Memory

_FRONT = ("entities", "tags", "aliases", "supersedes", "derived_from", "proof", "probe", "roles", "id", "extra")


class Stat(NamedTuple):
    """What tells one state of a file from another. Sizes in bytes, times in ns."""

    size: int
    mtime_ns: int
    ctime_ns: int
    device: int
    inode: int
    looked_ns: int


class Row(NamedTuple):
    """One memory, ready to be written."""

    memory: Memory
    path: str
    path_raw: bytes | None
    stat: Stat
    sha256: bytes
    created_found: str
    updated_found: str
    ended: bool
    front: str
    texts: tuple[str, str, str, str]  # name, description, body, labels for full text
    entities: list[str]
    edges: list[tuple[str, str]]
    names: list[str]
    pieces: list[bytes]
    wide: bool  # written in Chinese, Japanese or Korean for the most part
    broken: bool = False  # its frontmatter can't be read: this is its text


def make_row(
    memory: Memory,
    *,
    path: str,
    path_raw: bytes | None,
    stat: Stat,
    sha256: bytes,
    found: tuple[str, str],
    aliases: Mapping[str, str],
    broken: bool = False,
) -> Row:
    """`found`: the (created, updated) times that hold where the file does not say."""
    entities = entities_of(memory, aliases)
    as_written = (name for name in memory.entities if name.lower() not in entities)
    labels = " ".join((memory.key, *memory.tags, *memory.aliases, *entities, *as_written))
    said = f"{memory.name}\n{memory.description}\n{memory.body}"
    return Row(
        memory,
        path,
        path_raw,
        stat,
        sha256,
        *found,
        ended=memory.status == "archived" or bool(memory.invalid_at) or bool(memory.superseded_by),
        front=_front(memory),
        texts=(
            index_text(memory.name),
            index_text(memory.description),
            index_text(memory.body),
            " ".join((index_text(labels), *day_words(said))),
        ),
        entities=entities,
        edges=edges_of(memory),
        names=sorted(names_of(memory.key, path, memory.name, memory.aliases)),
        pieces=[digest(text) for text in pieces_of(memory)],
        wide=is_wide(said),
        broken=broken,
    )


def _front(memory: Memory) -> str:
    values = {name: getattr(memory, name) for name in _FRONT}
    return json.dumps({k: v for k, v in values.items() if v}, ensure_ascii=False, separators=(",", ":"))


def key_folded(memory: Memory) -> str:
    return fold(memory.key)
