"""In: texts and settings. Out: vectors, from a built-in model or a server. Importing this room loads no model."""

from __future__ import annotations

from mdmem.models.embedder import Embedder, EmbedderSettings, EmbedError
from mdmem.models.loan import give_back_memory
from mdmem.models.make import make_embedder, why_none
from mdmem.models.quantise import cosine, quantise, same_weights
from mdmem.models.weights import verify_weights

__all__ = [
    "EmbedError",
    "Embedder",
    "EmbedderSettings",
    "cosine",
    "give_back_memory",
    "make_embedder",
    "quantise",
    "same_weights",
    "verify_weights",
    "why_none",
]
