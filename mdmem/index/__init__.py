"""The index: rows in, answers out. Writing has a door of its own, `index.write`, which only `reindex` may use.

What makes rows is found when it is asked for: a question, and above all a hook's, has no use for it.
"""

from typing import TYPE_CHECKING

from mdmem.index import read, seek
from mdmem.index.tokens import fold, index_text, match_expression, query_terms

if TYPE_CHECKING:
    from mdmem.index.pieces import digest, pieces_of
    from mdmem.index.row import Row, Stat, make_row
    from mdmem.index.vectors import Piece, Vectors

_MAKERS = {
    "digest": "pieces", "pieces_of": "pieces", "Row": "row", "Stat": "row", "make_row": "row",
    "Piece": "vectors", "Vectors": "vectors",
}  # fmt: skip

__all__ = [
    "Piece", "Row", "Stat", "Vectors", "digest", "fold",
    "index_text", "make_row", "match_expression", "pieces_of", "query_terms",
    "read", "seek",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _MAKERS:
        import importlib

        return getattr(importlib.import_module(f"mdmem.index.{_MAKERS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
