"""A backend and a read connection in, recall with everything it needs from higher rooms out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdmem.db import Connection
from mdmem.index import seek
from mdmem.recall import Recall
from mdmem.recall.find import Freshen

if TYPE_CHECKING:
    from mdmem.app.answers import Backend


def recall_of(backend: Backend, db: Connection, freshen: Freshen) -> Recall:
    settings = backend.app.settings.recall
    return Recall(
        db,
        embed=backend.embed if backend.has_embedder() else None,
        decay=settings.time_decay_lambda,
        weights={str(voice): share for voice, share in settings.weights.items()},
        used=lambda first, last: seek.ids_at(db, backend.used_between(first, last)),
        freshen=freshen,
    )
