"""`mdmem verify`: nothing is run that no person has allowed, and what was found is told everywhere."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bed import memory
from tests.conftest import LIMIT_S, Daemon, Home

PROMPT = "[y/N] "
KEYS = {"key", "scope", "scope_ref", "path", "probe", "allowed", "ok", "exit_code", "ms", "at", "why"}


class Terminal:
    """One command whose input, output and errors are a terminal."""

    def __init__(self, home: Home, *args: str) -> None:
        self.said = ""
        self.master, slave = pty.openpty()
        command = [sys.executable, "-m", "mdmem", *args]
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=home.work,
            env=home.env | {"NO_COLOR": "1"},
            start_new_session=True,
        )
        os.close(slave)

    def answer(self, text: str) -> str:
        """What was said up to the question; then the answer is typed."""
        before = self._until(lambda: self.said.endswith(PROMPT))
        self.said = ""
        os.write(self.master, text.encode())
        return before

    def finish(self) -> tuple[int, str]:
        self._until(lambda: self.process.poll() is not None)
        while self._read():
            pass
        os.close(self.master)
        return self.process.returncode, self.said

    def _until(self, holds) -> str:
        deadline = time.monotonic() + LIMIT_S
        while not holds():
            assert time.monotonic() < deadline, f"no end after: {self.said}"
            self._read()
        return self.said

    def _read(self) -> bool:
        if not select.select([self.master], [], [], 0.05)[0]:
            return False
        try:
            some = os.read(self.master, 65_536)
        except OSError:  # the other end is closed
            return False
        self.said += some.decode().replace("\r\n", "\n")
        return bool(some)


def capability(probe: str, key: str = "deploy:shop", **more: str) -> str:
    return memory("It works.", type="capability", key=key, probe=json.dumps(probe), updated="2026-10-01", **more)


def test_without_a_yes_nothing_is_run(home, call):
    home.put("a.md", capability("touch ran"))
    home.put("b.md", "No probe.\n")
    done = call("verify", "--json")

    assert done.code == 1
    (told,) = done.json
    assert told.keys() == KEYS
    assert (told["key"], told["probe"], told["allowed"], told["ok"]) == ("deploy:shop", "touch ran", False, None)
    assert "mdmem verify deploy:shop at a terminal, or with --yes" in told["why"]
    assert not (home.folder / "ran").exists()
    assert call("verify", stdin="y\n").out.startswith("not run  deploy:shop: nobody has allowed it yet")
    assert not (home.folder / "ran").exists()


def test_a_yes_is_for_memories_that_were_named_and_holds_until_the_text_changes(home, call):
    path = home.put("a.md", capability("touch ran"))
    assert call("verify", "--yes").code == 2
    done = call("verify", "deploy:shop", "--yes", "--json")
    assert done.code == 0
    (told,) = done.json
    assert (told["allowed"], told["ok"], told["exit_code"], told["why"]) == (True, True, 0, None)
    assert told["at"].endswith("Z")
    assert "   | touch ran\n" in done.err
    assert (home.folder / "ran").exists()

    again = call("verify")
    assert (again.code, again.out.startswith("verified deploy:shop: in ")) == (0, True)
    path.write_text(capability("touch ran2"))
    assert call("verify").code == 1
    assert not (home.folder / "ran2").exists()


def test_there_is_nothing_to_do_and_nothing_to_find(home, call):
    home.put("a.md", "Text.\n")
    done = call("verify")

    assert (done.code, done.err) == (0, "no memory here has a probe\n")
    assert call("verify", "--json").json == []
    missing = call("verify", "a")
    assert (missing.code, "a has no probe" in missing.err) == (3, True)
    assert call("verify", "zzz").code == 3


def test_what_has_ended_is_probed_only_by_key(home, call):
    home.put("a.md", capability("true", status="archived"))

    assert call("verify", "--json").json == []
    assert call("verify", "deploy:shop", "--yes").code == 0


def test_a_failure_shows_the_end_of_what_was_printed_and_keeps_none_of_it(home, call):
    home.put("a.md", capability("printf 'one\\n\\033[31mzebra\\n'; exit 4"))
    done = call("verify", "deploy:shop", "--yes")

    assert done.code == 1
    assert done.out == "failed   deploy:shop: exit code 4\n   one\n   zebra\n"
    state = b"".join(p.read_bytes() for p in (home.mdmem / "state").iterdir() if p.name.startswith("ledger"))
    assert b"zebra" not in state
    assert b"printf" not in state


def test_a_failed_probe_is_told_in_the_block_by_show_and_by_status_until_it_is_verified(home, call):
    home.put("a.md", capability("test -e ok", proof="log"))
    line = "deploy:shop: It works. ({}, 2026-10-01)"
    assert line.format("verified") in call("inject").out
    assert call("verify", "deploy:shop", "--yes").code == 1
    shown = call("show", "deploy:shop", "--json").json
    since = shown["unverified_since"]
    assert since[:10] == shown["probed"]["at"][:10]
    assert (shown["probed"]["ok"], shown["probed"]["exit_code"]) == (False, 1)
    assert line.format(f"unverified since {since[:10]}; stated") in call("inject").out
    assert call("show", "deploy:shop").err.startswith(f"unverified since {since[:10]}: ")
    status = call("status", "--json")
    assert (status.code, [m["key"] for m in status.json["unverified"]]) == (0, ["deploy:shop"])
    assert f"unverified since {since[:10]}: deploy:shop (" in call("status").out
    (home.user / "a.md").rename(home.user / "b.md")
    assert line.format(f"unverified since {since[:10]}; stated") in call("inject").out

    (home.folder / "ok").touch()
    assert call("verify").code == 0
    assert line.format("verified") in call("inject").out
    assert call("show", "deploy:shop").err.startswith("verified ")
    assert call("status", "--json").json["unverified"] == []


def test_a_session_is_told_again_of_what_has_failed_since(home, call):
    home.put("a.md", capability("test -e ok"))
    turn = {"op": "inject", "agent": "bob", "session": "s1"}
    from mdmem.cli.ask import ask

    assert ask(turn)["memories"]
    assert not ask(turn)["memories"]
    assert call("verify", "deploy:shop", "--yes").code == 1
    assert "unverified since" in ask(turn)["text"]
    assert not ask(turn)["memories"]


def test_a_project_is_probed_at_its_root_and_a_yes_is_for_that_project_alone(home, call, project):
    home.put("a.md", capability("touch ran", "make"), project)
    (home.work / "sub").mkdir()
    assert call("verify", "make", "--yes", "--cwd", home.work / "sub").code == 0
    assert (home.work / "ran").exists()

    other = home.folder / "other"
    other.mkdir()
    assert call("init", other).code == 0
    home.put("a.md", capability("touch ran", "make"), other / ".mdmem")
    assert call("verify", "--cwd", other).code == 1
    assert not (other / "ran").exists()


def test_k8_an_untrusted_project_is_never_probed(home, call, project):
    home.put("a.md", capability("touch ran", "make"), project)
    assert call("verify", "make", "--yes").code == 0
    (home.work / "ran").unlink()
    assert call("untrust", ".").code == 0
    done = call("verify", "--json")

    assert (done.json, "is not trusted" in done.err) == ([], True)
    assert call("verify", "make", "--yes").code == 3
    assert call("verify", project / "a.md", "--yes").code == 3
    assert not (home.work / "ran").exists()


def test_k15_shell_text_in_names_keys_and_paths_is_never_run(home, call):
    text = "$(touch x);`touch x`"
    home.put(f"{text.replace('/', '_')}.md", capability(f"echo '{text}'", text, name=json.dumps(text)))
    done = call("verify", text, "--yes", "--agent", "bob")

    assert done.code == 0
    assert [p for p in home.folder.rglob("x") if p.is_file()] == []


def test_a_probe_too_long_to_judge_is_not_run(home, call):
    home.put("a.md", capability("true " + " " * 3_000 + "x"))
    done = call("verify", "deploy:shop", "--yes", "--json")

    assert (done.code, done.json[0]["allowed"], done.json[0]["ok"]) == (1, False, None)
    assert "longer than" in done.json[0]["why"]


# --- a person at a terminal ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_person_sees_who_where_and_every_character_and_says_yes_or_no(home: Home) -> None:
    home.put("a.md", capability("touch ran \u202e\u200b\u3164\tzz; touch more", "a"))
    home.put("a2.md", (home.user / "a.md").read_text().replace("key: a", "key: a2"))
    home.put("b.md", capability("touch never", "b"))
    terminal = Terminal(home, "verify")
    asked = terminal.answer("y\n")
    assert terminal.answer("no\n").count("touch never") == 1
    code, said = terminal.finish()

    assert asked.splitlines()[:2] == ["a  capability · user", f"   {home.user / 'a.md'}"]
    assert f"in {home.folder}, by:" in asked
    assert "   | touch ran \\u202e\\u200b\\u3164\\tzz; touch more\n" in asked
    assert "what can't be seen in it stands as \\x.." in asked
    assert code == 1
    assert "b: you did not allow it" in said
    assert "verified a2: " in said
    assert (home.folder / "more").exists()
    assert not (home.folder / "never").exists()
    assert home.run("verify", "a").code == 0
    assert home.run("verify", "b").code == 1


@pytest.mark.slow
def test_anything_but_yes_after_the_question_is_a_no_and_an_interrupt_runs_nothing(home: Home) -> None:
    home.put("a.md", capability("touch ran"))
    for typed, code in (("\n", 1), ("x\n", 1), ("\x04", 1), ("yy\n", 1)):
        terminal = Terminal(home, "verify")
        terminal.answer(typed)
        assert terminal.finish()[0] == code
    early = Terminal(home, "verify")
    os.write(early.master, b"y\n")
    early.answer("\n")
    assert early.finish()[0] == 1
    terminal = Terminal(home, "verify")
    terminal._until(lambda: terminal.said.endswith(PROMPT))
    terminal.process.send_signal(2)
    assert terminal.finish()[0] == 130

    assert not (home.folder / "ran").exists()


@pytest.mark.slow
def test_nobody_is_asked_who_could_not_see_the_question(home: Home) -> None:
    home.put("a.md", capability("touch ran"))
    master, slave = pty.openpty()
    os.write(master, b"y\n")
    done = subprocess.run(
        [sys.executable, "-m", "mdmem", "verify"], stdin=slave, capture_output=True, env=home.env, cwd=home.work,
        check=False,
    )  # fmt: skip
    os.close(master)
    os.close(slave)

    assert done.returncode == 1
    assert not (home.folder / "ran").exists()


# --- with a daemon ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_with_a_daemon_results_go_through_it_and_the_block_tells_at_once(
    home: Home, daemon: Daemon, mdmem, tmp_path: Path
) -> None:
    path = home.put("a.md", capability("test -e ok"))
    daemon.sync()
    assert mdmem("verify").code == 1
    assert "unverified" not in daemon.ask("inject")["text"]
    assert mdmem("verify", "deploy:shop", "--yes").code == 1
    assert "(unverified since 20" in daemon.ask("inject")["text"]
    assert [m["key"] for m in daemon.ask("status")["status"]["unverified"]] == ["deploy:shop"]
    (home.folder / "ok").touch()
    assert mdmem("verify").code == 0
    assert "unverified" not in daemon.ask("inject")["text"]

    path.write_text(capability("touch ran"))
    assert mdmem("verify").code == 1
    assert not (home.folder / "ran").exists()


@pytest.mark.parametrize(
    "request_",
    [
        {"op": "probed", "results": 1},
        {"op": "probed", "results": [[1]]},
        {"op": "probed", "results": [["user", None, "a.md", "zz", True, 0, "2026", 1]]},
        {"op": "probed", "results": [["nobody", None, "a.md", "00", True, 0, "2026", 1]]},
        {"op": "probed", "results": [["user", None, "a.md", "00", 1, 0, "2026", 1]]},
        {"op": "allow_probes", "allowed": "00"},
        {"op": "allow_probes", "allowed": ["x"]},
        {"op": "probes", "keys": [1]},
    ],
)
def test_a_request_that_is_wrong_says_so(home, request_):
    from mdmem.cli.ask import ask
    from mdmem.errors import UsageError

    with pytest.raises(UsageError):
        ask(request_)
