"""A file of promotion rules in, the rules by program out. Mistakes are named with rule, field and the right name."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from mdmem.errors import ConfigError

SHIPPED = Path(__file__).with_name("promotion_rules.toml")
Table: TypeAlias = Mapping[str, Any]
_SECTIONS = ("common", "environments", "groups", "kinds", "tools", "aliases", "rule")
_SHAPES = ("host", "image", "account", "database", "file", "health")
_TOWARD = ("bucket", "host", "here")
_PARTS = ("task", "paths")


@dataclass(frozen=True, slots=True)
class Tool:
    """How the words of one program are read; promotion_rules.toml says what the fields mean."""

    values: frozenset[str] = frozenset()
    attached: frozenset[str] = frozenset()
    dry: frozenset[str] = frozenset()
    keeps: frozenset[str] = frozenset()
    secret: frozenset[str] = frozenset()
    unit: frozenset[str] = frozenset()
    hides: frozenset[str] = frozenset()
    combined: bool = False
    each: bool = False
    stops: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """What the rules of one kind have in common, unless they say otherwise."""

    type: str
    scope: str
    name: str
    about: str
    key: str = ""
    way: bool = False
    contradicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that a command can prove; promotion_rules.toml says what the fields mean."""

    id: str
    kind: str
    run: tuple[str, ...]
    type: str
    scope: str
    key: str
    name: str
    about: str
    way: bool
    contradicts: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    exact: bool = False
    remote: bool = False
    narrow_files: bool = False
    follows: bool = False
    needs: frozenset[str] = frozenset()
    forbids: frozenset[str] = frozenset()
    narrow: frozenset[str] = frozenset()
    toward: str = ""
    target: tuple[str, ...] = ("project",)
    fallback: str = ""
    shape: str = ""
    part: str = ""
    shows: str = ""
    output: str = ""
    environment: str = ""
    probe: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """Everything that the files say. Ask `of` for the rules of a program, in the order in which they are tried."""

    tools: Mapping[str, Tool]
    aliases: Mapping[str, str]
    environments: Mapping[str, str]  # word -> environment
    dry: frozenset[str]
    help: frozenset[str]
    values: frozenset[str]
    secret_flags: frozenset[str]
    secret_names: tuple[str, ...]
    rules: tuple[Rule, ...]
    groups: Mapping[str, tuple[str, ...]]
    _by_program: dict[str, list[tuple[tuple[str, ...], Rule]]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def of(self, program: str) -> list[tuple[tuple[str, ...], Rule]]:
        """(words of `run` after the program, rule). A rule whose program is a pattern stands among those of each."""
        found = self._by_program.get(program)
        if found is None:
            found = self._by_program[program] = [
                (words[1:], rule) for rule in self.rules for words in self._runs(rule) if fits(words[0], program)
            ]
        return found

    def excludes(self, rule: Rule, program: str, words: tuple[str, ...]) -> bool:
        """`not_run` names it."""
        return any(
            fits(run[0], program) and starts(words, run[1:]) for text in rule.not_run for run in self._spelled(text)
        )

    def tool(self, program: str) -> Tool:
        return self.tools.get(program, _NO_TOOL)

    def _runs(self, rule: Rule) -> Iterator[tuple[str, ...]]:
        for text in rule.run:
            yield from self._spelled(text)

    def _spelled(self, text: str) -> Iterator[tuple[str, ...]]:
        """One `run` as words, once for each of the group that it names."""
        group = text[1 : text.index(">")] if text.startswith("<") else ""
        for start in self.groups[group] if group else ("",):
            yield tuple(f"{start}{text[len(group) + 2 :] if group else text}".split())


_NO_TOOL = Tool()


@lru_cache(4_096)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(one) for one in text.split("|")), re.IGNORECASE)


def fits(pattern: str, word: str) -> bool:
    """Whether a word is one of `a|b*|c`."""
    return pattern == word or bool(
        ("|" in pattern or "*" in pattern or "[" in pattern) and _pattern(pattern).match(word)
    )


def starts(words: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    return len(words) >= len(pattern) and all(map(fits, pattern, words))


@lru_cache(1)
def shipped() -> Rules:
    """The rules that come with the program; about 20 ms, once."""
    return _build(_read(SHIPPED), str(SHIPPED))


def load(own: str | None = None) -> Rules:
    """The shipped rules, behind those of a person's own file. Raises ConfigError naming file, rule and the mistake."""
    if own is None:
        return shipped()
    base, mine = _read(SHIPPED), _read(Path(own))
    for section in _SECTIONS[:-1]:
        mine[section] = {**base.get(section, {}), **_table(mine, section, own)}
    built = _build(mine, own)
    return replace(built, rules=(*built.rules, *shipped().rules))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"the rules cannot be read: {error.strerror}", where=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the rules are not TOML: {error}", where=str(path)) from error


def _build(data: dict[str, Any], where: str) -> Rules:
    _only(data, _SECTIONS, where)
    common = _table(data, "common", where)
    _only(common, ("dry", "help", "values", "secret_flags", "secret_names"), f"{where}: [common]")
    kinds = {name: _kind(name, table, where) for name, table in _table(data, "kinds", where).items()}
    groups = {name: _texts(group, f"{where}: group {name}") for name, group in _table(data, "groups", where).items()}
    rules = data.get("rule", [])
    if not isinstance(rules, list):
        raise ConfigError("rule is not a list of tables", where=where, hint="begin each rule with [[rule]]")
    return Rules(
        tools={name: _tool(name, table, where) for name, table in _table(data, "tools", where).items()},
        aliases=_table(data, "aliases", where),
        environments={
            word: name for name, words in _table(data, "environments", where).items() for word in str(words).split()
        },
        dry=_words(common.get("dry", "")),
        help=_words(common.get("help", "")),
        values=_words(common.get("values", "")),
        secret_flags=_words(common.get("secret_flags", "")),
        secret_names=tuple(str(common.get("secret_names", "")).split()),
        rules=tuple(_rule(table, n, kinds, groups, where) for n, table in enumerate(rules, 1)),
        groups=groups,
    )


def _table(data: Table, name: str, where: str) -> dict[str, Any]:
    found = data.get(name, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{name} is not a table", where=where, hint=f"write [{name}]")
    return found


def _tool(name: str, table: Table, where: str) -> Tool:
    where = f"{where}: tool {name}"
    _only(table, [f.name for f in fields(Tool)], where)
    flags = {key: _truth(table[key], key, where) for key in ("combined", "each", "stops") if key in table}
    return Tool(**{k: _words(v) for k, v in table.items() if k not in flags}, **flags)  # type: ignore[arg-type]


def _kind(name: str, table: Table, where: str) -> Kind:
    where = f"{where}: kind {name}"
    _only(table, [f.name for f in fields(Kind)], where)
    return Kind(**{**table, "contradicts": _patterns(table.get("contradicts", ()), "contradicts", where)})


def _rule(table: Any, n: int, kinds: Mapping[str, Kind], groups: Mapping[str, Any], where: str) -> Rule:  # noqa: ANN401
    where = f"{where}: rule {table.get('id', n) if isinstance(table, dict) else n}"
    if not isinstance(table, dict):
        raise ConfigError("a rule is not a table", where=where, hint="begin each rule with [[rule]]")
    _only(table, [f.name for f in fields(Rule)], where)
    for needed in ("id", "kind", "run"):
        if needed not in table:
            raise ConfigError(f"{needed} is missing", where=where, hint='a rule has at least id, kind and run = "…"')
    kind = kinds[_choice(table["kind"], tuple(kinds), "kind", where)]
    values: dict[str, Any] = {f: getattr(kind, f) for f in ("type", "scope", "key", "name", "about", "way")}
    for name, value in table.items():
        values[name] = _value(name, value, where)
    values["contradicts"] = kind.contradicts + values.get("contradicts", ())
    _known_groups(values["run"] + values.get("not_run", ()), groups, where)
    if not values["key"]:
        raise ConfigError(
            "key is missing", where=where, hint=f'kind {table["kind"]} has none of its own: key = "…:{{target}}"'
        )
    return Rule(**values)


def _value(name: str, value: Any, where: str) -> Any:  # noqa: ANN401  # of TOML, checked here
    choices = {"shape": _SHAPES, "toward": _TOWARD, "part": _PARTS}
    if name in choices:
        return _choice(value, choices[name], name, where)
    if name in ("exact", "remote", "narrow_files", "follows", "way"):
        return _truth(value, name, where)
    if name in ("contradicts", "shows", "output"):
        patterns = _patterns(value, name, where)
        return patterns if name == "contradicts" else patterns[0]
    if name in ("run", "not_run", "target", "probe", "entities"):
        return _texts(value, f"{where}: {name}")
    if not isinstance(value, str):
        raise ConfigError(f"{name} is {value!r}, not a text", where=where)
    return _words(value) if name in ("needs", "forbids", "narrow") else value


def _known_groups(runs: tuple[str, ...], groups: Mapping[str, Any], where: str) -> None:
    for run in runs:
        if not run.split():
            raise ConfigError("run is empty", where=where, hint='run = "program word"')
        if run.startswith("<"):
            _choice(run[1:].partition(">")[0], tuple(groups), "the group in run", where)


def _only(table: Table, known: Any, where: str) -> None:  # noqa: ANN401  # any list of names
    for name in table:
        if name not in known:
            raise ConfigError(f"{name} is not known", where=where, hint=_hint(name, known, "known here"))


def _choice(value: Any, known: tuple[str, ...], name: str, where: str) -> str:  # noqa: ANN401  # of TOML
    if isinstance(value, str) and value in known:
        return value
    raise ConfigError(f"{name} is {value!r}", where=where, hint=_hint(value, known, "one of"))


def _hint(value: Any, known: Any, otherwise: str) -> str:  # noqa: ANN401  # of TOML
    import difflib  # only for what is wrong

    near = difflib.get_close_matches(str(value), known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"{otherwise}: {', '.join(known)}"


def _truth(value: Any, name: str, where: str) -> bool:  # noqa: ANN401  # of TOML
    if not isinstance(value, bool):
        raise ConfigError(f"{name} is {value!r}, not true or false", where=where)
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:  # noqa: ANN401  # of TOML
    found = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else ()
    if not found or not all(isinstance(one, str) for one in found):
        raise ConfigError(f"{value!r} is neither a text nor a list of texts", where=where)
    return found


def _patterns(value: Any, name: str, where: str) -> tuple[str, ...]:  # noqa: ANN401  # of TOML
    found = _texts(value, f"{where}: {name}") if value else ()
    for one in found:
        try:
            compiled = one if where.startswith(str(SHIPPED)) else re.compile(one)  # ours are held by a test
        except re.error as error:
            raise ConfigError(f"{name} is no regular expression: {error}", where=where) from error
        if name == "output" and isinstance(compiled, re.Pattern) and compiled.groups != 1:
            raise ConfigError("output has not exactly one group", where=where, hint="put what names it in (…)")
    return found


def _words(value: Any) -> frozenset[str]:  # noqa: ANN401  # of TOML
    return frozenset(str(value).split())
