"""The request `conflicts`: pairs that can't both hold, as far as the caller may see both."""

from __future__ import annotations

from mdmem.app import Answers
from tests.app.test_answers import ask
from tests.bed import Bed, memory


def test_a_pair_is_told_to_whoever_may_see_both(bed: Bed, here: Answers) -> None:
    bed.put("new.md", "Port 5433.")
    bed.put("old.md", memory("Port 5432.", domain="ops"))
    ask(here, "sync")
    with here.backend.reader() as db:
        ids = dict(db.execute("SELECT key, id FROM memory_entry"))
    store = here.backend.store  # type: ignore[attr-defined]
    store.db.execute("INSERT INTO memory_conflict VALUES (?, ?, 'newer', 1)", (ids["new"], ids["old"]))

    (pair,) = ask(here, "conflicts")["conflicts"]
    assert (pair["winner"]["key"], pair["loser"]["key"], pair["reason"], pair["waits"]) == ("new", "old", "newer", True)
    assert pair["loser"]["description"] == "Port 5432."
    assert ask(here, "conflicts", scope=["agent"])["conflicts"] == []

    recall = here.app.settings.recall._replace(grants={"builder": {"ops": "none"}})
    here.app.settings = here.app.settings._replace(recall=recall)
    assert ask(here, "conflicts", agent="builder")["conflicts"] == []
