"""The config: what is wrong is named with its file, its key and the nearest right one."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pydantic
import pytest

from mdmem.config.plain import UnsureError, plainly
from mdmem.config.settings import Settings, as_dict, check, load, names
from mdmem.errors import ConfigError
from tests.conftest import ROOT


@pytest.fixture
def config(home: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MDMEM_EMBEDDER_MODEL")
    return tmp_path / "config.toml"


def loaded(config: Path, text: str) -> Settings:
    config.write_text(text)
    return load(str(config))


def test_no_file_and_no_variable_are_the_defaults(config: Path) -> None:
    assert load(str(config)) == Settings()
    assert loaded(config, "") == Settings()


def test_every_section_is_read(config: Path) -> None:
    settings = loaded(
        config,
        '\ufeff[scopes]\nuser = "/u"\n[[scopes.mounts]]\npath = "~/vault"\nscope = "agent"\nref = "bob"\n'
        "[watch]\nquiet_ms = 10\n[recall]\ntime_decay_lambda = 0.5\n"
        '[recall.aliases]\nk8s = "kubernetes"\n[recall.grants.bot]\nops = "write"\n"*" = "none"\n'
        '[recall.weights]\ngraph = 0\n[inject]\nmax_inject_tokens = 900\n[embedder]\nmodel = "none"\n',
    )

    assert settings.scopes.user == "/u"
    assert (settings.scopes.mounts[0].scope, settings.scopes.mounts[0].ref) == ("agent", "bob")
    assert (settings.watch.quiet_ms, settings.recall.time_decay_lambda) == (10, 0.5)
    assert settings.inject.max_inject_tokens == 900
    assert settings.recall.aliases == {"k8s": "kubernetes"}
    assert settings.recall.weights == {"graph": 0}
    assert settings.recall.grants == {"bot": {"ops": "write", "*": "none"}}


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("[watch]\nquite_ms = 3", "watch.quite_ms is not a setting", "did you mean 'quiet_ms'?"),
        ("[wacth]\nquiet_ms = 3", "wacth is not a setting", "did you mean 'watch'?"),
        (
            "[zzz]\na = 3",
            "zzz is not a setting",
            "accepted here: scopes, watch, recall, inject, review, embedder, gates, learn",
        ),
        ("[watch]\nquiet_ms = 'x'", "watch.quiet_ms is 'x'", None),
        ("[watch]\nquiet_ms = 0", "watch.quiet_ms is 0", None),
        ("[embedder]\nmodel = 'gpt'", "embedder.model is 'gpt'", None),
        ("[embedder]\nmodel = 'openai'", "embedder.url or embedder.name is missing", "set url"),
        ("[recall]\ntime_decay_lambda = -1", "recall.time_decay_lambda is -1", None),
        (
            "[recall.grants.bot]\nops = 'wirte'",
            "recall.grants.bot.ops is 'wirte': input should be 'none', 'read' or 'write'",
            None,
        ),
        ("[recall.grants]\nbot = 'read'", "recall.grants.bot is 'read'", None),
        ("[inject]\nmax_inject_tokens = 0", "inject.max_inject_tokens is 0", None),
        ("watch = 3", "watch is 3", None),
        ('scopes = ["/m"]', "scopes is ['/m'], no table", None),
        ("[gates]\nquota = [1]", "gates.quota is [1], no table", None),
        ('[review]\nauto_approve = [["tool"]]', "review.auto_approve.0 is ['tool'], no table", None),
        ("[scopes]\nuser = 'rel/path'", "scopes.user is 'rel/path', which is no absolute path", "from ~ on"),
        ("[[scopes.mounts]]\npath = ''", "scopes.mounts.0.path is ''", "from ~ on"),
        ("[watch]\nheartbeat_seconds = inf", "watch.heartbeat_seconds is inf", None),
        ("[watch\n", "not TOML", "mdmem config edit"),
    ],
)
def test_a_wrong_key_or_value_is_named(config: Path, text: str, what: str, hint: str | None) -> None:
    with pytest.raises(ConfigError) as told:
        loaded(config, text)

    assert what in told.value.what
    assert told.value.where == str(config)
    assert hint is None or hint in str(told.value.hint)


def test_a_config_that_cannot_be_read_is_told(config: Path) -> None:
    config.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError):
        load(str(config))
    config.unlink()
    config.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load(str(config))


def test_variables_win_over_the_file_and_strange_ones_are_none_of_ours(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MDMEM_WATCH_QUIET_MS", "30")
    monkeypatch.setenv("MDMEM_EMBEDDER_MODEL", "none")
    monkeypatch.setenv("MDMEM_EMBEDDER_API_KEY_ENV", "KEY")
    monkeypatch.setenv("MDMEM_WHATEVER", "x")
    settings = loaded(config, "[watch]\nquiet_ms = 10\nmax_ms = 100\n")

    assert (settings.watch.quiet_ms, settings.watch.max_ms) == (30, 100)
    assert (settings.embedder.model, settings.embedder.api_key_env) == ("none", "KEY")
    monkeypatch.setenv("MDMEM_WATCH_NOTHING", "1")
    with pytest.raises(ConfigError, match=r"watch\.nothing"):
        load(str(config))


@pytest.mark.parametrize("text", ["watch = 3", "watch = []", 'scopes = "x"'])
def test_a_variable_beside_a_section_that_is_none_is_told_too(
    config: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("MDMEM_WATCH_QUIET_MS", "30")
    monkeypatch.setenv("MDMEM_SCOPES_USER", "/u")
    with pytest.raises(ConfigError):
        loaded(config, text)


def test_settings_as_plain_values_name_every_key() -> None:
    plain = as_dict(check({"scopes": {"mounts": [{"path": "/x"}]}}, where="x"))

    assert {section: list(keys) for section, keys in plain.items()} == names()
    assert plain["scopes"]["mounts"] == [{"path": "/x", "scope": "user", "ref": None}]


EVERY_KIND = """
[scopes]
mounts = [{path = "/x", scope = "agent", ref = "claude"}]
[watch]
quiet_ms = 70
rescan_minutes = 5
poll = ["/a", "/b"]
[recall]
aliases = {k8s = "kubernetes"}
weights = {graph = 0}
[recall.grants.bot]
ops = "write"
[review]
auto_approve = [{source = "tool", type = "capability", min_confidence = 1}]
[embedder]
model = "none"
dimensions = 256
[gates.quota]
user = 3
[learn]
agents = ["codex", "goose"]
logs = {x = {path = "~/x/*.jsonl"}}
"""


@pytest.mark.parametrize("text", [None, "", "[learn]\nagents = ['codex', 'goose']\n", EVERY_KIND])
def test_what_is_plainly_right_needs_no_pydantic(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "config.toml"
    if text is not None:
        file.write_text(text)
    loaded = f"load({str(file)!r}).learn.agents, 'pydantic' in sys.modules"
    script = f"import sys; from mdmem.config.settings import load; print({loaded})"
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=True)

    assert done.stdout.strip() == ("('codex', 'goose') False" if text else "() False")


VALUES: list[Any] = [
    *[None, True, 0, 1, -1, 11, 10**400, 0.0, 1.0, 0.5, float("nan"), float("inf"), "", "1", "read", "auto", "none"],
    *[
        [],
        ["a"],
        [1],
        [{"path": "/x"}],
        [{"path": "/x", "no": 1}],
        [{"scope": "user"}],
        [{"path": "/x", "scope": "no"}],
    ],
    *[[{"source": "tool", "min_confidence": 1}], [{"type": "no"}], [{"source": "tool", "min_confidence": 2}]],
    *[{}, {"a": "b"}, {"graph": 1}, {"graph": 11}, {"no": 1}, {"bot": {"ops": "read"}}, {"bot": {"ops": "no"}}],
    *[{"user": 3}, {"user": "x"}, {"user": -1}, {"__pydantic_config__": {}}],
]


def test_what_is_plainly_right_is_what_pydantic_makes_of_it() -> None:
    with pytest.raises(ConfigError):
        check({"no": 1}, where="x")  # so that pydantic's own bounds stand in the annotations
    judge = pydantic.TypeAdapter(Settings)
    accepted = 0
    for section, keys in names().items():
        for values in [
            *({section: value} for value in VALUES),
            *({section: {k: v}} for k in [*keys, "no"] for v in VALUES),
        ]:
            with contextlib.suppress(UnsureError):
                plain = plainly(values, Settings)
                accepted += 1
                assert repr(plain) == repr(judge.validate_python(values)), values
    assert accepted > 100


@pytest.mark.parametrize("text", ["agents = 'codex'", "agents = [1]", "agent = []", "agents = []\nrules = 3"])
def test_what_connect_sets_is_checked_all_the_same(config: Path, text: str) -> None:
    config.write_text(f"[learn]\n{text}\n")

    with pytest.raises(ConfigError, match="learn"):
        load(str(config))
