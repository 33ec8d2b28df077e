"""Proposals on their way through the gates into the inbox."""

from pathlib import Path
from typing import Any

import pytest

from mdmem.app import Answers, App, Local
from mdmem.app.recorded import read_refusals
from mdmem.candidates import inbox
from mdmem.review.order import MAX_WAITING
from tests.bed import Bed
from tests.conftest import Home
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
    assert read_refusals(here.app.paths.ledger_db) == {"transient": 1}
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


def test_one_key_is_one_question_with_all_its_evidence(here: Answers) -> None:
    propose(here, evidence=[{"text": "exit 0", "agent": "codex", "session": "a"}])
    again = propose(here, "Log in, then deploy the shop with make deploy.", evidence=[{"text": "0", "session": "b"}])
    assert again["new"] is False
    propose(here, "make deploy", evidence=[{"text": "exit 0 again", "session": "c"}])
    (found,) = waiting(here)
    assert found.candidate.body.startswith("Log in, then")
    assert [item.session for item in found.candidate.evidence] == ["a", "b", "c"]


def test_a_weak_one_rises_when_another_session_says_it_too(here: Answers) -> None:
    weak = {"confidence": "0.4"}
    propose(here, fields=weak, evidence=[{"text": "x", "agent": "codex", "session": "a"}])
    propose(here, fields=weak, evidence=[{"text": "y", "agent": "codex", "session": "a"}])
    assert waiting(here)[0].gates["confidence"].passed is False
    propose(here, fields=weak, evidence=[{"text": "z", "agent": "codex", "session": "b"}])
    assert waiting(here)[0].gates["confidence"].passed is True


def test_weaker_ones_give_way_and_are_counted(here: Answers) -> None:
    for number in range(25):
        fields = {"key": f"k{number}", "name": f"Thing {number}", "confidence": f"0.{60 + number}"}
        propose(here, f"A thing of word{number}.", fields=fields)
    assert sorted(str(w.candidate.fields["key"]) for w in waiting(here)) == sorted(
        f"k{n}" for n in range(25 - MAX_WAITING, 25)
    )
    assert read_refusals(here.app.paths.ledger_db) == {"flood": 25 - MAX_WAITING}
    assert propose(here, "One more of other words.", fields={"key": "low", "name": "Low", "confidence": "0.6"})["why"]


def test_what_a_person_worked_on_does_not_give_way(here: Answers) -> None:
    propose(here, "A thing of mine.", fields={"key": "mine", "name": "Mine", "confidence": "0.6"})
    path = Path(waiting(here)[0].path)
    path.write_text(path.read_text() + "And what I think of it.\n")
    for number in range(25):
        propose(here, f"Of word{number}.", fields={"key": f"k{number}", "name": f"Thing {number}", "confidence": "0.9"})
    assert "what I think" in path.read_text()


def test_what_was_rejected_is_not_proposed_again(home: Home) -> None:
    with Local(App()) as local:
        propose(Answers(local))
    assert home.run("review", "--reject", "deploy:shop").code == 0
    with Local(App()) as local:
        assert propose(Answers(local), "Deploy the  shop with make deploy")["why"].startswith("rejected: ")
        assert propose(Answers(local), fields={"source": "stated"})["candidate"], "evidence of another kind"


def test_what_the_settings_let_pass_becomes_a_memory_unasked(home: Home) -> None:
    home.mdmem.mkdir(exist_ok=True)
    (home.mdmem / "config.toml").write_text('[[review.auto_approve]]\nsource = "tool"\nmin_confidence = 0.9\n')
    with Local(App()) as local:
        here = Answers(local)
        assert propose(here, fields={"source": "tool", "confidence": "1.0"})["status"] == "approved"
        weak = propose(
            here, "Other words here.", fields={"key": "b", "name": "B", "source": "tool", "confidence": "0.7"}
        )
        rule = {"key": "c", "name": "C", "type": "rule", "source": "tool", "confidence": "1.0"}
        assert weak["status"] == propose(here, "A rule of sorts.", fields=rule)["status"] == "waiting for approval"
    (made,) = [path for path in home.user.glob("*.md") if path.name != "MEMORY.md"]
    assert "deploy:shop" in made.read_text()
    assert "candidate:" not in made.read_text()
