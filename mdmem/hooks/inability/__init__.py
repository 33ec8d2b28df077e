"""An assistant's closing message in, the sentences in which it says that it could not do something out."""

from mdmem.hooks.inability.verdict import inability

__all__ = ["inability"]
