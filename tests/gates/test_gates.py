"""Five gates: what each lets through, what it refuses, and why it says so."""

from __future__ import annotations

import pytest

from mdmem.gates import Context, Proposed, Similar, run
from mdmem.gates.transient import transient
from tests.gates.making import secrets

CRANE = Proposed("The crane", "It is green.", "Paint it green.", "crane", "project", 0.9)
SECRET = dict(secrets(14, 1))["gitlab"]


def context(*similar: Similar, held: int = 0, quota: int = 200) -> Context:
    return Context(lambda proposed: similar, held, quota)


def test_each_gate_speaks_and_says_why() -> None:
    verdicts = run(CRANE, context())

    assert list(verdicts) == ["secret", "transient", "confidence", "duplicate", "quota"]
    assert all(verdict.passed and verdict.reason for verdict in verdicts.values())


def test_a_person_passes_all_but_the_gate_of_secrets() -> None:
    mine = CRANE._replace(by_person=True, name="Just for today", confidence=0.1)

    assert list(run(mine, context(held=900))) == ["secret"]
    assert not run(mine._replace(body=SECRET), context())["secret"].passed


@pytest.mark.parametrize("field", ["name", "description", "body", "key"])
def test_a_secret_is_refused_wherever_it_stands_before_anything_is_looked_up(field: str) -> None:
    def never(proposed: Proposed) -> list[Similar]:
        raise AssertionError("looked up")

    verdicts = run(CRANE._replace(**{field: f"with {SECRET}"}), Context(never, 0, 200))

    assert list(verdicts) == ["secret"]
    assert verdicts["secret"].reason == "it holds a secret: GitLab token"


@pytest.mark.parametrize(
    "said",
    """temporary fix for the login page|use the old server for now|deploy by hand this time
    skip the tests just this once
    today the build is red|the API is down right now|a one-off export|temp workaround for the proxy|Temporarily pinned
    until further notice no releases|this time use the fallback|临时关闭缓存|这次先手动部署|今天不要发布|暂时用旧接口
    本次发布跳过测试|明天再改""".replace("\n", "|").split("|"),
)
def test_what_holds_for_a_while_is_transient(said: str) -> None:
    in_name, in_description = CRANE._replace(name=said), CRANE._replace(description=said.strip())

    assert not transient(in_name).passed
    assert not transient(in_description).passed


@pytest.mark.parametrize(
    "said",
    """temporary credentials expire after 1 h|never commit temporary files|temp/ is ignored by git
    the template is in temp.html
    this time zone is UTC|date.today() is banned, hand in the clock|templates are rendered once|the contemporary style
    temporary AWS credentials last an hour|this timeout is 30 s|临时文件放在 /tmp|临时凭证一小时后过期|时间用 UTC
    temperature is 0.2""".replace("\n", "|").split("|"),
)
def test_what_only_sounds_like_it_lasts(said: str) -> None:
    assert transient(CRANE._replace(description=said.strip())).passed


def test_the_body_may_speak_of_today() -> None:
    assert transient(CRANE._replace(body="today we found out")).passed


@pytest.mark.parametrize(("confidence", "passed"), [(1.0, True), (0.6, True), (0.59, False), (0.0, False)])
def test_weak_ones_wait(confidence: float, passed: bool) -> None:
    verdict = run(CRANE._replace(confidence=confidence), context())["confidence"]

    assert verdict.passed is passed
    assert verdict.reason.startswith("weak") is not passed


@pytest.mark.parametrize(
    ("similar", "action", "target", "passed"),
    [
        ([], "ADD", None, True),
        ([Similar("harbour", 0.69)], "ADD", None, True),
        ([Similar("quay", 0.71), Similar("harbour", 0.9)], "NOOP", "harbour", False),
        ([Similar("harbour", 0.95), Similar("Crane", 0.1)], "UPDATE", "Crane", True),
    ],
)
def test_duplicates(similar: list[Similar], action: str, target: str | None, passed: bool) -> None:
    verdict = run(CRANE, context(*similar))["duplicate"]

    assert (verdict.action, verdict.target, verdict.passed) == (action, target, passed)
    assert target is None or target in verdict.reason


def test_a_full_scope_takes_no_more_but_may_change() -> None:
    assert run(CRANE, context(held=199))["quota"].passed
    assert not run(CRANE, context(held=200))["quota"].passed
    assert "200 of 200" in run(CRANE, context(held=200))["quota"].reason
    assert run(CRANE, context(Similar("crane", 0.5), held=200))["quota"].passed
