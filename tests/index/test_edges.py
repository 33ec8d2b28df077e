"""Who replaces whom: rings, and what the folder says of them."""

from __future__ import annotations

from mdmem.index import read
from mdmem.index.edges import fold_target, in_a_ring
from tests.bed import Bed


def test_a_ring_is_told_from_a_chain_that_leads_into_one() -> None:
    assert in_a_ring({1: 2, 2: 1, 3: 1}) == {1, 2}
    assert in_a_ring({1: 2, 2: 3}) == set()
    assert in_a_ring({1: 2, 2: 3, 3: 1}) == {1, 2, 3}


def test_memories_that_supersede_each_other_all_stay_and_are_named(bed: Bed) -> None:
    bed.put("a.md", "---\nsupersedes: b\n---\nalphaword\n")
    bed.put("b.md", "---\nsupersedes: a\n---\nbetaword\n")
    bed.put("c.md", "---\nsupersedes: d\n---\ngammaword\n")
    bed.put("d.md", "deltaword\n")
    bed.sync()
    problems = [(row[0], row[2]) for _, row in read.problems(bed.db)]

    assert problems == [("a.md", "supersedes-ring"), ("b.md", "supersedes-ring")]
    assert bed.found("alphaword") == ["a.md"]
    assert bed.found("betaword") == ["b.md"]
    assert bed.found("deltaword") == []

    bed.put("b.md", "betaword\n")
    bed.sync()

    assert read.problems(bed.db) == []
    assert bed.found("betaword") == []


def test_a_target_is_compared_without_its_dress() -> None:
    assert fold_target("[[Ops/Deploy.md#now|the deploy]]") == "ops/deploy"
