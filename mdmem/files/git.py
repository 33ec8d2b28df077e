"""A folder in; which git work tree it lies in, what git is doing there, and when its files were committed out.

Nearly all is read from git's own small files, in microseconds and without running anything. What needs the git program
(`first_commit`, `dates`, and `head` under reftable) runs it without locks, hooks, network, pager or prompts; it still
runs the filters that the repository's own config names, so ask only about repositories that are trusted.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mdmem.files.folders import small_file

_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SMALL_BYTES = 64 * 1024
_PACKED_REFS_BYTES = 64 * 1024 * 1024
_TIMEOUT_S = 30
_MAX_TIME_S = 253_402_300_799  # the last second of the year 9999

# Its own refs folders of each linked work tree; all other refs are shared (gitrepository-layout(5)).
_OWN_REFS = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")

# What git leaves in the git folder while it works. A bisect may last for days, but each of its steps is a checkout
# that git refuses over a changed MEMORY.md, so it counts too. A stash or a plain checkout shows only as index.lock.
_BUSY = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "sequencer"),
    ("BISECT_LOG", "bisect"),
    ("index.lock", "index.lock"),
)

# Options, not config: what a repository's config could switch on is off for our calls.
_OPTIONS = (
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    "--literal-pathspecs",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.untrackedCache=keep",
    "-c", "core.quotePath=false",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "log.showSignature=false",
    "-c", "color.ui=false",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",  # a partial clone fetches what it lacks ...
    "GIT_ALLOW_PROTOCOL": "none",  # ... and older gits know only this way to forbid it
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}


class Repository(NamedTuple):
    """A git work tree: its top folder, its own git folder, and the git folder shared by all its linked work trees."""

    top: Path
    git_dir: Path
    common_dir: Path


def repository(folder: Path) -> Repository | None:
    """The work tree that a folder (reached through links or not) lies in, by reading files only.

    A `.git` file is believed only if what it names points back here: a linked work tree by its `gitdir` file, a
    submodule by `core.worktree`. Anything else could be a stranger's folder posing as a trusted repository, so it
    gives None (`git init --separate-git-dir` too, until its config has a `core.worktree`); so does a `.git` link.
    """
    top = os.path.realpath(folder)
    while True:
        entry = f"{top}/.git" if top != "/" else "/.git"
        try:
            mode = os.lstat(entry).st_mode
        except OSError:
            mode = 0
        if stat.S_ISDIR(mode) and os.path.lexists(f"{entry}/HEAD"):
            return Repository(Path(top), Path(entry), Path(entry))
        if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            return _linked(top, entry)
        if top == "/":
            return None
        top = os.path.dirname(top)


def worktrees(common_dir: Path) -> list[Path]:
    """The tops of the linked work trees that exist and know of it, sorted; without the main one."""
    base = os.path.join(common_dir, "worktrees")
    try:
        names = sorted(os.listdir(base))
    except OSError:
        return []
    tops = []
    for name in names:
        entry = _text(f"{base}/{name}/gitdir")
        if entry:
            top = os.path.dirname(os.path.realpath(os.path.join(f"{base}/{name}", entry.strip())))
            found = _linked(top, f"{top}/.git")
            if found is not None and found.common_dir.samefile(common_dir):
                tops.append(found.top)
    return sorted(tops)


def head(repo: Repository) -> str | None:
    """The commit that is checked out; None before the first one. Changes with each commit and checkout."""
    if (repo.common_dir / "reftable").is_dir():
        return _object_id(_git(repo.top, "rev-parse", "--verify", "--quiet", "HEAD"))
    name = "HEAD"
    for _ in range(5):  # a ref may name another; more than that is a ring
        own = name == "HEAD" or name.startswith(_OWN_REFS)
        text = (_text(os.path.join(repo.git_dir if own else repo.common_dir, name)) or "").strip()
        if not text.startswith("ref:"):
            return _object_id(text.encode()) or _packed(repo, name)
        name = text[4:].strip()
        if not name.startswith("refs/") or ".." in name or "\0" in name:
            return None
    return None


def busy(repo: Repository) -> str | None:
    """What git is in the middle of in this work tree ("rebase", "merge", "index.lock" ...); None when at rest."""
    for name, what in _BUSY:
        if os.path.lexists(repo.git_dir / name):
            return what
    return None


def first_commit(repo: Repository) -> str | None:
    """The root commit of the first-parent line: it stays when other histories are merged in, and in every clone.

    None without commits, without git, and in a shallow clone (its oldest commit is not the first).
    """
    if _text(os.path.join(repo.common_dir, "shallow")):
        return None
    return _object_id(_git(repo.top, "rev-list", "--max-parents=0", "--first-parent", "--max-count=1", "HEAD"))


def holds(repo: Repository, commit: str) -> bool | None:
    """Whether a commit is in a repository; asks no history. None where git is missing or takes too long."""
    if _git(repo.top, "cat-file", "-e", f"{commit}^{{commit}}") is not None:
        return True
    return None if _git(repo.top, "rev-parse", "--git-dir") is None else False


def dates(repo: Repository, folder: Path) -> dict[str, tuple[str, str]]:
    """When each committed file below `folder` was first and last committed: rel -> (first, last), RFC 3339 UTC.

    Files that are dirty, untracked or ignored are absent: their mtime tells more. Empty where git is missing, refuses
    or takes over 30 s. Two runs of git for all files together.
    """
    prefix = _prefix(repo, folder)
    if prefix is None:
        return {}
    where = prefix.rstrip("/") or "."
    status = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
    dirty = _git(repo.top, *status, "--ignore-submodules=all", "--", where)
    log = _git(
        repo.top, "log", "-z", "--name-only", "--no-renames", "--no-show-signature", "--no-ext-diff", "--no-textconv",
        "--format=%x01%ct", "HEAD", "--", where,
    )  # fmt: skip
    if dirty is None or log is None:
        return {}
    changed = {os.fsdecode(entry[3:]) for entry in dirty.split(b"\0") if len(entry) > 3}
    folders = tuple(entry for entry in changed if entry.endswith("/"))
    return {
        path[len(prefix) :]: (_utc(first), _utc(last))
        for path, (first, last) in _commit_times(log).items()
        if path.startswith(prefix) and path not in changed and not path.startswith(folders)
    }


def _linked(top: str, entry: str) -> Repository | None:
    """The repository that a `.git` file names, if that knows of this work tree."""
    text = _text(entry)
    if text is None or not text.startswith("gitdir:"):
        return None
    git_dir = os.path.realpath(os.path.join(top, text[7:].strip()))
    common = _text(f"{git_dir}/commondir")
    if common is None:
        known = _configured_worktree(git_dir) == top
        return Repository(Path(top), Path(git_dir), Path(git_dir)) if known else None
    back = (_text(f"{git_dir}/gitdir") or "").strip()
    if not back or os.path.realpath(os.path.join(git_dir, back)) != entry:
        return None
    common_dir = os.path.realpath(os.path.join(git_dir, common.strip()))
    # The git folder must be the repository's own entry, or a forged one could claim any repository as its common one.
    if os.path.dirname(git_dir) != os.path.join(common_dir, "worktrees"):
        return None
    return Repository(Path(top), Path(git_dir), Path(common_dir))


def _configured_worktree(git_dir: str) -> str | None:
    """`core.worktree` of a submodule's git folder, as git itself writes it there."""
    section = ""
    for line in (_text(f"{git_dir}/config") or "").splitlines():
        words = line.strip()
        if words.startswith("["):
            section = words.lower()
        elif section == "[core]" and words.partition("=")[0].strip().lower() == "worktree":
            return os.path.realpath(os.path.join(git_dir, _unquoted(words.partition("=")[2].strip())))
    return None


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == '"':
        return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return value


def _text(path: str, limit_bytes: int = _SMALL_BYTES) -> str | None:
    """A small file of git's as text; None where there is none."""
    try:
        return os.fsdecode(small_file(path, limit_bytes, follow=True))
    except (OSError, ValueError):  # ValueError: a NUL in a path that a file named
        return None


def _packed(repo: Repository, name: str) -> str | None:
    text = _text(os.path.join(repo.common_dir, "packed-refs"), _PACKED_REFS_BYTES) or ""
    match = re.search(rf"^([0-9a-f]{{40,64}}) {re.escape(name)}$", text, re.MULTILINE)
    return match[1] if match else None


def _object_id(output: bytes | None) -> str | None:
    text = (output or b"").decode("ascii", "replace").strip()
    return text if _OBJECT_ID.fullmatch(text) else None


def _prefix(repo: Repository, folder: Path) -> str | None:
    """The folder's path from the top, with a slash at its end ("" for the top itself); None if it is not below."""
    path = os.path.realpath(folder)
    top = os.fspath(repo.top)
    if path == top:
        return ""
    return path[len(top) :].lstrip("/") + "/" if path.startswith(top.rstrip("/") + "/") else None


def _git(top: Path, *arguments: str) -> bytes | None:
    """What git prints; None where it is missing, fails, refuses (a stranger's repository) or takes too long."""
    import subprocess  # slow to import, and most questions need no process

    # A child's environment, not settings. Inside a hook, git's own variables name another index and folder.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _ENVIRONMENT
    try:
        done = subprocess.run(
            ["git", *_OPTIONS, "-C", os.fspath(top), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _commit_times(log: bytes) -> dict[str, tuple[int, int]]:
    times: dict[str, tuple[int, int]] = {}
    for time_s, path in _touched(log):
        first, last = times.get(path, (time_s, time_s))
        times[path] = (min(first, time_s), max(last, time_s))
    return times


def _touched(log: bytes) -> Iterator[tuple[int, str]]:
    r"""(commit time, path) pairs of a log that reads `\x01TIME\0\nPATH\0PATH\0\x01TIME\0...`."""
    time_s = 0
    starts = False
    for token in log.split(b"\0"):
        if re.fullmatch(rb"\x01-?[0-9]+", token):
            time_s, starts = int(token[1:]), True
        elif token:
            yield time_s, os.fsdecode(token[1:] if starts else token)
            starts = False


def _utc(time_s: int) -> str:
    import datetime

    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    time_s = max(-_MAX_TIME_S // 8, min(time_s, _MAX_TIME_S))  # a commit may claim any number
    return (epoch + datetime.timedelta(seconds=time_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
