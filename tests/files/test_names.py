"""Paths as the file system knows them, as people read them, and as they compare."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.files import folded, from_printable, printable
from mdmem.files.names import parts_of

listed_names = st.binary(min_size=1, max_size=40).map(os.fsdecode)


def test_c4_a_byte_that_is_no_text_is_shown_as_an_escape() -> None:
    assert printable(os.fsdecode(b"caf\xe9.md")) == "caf\\xE9.md"


def test_a_name_that_looks_escaped_is_not_taken_for_one() -> None:
    assert printable("caf\\xE9.md") == "caf\\x5CxE9.md"
    assert printable("back\\slash.md") == "back\\slash.md"
    assert printable("部署.md") == "部署.md"


@given(listed_names)
def test_the_printable_form_encodes_and_leads_back(rel: str) -> None:
    printable(rel).encode("utf-8")

    assert from_printable(printable(rel)) == rel


@given(st.text(alphabet=st.characters(), max_size=30))
def test_no_text_at_all_makes_it_raise(rel: str) -> None:
    printable(rel).encode("utf-8")


def test_a_surrogate_that_no_folder_can_list_is_shown_too() -> None:
    assert printable("x\ud800.md") == "x\\uD800.md"


@given(listed_names, listed_names)
def test_two_names_never_look_the_same(one: str, other: str) -> None:
    assert (printable(one) == printable(other)) == (one == other)


def test_c1_c2_names_that_one_disk_cannot_tell_apart_fold_alike() -> None:
    assert folded("Deploy.md") == folded("deploy.MD")
    assert folded("caf\u00e9.md") == folded("cafe\u0301.md") == folded("CAFE\u0301.md")
    assert folded("a.md") != folded("b.md")


@pytest.mark.parametrize("rel", ["", "/x", "a//b", "..", "a/../b", "./a", "a/", "x\0y", "x\ud800"])
def test_paths_that_name_nothing_below_a_folder_have_no_parts(rel: str) -> None:
    assert parts_of(rel) is None


def test_parts_are_the_names_on_the_way() -> None:
    assert parts_of("a/b c/..x.md") == ["a", "b c", "..x.md"]
