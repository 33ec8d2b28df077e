"""The index: rows in, answers out. Writing has a door of its own, `index.write`, which only `reindex` may use."""

from typing import TYPE_CHECKING

from mdmem.index import read, seek
from mdmem.index.tokens import fold, index_text, match_expression, query_terms
from mdmem.lazy import door

if TYPE_CHECKING:
    from mdmem.index.pieces import digest, pieces_of
    from mdmem.index.row import Row, Stat, make_row
    from mdmem.index.vectors import Piece, Vectors

__all__ = [
    "Piece", "Row", "Stat", "Vectors", "digest", "fold",
    "index_text", "make_row", "match_expression", "pieces_of", "query_terms",
    "read", "seek",
]  # fmt: skip

# What makes rows: a question has no use for it.
__getattr__ = door(
    __name__,
    {
        **dict.fromkeys(("digest", "pieces_of"), "pieces"),
        **dict.fromkeys(("Row", "Stat", "make_row"), "row"),
        **dict.fromkeys(("Piece", "Vectors"), "vectors"),
    },
)
