"""Recall: a query in, hits with their reasons out."""

from typing import TYPE_CHECKING

from mdmem.lazy import door

if TYPE_CHECKING:
    from mdmem.recall.find import Recall
    from mdmem.recall.query import MODES, Answer, Hit, Query, Why
    from mdmem.recall.validity import why_invalid

__all__ = ["MODES", "Answer", "Hit", "Query", "Recall", "Why", "why_invalid"]

__getattr__ = door(
    __name__,
    {
        "MODES": "query",
        "Answer": "query",
        "Hit": "query",
        "Query": "query",
        "Recall": "find",
        "Why": "query",
        "why_invalid": "validity",
    },
)
