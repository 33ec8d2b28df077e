"""The argv of a command in; its program, its words and its flags out, as that program reads them."""

from __future__ import annotations

import re
from typing import NamedTuple

from mdmem.candidates.rules import Rules, Tool, fits
from mdmem.candidates.wrappers import program

_VERSIONED = re.compile(r"(python|pip|pypy|ruby|php|node|gcc|clang|g\+\+|clang\+\+)[-\d.]+\Z")
_TRUE_ENV = re.compile(
    r"(?:\w+_)?(?:DRY_?RUN|NO_?OP|CHECK_ONLY|SIMULATE|WHAT_?IF)=(?!0|false|no|off|none|$)", re.IGNORECASE
)
_REAL = frozenset(("none", "false", "no", "0", "off"))  # --dry-run=none changes things


class Args(NamedTuple):
    """`words`: what is neither a flag nor the value of one; `flags`: each with its last value, "" where it has none."""

    program: str
    words: tuple[str, ...]
    flags: dict[str, str]

    def has(self, patterns: frozenset[str]) -> bool:
        """One of the flags stands there, or one of the words: `v[0-9]*` names words."""
        names = (*self.flags, *self.words)
        return any(pattern in self.flags or any(fits(pattern, name) for name in names) for pattern in patterns)


def read_args(argv: tuple[str, ...], rules: Rules) -> Args:
    name = _plain_name(argv[0])
    start = rules.aliases.get(name, name).split()
    tool = rules.tool(start[0])
    values = tool.values | rules.values
    words: list[str] = []
    flags: dict[str, str] = {}
    rest = list(argv[:0:-1])  # reversed: the next word is popped
    passed_on = False  # behind `--`: words there belong to a script
    while rest:
        word = rest.pop()
        if tool.stops and words:
            words.append(word)
        elif word == "--":
            passed_on = True
        elif word.startswith("-") and len(word) > 1:
            _flag(word, rest, values, tool, flags)
        elif not passed_on:
            words.append(word)
    return Args(start[0], (*start[1:], *words), flags)


def is_dry(args: Args, argv: tuple[str, ...], env: tuple[str, ...], rules: Rules) -> bool:
    """It only shows what it would do, or how it is used."""
    tool = rules.tool(args.program)
    asked = (rules.help | rules.dry) - tool.keeps - tool.values | tool.dry
    if any(flag in asked and value.lower() not in _REAL for flag, value in args.flags.items()):
        return True
    words = args.words[:1] if tool.stops else args.words
    if any(word in asked for word in words) or "help" in words[:1] + words[-1:]:
        return True
    if args.words == ("version",) and args.program != "changeset":  # `npm version patch` does more
        return True
    return any(_TRUE_ENV.match(word) for word in (*argv, *env))


def _plain_name(word: str) -> str:
    """Of a script in a folder the path, without `./`: it tells more than the last part."""
    name = program(word)
    if name.endswith((".sh", ".py", ".rb", ".ps1")) or re.match(r"(?:\./)?(?:scripts?|bin|ci|tools)/", word):
        return word.removeprefix("./") if not word.startswith("/") else name
    return _VERSIONED.sub(r"\1", name)


def _flag(word: str, rest: list[str], values: frozenset[str], tool: Tool, flags: dict[str, str]) -> None:
    """Put a flag, and the value that belongs to it, into `flags`."""
    name, equals, value = word.partition("=")
    if equals:
        flags[name] = value
    elif word in values:
        flags[word] = rest.pop() if rest else ""
    elif word[:2] in tool.attached and not word.startswith("--"):
        flags[word[:2]] = word[2:]
    elif tool.combined and not word.startswith("--"):
        _letters(word[1:], rest, tool, flags)
    else:
        flags[word] = ""


def _letters(letters: str, rest: list[str], tool: Tool, flags: dict[str, str]) -> None:
    for n, letter in enumerate(letters):
        flag = f"-{letter}"
        if flag in tool.values:
            flags[flag] = letters[n + 1 :] or (rest.pop() if rest else "")
            return
        flags[flag] = ""
