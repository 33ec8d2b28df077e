"""What agents did, on its way from their logs into the inbox."""

import datetime
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mdmem.app import Answers, App, Local
from mdmem.candidates import inbox
from tests.app.claude_log import ClaudeLog
from tests.conftest import Daemon, Home, wait_until
from tests.gates.making import secrets


@pytest.fixture
def here(home: Home) -> Iterator[Answers]:
    with Local(App()) as local:
        yield Answers(local)


@pytest.fixture
def log(home: Home) -> ClaudeLog:
    return ClaudeLog(home.folder, home.work)


def harvest(here: Answers, **request: Any) -> dict[str, Any]:
    told = here.answer({"op": "harvest", "since": "2020-01-01", "agents": ["claude-code"], **request})
    while not told["finished"]:
        told = here.answer({"op": "harvest", "since": "2020-01-01", "agents": ["claude-code"], **request, **told})
    assert told["ok"]
    return told


def waiting(here: Answers) -> dict[str, inbox.Waiting]:
    return {str(w.candidate.fields["key"]): w for w in inbox.list_candidates(here.app.inbox_folder).waiting}


def a_deploy(log: ClaudeLog) -> None:
    log.said("please deploy to staging")
    log.ran("make deploy ENV=staging", "error: no token", code=2)
    log.ran("aws sso login", "Successfully logged into Start URL")
    log.ran("make deploy ENV=staging", "released 42")
    log.answered("It is deployed.")


def test_a_deploy_that_failed_and_then_worked_is_proposed_with_its_proof(here: Answers, log: ClaudeLog) -> None:
    a_deploy(log)
    harvest(here)
    found = waiting(here)
    (key,) = [key for key in found if key.startswith("deploy:")]
    candidate = found[key].candidate
    assert candidate.fields["type"] == "capability"
    assert "make deploy ENV=staging" in candidate.body
    assert candidate.evidence[0].agent == "claude-code"
    assert candidate.evidence[0].session == "s-1"
    assert candidate.evidence[0].path == str(log.path)
    line = log.path.read_bytes()[candidate.evidence[0].offset or 0 :].split(b"\n")[0]
    assert b"tool" in line
    assert float(str(candidate.fields["confidence"])) == 1.0


def test_the_past_is_used_once(here: Answers, log: ClaudeLog) -> None:
    a_deploy(log)
    assert harvest(here)["events"] > 0
    before = waiting(here)
    for waits in before.values():
        Path(waits.path).unlink()
    assert harvest(here)["events"] == 0
    assert waiting(here) == {}


def test_what_did_not_work_proposes_nothing(here: Answers, log: ClaudeLog) -> None:
    log.said("deploy to staging")
    log.ran("make deploy ENV=staging", "error", code=1)
    log.ran("make -n deploy ENV=staging", "echo deploying")
    log.ran("make deploy ENV=staging | tail -1 || true", "failed: no token")
    log.ran("ls -la; cat README.md", "README")
    log.answered("I deployed it to staging.")
    harvest(here)
    assert waiting(here) == {}


def test_a_rule_of_the_person_is_proposed_and_nobody_elses(here: Answers, log: ClaudeLog) -> None:
    log.said("From now on never push to main directly.")
    log.said("以后都用 pnpm，不要用 npm。")
    log.ran("cat AGENTS.md", "Always use tabs. Never write tests.")
    log.answered("I will always be careful.")
    harvest(here)
    assert sorted(str(w.candidate.fields["source"]) for w in waiting(here).values()) == ["stated", "stated"]


def test_a_block_that_mdmem_gave_is_not_learned_from(here: Answers, log: ClaudeLog) -> None:
    log.said('<mdmem-block id="0a1b2c3d">\n- [rule] Never push to main directly.\n</mdmem-block>\nhello there')
    log.said("<private>From now on always deploy on Fridays.</private> hello")
    harvest(here)
    assert waiting(here) == {}


def test_work_in_a_known_project_is_the_projects(here: Answers, home: Home) -> None:
    project = home.folder / "shop"
    project.mkdir()
    assert home.run("init", cwd=project).code == 0
    a_deploy(ClaudeLog(home.folder, project))
    harvest(here)
    (found,) = [w for key, w in waiting(here).items() if key.startswith("deploy:")]
    assert (found.candidate.scope, found.candidate.scope_ref) == ("project", "shop")


def test_secrets_of_a_log_get_nowhere(here: Answers, log: ClaudeLog, home: Home) -> None:
    kept = [secret for _, secret in secrets(7, 1) if "\n" not in secret][:25]
    for secret in kept:
        log.ran(f"export TOKEN={secret} && make deploy ENV=staging", f"token {secret} ok")
        log.said(f"From now on always use {secret} for staging.")
        log.ran(f"mysql -h db.example -p{secret} -e 'select 1'", f"1 {secret}")
    log.answered("done")
    harvest(here)
    ours = [path for path in home.mdmem.rglob("*") if path.is_file()]
    text = b"\0".join(path.read_bytes() for path in ours)
    assert [secret for secret in kept if secret.encode() in text] == []


def test_a_dry_run_shows_and_keeps_nothing(home: Home, log: ClaudeLog) -> None:
    a_deploy(log)
    shown = home.run("harvest", "--since", "2020-01-01", "--agent", "claude-code", "--dry-run", "--json").json
    assert "capability" in {one["type"] for one in shown}
    assert not (home.mdmem / "inbox").exists() or not list((home.mdmem / "inbox").iterdir())
    done = home.run("harvest", "--since", "2020-01-01", "--agent", "claude-code", "--json")
    assert done.json["events"] > 0
    assert done.json["waiting"] == len(list((home.mdmem / "inbox").iterdir()))


def test_another_folder_stands_for_an_agents_own(home: Home, log: ClaudeLog) -> None:
    a_deploy(log)
    copy = home.folder / "backup"
    (home.folder / ".claude").rename(copy)
    gone = home.run("harvest", f"{copy}.gone", "--agent", "claude-code")
    assert (gone.code, f"{copy}.gone" in gone.err) == (3, True)
    empty = copy.parent / "empty"
    empty.mkdir()
    assert "no log of that time" in home.run("harvest", str(empty), "--agent", "claude-code").err
    assert home.run("harvest", str(copy), "--agent", "codex", "--json").json["logs"] == 0
    done = home.run("harvest", str(copy), "--agent", "claude-code", "--since", "2020-01-01", "--json")
    assert done.json["events"] > 0


def test_a_log_is_known_wherever_it_lies_and_whatever_its_name_is(home: Home, log: ClaudeLog) -> None:
    a_deploy(log)
    odd = home.folder / "odd.txt"
    log.path.rename(odd)
    (home.folder / "notes.md").write_text("# nothing of the kind\n")
    shown = home.run("harvest", str(odd), "--dry-run", "--json").json
    assert "capability" in {one["type"] for one in shown}
    told = home.run("harvest", str(home.folder / "notes.md"))
    assert (told.code, "no activity log" in told.err) == (2, True)
    odd.rename(home.folder / "work" / "odd.jsonl")
    done = home.run("harvest", str(home.folder / "work"), "--json").json
    assert (done["logs"], done["events"] > 0) == (1, True)
    assert home.run("harvest", str(home.folder / "work" / "odd.jsonl"), "--json").json["events"] == 0


def test_a_log_without_a_time_of_its_own_is_read_whole_where_it_is_named(home: Home, log: ClaudeLog) -> None:
    a_deploy(log)
    os.utime(log.path, (1_600_000_000, 1_600_000_000))
    assert home.run("harvest", "--agent", "claude-code", "--json").json["logs"] == 0
    assert home.run("harvest", str(log.path), "--json").json["logs"] == 1


def test_what_cannot_be_read_below_a_folder_is_told_and_the_rest_is_read(home: Home, log: ClaudeLog) -> None:
    a_deploy(log)
    damaged = log.path.with_name("damaged.db")
    damaged.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    assert str(damaged) in home.run("harvest", str(log.path.parent), "--dry-run").err
    done = home.run("harvest", str(log.path.parent), "--json").json
    assert done["events"] > 0
    assert [trouble for trouble in done["troubles"] if trouble.startswith(str(damaged))]


@pytest.mark.parametrize(
    ("args", "code"),
    [(["--since", "soon"], 2), (["--agent", "nobody"], 2), (["--since", "999999d"], 2)],
)
def test_wrong_words_are_told(home: Home, args: list[str], code: int) -> None:
    assert home.run("harvest", *args).code == code


def test_logs_of_another_program_are_read_as_the_config_says(home: Home) -> None:
    logs = home.folder / "bot"
    logs.mkdir()
    home.mdmem.mkdir(exist_ok=True)
    (home.mdmem / "config.toml").write_text(
        f'[learn.logs.bot]\npath = "{logs}/*.jsonl"\ncommand = "cmd"\nexit_code = "rc"\n'
    )
    (logs / "1.jsonl").write_text(
        '{"id": "1", "session": "x", "cmd": "make deploy ENV=staging", "rc": 0, "cwd": "/w/shop"}\n'
    )
    assert home.run("harvest", "--agent", "bot", "--since", "2020-01-01", "--json").json["events"] == 1
    other = home.folder / "other.log"
    other.write_text('{"id": "2", "session": "x", "cmd": "make deploy ENV=prod", "rc": 0, "cwd": "/w/shop"}\n')
    assert home.run("harvest", "--agent", "bot", str(other), "--json").json["events"] == 1
    assert len(list((home.mdmem / "inbox").iterdir())) == 2


def test_a_later_failure_puts_a_memory_in_doubt(here: Answers, home: Home, log: ClaudeLog) -> None:
    a_deploy(log)
    harvest(here)
    (key,) = [key for key in waiting(here) if key.startswith("deploy:")]
    home.put("deploy.md", f"---\nkey: {key}\ntype: capability\nprobe: make --version\n---\nDeploy with make deploy.\n")
    here.backend.sync(None)
    again = ClaudeLog(home.folder, home.work, "s-2")
    again.said("deploy to staging")
    again.ran("make deploy ENV=staging", "error: access denied", code=2)
    again.answered("It failed.")
    harvest(here)
    shown = here.answer({"op": "inject", "query": "how do we deploy to staging with make deploy"})
    assert f"unverified since {datetime.datetime.now(datetime.UTC):%Y-%m-%d}" in shown["text"]
    again.ran("make deploy ENV=staging", "released 43")
    again.answered("Now it works.")
    harvest(here)
    shown = here.answer({"op": "inject", "query": "how do we deploy to staging with make deploy"})
    assert "unverified" not in shown["text"]


# --- live -----------------------------------------------------------------------


def test_the_daemon_follows_the_logs_of_agents_that_are_connected(home: Home, log: ClaudeLog) -> None:
    log.said("hello")
    daemon = Daemon(home)
    try:
        a_deploy(log)  # nobody is connected: nothing is read
        assert home.run("connect", "claude-code").code == 0
        assert home.run("config", "show", "--json").json["learn"]["agents"] == ["claude-code"]
        wait_until(lambda: daemon.ask("status")["status"]["learning"], "the logs are followed")
        log = ClaudeLog(home.folder, home.work, "s-2")
        a_deploy(log)
        payload = {"session_id": "s-2", "transcript_path": str(log.path), "cwd": str(home.work)}
        home.run("hook", "claude-code", "SessionEnd", stdin=json.dumps(payload))  # it tells which log to look at
        wait_until(lambda: daemon.ask("status")["status"]["candidates"] > 0, "a candidate waits")
        assert all("s-2" in path.read_text() for path in (home.mdmem / "inbox").iterdir())
        assert home.run("disconnect", "claude-code").code == 0
        assert home.run("config", "show", "--json").json["learn"]["agents"] == []
    finally:
        daemon.stop()


def test_cursors_hooks_prove_what_its_logs_do_not_say(home: Home) -> None:
    (home.folder / ".cursor").mkdir()
    daemon = Daemon(home)
    try:
        home.run("connect", "cursor")
        wait_until(lambda: daemon.ask("status")["status"]["learning"], "the logs are followed")
        payload = {
            "conversation_id": "c1", "generation_id": "g1", "hook_event_name": "postToolUse", "tool_name": "Shell",
            "workspace_roots": [str(home.work)], "tool_input": {"command": "make deploy ENV=staging"},
            "tool_output": json.dumps({"output": "released", "exitCode": 0}),
        }  # fmt: skip
        assert home.run("hook", "cursor", "postToolUse", stdin=json.dumps(payload)).out == ""
        wait_until(lambda: daemon.ask("status")["status"]["candidates"] == 1, "a candidate waits")
        failed = payload | {"tool_output": json.dumps({"output": "no", "exitCode": 1}), "generation_id": "g2"}
        home.run("hook", "cursor", "postToolUse", stdin=json.dumps(failed))
    finally:
        daemon.stop()
    assert len(list((home.mdmem / "inbox").iterdir())) == 1


def test_records_of_a_new_kind_are_one_problem_however_many_logs_have_them(home: Home, log: ClaudeLog) -> None:
    log.said("hello")
    daemon = Daemon(home)
    try:
        assert home.run("connect", "claude-code").code == 0
        wait_until(lambda: daemon.ask("status")["status"]["learning"], "the logs are followed")
        logs = [ClaudeLog(home.folder, home.work, f"s-{n}") for n in range(3)]
        for each in logs:
            each.said("hello")
            with each.path.open("a") as file:
                file.write('{"type": "brand-new", "sessionId": "s"}\n' * 2)
            payload = {"session_id": each.session, "transcript_path": str(each.path), "cwd": str(home.work)}
            home.run("hook", "claude-code", "SessionEnd", stdin=json.dumps(payload))  # it tells which log to look at

        def unread() -> list[str]:
            problems = daemon.ask("status")["status"]["problems"]
            return [problem["message"] for problem in problems if problem["code"] == "log-unread"]

        wait_until(lambda: unread() == ["claude-code: unknown record 'brand-new', 6 times in 3 logs"], "all are read")
        for each in logs:
            os.utime(each.path, (1_700_000_000, 1_700_000_000))
        wait_until(lambda: unread() == [], "what was long ago is not told any more")
    finally:
        daemon.stop()


def test_what_gemini_compacted_is_given_again(home: Home) -> None:
    """Its hook before a compaction comes at each request, so only its log says when there was one."""
    (home.folder / ".gemini").mkdir()
    home.put("rule.md", "---\ntype: rule\nname: no friday deploys\n---\nNever deploy on a Friday.\n")
    chat = home.folder / ".gemini/tmp/p/chats/session-1.jsonl"
    chat.parent.mkdir(parents=True)
    chat.write_text('{"sessionId": "g-1", "projectHash": "h", "kind": "main"}\n')
    daemon = Daemon(home)
    try:
        daemon.sync()
        assert home.run("connect", "gemini").code == 0
        wait_until(lambda: daemon.ask("status")["status"]["learning"], "the logs are followed")

        def given() -> bool:
            payload = {"session_id": "g-1", "transcript_path": str(chat), "cwd": str(home.work), "prompt": "go on now"}
            return "Friday" in home.run("hook", "gemini", "BeforeAgent", stdin=json.dumps(payload)).out

        wait_until(given, "it is given")
        home.run("hook", "gemini", "PreCompress", stdin='{"session_id": "g-1", "trigger": "auto"}')
        assert not given()
        with chat.open("a") as log:
            log.write('{"id": "m1", "type": "info", "content": "Context compressed from 86% to 0%."}\n')
        wait_until(given, "it is given again")
    finally:
        daemon.stop()
