from tests.beds import bed, embedder

__all__ = ["bed", "embedder"]
