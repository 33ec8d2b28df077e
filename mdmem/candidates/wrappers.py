"""The words of a command in, the command that it runs for another out: `sudo`, `timeout 30`, `sh -c`, `ssh HOST …`.

Only programs that end with the status of what they run stand here. `xargs`, `watch` and `parallel` do not.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Words: TypeAlias = tuple[str, ...]


class Inner(NamedTuple):
    """What a wrapper runs: `argv`, or `script` for a shell to read. `env`: what it sets before; `via`: where it runs
    when not in this place, such as ("ssh", "host"); `options`: of that shell, such as "eu".
    """

    argv: Words = ()
    script: str | None = None
    env: Words = ()
    via: Words = ()
    options: str = ""
    runner: Words = ()


class _Form(NamedTuple):
    """`valued`: options that take the next word; `skip`: words of its own before the command; `dashes`: the command
    stands behind `--`.
    """

    valued: frozenset[str] = frozenset()
    skip: int = 0
    dashes: bool = False


def _form(valued: str = "", skip: int = 0, *, dashes: bool = False) -> _Form:
    return _Form(frozenset(valued.split()), skip, dashes)


_PLAIN = {
    ("sudo",): _form("-u --user -g --group -p --prompt -C -h --host -D --chdir -T -r -t"),
    ("doas",): _form("-u -C"),
    ("env",): _form("-u --unset -C --chdir"),
    ("nice",): _form("-n --adjustment"),
    ("ionice",): _form("-c -n -p --class --classdata"),
    ("timeout",): _form("-s --signal -k --kill-after", 1),
    ("gtimeout",): _form("-s --signal -k --kill-after", 1),
    ("time",): _form("-f -o --format --output"),
    ("nohup",): _form(),
    ("stdbuf",): _form("-i -o -e"),
    ("command",): _form(),
    ("builtin",): _form(),
    ("exec",): _form("-a"),
    ("caffeinate",): _form("-t -w"),
    ("unbuffer",): _form(),
    ("xvfb-run",): _form("-n -s -e -f -p -w --server-args"),
    ("npx",): _form("-p --package -w --workspace"),
    ("bunx",): _form("-p --package"),
    ("pnpx",): _form("-p --package"),
    ("npm", "exec"): _form("-p --package -w --workspace"),
    ("pnpm", "exec"): _form("-F --filter -C --dir"),
    ("pnpm", "dlx"): _form("-p --package"),
    ("yarn", "exec"): _form(),
    ("yarn", "dlx"): _form("-p --package"),
    ("uv", "run"): _form("--with --extra --group -p --python --package --project --directory --env-file --only-group"),
    ("uvx",): _form("--from --with -p --python"),
    ("uv", "tool", "run"): _form("--from --with -p --python"),
    ("pipx", "run"): _form("--spec --python"),
    ("poetry", "run"): _form("-C --directory -P --project"),
    ("pipenv", "run"): _form(),
    ("pdm", "run"): _form("-p --project"),
    ("hatch", "run"): _form("-e --env"),
    ("rye", "run"): _form(),
    ("pixi", "run"): _form("-e --environment --manifest-path"),
    ("conda", "run"): _form("-n --name -p --prefix --cwd"),
    ("bundle", "exec"): _form(),
    ("direnv", "exec"): _form("", 1),
    ("dotenv",): _form("-f -e --file", dashes=True),
    ("dotenvx", "run"): _form("-f", dashes=True),
    ("op", "run"): _form("--env-file", dashes=True),
    ("doppler", "run"): _form("-p -c --project --config", dashes=True),
    ("infisical", "run"): _form("--env --path", dashes=True),
    ("sshpass",): _form("-p -f -P"),
}
_EXEC = _form(dashes=True)  # `mise exec -- npm test`: many keepers of tools and secrets have this form
_NEEDLESS = frozenset(
    "env nice ionice timeout gtimeout time nohup stdbuf command builtin exec caffeinate unbuffer sshpass".split()
)
_RUN = """-e --env -v --volume -u --user -w --workdir --name -p --publish --env-file --network --platform --mount
    -m --memory --entrypoint --cpus --add-host -h --hostname -l --label --gpus --shm-size --ulimit --cap-add"""
_ELSEWHERE = {  # how many words of its own name the place: a container, a service, a pod, a host
    ("docker", "exec"): _form("-e --env -u --user -w --workdir --env-file", 1),
    ("podman", "exec"): _form("-e --env -u --user -w --workdir --env-file", 1),
    ("docker", "compose", "exec"): _form("-e --env -u --user -w --workdir --index", 1),
    ("docker-compose", "exec"): _form("-e --env -u --user -w --workdir --index", 1),
    ("docker", "compose", "run"): _form(_RUN, 1),
    ("docker-compose", "run"): _form(_RUN, 1),
    ("docker", "run"): _form(_RUN, 1),
    ("podman", "run"): _form(_RUN, 1),
    ("kubectl", "exec"): _form("-n --namespace -c --container --context", 1, dashes=True),
}
_SSH = frozenset("-b -B -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w".split())
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "ash"))
_PYTHON = frozenset(("python", "python3", "py", "pypy", "pypy3"))


def program(word: str) -> str:
    """The name of a program without its folder and `.exe`: /usr/bin/python3.12 is python3.12."""
    name = word.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return name.removesuffix(".exe").removesuffix(".cmd") or word


def inner(argv: Words) -> Inner | None:
    """None: it runs itself."""
    name = program(argv[0])
    if name in _SHELLS:
        return _shell(argv)
    if name in ("ssh", "slogin"):
        return _ssh(argv)
    if name.rstrip("0123456789.") in _PYTHON:
        return _python(argv)
    if name == "eval" and len(argv) > 1:
        return Inner(script=" ".join(argv[1:]))
    words = (name, *argv[1:4])
    for table, place in ((_PLAIN, _here), (_ELSEWHERE, _there)):
        for n in (3, 2, 1):
            if words[:n] in table and len(words) >= n:
                return place(words[:n], argv, table[words[:n]])
    return _here(words[:2], argv, _EXEC) if words[1:2] == ("exec",) else None


def _operands(argv: Words, at: int, form: _Form) -> int:
    """Where the first word stands that is neither an option nor the value of one; -1 where there is none."""
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-":
        if argv[at] == "--":
            return at + 1 if at + 1 < len(argv) else -1
        at += 2 if argv[at] in form.valued else 1
    return at if at < len(argv) else -1


def _command_at(name: Words, argv: Words, form: _Form) -> int:
    if form.dashes:
        return argv.index("--") + 1 if "--" in argv[:-1] else -1
    at = _operands(argv, len(name), form)
    at = at + form.skip if at >= 0 else at
    return at if at < len(argv) else -1


def _here(name: Words, argv: Words, form: _Form) -> Inner | None:
    if name == ("command",) and argv[1:2] and argv[1][:2] in ("-v", "-V"):
        return None
    at = _command_at(name, argv, form)
    if at < 0:
        return None
    start = at
    while name[0] in ("env", "sudo", "doas") and at < len(argv) and ("=" in argv[at] or argv[at].startswith("$(")):
        at += 1
    runner = () if name[0] in _NEEDLESS else argv[:start]
    return Inner(argv[at:], env=argv[start:at], runner=runner) if at < len(argv) else None


def _there(name: Words, argv: Words, form: _Form) -> Inner | None:
    place = _operands(argv, len(name), form)
    at = _command_at(name, argv, form)
    if at < 0 or not 0 < place < at:
        return None
    return Inner(argv[at:], via=(" ".join(name), argv[place]))


def _shell(argv: Words) -> Inner | None:
    """`bash -lc '…'`, or `bash deploy.sh`, which is deploy.sh."""
    options, at = "", 1
    while at < len(argv) and argv[at][:1] in ("-", "+"):
        letters = argv[at][1:]
        if letters.startswith("-"):
            at += 1
            continue
        options += letters if argv[at][0] == "-" else ""
        at += 1
        if "o" in letters and at < len(argv):
            options += "P" if argv[at] == "pipefail" else "e" if argv[at] == "errexit" else ""
            at += 1
    if "n" in options or "s" in options or at >= len(argv):
        return None
    return Inner(script=argv[at], options=options) if "c" in options else Inner(argv[at:], runner=argv[:at])


def _ssh(argv: Words) -> Inner | None:
    form = _Form(_SSH)
    at = _operands(argv, 1, form)
    if at < 0 or at + 1 >= len(argv):
        return None
    host = argv[at]
    at = _operands(argv, at + 1, form)
    return Inner(script=" ".join(argv[at:]), via=("ssh", host)) if at > 0 else None


def _python(argv: Words) -> Inner | None:
    """`python -m pytest` is pytest."""
    at = 1
    while at < len(argv) and argv[at].startswith("-") and argv[at] not in ("-m", "-c", "-"):
        at += 2 if argv[at] in ("-X", "-W") else 1
    return Inner(argv[at + 1 :], runner=argv[: at + 1]) if argv[at : at + 1] == ("-m",) and at + 1 < len(argv) else None
