"""A hook's process from start to end, beside a bare interpreter in the same run.

    python bench/hook.py [--n 1000] [--runs 60]

A store of N memories; each prompt is of a new session, so that each gives a block; each turn's end gives up, so that
the guard speaks; a session's end asks nothing. With the daemon, then without.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MDMEM = Path(sys.executable).with_name("mdmem")
WORDS = (
    "deploy shop staging database port release pipeline token cache queue worker schema backup mirror invoice".split()
)


def fill(folder: Path, n: int) -> None:
    folder.mkdir(parents=True)
    for i in range(n):
        a, b, c = WORDS[i % 15], WORDS[i // 15 % 15], WORDS[i // 225 % 15]
        (folder / f"m{i}.md").write_text(
            f"The {a} of the {b} needs the {c}; it is number {i} and was tried in week {i % 52}.\n"
        )


CAPABILITY = (
    "---\ntype: capability\nkey: deploy:shop\nname: deploy the shop\n---\nThe shop is deployed with make deploy.\n"
)
GIVES_UP = "The tests pass. I can't deploy the shop: I have no credentials for the cluster here."


def timed(command: list[str], stdin: bytes, env: dict[str, str]) -> tuple[float, bytes]:
    started = time.perf_counter()
    done = subprocess.run(command, input=stdin, capture_output=True, env=env, check=True)
    return (time.perf_counter() - started) * 1e3, done.stdout


def prompt(session: str) -> bytes:
    said = "how do we deploy the shop to staging"
    return json.dumps(
        {"session_id": session, "cwd": "/", "prompt": said, "hook_event_name": "UserPromptSubmit"}
    ).encode()


def turn_end(session: str) -> bytes:
    said = {"last_assistant_message": GIVES_UP, "stop_hook_active": False, "hook_event_name": "Stop"}
    return json.dumps({"session_id": session, "cwd": "/"} | said).encode()


def series(name: str, runs: int, env: dict[str, str]) -> None:
    """One line: bare interpreters and hooks in turns, so that both meet the same machine."""
    bare, asked, ended, stop, empty, silent = [], [], [], [], 0, 0
    for i in range(runs):
        bare.append(timed([sys.executable, "-c", "pass"], b"", env)[0])
        took, printed = timed([str(MDMEM), "hook", "claude-code", "UserPromptSubmit"], prompt(f"{name}-{i}"), env)
        asked.append(took)
        empty += not printed
        took, printed = timed([str(MDMEM), "hook", "claude-code", "Stop"], turn_end(f"{name}-{i}"), env)
        ended.append(took)
        silent += not printed
        stop.append(timed([str(MDMEM), "hook", "claude-code", "SessionEnd"], prompt("x"), env)[0])
    floor = statistics.median(bare)
    for what, took in (("prompt", asked), ("turn end, guarded", ended), ("session end", stop)):
        p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
        ratios = f"ratios {p50 / floor:.2f} and {p95 / floor:.2f}"
        print(f"{name}, {what}: p50 {p50:.0f} ms, p95 {p95:.0f} ms; bare interpreter {floor:.1f} ms; {ratios}")
    print(f"  {empty} of {runs} prompts were given nothing, {silent} ends of turns")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--embedder", default="auto")
    args = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="mdmem-hook-"))
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MDMEM_", "PYTHONDONTWRITE"))}
    env |= {"MDMEM_HOME": str(home), "PYTHONPATH": str(ROOT)}
    if args.embedder != "auto":  # a setting has to be checked, which a hook without a daemon pays for
        env["MDMEM_EMBEDDER_MODEL"] = args.embedder

    def mdmem(*words: str) -> str:
        return subprocess.run([str(MDMEM), *words], env=env, check=True, capture_output=True, text=True).stdout

    try:
        fill(home / "user", args.n)
        (home / "user" / "deploy.md").write_text(CAPABILITY)
        (home / "config.toml").write_text("[learn]\nagents = ['claude-code']\n")  # as `connect` leaves it
        mdmem("up")
        mdmem("sync")
        while json.loads(mdmem("status", "--json"))["index"]["pending_vectors"]:
            time.sleep(2)
        print(f"{args.n} memories, embedder {args.embedder}, load {os.getloadavg()[0]:.1f}")
        mdmem("search", "the first question loads the weights")
        series("with the daemon", args.runs, env)
        mdmem("down")
        series("without", args.runs, env)
    finally:
        subprocess.run([str(MDMEM), "down"], env=env, check=False, capture_output=True)
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
