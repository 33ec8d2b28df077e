"""Proposals on their way through the gates into the inbox."""

from pathlib import Path
from typing import Any

import pytest

from mdmem.app import Answers
from mdmem.candidates import inbox
from mdmem.review.marks import marks_of
from tests.app.test_answers import ask
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


# --- what was decided before, how many wait, and what needs no question ---------------------------------


def decide(here: Answers, key: str, decision: str = "reject", evidence: str = "inferred") -> None:
    found = inbox.read(here.app.inbox_folder, key)
    marks = marks_of(found.candidate)
    Path(found.path).unlink()
    made = [[mark, decision, evidence, "2026-11-30T10:00:00Z"] for mark in (marks.own, marks.pattern) if mark]
    assert here.answer({"op": "decided", "made": made[: 1 if decision == "reject" else 2]})["ok"]


def test_j5_what_was_rejected_is_not_proposed_again(here: Answers) -> None:
    decide(here, propose(here)["candidate"])
    again = propose(here, "Deploy  the shop, with make deploy!")

    assert again["status"] == "refused"
    assert again["why"] == "decided: rejected on 2026-11-30"
    assert waiting(here) == []
    assert propose(here, fields={"name": "Deploy", "source": "stated"})["status"] == "waiting for approval"


def test_what_was_refused_for_ever_keeps_all_of_its_kind_out(here: Answers) -> None:
    fields = {"name": "Deploy a", "type": "capability", "key": "deploy:a"}
    decide(here, propose(here, fields=fields)["candidate"], "never")

    assert propose(here, "Other words.", fields={**fields, "key": "deploy:b", "name": "Other"})["status"] == "refused"
    assert propose(here, "Build it.", fields={**fields, "key": "build:b", "name": "Build"})["status"] != "refused"


def test_j4_no_more_than_twenty_wait_and_the_rest_is_counted(here: Answers) -> None:
    for n in range(25):
        fields = {"name": f"Number {n} walrus{n}", "key": f"k{n}", "confidence": f"{0.7 + n / 100:g}"}
        propose(here, f"About walrus{n} and what it eats on day {n}.", fields=fields)
    last = propose(here, "A last one, hardly sure of it.", fields={"name": "Zebra", "key": "z", "confidence": "0.61"})

    names = {str(one.candidate.fields["name"]) for one in waiting(here)}
    assert names == {f"Number {n} walrus{n}" for n in range(5, 25)}
    assert last["why"].startswith("room: 20 wait")
    assert ask(here, "status")["status"]["refusals"]["room"] == 1


def test_a_weak_one_rises_when_another_session_proposes_it(here: Answers) -> None:
    fields = {"name": "Deploy", "confidence": "0.3"}
    said = [{"text": "make deploy", "agent": "codex", "session": session} for session in ("s1", "s1", "s2")]
    for evidence in said[:2]:
        propose(here, fields=fields, evidence=[evidence])
    assert not waiting(here)[0].gates["confidence"].passed

    propose(here, fields=fields, evidence=[said[2]])
    (one,) = waiting(here)
    assert one.gates["confidence"].passed
    assert len(one.candidate.evidence) == 2


def test_a_rule_of_the_settings_lets_pass_what_it_names_and_nothing_else(here: Answers, bed: Bed) -> None:
    config = Path(here.app.paths.config_file)
    config.write_text('[review]\nauto_approve = [{source = "tool", type = "capability"}]\n')
    here.app.reload_settings()
    fields = {"name": "Deploy the shop", "type": "capability", "source": "tool", "confidence": "1.0"}
    passed = propose(here, fields=fields)
    asked = propose(
        here,
        "Build the shop with make build.",
        fields={**fields, "name": "Build", "key": "build:shop", "source": "inferred"},
    )

    assert passed["status"] == "approved"
    text = Path(passed["path"]).read_text()
    assert "{ by: process:mdmem, at: " in text
    assert asked["status"] == "waiting for approval"
    assert [one.key for one in waiting(here)] == [asked["candidate"]]
    assert [m["name"] for m in ask(here, "list")["memories"]] == ["Deploy the shop"]
