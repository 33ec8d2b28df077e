"""A command as an agent gave it to a shell in; the single commands in it, and which of them its exit code proves, out.

The shell is read as bash reads it (`words`, `grammar`). Whatever can't be read with certainty proves nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mdmem.candidates import wrappers
from mdmem.candidates.grammar import Chain, Function, Group, Part, Pipe, Sequence, Simple, parse
from mdmem.candidates.words import ShellError

MAX_CHARS = 65_536
_NOT_TOLD = ("PATH=",)  # where programs are found, not what they do
_MAX_NESTING = 6  # sudo bash -c "ssh host '…'"


@dataclass(frozen=True, slots=True)
class Command:
    """One command, out of its wrappers. `argv`: quotes resolved, `$x` as written; `env`: `NAME=value` set for it;
    `cwd`: where a `cd` before it led, relative or absolute, "" where it started; None where that can't be told;
    `via`: the place where it runs, such as ("ssh", "host"), when not in this one; `runner`: what starts it here, such
    as ("npx",) or ("uv", "run"), which it needs to be given again.
    """

    argv: tuple[str, ...]
    env: tuple[str, ...] = ()
    redirections: tuple[tuple[str, str], ...] = ()
    cwd: str | None = ""
    via: tuple[str, ...] = ()
    runner: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """`commands`: all of them in order, whether or not they ran; `proved`: those that have succeeded if the whole ends
    with 0; `whole`: it was read to the end.
    """

    commands: tuple[Command, ...] = ()
    proved: tuple[Command, ...] = ()
    whole: bool = True


def read(command: str) -> Script:
    """Never raises; what is longer than 64 KiB or no shell command gives an empty script."""
    return _read(command, _State())


def proved(script: Script, exit_code: int | None) -> tuple[Command, ...]:
    """The commands whose own success an exit code shows. None: the log says "ok" without a number."""
    return script.proved if exit_code in (0, None) else ()


@dataclass(slots=True)
class _State:
    """What a shell remembers from one command to the next."""

    cwd: str | None = ""
    errexit: bool = False
    pipefail: bool = False
    via: tuple[str, ...] = ()
    nesting: int = 0
    exported: tuple[str, ...] = ()  # `NAME=value` for all that follows


@dataclass(slots=True)
class _Reader:
    """Walks a tree once. `found` gets every command, the walk gives back the proved ones."""

    found: list[Command]

    def sequence(self, body: Sequence, state: _State, *, tested: bool = False) -> list[Command]:
        """`tested`: it stands where a failure doesn't end the shell even with errexit (before && or ||)."""
        sure: list[Command] = []
        proven: list[Command] = []
        for n, chain in enumerate(body.chains):
            last = n == len(body.chains) - 1
            ends = state.errexit and not tested  # as it was before this chain, which may change it
            proven = self.chain(chain, state, tested=tested)
            if not last and (_stops_on_failure(chain) or (ends and not _tests(chain))):
                sure += [] if chain.background else proven
        return sure + proven

    def chain(self, chain: Chain, state: _State, *, tested: bool) -> list[Command]:
        if chain.background:
            self.chain(replace(chain, background=False), replace(state), tested=tested)
            return []
        proven: list[Command] = []
        stops = _stops_on_failure(chain)
        for n, pipe in enumerate(chain.pipes):
            before = chain.operators[n - 1] if n else "&&"
            is_tested = tested or n < len(chain.pipes) - 1
            ran = self.pipe(pipe, state, tested=is_tested)
            if before == "||":
                proven = proven if stops and n == len(chain.pipes) - 1 else []
            else:
                proven += ran
        return proven

    def pipe(self, pipe: Pipe, state: _State, *, tested: bool) -> list[Command]:
        several = len(pipe.parts) > 1
        proven: list[Command] = []
        for n, part in enumerate(pipe.parts):
            ran = self.part(part, replace(state) if several else state, tested=tested or pipe.negated)
            if n == len(pipe.parts) - 1 or state.pipefail:
                proven += ran
        return [] if pipe.negated else proven

    def part(self, part: Part, state: _State, *, tested: bool) -> list[Command]:
        if isinstance(part, Simple):
            return self.simple(part, state)
        if isinstance(part, Group) and part.kind != "opaque":
            inside = replace(state) if part.kind == "subshell" else state
            return self.sequence(part.body, inside, tested=tested)
        self.sequence(part.body, replace(state))
        if isinstance(part, Group) and any(_simples(part.body, "cd", "pushd", "popd")):
            state.cwd = None
        return []

    def simple(self, simple: Simple, state: _State) -> list[Command]:
        argv = tuple(word.text for word in simple.words)
        if not argv:
            return []
        _remember(argv, state)
        own = tuple(word.text for word in simple.env)
        env = (*(word for word in state.exported if _name(word) not in map(_name, own)), *own)
        return self.unwrap(Command(argv, env, simple.redirections, state.cwd, state.via), state)

    def unwrap(self, command: Command, state: _State) -> list[Command]:
        depth = state.nesting
        while depth < _MAX_NESTING and (inside := wrappers.inner(command.argv)):
            depth += 1
            kept = [word for word in command.env if not (inside.via and word in state.exported)]
            env, via = (*kept, *inside.env), command.via + inside.via
            if inside.script is not None:
                return self.nested(command, inside, replace(state, via=via, nesting=depth))
            cwd = None if inside.via else command.cwd
            runner = () if inside.via else command.runner + inside.runner
            command = replace(command, argv=inside.argv, env=env, via=via, cwd=cwd, runner=runner)
        self.found.append(command)
        return [command]

    def nested(self, command: Command, inside: wrappers.Inner, state: _State) -> list[Command]:
        state.errexit, state.pipefail = "e" in inside.options, "P" in inside.options
        if inside.via:  # the connection is something of its own
            state.cwd, state.exported = "", ()
            self.found.append(command)
        script = _read(inside.script or "", state)
        self.found += script.commands
        return [*([command] if inside.via else []), *script.proved]


def _read(text: str, state: _State) -> Script:
    if len(text) > MAX_CHARS:
        return Script(whole=False)
    try:
        tree = parse(text)
    except ShellError:
        return Script(whole=False)
    reader = _Reader([])
    proven = reader.sequence(tree, state)
    if _may_leave(tree):
        proven = []
    own = {part.name for part in _parts(tree) if isinstance(part, Function)}
    kept = tuple(command for command in proven if command.argv[0] not in own)
    return Script(tuple(reader.found), kept)


def _tests(chain: Chain) -> bool:
    """Errexit lets a failure of it pass: more than one pipe, or a negated one."""
    return len(chain.pipes) > 1 or chain.pipes[0].negated


def _stops_on_failure(chain: Chain) -> bool:
    """It ends in `|| exit 1`: what follows runs only after its success."""
    if chain.background or not chain.operators or chain.operators[-1] != "||" or "||" in chain.operators[:-1]:
        return False
    parts = chain.pipes[-1].parts
    part = parts[0] if len(parts) == 1 else None
    if isinstance(part, Group) and part.kind == "group" and part.body.chains:
        end = part.body.chains[-1]
        plain = len(end.pipes) == 1 and len(end.pipes[0].parts) == 1 and not end.background
        part = end.pipes[0].parts[0] if plain else None
    return isinstance(part, Simple) and _fails_the_shell(part)


def _fails_the_shell(simple: Simple) -> bool:
    words = [word.text for word in simple.words]
    return words[:1] == ["exit"] and len(words) == 2 and words[1].isdecimal() and int(words[1][-3:]) % 256 != 0


def _may_leave(tree: Sequence) -> bool:
    """The shell may end with 0 before its last command, run nothing at all, or have a trap change its status."""
    parts = list(_parts(tree))
    return any(_leaves(part, last=n == len(parts) - 1) for n, part in enumerate(parts) if isinstance(part, Simple))


def _leaves(simple: Simple, *, last: bool) -> bool:
    words = [word.text for word in simple.words]
    match words[:1]:
        case ["exit" | "logout"]:
            return not _fails_the_shell(simple)
        case ["exec"]:  # alone it only redirects; as the last it is what it runs
            return len(words) > 1 and not last
        case ["trap"]:
            return "exit" in " ".join(words[1:2])
        case ["set"]:
            return any(word[:1] == "-" and word[:2] != "--" and "n" in word for word in words) or "noexec" in words
    return False


def _parts(tree: Sequence) -> Iterator[Part]:
    for chain in tree.chains:
        for pipe in chain.pipes:
            for part in pipe.parts:
                yield part
                if not isinstance(part, Simple):
                    yield from _parts(part.body)


def _simples(tree: Sequence, *names: str) -> Iterator[Simple]:
    for part in _parts(tree):
        if isinstance(part, Simple) and part.words and part.words[0].text in names:
            yield part


def _remember(argv: tuple[str, ...], state: _State) -> None:
    if argv[0] in ("cd", "pushd"):
        state.cwd = _changed(argv, state.cwd)
    elif argv[0] == "popd":
        state.cwd = None
    elif argv[0] == "set":
        _set(argv[1:], state)
    elif argv[0] == "export":
        _export([word for word in argv[1:] if "=" in word and not word.startswith(("-", *_NOT_TOLD))], state)
    elif argv[0] == "unset":
        state.exported = tuple(word for word in state.exported if _name(word) not in argv[1:])


def _export(words: list[str], state: _State) -> None:
    names = {_name(word) for word in words}
    state.exported = (*(word for word in state.exported if _name(word) not in names), *words)


def _name(assignment: str) -> str:
    return assignment.partition("=")[0]


def _changed(argv: tuple[str, ...], cwd: str | None) -> str | None:
    operands = [word for word in argv[1:] if word != "--" and not (word.startswith("-") and len(word) > 1)]
    target = operands[0] if operands else "~"
    if target == "-" or "$" in target or "`" in target or len(operands) > 1:
        return None
    if target.startswith(("/", "~")) or cwd is None:
        return posixpath.normpath(target) if target.startswith(("/", "~")) else None
    return posixpath.normpath(posixpath.join(cwd, target))


def _set(words: tuple[str, ...], state: _State) -> None:
    for n, word in enumerate(words):
        if word[:1] not in ("-", "+") or word == "--":
            continue
        on = word[0] == "-"
        if "e" in word[1:]:
            state.errexit = on
        if word.endswith("o") and words[n + 1 : n + 2] == ("pipefail",):
            state.pipefail = on
        if word.endswith("o") and words[n + 1 : n + 2] == ("errexit",):
            state.errexit = on
