"""Proposals on their way through the gates into the inbox."""

from pathlib import Path
from typing import Any

import pytest

from mdmem.app import Answers
from mdmem.candidates import inbox
from tests.bed import Bed
from tests.gates.making import secrets


def propose(here: Answers, body: str = "Deploy the shop with make deploy.", **told: Any) -> dict[str, Any]:
    fields = {"name": "Deploy the shop", "key": "deploy:shop", "type": "capability", **told.pop("fields", {})}
    candidate = {"scope": "user", "fields": fields, "body": body, **told}
    return here.answer({"op": "propose", "candidate": candidate})


def waiting(here: Answers) -> list[inbox.Waiting]:
    return inbox.list_candidates(here.app.inbox_folder).waiting


def test_a_proposal_waits_with_what_the_gates_said(here: Answers) -> None:
    answer = propose(here, evidence=[{"text": "make deploy -> exit 0", "agent": "codex", "offset": 7}])
    assert (answer["status"], answer["new"], answer["action"]) == ("waiting for approval", True, "ADD")
    (found,) = waiting(here)
    assert found.key == answer["candidate"]
    assert set(found.gates) == {"secret", "transient", "confidence", "duplicate", "quota"}
    assert all(verdict.passed for verdict in found.gates.values())
    assert found.candidate.evidence[0].text == "make deploy -> exit 0"
    assert propose(here)["new"] is False


def test_the_same_key_changes_the_memory_that_has_it(here: Answers, bed: Bed) -> None:
    bed.put("deploy.md", "---\nkey: deploy:shop\ntype: capability\n---\nDeploy with ansible.\n")
    here.backend.sync(None)
    answer = propose(here)
    assert (answer["action"], answer["target"]) == ("UPDATE", "deploy:shop")


def test_what_a_memory_says_already_is_not_proposed(here: Answers, bed: Bed) -> None:
    bed.put("deploy.md", "---\nkey: deploy:shop\ntype: capability\n---\nDeploy the shop with  make deploy.\n")
    here.backend.sync(None)
    answer = propose(here)
    assert answer["candidate"] is None
    assert answer["why"] == "duplicate: deploy:shop says it already"
    assert waiting(here) == []


def test_what_another_says_in_nearly_the_same_words_is_named(here: Answers, bed: Bed) -> None:
    bed.put("a.md", "---\nname: Deploy the web shop\ndescription: Deploy the shop with make deploy.\n---\nx\n")
    here.backend.sync(None)
    answer = propose(
        here, fields={"key": "shop", "name": "Deploy the shop", "description": "Deploy the web shop with make deploy"}
    )
    assert answer["status"] == "refused"
    assert "a says the same" in answer["why"]


def test_superseding_is_no_repetition_of_what_it_supersedes(here: Answers, bed: Bed) -> None:
    bed.put("a.md", "---\nname: Deploy the shop\ndescription: Deploy the shop with make deploy.\n---\nx\n")
    here.backend.sync(None)
    fields = {"key": "b", "description": "Deploy the shop with make deploy."}
    assert propose(here, fields=fields, action="SUPERSEDE", target="a")["candidate"]


def test_a_weak_one_waits_as_weak(here: Answers) -> None:
    answer = propose(here, fields={"confidence": "0.4"})
    assert answer["gates"]["confidence"]["passed"] is False
    assert waiting(here)[0].gates["confidence"].passed is False


@pytest.mark.parametrize("description", ["for now, port 1", "今天临时用 1 端口"])
def test_refusals_are_explained_and_counted(here: Answers, description: str) -> None:
    answer = propose(here, fields={"description": description})
    assert answer["status"] == "refused"
    assert answer["why"].startswith("transient: ")
    assert here.backend.refusals() == {"transient": 1}
    assert waiting(here) == []


def test_a_full_scope_takes_no_more(here: Answers, bed: Bed) -> None:
    for number in range(100):
        bed.put(f"m{number}.md", f"---\nsource: tool\n---\nThing number {number} of many, word{number}.\n")
    here.backend.sync(None)
    assert propose(here)["why"] == "quota: 100 of 100 memories that no person wrote"


@pytest.mark.parametrize("place", ["body", "name", "description", "evidence", "entities"])
def test_a_secret_anywhere_refuses_it_whole_and_is_never_said(here: Answers, bed: Bed, place: str) -> None:
    kind, secret = next((k, s) for k, s in secrets(5, 1) if "\n" not in s and " " not in s)
    told: dict[str, Any] = {"fields": {}, "evidence": []}
    body = "Deploy the shop."
    if place == "body":
        body = f"Deploy the shop with {secret} in it."
    elif place == "evidence":
        told["evidence"] = [{"text": f"export TOKEN={secret}"}]
    else:
        told["fields"] = {place: [secret] if place == "entities" else f"it is {secret}"}
    answer = propose(here, body, **told)
    assert answer["status"] == "refused", kind
    assert secret not in str(answer)
    assert not [path for path in Path(bed.root).rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "candidate",
    [None, [], {"fields": []}, {"evidence": {}}, {"evidence": ["x"]}, {"body": 3}, {"body": ""},
     {"body": "x", "action": "DROP"}, {"body": "x", "scope": "moon"},
     {"body": "x", "scope": "project", "scope_ref": "other"},
     {"body": "a\0b"},
     {"body": "x", "fields": {"type": "nonsense"}}, {"body": "x", "scope": "agent", "scope_ref": "../up"}],
)  # fmt: skip
def test_what_is_no_proposal_is_an_error_in_words(here: Answers, candidate: Any) -> None:
    answer = here.answer({"op": "propose", "candidate": candidate})
    assert answer["ok"] is False
    assert answer["error"]["exit_code"] in (2, 3)
    assert waiting(here) == []
