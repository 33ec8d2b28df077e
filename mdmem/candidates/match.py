"""A proved command and its output in; the rule that it meets, with key and texts, out."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from mdmem.candidates import targets
from mdmem.candidates.args import Args, is_dry, read_args
from mdmem.candidates.render import Renderer
from mdmem.candidates.rules import Rule, Rules, fits
from mdmem.candidates.shell import Command

_PLACEHOLDER = re.compile(r"\{([^{}\s]+)\}")
_UNSAFE = re.compile(r"[^\w@./:+-]+")
_MAX_KEY, _MAX_LINE = 100, 500
_AS_IT_IS = ("", "account", "file")  # shapes that leave nothing of a value away
_IN_CONTAINERS = frozenset(("db_connect", "test", "build"))  # what may run inside one and still be of this project


class Setting(NamedTuple):
    """Where a command ran: `cwd` of the session, and the root of its project where that is known."""

    cwd: str | None
    root: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    rule: Rule
    key: str
    target: str
    shown: str  # the command as it may be kept
    short: str  # its program and first words
    fields: dict[str, str]
    one_off: bool = False  # a part too small to be remembered
    weak: bool = False

    @property
    def names_place(self) -> bool:
        return self.fields["place"] != self.target or bool(self.fields["environment"])

    def text(self, template: str) -> str:
        return _PLACEHOLDER.sub(lambda found: self.fields.get(found[1], ""), template).strip()

    def filled(self, template: str) -> str | None:
        """None where something that the template names is not there."""
        names = _PLACEHOLDER.findall(template)
        return self.text(template) if all(self.fields.get(name) for name in names) else None


class Matcher:
    """Asks the rules of a program in their order; the first that fits decides."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.renderer = Renderer(rules)

    def find(self, command: Command, setting: Setting, output: str) -> Iterator[Match]:
        """What a command that succeeded proves; a task runner may prove a thing with each of its words."""
        if not command.argv or not command.argv[0]:
            return
        args = read_args(command.argv, self._rules)
        if is_dry(args, command.argv, command.env, self._rules):
            return
        found = list(self._read(command, args, setting, output))
        if not found and command.runner:  # `hatch run test`: what it runs is no program but a task of its own
            argv = command.runner + command.argv
            found = list(
                self._read(replace(command, argv=argv, runner=()), read_args(argv, self._rules), setting, output)
            )
        yield from found

    def _read(self, command: Command, args: Args, setting: Setting, output: str) -> Iterator[Match]:
        tool = self._rules.tool(args.program)
        tasks = [word for word in args.words if "=" not in word] if tool.each else []
        if len(tasks) < 2:
            yield from self._first(command, args, setting, output)
            return
        for task in tasks:
            yield from self._first(command, args._replace(words=(task,)), setting, output)

    def _first(self, command: Command, args: Args, setting: Setting, output: str) -> Iterator[Match]:
        for run, rule in self._rules.of(args.program):
            used = self._uses(run, rule, command, args)
            if used is None or (rule.shows and not quoted(rule.shows, output)):
                continue
            found = self._match(rule, command, args, args.words[used:], setting, output)
            if found:
                if not _contradicted(rule, output):
                    yield found
                return

    def _uses(self, run: tuple[str, ...], rule: Rule, command: Command, args: Args) -> int | None:
        """How many words a rule's `run` stands for, or None where the rule doesn't fit."""
        words = tuple(word for word in run if not word.startswith("-"))
        flags = [word for word in run if word.startswith("-")]
        behind = [word for word in args.words[len(words) :] if "=" not in word]
        fitting = (
            len(args.words) >= len(words)
            and all(map(fits, words, args.words))
            and all(flag in args.flags for flag in flags)
            and not (rule.exact and behind)
            and (not rule.needs or args.has(rule.needs))
            and not args.has(rule.forbids)
            and _may_run_there(rule, command.via)
            and (not rule.toward or targets.goes(tuple(behind), rule.toward))
            and not (rule.not_run and self._rules.excludes(rule, args.program, args.words))
        )
        return len(words) if fitting else None

    def _match(
        self, rule: Rule, command: Command, args: Args, words: tuple[str, ...], setting: Setting, output: str
    ) -> Match | None:
        project = self._project(command, args, setting)
        part, files, single = targets.paths(words) if rule.part == "paths" or rule.narrow_files else ("", False, False)
        if rule.part == "task":
            tasks = args.words[: len(args.words) - len(words)] or (args.program,)
            part = targets.task_part(tasks[-1], project, self._rules.environments)
        elif rule.part != "paths":
            part = ""
        target = self._target(rule, command, args, words, project, output)
        if not target:
            return None
        if part and target == project:
            target = f"{project}-{part}"
        fields = self._fields(rule, command, args, words, project, target)
        narrow = args.has(rule.narrow - {"1"}) or ("1" in rule.narrow and bool(words))
        return Match(
            rule,
            _key(_PLACEHOLDER.sub(lambda found: fields.get(found[1], ""), rule.key)),
            target,
            fields["command"],
            " ".join((args.program, *args.words[: len(args.words) - len(words)])),
            fields,
            one_off=narrow or single or (files and rule.narrow_files),
            weak=files and rule.part == "paths",
        )

    def _project(self, command: Command, args: Args, setting: Setting) -> str:
        """The project's name, and the part of it where the command ran or that a flag names."""
        cwd = setting.cwd or ""
        root = setting.root or cwd
        name = targets.basename(root)
        inside = posixpath.relpath(cwd, root) if cwd.startswith("/") and root.startswith("/") else "."
        tool = self._rules.tool(args.program)
        named = next((args.flags[flag] for flag in sorted(tool.unit) if args.flags.get(flag)), "")
        gone_to, named = (named, "") if named.startswith(("/", "~")) else (command.cwd, named)  # `make -C /work/shop`
        if gone_to and not command.via:
            if gone_to.startswith(("/", "~")):
                outside = not f"{gone_to}/".startswith(f"{root}/")
                name, inside = (targets.basename(gone_to), ".") if outside else (name, gone_to[len(root) :])
            else:
                inside = posixpath.normpath(posixpath.join(inside, gone_to))
        part = targets.basename(named.replace("...", "").strip("./{}")) or targets.basename(inside.strip("./"))
        part = self._rules.environments.get(part.lower(), part)
        plain = not part or "$" in part or part == name or inside.startswith("..")
        return name if plain else f"{name}-{part.removeprefix('@')}"

    def _target(
        self, rule: Rule, command: Command, args: Args, words: tuple[str, ...], project: str, output: str
    ) -> str:
        for source in rule.target:
            raw = _raw(source, rule, command, args, words, output)
            if (
                raw
                and rule.shape in _AS_IT_IS
                and source not in ("output", "via")
                and not self._kept(source, raw, args)
            ):
                continue
            shape = "host" if source == "via" and command.via[:1] == ("ssh",) else "" if source == "via" else rule.shape
            value = (
                project
                if source == "project"
                else raw and targets.shaped(raw, shape, project=project, known=self._rules.environments)
            )
            if rule.scope == "project" and value.lower() in self._rules.environments:
                value = f"{project}-{self._rules.environments[value.lower()]}"
            if value:
                return value
        return rule.fallback

    def _fields(
        self, rule: Rule, command: Command, args: Args, words: tuple[str, ...], project: str, target: str
    ) -> dict[str, str]:
        known = self._rules.environments
        shown = self.renderer.command(command, args.program)
        kept = {name: value for name, value in args.flags.items() if value and self._kept(name, value, args)}
        env = [word.partition("=")[2] for word in command.env if len(word) < 40]
        named = targets.environment((*command.argv[1:], *env), known) or rule.environment
        place = targets.with_environment(target, named, known)
        positions = {str(n): word for n, word in enumerate(words, 1) if self._kept("", word, args)}
        first = words[-1] if words else ""
        return {
            **kept,
            **positions,
            "command": shown,
            "program": args.program,
            "project": project,
            "target": target,
            "place": place,
            "environment": named,
            "registry": targets.registry(args.flags.get("-t") or args.flags.get("--tag") or first),
            "bucket": targets.bucket(words),
            "host": targets.host(kept.get("-h", "") or kept.get("--host", "")) or targets.on_host(words),
        }

    def _kept(self, flag: str, value: str, args: Args) -> bool:
        """It may stand in a text: nothing of it had to be left away."""
        tool = self._rules.tool(args.program)
        hidden = flag in tool.secret or flag in self._rules.secret_flags or bool(tool.hides & set(args.words))
        return not hidden and self.renderer.text(value) == value


def _may_run_there(rule: Rule, via: tuple[str, ...]) -> bool:
    if not via:
        return not rule.remote
    return rule.remote if "ssh" in via else rule.kind in _IN_CONTAINERS


def _raw(source: str, rule: Rule, command: Command, args: Args, words: tuple[str, ...], output: str) -> str:
    if source.lstrip("-").isdigit() and source != "-":
        at = int(source)
        plain = [word for word in words if "=" not in word or "://" in word or " " in word]
        return plain[at - 1 if at > 0 else at] if abs(at) <= len(plain) else ""
    if source.startswith("-"):
        return args.flags.get(source, "")
    if source.startswith("env:"):
        return next((word.partition("=")[2] for word in command.env if word.startswith(source[4:] + "=")), "")
    if source == "via":
        return command.via[1] if command.via else ""
    if source == "host":
        return targets.on_host(words)
    return quoted(rule.output, output, group=1) if source == "output" and rule.output else ""


def lines_of(output: str) -> Iterator[str]:
    return (line[:_MAX_LINE] for line in output.splitlines() if line.strip())


def quoted(pattern: str, output: str, *, group: int = 0) -> str:
    """The first line that a pattern meets, or what its group catches there; "" where none does."""
    compiled = re.compile(pattern, re.IGNORECASE)
    for line in lines_of(output):
        if found := compiled.search(line):
            return found[1] if group else line.strip()
    return ""


def _contradicted(rule: Rule, output: str) -> bool:
    """The output says that it failed all the same."""
    patterns = [re.compile(pattern, re.IGNORECASE) for pattern in rule.contradicts]
    return any(pattern.search(line) for line in lines_of(output) for pattern in patterns)


def _key(text: str) -> str:
    kind, _, name = text.partition(":")
    return f"{kind.lower()}:{_UNSAFE.sub('-', name).strip('-').lower()}"[:_MAX_KEY].rstrip("-:./")
