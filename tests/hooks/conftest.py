from tests.app.conftest import bed, embedder, here

__all__ = ["bed", "embedder", "here"]
