from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

import mdmem.models  # its errors belong to the tree
from mdmem import errors, files
from mdmem.cli import main
from mdmem.cli.root import root, tell
from mdmem.cli.table import COMMANDS, GROUPS
from mdmem.daemon.ask import error_of
from tests.conftest import ROOT

DOCS = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))
ERRORS = (ROOT / "docs" / "errors.md").read_text()


def every_error() -> list[type[errors.MdmemError]]:
    found, todo = [], [errors.MdmemError]
    while todo:
        found.append(todo.pop())
        todo += found[-1].__subclasses__()
    return found


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_error_has_one_exit_code_and_a_row_in_the_docs(kind):
    assert kind.exit_code in (2, 3, 4, 5, 6, 70)
    assert f"| `{kind.__name__}` | {kind.exit_code} |" in ERRORS


def problem_codes() -> set[str]:
    """Every code that the source gives to a problem or finding."""
    makers = {"add", "Problem", "problem", "_problem", "_tell", "_unreadable", "UnreadableError", "_replace", "Finding"}
    codes = {"binary", *files.CODES}
    for path in (ROOT / "mdmem").rglob("*.py"):
        if path.parent.name == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in makers:
                values = [*node.args, *(k.value for k in node.keywords if k.arg == "code")]
                texts = [v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
                codes |= {text for text in texts if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", text)}
    codes |= set(re.findall(r"'(same-[a-z]+)'", (ROOT / "mdmem/index/write.py").read_text()))
    return codes


def test_every_problem_code_has_a_row_in_the_docs():
    missing = {code for code in problem_codes() if f"| `{code}` |" not in ERRORS}

    assert len(problem_codes()) > 50
    assert missing == set()


def test_every_row_of_the_docs_is_a_code_that_exists():
    source = "\n".join(path.read_text() for path in (ROOT / "mdmem").rglob("*.*") if path.suffix in (".py", ".sql"))
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", ERRORS, re.MULTILINE)

    assert [code for code in rows if f'"{code}"' not in source and f"'{code}'" not in source] == []


def every_command() -> list[tuple[str, click.Command]]:
    context = click.Context(root)
    found = []
    for name in COMMANDS:
        command = root.get_command(context, name)
        assert command is not None
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {inner}", c) for inner, c in command.commands.items()]
    return found


@pytest.mark.parametrize(("name", "command"), every_command(), ids=[name for name, _ in every_command()])
def test_every_command_has_help_with_an_example(name, command, capsys):
    assert main([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out

    assert "Example" in shown
    assert "mdmem" in shown.partition("Example")[2]
    assert all(option.help for option in command.params if isinstance(option, click.Option)) or name == "debug query"
    assert max(map(len, shown.splitlines())) <= 110


@pytest.mark.parametrize("name", [name for name, _ in every_command()])
def test_every_command_is_named_in_the_docs(name):
    assert f"`{name}" in DOCS or f"mdmem {name}" in DOCS


def test_the_groups_of_the_help_are_those_of_the_table():
    assert {entry.group for entry in COMMANDS.values()} == set(GROUPS)


def test_every_command_that_prints_data_takes_json():
    silent = {"daemon", "hook", "mcp", "service", "completion", "config", "config path", "config set", "config edit"}
    without = {name for name, command in every_command() if "as_json" not in {p.name for p in command.params}}

    assert {name for name in without if not name.startswith("debug")} == silent


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_an_error_is_told_as_what_where_and_what_to_do(kind, capsys):
    extra = {"choices": ["a", "b"]} if kind is errors.AmbiguousError else {"where": "user/a.md:3"}
    if kind is errors.ChangedError:
        extra |= {"theirs": b"now \x1b[1m\n", "ours": b"mine\n"}
    error = kind("it is \x1b[31mred", hint="look", **extra)
    code = tell(error)
    shown = capsys.readouterr().err

    assert code == kind.exit_code
    assert shown.startswith("error: ")
    assert shown.rstrip().endswith("try:   look")
    assert "\x1b" not in shown


def test_an_error_that_crossed_the_socket_keeps_its_code_and_words():
    told = {"what": "no", "where": "here", "hint": "do", "exit_code": 3, "choices": None}
    error = error_of(told)

    assert (type(error), error.exit_code, str(error), error.hint) == (errors.NotFoundError, 3, "here: no", "do")
    assert error_of({}).exit_code == 70


def test_usage_errors_end_with_2_and_point_to_the_help(call):
    for args in (
        ["serch"],
        ["search"],
        ["list", "--nope"],
        ["config"],
        ["completion", "csh"],
        ["search", "x", "--limit", "0"],
    ):
        done = call(*args)
        assert (done.code, done.out) == (2, ""), args
    assert "did you mean 'search'" in call("serch").err
    assert call("list", "--nope").err.endswith("try:   mdmem list --help\n")


def test_alone_it_shows_its_help(call):
    done = call()

    assert done.code == 0
    assert [line for line in done.out.splitlines() if line in ("Start:", "Write:", "Find:", "Keep:", "Look inside:")]


def test_a_fault_of_ours_goes_to_the_log_and_one_line_to_the_person(home, call, monkeypatch):
    said = "secret text of a memory"

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError(said)

    monkeypatch.setattr("mdmem.cli.find.ask", fail)
    done = call("list")

    log = (home.mdmem / "state" / "mdmem.log").read_text()
    assert done.code == 70
    assert done.err.startswith("error: a fault of ours (ZeroDivisionError)")
    assert len(done.err.splitlines()) == 1
    assert "ZeroDivisionError" in log
    assert said not in log + done.err


def test_a_fault_in_an_answer_goes_to_the_log_too(home, call, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("mdmem.app.answers.read.list_entries", fail)
    done = call("list")

    assert (done.code, done.out) == (70, "")
    assert len(done.err.splitlines()) == 1
    assert "ZeroDivisionError" in (home.mdmem / "state" / "mdmem.log").read_text()


def test_an_interruption_ends_with_130(call, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mdmem.cli.find.ask", interrupt)
    assert call("list").code == 130


def test_no_file_of_this_room_is_long():
    for path in [*(ROOT / "mdmem/cli").glob("*.py"), Path(ROOT / "mdmem/outputs/text.py")]:
        assert len(path.read_text().splitlines()) <= 400, path


assert mdmem.models.EmbedError  # imported for its place in the tree
