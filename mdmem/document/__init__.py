"""Bytes of one file in, a Document or a Memory out; and bytes with single lines edited."""

from typing import TYPE_CHECKING

from mdmem.lazy import door

if TYPE_CHECKING:
    from mdmem.document.dates import normalise_date
    from mdmem.document.edits import add_verified, compose, remove_fields, set_body, set_fields
    from mdmem.document.memories import memory_of
    from mdmem.document.reading import parse
    from mdmem.document.shape import Document
    from mdmem.document.slugs import slug

__all__ = [
    "Document",
    "add_verified",
    "compose",
    "memory_of",
    "normalise_date",
    "parse",
    "remove_fields",
    "set_body",
    "set_fields",
    "slug",
]

__getattr__ = door(
    __name__,
    {
        "Document": "shape",
        "memory_of": "memories",
        "normalise_date": "dates",
        "parse": "reading",
        "slug": "slugs",
        **dict.fromkeys(("add_verified", "compose", "remove_fields", "set_body", "set_fields"), "edits"),
    },
)
