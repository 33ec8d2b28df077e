"""Recall: a query in, hits with their reasons out."""

from mdmem.recall.find import Recall
from mdmem.recall.query import MODES, Answer, Hit, Query, Why
from mdmem.recall.validity import why_invalid

__all__ = ["MODES", "Answer", "Hit", "Query", "Recall", "Why", "why_invalid"]
