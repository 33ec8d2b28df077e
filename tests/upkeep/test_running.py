"""Probes that are run: real processes, and bad ones."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from mdmem.upkeep.running import KEPT_BYTES, SHOWN_COLUMNS, SHOWN_LINES, command_of, run, shown
from tests.conftest import wait_until

PY = sys.executable


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet counts."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False


@pytest.mark.parametrize(
    ("probe", "ok", "code"),
    [
        ("true", True, 0),
        ("false", False, 1),
        ("sh -c 'exit 7'", False, 7),
        ("exit 3", False, 3),
        ("command -v sh", True, 0),
        ("true && ! false", True, 0),
        ("no-such-program-here", False, 127),
        ("./no-such-program", False, None),
        ("kill -9 $$", False, 137),
    ],
)
def test_an_exit_code_tells_whether_it_is_verified(tmp_path: Path, probe: str, ok: bool, code: int | None) -> None:
    ran = run(probe, str(tmp_path))

    assert (ran.ok, ran.exit_code) == (ok, code)
    assert (ran.why is None) == ok


def test_it_is_run_in_its_folder_with_the_persons_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE_TEST", "mine")

    assert run("sh -c 'pwd; echo $PROBE_TEST; exit 1'", str(tmp_path)).output == (str(tmp_path), "mine")
    assert "No such file" in str(run("true", str(tmp_path / "gone")).why)


def test_no_shell_sees_plain_words_and_no_rc_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rc").write_text("touch rc-was-read\n")
    (tmp_path / ".profile").write_text("touch rc-was-read\n")
    for name in ("ENV", "BASH_ENV"):
        monkeypatch.setenv(name, str(tmp_path / "rc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    ran = run("printf %s\\\\n '$(touch x)' '`touch x`' ';touch x'".replace("\\\\n", ","), str(tmp_path))
    run("true; true", str(tmp_path))

    assert ran.ok
    assert sorted(os.listdir(tmp_path)) == [".profile", "rc"]
    assert command_of("true") == ["true"]
    assert command_of("true; true") == ["/bin/sh", "-c", "true; true"]


def test_one_that_hangs_is_ended_with_all_its_children(tmp_path: Path) -> None:
    ran = run("sleep 300 & echo $!; echo $$; wait", str(tmp_path), limit_s=0.5)

    assert (ran.ok, ran.exit_code) == (False, None)
    assert "longer than 0.5 s" in str(ran.why)
    pids = [int(line) for line in ran.output]
    assert len(pids) == 2
    wait_until(lambda: all(map(is_gone, pids)), "both have ended")


def test_one_that_closes_its_output_and_hangs_is_ended(tmp_path: Path) -> None:
    ran = run("echo $$ > pid; exec sleep 300 >&- 2>&-", str(tmp_path), limit_s=0.5)

    assert "longer than" in str(ran.why)
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_one_that_ignores_signals_is_ended(tmp_path: Path) -> None:
    ran = run("trap '' TERM INT HUP; echo $$; while :; do sleep 0.1; done", str(tmp_path), limit_s=0.5)

    assert is_gone(int(ran.output[0]))


def test_a_child_that_holds_the_output_open_is_not_waited_for_and_does_not_stay(tmp_path: Path) -> None:
    ran = run("sleep 300 & echo $!", str(tmp_path), limit_s=30)

    assert ran.ok
    assert ran.ms < 20_000
    wait_until(lambda: is_gone(int(ran.output[0])), "the child has ended")


def test_a_child_that_left_the_group_is_not_waited_for_either(tmp_path: Path) -> None:
    script = "import os, time; os.fork() or (os.setsid(), open('pid', 'w').write(str(os.getpid())), time.sleep(30))"
    ran = run(f'{PY} -c "{script}"', str(tmp_path), limit_s=25)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", "the child runs")
    os.kill(int((tmp_path / "pid").read_text()), 9)

    assert ran.ok
    assert ran.ms < 20_000


def test_megabytes_are_read_and_only_the_end_is_shown(tmp_path: Path) -> None:
    ran = run(f'{PY} -c \'print("x" * 20_000_000); print("last"); exit(1)\'', str(tmp_path))

    assert ran.exit_code == 1
    assert ran.output == ("last",)


def test_one_that_prints_without_end_is_ended(tmp_path: Path) -> None:
    ran = run("yes", str(tmp_path), limit_s=0.5)

    assert "longer" in str(ran.why)
    assert ran.output == ("y",) * SHOWN_LINES


def test_it_gets_no_input_and_no_terminal(tmp_path: Path) -> None:
    ours, typed = os.dup(0), os.pipe()
    os.write(typed[1], b"typed by the person\n")
    os.dup2(typed[0], 0)
    try:
        reads = run("sh -c 'read line && exit 5; test -t 0 || test -t 1 || test -t 2 || exit 6'", str(tmp_path))
    finally:
        os.dup2(ours, 0)
        for descriptor in (ours, *typed):
            os.close(descriptor)
    opens = run("(: < /dev/tty) 2>/dev/null && exit 5; exit 6", str(tmp_path))

    assert (reads.exit_code, opens.exit_code) == (6, 6)
    # Who leads a session of its own has no terminal, whoever started it.
    assert run(f"{PY} -c 'import os; exit(os.getsid(0) != os.getpid())'", str(tmp_path)).ok


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    def interrupt() -> None:
        wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", "it runs")
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run("sleep 0.3; echo $$ > pid; exec sleep 300", str(tmp_path))
    thread.join()

    assert is_gone(int((tmp_path / "pid").read_text()))


TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_nothing_of_the_output_commands_the_terminal_or_tells_a_secret() -> None:
    half = len(TOKEN) // 2
    printed = f"\x1b]0;title\x07\x1b[31mred\x1b[0m \u202eevil\x9b1m\r\ntoken {TOKEN[:half]}\x1b[1m\x00{TOKEN[half:]}\n"
    lines = shown(printed.encode() + b"\xff\n\x1b[2J\n")
    text = "\n".join(lines)

    assert lines[0] == "red \\u202eevil1m"
    assert TOKEN not in text
    assert TOKEN[:half] not in text
    assert "[secret: " in lines[1]
    assert all(char.isprintable() for line in lines for char in line)


def test_half_a_secret_at_the_beginning_of_what_was_kept_is_not_shown() -> None:
    kept = (f"{TOKEN} " * 1_000).encode()[7 : 7 + KEPT_BYTES]

    assert shown(kept) == ()
    assert shown(kept[:-5] + b"\nend\n") == ("end",)


def test_little_is_shown() -> None:
    lines = shown("\n\n".join([f"line {n} " + "x" * 500 for n in range(20)]).encode())

    assert len(lines) == SHOWN_LINES
    assert lines[-1].startswith("line 19 ")
    assert {len(line) for line in lines} == {SHOWN_COLUMNS}


def test_the_time_is_told(tmp_path: Path) -> None:
    before = time.monotonic()
    ran = run("sleep 0.1", str(tmp_path))

    assert 100 <= ran.ms <= (time.monotonic() - before) * 1000 + 1
