"""What a person meets in the first hour: words, typos, and where an error says it is."""

from __future__ import annotations

import re

import pytest

from mdmem.cli import main, table
from mdmem.cli.write import TYPES_HELP
from mdmem.config import settings
from mdmem.document.keys import KNOWN_KEYS
from mdmem.memory import TYPE_ALIASES, TYPES
from mdmem.outputs.text import hit_lines, list_lines, status_lines
from tests.conftest import ROOT, Daemon

MEMORY = {
    "key": "a", "scope": "user", "scope_ref": None, "path": "/a.md", "name": "A", "description": "A.",
    "type": "fact", "status": "active", "invalid": None, "broken": False,
}  # fmt: skip
VOICES = ("lexical", "semantic", "temporal", "graph")


def hit(mode: str = "hybrid", **why: object) -> dict[str, object]:
    reasons = dict.fromkeys(VOICES) | {"exact_key": False, "relevance": 1.0, "recency": 1.0, "confidence": 1.0} | why
    return MEMORY | {"rank": 1, "score": 1.0, "mode": mode, "why": reasons}


def test_a_status_that_does_not_exist_is_no_empty_list(call):
    done = call("list", "--status", "archvied")

    assert done.code == 2
    assert "there is no status 'archvied'" in done.err
    assert "did you mean 'archived'?" in done.err


def test_a_memory_of_the_future_is_not_said_to_be_over(home, call):
    home.put("a.md", "---\nvalid_from: 2999-01-01\n---\nAlpha.\n")
    done = call("show", "a")

    assert done.err == "not recalled now: not valid before 2999-01-01\n"


def test_archived_is_said_once(home, call):
    home.put("a.md", "---\nstatus: archived\n---\nAlpha.\n")
    head = call("list", "--status", "archived").out.splitlines()[0]

    assert head == "a  user · user  [archived]"


def test_a_status_that_does_not_end_a_memory_is_shown():
    lines = list(
        list_lines([MEMORY | {"status": "stale"}, MEMORY | {"status": "stale", "invalid": "expired 2026-01-01"}])
    )

    assert lines[0] == "a  fact · user · stale"
    assert lines[3] == "a  fact · user · stale  [expired 2026-01-01]"


@pytest.mark.parametrize(
    ("found", "marked"),
    [
        (hit(semantic=1), True),
        (hit(semantic=1, lexical=9), False),
        (hit(semantic=1, graph=1), False),
        (hit(semantic=1, temporal=1), False),
        (hit(semantic=1, exact_key=True), False),
        (hit("semantic", semantic=1), False),  # then they all are
    ],
)
def test_a_hit_with_none_of_the_words_is_marked(found, marked):
    assert next(iter(hit_lines([found]))) == "1. a  fact · user" + (" · by meaning" if marked else "")


def test_one_vector_is_one_vector():
    status = {
        "daemon": {"running": False}, "scopes": [], "problems": [], "untrusted": [],
        "index": {"memories": 3, "pending_vectors": 1, "vectors_left_s": 0.2, "last_sync": None, "notice": None},
        "embedder": {"model": "none", "state": "off"},
    }  # fmt: skip

    assert list(status_lines(status))[1] == "index    3 memories, 1 vector to come; last look never"


def test_sync_says_since_when_it_counts(home, call):
    home.put("a.md", "---\ntype: rul\n---\nAlpha.\n")

    assert call("sync").out == "since the last look 1 added, 0 changed, 0 removed; 1 problem\n"
    assert call("sync").out == "since the last look 0 added, 0 changed, 0 removed; 1 problem\n"
    assert call("reindex").out == "1 added, 0 changed, 0 removed; 1 problem\n"


def test_a_wrong_variable_is_not_blamed_on_the_config_file(home, call, monkeypatch):
    monkeypatch.setenv("MDMEM_WATCH_QUIET_MS", "abc")
    done = call("list")

    assert done.code == 6
    assert done.err.splitlines() == [
        "error: MDMEM_WATCH_QUIET_MS: watch.quiet_ms is 'abc': input should be a valid integer",
        "try:   its default is 50",
    ]


def test_a_wrong_line_in_the_file_is_not_blamed_on_a_variable(home, call, monkeypatch):
    home.put("config.toml", "[watch]\nquiet_ms = 0\n", home.mdmem)
    monkeypatch.setenv("MDMEM_WATCH_MAX_MS", "100")
    done = call("list")

    assert done.err.startswith(f"error: {home.mdmem}/config.toml: watch.quiet_ms is 0: ")


def test_a_setting_without_its_section_is_found(call):
    done = call("config", "set", "time_decay_lambda", "0.02")

    assert done.code == 2
    assert "did you mean recall.time_decay_lambda?" in done.err


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("recall.aliases.k8s", "kubernetes", "the daemon reads recall.aliases when it starts"),
        ("embedder.batch", "8", "the daemon reads [embedder] when it starts"),
        ("recall.time_decay_lambda", "0.02", ""),
    ],
)
def test_what_a_running_daemon_takes_over_late_is_said(call, daemon: Daemon, name, value, said):
    done = call("config", "set", name, value)

    assert done.code == 0
    assert done.err.startswith(said)
    assert bool(done.err) == bool(said)


def test_broken_toml_is_said_in_the_same_words_by_every_command(home, call):
    home.put("config.toml", "[recall]\nx = [\n", home.mdmem)
    said = call("list").err

    assert call("config", "set", "embedder.model", "none").err == said
    assert "\\x00" not in said
    assert "mend it with: mdmem config edit" in said


@pytest.mark.parametrize("args", [["archive", "a"], ["edit", "a", "--set", "type=rule"]])
def test_a_file_that_cannot_be_edited_is_named(home, call, args):
    home.put("a.md", "---\ntype: [oops\nname: x\n---\nAlpha.\n")
    done = call(*args)

    assert done.code == 4
    assert done.err.startswith(f"error: {home.user}/a.md: the frontmatter can't be read: line 3, column ")


def test_a_field_that_is_almost_one_of_ours_is_written_and_said(home, call):
    file = home.put("a.md", "Alpha.\n")

    assert "did you mean 'type'?" in call("edit", "a", "--set", "tpye=rule").err
    assert "tpye: rule" in file.read_text()
    assert call("edit", "a", "--set", "colour=blue", "--set", "title=Alpha", "--set", "tag=x").err == ""


def test_the_manifest_says_nothing_twice(home, call, project):
    call("add", "Never push to main.", "--type", "rule")
    call("add", "Never push to main. Ask first.", "--name", "Pushing")
    shown = (project / "MEMORY.md").read_text()

    assert "- [Never push to main](never-push-to-main.md)\n" in shown
    assert "- [Pushing](pushing.md) — Never push to main.\n" in shown


@pytest.mark.parametrize("group", ["config", "debug"])
def test_no_line_of_help_is_cut(call, monkeypatch, group):
    monkeypatch.setenv("COLUMNS", "80")

    assert "..." not in call(group, "--help").out.partition("Commands:")[2]


def test_help_names_every_type():
    named = re.findall(r"\w+", TYPES_HELP.partition(".")[0])

    assert set(TYPES) <= set(named)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("mdmem search --type dec", "decision"),
        ("mdmem add --type proc", "procedure"),
        ("mdmem add --source inf", "inferred"),
        ("mdmem list --status arch", "archived"),
        ("mdmem list --scope pro", "project"),
        ("mdmem move --scope age", "agent"),
        ("mdmem search --mode key", "keyword"),
        ("mdmem config set recall.t", "recall.time_decay_lambda"),
    ],
)
def test_values_are_completed(home, monkeypatch, capsys, words, wanted):
    monkeypatch.setenv("_MDMEM_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    main([])

    assert capsys.readouterr().out == f"plain,{wanted}\n"


def test_every_setting_stands_in_the_docs_with_its_default(call):
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    rows = re.findall(r"^\| (`\w+\.\w+`(?:, `\w+\.\w+`)*) \| ([^|]*) \|", page, re.MULTILINE)
    told = {name: default.strip("` ") for names, default in rows for name in re.findall(r"[\w.]+", names)}
    real = settings.as_dict(settings.Settings())

    assert set(told) == {f"{section}.{key}" for section, keys in settings.names().items() for key in keys}
    for name, default in told.items():
        section, _, key = name.partition(".")
        if isinstance(real[section][key], int | float):
            assert float(default) == real[section][key]


def test_every_key_and_type_stands_in_the_docs():
    page = (ROOT / "docs" / "format.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.*?) \|(.*)", page, re.MULTILINE)
    named = {word for first, rest in rows for word in re.findall(r"`(\w+)`", first + rest.partition("|")[0])}

    assert named >= (KNOWN_KEYS - {"id"}) | set(TYPES) | set(TYPE_ALIASES)


def test_every_command_stands_in_the_docs():
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")

    assert [name for name in table.COMMANDS if not re.search(rf"`{name}\b", page)] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_every_link_leads_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)\)", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL))

    assert [link for link in links if not (page.parent / link).exists()] == []
