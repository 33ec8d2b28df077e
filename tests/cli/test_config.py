from __future__ import annotations

import pytest

from tests.conftest import Daemon, Home


def test_set_keeps_comments_and_checks_first(home, call):
    file = home.put("config.toml", "# mine\n[recall]\ntime_decay_lambda = 0.01 # why\n", home.mdmem)

    assert call("config", "set", "recall.time_decay_lambda", "0.02").code == 0
    assert call("config", "set", "watch.quiet_ms", "40").code == 0
    text = file.read_text()
    assert text.startswith("# mine\n[recall]\ntime_decay_lambda = 0.02 # why\n")
    assert call("config", "show", "--json").json["watch"]["quiet_ms"] == 40
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("embedder.modle", "none", "model"),
        ("embeder.model", "none", "embedder"),
        ("embedder.model", "gpt", "model"),
        ("watch.quiet_ms", "soon", "quiet_ms"),
        ("nodot", "1", "SECTION.KEY"),
    ],
)
def test_a_wrong_setting_is_usage_names_the_right_one_and_writes_nothing(home, call, name, value, word):
    done = call("config", "set", name, value)

    assert done.code == 2
    assert word in done.err
    assert not (home.mdmem / "config.toml").exists()


def test_a_config_that_was_wrong_before_is_not_blamed_on_the_command(home, call):
    home.put("config.toml", "[watch]\nquiet = 1\n", home.mdmem)

    assert call("config", "set", "recall.time_decay_lambda", "0.02").code == 6
    home.put("config.toml", "[watch\n", home.mdmem)
    assert call("config", "set", "recall.time_decay_lambda", "0.02").code == 6
    assert call("list").code == 6


def test_show_can_be_read_back_as_toml(home, call):
    import tomllib

    home.put("config.toml", '[recall]\naliases = {"k8s" = "kubernetes"}\n[watch]\npoll = ["/a"]\n', home.mdmem)
    shown = tomllib.loads(call("config", "show").out)

    assert shown["recall"]["aliases"] == {"k8s": "kubernetes"}
    assert shown["watch"]["poll"] == ["/a"]


def test_edit_opens_the_editor_and_checks(home, call, monkeypatch):
    monkeypatch.setenv("EDITOR", 'sh -c \'echo [watch] > "$0"; echo quiet_ms = 60 >> "$0"\'')
    assert call("config", "edit").code == 0
    assert call("config", "show", "--json").json["watch"]["quiet_ms"] == 60

    monkeypatch.setenv("EDITOR", "sh -c 'echo nonsense >> \"$0\"'")
    assert call("config", "edit").code == 6
    monkeypatch.setenv("EDITOR", "false")
    assert call("config", "edit").code == 4
    monkeypatch.setenv("EDITOR", "/nowhere")
    assert call("config", "edit").code == 6
    monkeypatch.delenv("EDITOR")
    assert call("config", "edit").code == 2


def test_path_and_no_embedder(home, call):
    assert call("config", "path").out == f"{home.mdmem}/config.toml\n"
    assert call("config", "test-embedder").code == 5


def test_a_running_daemon_takes_a_new_mount_over(home, call, daemon: Daemon):
    home.put("a.md", "Alpha.\n", home.folder / "others")
    done = call("config", "set", "scopes.mounts", f'[{{path = "{home.folder}/others"}}]')

    assert done.code == 0
    assert [h["key"] for h in daemon.ask("search", query="alpha")["hits"]] == ["a"]
    assert "when it starts" in call("config", "set", "watch.quiet_ms", "40").err


def test_a_real_vector_is_made(home, call, monkeypatch):
    monkeypatch.delenv("MDMEM_EMBEDDER_MODEL")
    done = call("config", "test-embedder", "--json")

    assert done.json["dimension"] == 384
    assert done.json["ms"] > 0


@pytest.mark.parametrize("text", ["[watch\n", "[watch]\nquiet_ms = 0\n"])
def test_a_config_that_is_broken_under_a_running_daemon_is_told_by_status(
    home: Home, daemon: Daemon, text: str
) -> None:
    config = home.mdmem / "config.toml"
    config.write_text(text)
    done = home.run("status", "--json")
    (problem,) = done.json["problems"]
    assert (done.code, problem["code"], problem["path"]) == (1, "config-broken", str(config))
    config.write_text("")
    assert home.run("status", "--json").json["problems"] == []


def test_a_mount_is_shown_as_it_is_set(home: Home) -> None:
    config = home.put("config.toml", f'[[scopes.mounts]]\npath = "{home.folder}"\n', home.mdmem)
    done = home.run("config", "show")
    assert done.code == 0
    assert str(home.folder) in done.out.partition("mounts = ")[2].partition("\n")[0]
    assert config.exists()


def test_a_chosen_home_in_which_other_things_lie_keeps_its_mode(home: Home) -> None:
    shared = home.folder / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    (shared / "of somebody").write_text("x")
    env = {"MDMEM_HOME": str(shared)}
    assert home.run("add", "one memory", "--name", "one", env=env).code == 0
    assert home.run("config", "set", "watch.quiet_ms", "40", env=env).code == 0
    assert shared.stat().st_mode & 0o777 == 0o755
    assert {path.stat().st_mode & 0o777 for path in (shared / "user", shared / "state")} == {0o700}
