"""Document to Memory: keys, defaults, and what other tools write."""

from __future__ import annotations

import pytest

from mdmem.document import memory_of, parse
from mdmem.errors import Problem
from mdmem.memory import Memory


def typed(text: str, *, path: str = "ops/deploy-blyck_now.md", scope: str = "user") -> tuple[Memory, list[Problem]]:
    doc = parse(text.encode(), path)
    assert doc.problems == []
    return memory_of(doc, path=path, scope=scope)


def good(text: str, *, path: str = "ops/deploy-blyck_now.md", scope: str = "user") -> Memory:
    memory, problems = typed(text, path=path, scope=scope)
    assert problems == []
    return memory


def front(text: str, body: str = "Body.\n") -> str:
    return f"---\n{text}\n---\n{body}"


def test_the_example_of_the_format_is_read_whole() -> None:
    memory = good(
        front(
            "name: Deploy blyck from this machine\ndescription: AWS CLI is configured here; a direct deploy works.\n"
            "type: capability\nkey: deploy:blyck\nconfidence: 1.0\nsource: tool\nproof: aws sts ok; s3 cp ok\n"
            "probe: aws sts get-caller-identity\nentities: [aws, s3, cloudfront]\ncreated: 2026-11-02\n"
            "updated: 2026-11-02",
            "npm run dist, then s3 cp to the releases bucket, then invalidate.\n",
        )
    )

    assert memory == Memory(
        key="deploy:blyck",
        explicit_key=True,
        name="Deploy blyck from this machine",
        description="AWS CLI is configured here; a direct deploy works.",
        body="npm run dist, then s3 cp to the releases bucket, then invalidate.\n",
        type="capability",
        confidence=1.0,
        source="tool",
        proof="aws sts ok; s3 cp ok",
        probe="aws sts get-caller-identity",
        entities=("aws", "s3", "cloudfront"),
        created="2026-11-02",
        updated="2026-11-02",
    )


@pytest.mark.parametrize(("scope", "kind"), [("user", "user"), ("project", "project"), ("agent", "fact")])
def test_a_bare_file_has_defaults_from_path_body_and_scope(scope: str, kind: str) -> None:
    memory = good("Use tabs. Never spaces.\n", scope=scope)

    assert (memory.key, memory.explicit_key) == ("ops/deploy-blyck_now", False)
    assert (memory.name, memory.description) == ("deploy blyck now", "Use tabs.")
    assert (memory.type, memory.source, memory.confidence, memory.status) == (kind, "stated", 1.0, None)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("# Deploy *now*\n\ntext", "Deploy now"),
        ("text\n\n## Two ##\n", "Two"),
        ("Title\n=====\ntext", "Title"),
        ("Title\n---\ntext", "Title"),
        ("```\n# not this\n```\n# `this` one", "this one"),
        ("# #\n# C#\n", "C#"),
        ("###### a ## b ##  \n", "a ## b"),
        ("####### seven\n", "deploy blyck now"),
        ("#tag only\n\ntext", "deploy blyck now"),
        ("- item\n---\ntext", "deploy blyck now"),
        ("one\ntwo\n---\n", "deploy blyck now"),
        ("#\n# [Real](http://x) [[a|title]] **x** snake_case_name", "Real title x snake_case_name"),
        ("# a\0b", "ab"),
    ],
)
def test_the_name_is_the_first_heading_else_the_file_in_words(body: str, name: str) -> None:
    assert memory_of(parse(body.encode(), "p"), path="ops/deploy-blyck_now.md", scope="user")[0].name == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("🚀.md", "🚀"),
        ("-.md", "-"),
        ("a](b).md", "a](b)"),
        ("x/--y__z.MD", "y z"),
        ("a.b.md", "a.b"),
        (".md", "memory"),
    ],
)
def test_c5_any_file_name_gives_a_name(path: str, name: str) -> None:
    assert good("text", path=path).name == name


@pytest.mark.parametrize(
    ("body", "description"),
    [
        ("# Only a heading\n", ""),
        ("Only\n----\n", ""),
        ("", ""),
        ("# H\n\n```\ncode\n```\n\nText here. More.", "Text here."),
        ("- [ ] first task\n- second", "first task"),
        ("1. Do this! Then that.", "Do this!"),
        ("> quoted words. more", "quoted words. more"),
        ("> Quoted words. More", "Quoted words."),
        ("- [fact] Uses `sqlite` for *all* #tag\n- [other] x", "Uses sqlite for all #tag"),
        ("一句话。第二句。", "一句话。"),
        ("他说：“行！”然后走了。", "他说：“行！”"),
        ("two\nlines of one. Next.", "two lines of one."),
        ("Use e.g. this or v1.2 or a.b. Then go.", "Use e.g. this or v1.2 or a.b."),
        ("| a | b |\n|---|---|\n\nReal text.", "Real text."),
        ("<!-- hidden -->\n\n***\n\nReal text.", "Real text."),
        ("    code\n\nReal text.", "Real text."),
        ("See [[deploy|the deploy]] and [docs](http://x).", "See the deploy and docs."),
    ],
)
def test_the_description_is_the_first_sentence(body: str, description: str) -> None:
    assert memory_of(parse(body.encode(), "p"), path="a.md", scope="user")[0].description == description


@pytest.mark.parametrize("word", ["word", "词", "e\u0301", "👩\u200d👧"])
def test_a_long_first_sentence_is_cut_between_letters(word: str) -> None:
    description = good((word if word != "word" else "word ") * 200).description

    assert 140 <= len(description) <= 160
    assert description.endswith("…")
    assert not description.endswith((" …", "e…", "\u200d…"))


def test_a_written_description_is_never_cut_only_put_on_one_line() -> None:
    memory = good(front("description: |\n  one\n  two " + "x" * 300))

    assert memory.description == "one two " + "x" * 300


def test_title_is_read_as_name_and_name_wins() -> None:
    assert good(front("title: From title")).name == "From title"
    both = good(front("title: t\nname: n"))
    assert (both.name, both.extra) == ("n", {"title": "t"})
    assert good(front("名称: 部署\n类型: rule\n标签: 甲、乙")).tags == ("甲", "乙")
    assert good(front("Valid-From: 2026-11-02\nTags: x")).valid_from == "2026-11-02"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("feedback", "feedback"),
        ("Rule", "rule"),
        ("policy", "rule"),
        ("preference", "user"),
        ("profile", "user"),
        ("workflow", "procedure"),
        ("note", "project"),
        ("memory", "project"),
        ("[fact]", "fact"),
        ("", "project"),
        ("notes", "notes"),
    ],
)
def test_types_and_their_aliases(text: str, kind: str) -> None:
    assert good(front(f"type: {text}"), scope="project").type == kind


def test_an_unknown_type_is_one_problem_that_names_the_nearest() -> None:
    memory, (problem,) = typed(front("name: x\ntype: procedures"))

    assert memory.type == "user"
    assert (problem.code, problem.line, problem.path) == ("unknown-type", 3, "ops/deploy-blyck_now.md")
    assert "'procedure'" in problem.hint
    assert "did you mean" not in typed(front("type: zzz"))[1][0].hint


def test_claude_codes_memory_files_read_without_change() -> None:
    memory = good(
        front(
            "name: tabs\ndescription: use tabs\nmetadata:\n  node_type: memory\n  type: feedback\n  originSessionId: 1"
        )
    )

    assert (memory.type, memory.name) == ("feedback", "tabs")
    assert memory.extra == {"metadata": {"node_type": "memory", "originSessionId": "1"}}
    assert good(front("metadata: {type: rule}")).extra == {}
    assert good(front("metadata: text")).extra == {"metadata": "text"}
    assert good(front("type: rule\nmetadata: {type: fact}")).type == "rule"


def test_a_basic_memory_file_reads_without_a_problem() -> None:
    memory = good(
        front(
            "title: Search design\ntype: note\npermalink: specs/search\ntags:\n- search\n- design",
            "# Search\n\n## Observations\n- [decision] Use FTS5 #search (fast)\n\n## Relations\n"
            "- relates_to [[Index design]]\n- part_of [[Specs|the specs]]\n",
        )
    )

    assert (memory.name, memory.type, memory.tags) == ("Search design", "user", ("search", "design"))
    assert memory.links == ("Index design", "Specs")
    assert memory.extra == {"permalink": "specs/search"}
    assert memory.description == "Use FTS5 #search (fast)"


def test_obsidian_properties_read_without_a_problem() -> None:
    memory = good(
        front('tags: "#a #b/c"\naliases: [one, two]\ncssclasses: [wide]\ncreated: 2026-11-02T10:00\nup: "[[Home]]"')
    )

    assert memory.tags == ("a", "b/c")
    assert memory.aliases == ("one", "two")
    assert memory.created == "2026-11-02T10:00:00Z"
    assert memory.extra == {"cssclasses": ["wide"], "up": "[[Home]]"}


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("draft", "active"),
        ("stable", "active"),
        ("deprecated", "archived"),
        ("Archived", "archived"),
        ("stale", "stale"),
    ],
)
def test_open_knowledge_formats_words_are_understood(text: str, status: str) -> None:
    memory = good(
        front(f"type: fact\nstatus: {text}\nstale_after: 2027-01-01\nverified: [a]\ngenerated: x\nsources: [b]")
    )

    assert memory.status == status
    assert memory.expires is None
    assert memory.extra == {"stale_after": "2027-01-01", "verified": ["a"], "generated": "x", "sources": ["b"]}


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("[a, b]", ("a", "b")),
        ("a, b", ("a", "b")),
        ("a", ("a",)),
        ("甲、乙，丙", ("甲", "乙", "丙")),
        ('"#a, #b"', ("a", "b")),
        ("\n  - a\n  - '#b'\n  - a", ("a", "b")),
        ("", ()),
        ("[]", ()),
        ('["[[x#y|z]]", b]', ("x", "b")),
        ("[[x]]", ("x",)),
        ("two words, b", ("two words", "b")),
    ],
)
def test_d15_lists_are_read_as_people_write_them(text: str, items: tuple[str, ...]) -> None:
    assert good(front(f"tags: {text}")).tags == items


def test_references_to_other_memories_are_unwrapped() -> None:
    memory = good(
        front(
            'supersedes: "[[old one]]"\nsuperseded_by: [[newer]]\n'
            'derived_from: ["claude:s-1#3", "[[a, b]]"]\nfor: reviewer, tester'
        )
    )

    assert memory.supersedes == ("old one",)
    assert memory.superseded_by == "newer"
    assert memory.derived_from == ("claude:s-1#3", "a, b")
    assert memory.roles == ("reviewer", "tester")
    assert good(front('supersedes: "[[a, b]], c"')).supersedes == ("a, b", "c")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.9", 0.9),
        ("1", 1.0),
        ("0", 0.0),
        (".5", 0.5),
        ("90%", 0.9),
        ('"0.25"', 0.25),
        ("1e-1", 0.1),
        ("12.5 %", 0.125),
    ],
)
def test_confidence_is_a_number_or_a_percentage(text: str, number: float) -> None:
    assert good(front(f"confidence: {text}")).confidence == pytest.approx(number)


@pytest.mark.parametrize("text", ["high", "1.1", "-0.1", "nan", "inf", "101%", "9" * 5000, "0,9", "[0.1, 0.2]"])
def test_any_other_confidence_is_a_problem_with_the_accepted_values(text: str) -> None:
    memory, problems = typed(front(f"source: inferred\nconfidence: {text}"))

    assert memory.confidence == 0.7
    assert problems[-1].line == 3
    assert all(len(problem.message) < 200 for problem in problems)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("source: stated", 1.0),
        ("source: inferred", 0.7),
        ("source: imported", 0.6),
        ("source: tool", 0.5),
        ("type: capability\nsource: tool\nproof: ran it", 1.0),
        ("type: capability\nsource: tool", 0.5),
    ],
)
def test_confidence_follows_from_the_source(text: str, number: float) -> None:
    assert good(front(text)).confidence == number


@pytest.mark.parametrize("key", ["source", "status", "stability"])
def test_a_word_that_is_not_accepted_is_a_problem(key: str) -> None:
    memory, (problem,) = typed(front(f"name: x\n{key}: nonsense"))

    assert (problem.code, problem.line) == (f"unknown-{key}", 3)
    assert "use one of: " in problem.hint
    assert (memory.source, memory.status, memory.stability) == ("stated", None, None)


def test_d13_an_impossible_date_is_a_problem_with_its_line() -> None:
    memory, (problem,) = typed(front("name: x\ncreated: 2026-02-30"))

    assert memory.created is None
    assert (problem.code, problem.line) == ("bad-date", 3)


def test_dates_that_cross_are_only_a_problem() -> None:
    memory, (problem,) = typed(front("valid_from: 2026-11-02\ninvalid_at: 2026-11-01T23:00:00Z"))

    assert (memory.valid_from, memory.invalid_at) == ("2026-11-02", "2026-11-01T23:00:00Z")
    assert (problem.code, problem.line) == ("dates-crossed", 2)
    assert typed(front("valid_from: 2026-11-02\ninvalid_at: 2026-11-02"))[1] == []


@pytest.mark.parametrize(
    "text", ["name: [a, b]", "name: {a: b}", "tags: {a: b}", "tags: [a, {b: c}]", "confidence: {a: b}"]
)
def test_d15_a_value_of_the_wrong_shape_is_a_problem(text: str) -> None:
    _, problems = typed(front(text))

    assert problems[0].code == "wrong-shape"
    assert problems[0].line == 2


def test_c2_keys_are_compared_normalised() -> None:
    assert good(front("key: ' cafe\u0301 '")).key == "caf\u00e9"
    assert good("text", path="cafe\u0301.md").key == "caf\u00e9"
    assert good(front("key: ''")).explicit_key is False


def test_empty_values_count_as_not_written() -> None:
    memory = good(
        front("name:\ncreated:\ntags: [a, ~]\naliases: ', ,'\ntype: ~\nkey: null\nstatus: ''\nconfidence:\nproof: ~")
    )

    assert (memory.name, memory.created, memory.tags, memory.aliases) == ("deploy blyck now", None, ("a",), ())
    assert (memory.type, memory.key, memory.status, memory.confidence, memory.proof) == (
        "user",
        "ops/deploy-blyck_now",
        None,
        1.0,
        None,
    )


def test_links_stand_in_prose_not_in_code() -> None:
    body = "[[a]] [[b#h|l]] ![[c]] [[a]] [[#here]] `[[d]]` | [[e\\|x]] |\n```\n[[f]]\n```\n[[g\nh]] [[ i ]] [[]]"

    assert good(body).links == ("a", "b", "c", "e", "i")


def test_code_spans_are_short_names_in_order() -> None:
    body = (
        "`sqlite3` and `a b` and `a  b` and ``two `x` ticks`` and `sqlite3` `" + "x" * 41 + "` ` y ` lone ` tick\n"
        "```\n`fenced`\n```\n`unclosed\n" + " ".join(f"`n{n}`" for n in range(40))
    )
    spans = good(body).code_spans

    assert spans[:4] == ("sqlite3", "a b", "y", "n0")
    assert len(spans) == 30


def test_keys_without_a_meaning_stay_in_extra() -> None:
    memory = good(front("x: 1\nid: m-7\ny: {a: [b]}\ndomain: ops\ntopic: aws\nstability: permanent"))

    assert memory.extra == {"x": "1", "y": {"a": ["b"]}}
    assert (memory.id, memory.domain, memory.topic, memory.stability) == ("m-7", "ops", "aws", "permanent")


def test_a_long_line_of_marks_is_read_in_linear_time() -> None:
    for piece in (
        "*a ",
        "`a ``b ",
        "[[a",
        "_x",
        "**",
        "a. b",
        "- ",
        "> ",
        "#",
        "[x](",
        "=",
        "<!--",
        "# ",
        " #",
        "- - ",
        "| ",
        " ",
    ):
        assert good("# x" + piece * 20_000 + "y\n\n" + piece * 20_000 + "y\n").name
