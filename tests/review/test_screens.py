"""`mdmem review` as a person has it: keys pressed in a pseudo-terminal, and the screens kept beside as text.

MDMEM_TEST_SCREENS=write writes them anew; look at what changed before you commit it.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest

from mdmem.candidates import inbox
from mdmem.candidates.inbox import Candidate, Evidence, Verdict
from tests.conftest import Daemon, Home, wait_until
from tests.review.conftest import WHEN
from tests.review.terminal import SGR, Terminal

pytestmark = pytest.mark.slow

SCREENS = Path(__file__).parent / "screens"
WRITES = os.environ.get("MDMEM_TEST_SCREENS") == "write"
LOG = "/home/ann/.codex/sessions/2026/11/30/rollout-2026-11-30T10-00-00-0f3a.jsonl"


def put(home: Home, body: str, name: str, kind: str = "procedure", **more: object) -> str:
    fields = {"name": name, "type": kind, "source": "inferred", **more.pop("fields", {})}  # type: ignore[dict-item]
    evidence = (Evidence("$ make dist\nbuilding\nok", "codex", "s1", LOG, 4711),)
    gates = more.pop("gates", {})
    made = Candidate("user", None, fields, body, WHEN, evidence=evidence)._replace(**more)
    return inbox.put(f"{home.mdmem}/inbox", made, gates)[0].key  # type: ignore[arg-type]


def deploys(home: Home) -> None:
    for n, name in enumerate(("blyck", "docs", "shop")):
        fields = {"key": f"deploy:{name}", "source": "tool", "confidence": "1.0", "entities": ["aws", name]}
        put(home, f"npm run dist, then s3 cp to {name}.\n", f"Deploy {name}", "capability", fields=fields,
            proposed=f"2026-11-30T1{n}:00:00Z")  # fmt: skip


def update(home: Home) -> None:
    home.put("release.md", "---\nname: How to release\nkey: release\ntype: procedure\n---\nTag it.\nPush the tag.\n")
    fields = {"description": "Build first.", "tags": ["make"]}
    gates = {"transient": Verdict(True, ""), "duplicate": Verdict(True, "")}
    put(home, "Run make dist.\nTag it.\nPush the tag.\n", "How to release", action="UPDATE", target="release",
        fields=fields, gates=gates)  # fmt: skip


def hostile(home: Home) -> None:
    body = (
        "Harmless\u202e sselmraH\n\x1b[2J\x1b]52;c;ZXZpbA==\x07\x1b[31mred\x1b[0m\ra approve  q quit\n"
        "-- 1 waits  new memory ----\n> a\n"
        "zero\u200bwidth, tags\U000e0041\U000e0042, soft\xadhyphen, filler\u3164.\n"
        "Fine: 👩‍💻 👍🏽 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 क्‍ष می‌خواهم 葛󠄀 1️⃣\n"
        "发布之前先运行测试,然后再打标签,最后推送到远端仓库。"
        "这一行很长,必须在八十列的终端里正确换行,不能少一个字。\n"
    )
    evidence = (Evidence("\x1b]8;;http://evil\x07click\x1b]8;;\x07 \u2066x", "co\x1b[1mdex", "s\n1", "/l\u202eog", 3),)
    gates, fields = {"duplicate\x1b[7m": Verdict(False, "like \x1b[8mrelease")}, {"odd\u200b": "v\x1b[1m"}
    name, target = "A name\x1b[31m\u202e with\nmore", "\x1b[5mrelease"
    put(home, body, name, "fact", evidence=evidence, target=target, gates=gates, fields=fields)


def check(name: str, terminal: Terminal, home: Home, columns: int = 80) -> None:
    """Compare with the screen that is kept; no line is wider than the terminal."""
    seen = terminal.seen(columns).replace(str(home.folder), "/tmp/mm-00000000")
    seen = "\n".join(line.rstrip() for line in seen.split("\n"))
    path = SCREENS / f"{name}.txt"
    if WRITES:
        path.write_text(seen, "utf-8")

    assert "<<" not in seen
    assert seen == path.read_text("utf-8")


def test_one_by_one_grouped_and_undone(home: Home) -> None:
    deploys(home)
    update(home)
    with Terminal(home, "review", NO_COLOR="1") as terminal:
        terminal.keys("? a u a r x s a")
        assert terminal.finish() == 0
        check("one-by-one", terminal, home)
        assert terminal.is_as_before

    assert b"\x1b" not in terminal.raw
    assert sorted(path.name for path in home.user.glob("*.md")) == ["MEMORY.md", "deploy-shop.md", "release.md"]
    assert "Run make dist.\nTag it." in (home.user / "release.md").read_text()
    assert len(inbox.list_candidates(f"{home.mdmem}/inbox").waiting) == 1


def test_a_whole_group_is_approved_after_all_of_it_was_shown(home: Home) -> None:
    deploys(home)
    with Terminal(home, "review", NO_COLOR="1") as terminal:
        terminal.keys("A q A A")
        assert terminal.finish() == 0
        check("group", terminal, home)

    assert len(list(home.user.glob("deploy-*.md"))) == 3


def test_never_goes_for_the_whole_kind_and_is_undone_at_once(home: Home) -> None:
    deploys(home)
    update(home)
    with Terminal(home, "review", NO_COLOR="1") as terminal:
        terminal.keys("n u n q")
        assert terminal.finish() == 0
        check("never", terminal, home)

    assert len(inbox.list_candidates(f"{home.mdmem}/inbox").waiting) == 1


def test_k4_k13_nothing_forges_the_screen_and_nothing_hides(home: Home) -> None:
    hostile(home)
    for env in ({"NO_COLOR": "1"}, {}):
        with Terminal(home, "review", **env) as terminal:
            terminal.keys("q")
            assert terminal.finish() == 0
            check("hostile", terminal, home)

    own = {b"\x1b[0m", b"\x1b[1m", b"\x1b[2m", b"\x1b[31m", b"\x1b[32m", b"\x1b[33m"}
    assert set(SGR.findall(terminal.raw)) <= own
    assert b"\x1b" not in SGR.sub(b"", terminal.raw)


@pytest.mark.parametrize(
    "env", [{"LANG": "C", "LC_ALL": "C"}, {"TERM": "dumb", "NO_COLOR": "1"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}]
)
def test_a_poor_terminal_is_enough(home: Home, env: dict[str, str]) -> None:
    update(home)
    with Terminal(home, "review", **{"NO_COLOR": "1", **env}) as terminal:
        terminal.keys("a")
        assert terminal.finish() == 0
        check("poor", terminal, home)


def test_a_terminal_that_is_made_narrower_is_filled_anew(home: Home) -> None:
    deploys(home)
    update(home)
    with Terminal(home, "review", NO_COLOR="1") as terminal:
        terminal.press("s")
        terminal.until(b"\n> ")
        terminal.resize(50, 12)
        terminal.keys("u q")
        assert terminal.finish() == 0
        seen = terminal.seen(80)

    narrow = seen[seen.rindex("\n-- ") :]
    assert max(map(len, narrow.split("\n"))) <= 50
    assert max(map(len, seen.split("\n"))) == 80


def test_keys_that_come_in_one_piece_decide_nothing(home: Home) -> None:
    """An arrow key ends in A, and a text that is pasted holds any letter."""
    deploys(home)
    with Terminal(home, "review", NO_COLOR="1") as terminal:
        for piece in (b"\x1b[A", b"aaaa", "好".encode(), b"\x1b", b"\xff"):
            terminal.press(piece)
        terminal.press("q")
        assert terminal.finish() == 0

    assert len(inbox.list_candidates(f"{home.mdmem}/inbox").waiting) == 3


def test_an_edited_candidate_is_shown_again_and_approved_as_it_is_then(home: Home, tmp_path: Path) -> None:
    update(home)
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('Run make dist.', 'Run make all.'))\n"
    )
    editor.chmod(0o755)
    with Terminal(home, "review", NO_COLOR="1", EDITOR=str(editor)) as terminal:
        terminal.keys("e a")
        assert terminal.finish() == 0
        check("edited", terminal, home)
        assert terminal.is_as_before

    assert "Run make all." in (home.user / "release.md").read_text()


def test_an_editor_that_breaks_the_candidate_loses_nothing(home: Home, tmp_path: Path) -> None:
    deploys(home)
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\npath = Path(sys.argv[1])\n"
        "path.write_text('---\\nno block, and mine\\n')\n"
    )
    editor.chmod(0o755)
    with Terminal(home, "review", NO_COLOR="1", EDITOR=str(editor)) as terminal:
        terminal.keys("e q")
        assert terminal.finish() == 0

    found = inbox.list_candidates(f"{home.mdmem}/inbox")
    assert len(found.waiting) == 2
    assert len(found.problems) == 1
    assert "says nothing of where it is to go" in " ".join(terminal.seen(80).split())


# --- ways out -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("way", "code"), [("\x03", 130), ("\x04", 0), ("q", 0)])
def test_a_key_that_ends_it_leaves_the_terminal_as_it_was(home: Home, way: str, code: int) -> None:
    deploys(home)
    with Terminal(home, "review") as terminal:
        terminal.press("a")
        terminal.until(b"\n> ")
        assert not terminal.is_as_before
        terminal.press(way)

        assert terminal.finish() == code
        assert terminal.is_as_before
    assert b"raceback" not in terminal.raw
    assert len(list(home.user.glob("deploy-*.md"))) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT])
def test_a_signal_that_ends_it_leaves_the_terminal_as_it_was(home: Home, number: signal.Signals) -> None:
    deploys(home)
    with Terminal(home, "review") as terminal:
        terminal.until(b"\n> ")
        os.kill(terminal.pid, number)

        assert terminal.finish() == (130 if number == signal.SIGINT else 128 + number)
        assert terminal.is_as_before


def test_stopped_it_gives_the_terminal_back_and_asks_again_when_it_goes_on(home: Home) -> None:
    deploys(home)
    with Terminal(home, "review", NO_COLOR="1") as terminal:
        terminal.press(b"\x1a")
        wait_until(lambda: terminal.state == "T", "the program has stopped")
        assert terminal.is_as_before
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.press("a")
        terminal.press("q")

        assert terminal.finish() == 0
        assert terminal.is_as_before
    assert terminal.raw.count(b"a approve") >= 3
    assert len(list(home.user.glob("deploy-*.md"))) == 1


def test_a_terminal_that_is_closed_ends_it(home: Home) -> None:
    deploys(home)
    with Terminal(home, "review") as terminal:
        terminal.until(b"\n> ")
        os.close(terminal.slave)
        os.close(terminal.master)
        terminal.process.wait(20)

    assert len(inbox.list_candidates(f"{home.mdmem}/inbox").waiting) == 3
    log = home.mdmem / "state" / "mdmem.log"
    assert not log.exists() or "command failed" not in log.read_text()


def test_beside_a_running_daemon_what_is_approved_is_recalled_and_what_is_rejected_remembered(
    home: Home, daemon: Daemon
) -> None:
    from mdmem.db import LEDGER, open_reader

    deploys(home)
    with Terminal(home, "review", NO_COLOR="1") as terminal:
        terminal.keys("a r q")
        assert terminal.finish() == 0

    assert re.search(r"1 approved, 1 rejected, 1 waits", terminal.seen(80))
    assert [m["key"] for m in daemon.ask("list")["memories"]] == ["deploy:shop"]

    def noted() -> bool:
        db = open_reader(LEDGER, f"{home.mdmem}/state/ledger.db")
        rows = db.execute("SELECT decision FROM decision ORDER BY id").fetchall()
        db.close()
        return rows == [("approve",), ("reject",)]

    wait_until(noted, "both decisions are noted")
