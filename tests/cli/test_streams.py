"""The command as a process: streams, locales, homes that don't work, and what it imports."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT, Daemon

pytestmark = pytest.mark.slow


def test_l9_a_closed_pipe_is_silent(home):
    for n in range(40):
        home.put(f"{n}.md", f"About number {n}. " + "x" * 3000 + "\n")
    with subprocess.Popen(
        [sys.executable, "-m", "mdmem", "list", "--json"],
        env=home.env, cwd=home.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()

        assert process.wait(30) == 0
    assert said == b""


@pytest.mark.parametrize("args", [["list"], ["list", "--json"], ["search", "word"], ["--help"]])
def test_l9_an_output_that_takes_no_more_is_the_machine_refusing(home, args):
    home.put("a.md", "word\n")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mdmem", *args], env=home.env, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 6
    assert "No space left" in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_l9_f12_every_locale_gets_an_answer(home, locale):
    home.put("ü.md", "Grüße 部署 \u202e.\n")
    env = {"LC_ALL": locale, "LANG": locale}

    assert "ü.md" in home.run("search", "Grüße", env=env).out
    assert [h["key"] for h in home.run("list", "--json", env=env).json] == ["ü"]


def test_l9_a_stream_that_cannot_say_it_gets_escapes(home):
    home.put("a.md", "Grüße 部署\n")
    env = {"PYTHONIOENCODING": "ascii"}

    assert "Gr\\xfc\\xdfe \\u90e8\\u7f72" in home.run("list", env=env).out
    assert home.run("list", "--json", env=env).json[0]["description"] == "Grüße 部署"


def test_l9_words_that_are_no_text_are_no_fault(home):
    home.put("a.md", "Alpha.\n")
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    for args in (["search", "Grüße"], ["list"], ["show", "ü"], ["search", "x", "--type", "ü"], ["status"]):
        done = home.run(*args, env=env)
        assert done.code in (0, 2, 3), (args, done)
        assert "raceback" not in done.err


def test_l9_colours_only_where_they_are_wanted(home):
    home.put("a.md", "Alpha.\n")

    assert "\x1b" not in home.run("search", "alpha").out
    assert "\x1b[1m" in home.run("--color", "always", "search", "alpha").out
    assert "\x1b[1m" in home.run("--color", "always", "search", "alpha", env={"NO_COLOR": "1"}).out
    assert "\x1b" not in home.run("--color", "never", "search", "alpha").out


def test_no_color_counts_at_a_terminal(home):
    home.put("a.md", "Alpha.\n")

    assert b"\x1b[1m" in _at_a_terminal(home, {})
    assert b"\x1b" not in _at_a_terminal(home, {"NO_COLOR": "1"})


def _at_a_terminal(home, env) -> bytes:
    """What the search writes when stdout is a terminal."""
    import pty

    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "mdmem", "search", "alpha"],
        env=home.env | env, cwd=home.work, stdout=theirs, stdin=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    os.close(theirs)
    shown = os.read(ours, 65536)
    os.close(ours)
    return shown


def test_f12_without_a_home_it_says_what_is_missing(home):
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": "", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-m", "mdmem", "list"], env=env, cwd="/", capture_output=True, text=True, check=False
    )

    assert done.returncode in (0, 6)
    assert "raceback" not in done.stderr


def test_f12_a_home_that_cannot_be_made_is_the_machine_refusing(home):
    for args in (["list"], ["up"], ["add", "x"], ["status"]):
        done = home.run(*args, env={"MDMEM_HOME": "/proc/mdmem"})  # root, too, makes no folder there
        assert done.code == 6, (args, done)
        assert done.err.startswith("error: "), (args, done)


def test_f12_a_home_that_is_a_file_is_the_machine_refusing(home):
    home.mdmem.write_text("not a folder")
    for args in (["list"], ["up"], ["add", "x"], ["config", "set", "embedder.model", "none"]):
        done = home.run(*args)
        assert done.code in (4, 6), (args, done)
        assert done.err.startswith("error: "), (args, done)


def test_a_working_directory_that_is_gone_is_no_fault(home):
    gone = home.folder / "gone"
    gone.mkdir()
    script = 'rmdir "$0"; exec "$1" -m mdmem list --json'
    done = subprocess.run(
        ["sh", "-c", script, str(gone), sys.executable],
        cwd=gone,
        env=home.env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "[]\n")


# --- speed ---------------------------------------------------------------------------


def test_a_search_with_a_daemon_imports_no_room_but_the_door(home, daemon: Daemon):
    script = (
        "import sys; from mdmem.cli import main; code = main(['search', 'x', '--json']);"
        "print(code, *sorted(sys.modules), file=sys.stderr)"
    )
    # What measures coverage imports a lot of its own.
    env = {k: v for k, v in home.env.items() if not k.startswith("COV")}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    code, *modules = done.stderr.splitlines()[-1].split()

    assert code == "0"
    heavy = {
        "apsw",
        "dataclasses",
        "pydantic",
        "rich",
        "yaml",
        "tomllib",
        "tomlkit",
        "platformdirs",
        "pathlib",
        "psutil",
        "logging",
    }
    assert heavy & set(modules) == set()
    assert [m for m in modules if m.startswith("mdmem.") and m.split(".")[1] in ("app", "index", "files", "db")] == []


def test_help_imports_no_room(home):
    script = "import sys; from mdmem.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], env=home.env, capture_output=True, text=True, check=True)

    assert not {"apsw", "mdmem.app", "mdmem.cli.find", "mdmem.daemon.client"} & set(done.stderr.split())
    assert "search" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_us(home, shell):
    assert "_MDMEM_COMPLETE" in home.run("completion", shell).out
    env = {"_MDMEM_COMPLETE": f"{shell}_complete", "COMP_WORDS": "mdmem sea", "COMP_CWORD": "1"}
    if shell == "fish":
        env |= {"COMP_WORDS": "mdmem", "COMP_CWORD": "sea"}
    assert "search" in home.run(env=env).out


@pytest.mark.parametrize("blocks", ["8", "40"])
def test_a_disk_that_takes_no_more_is_the_machine_refusing(home, blocks):
    home.put("a.md", "Alpha.\n")
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f "$0"; exec "$1" -m mdmem list', blocks, sys.executable],
        env=home.env | {"PYTHONDONTWRITEBYTECODE": "1"}, cwd=home.work, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 6
    assert done.stderr.startswith("error: ")
    assert "try:" in done.stderr
