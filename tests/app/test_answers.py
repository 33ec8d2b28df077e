"""Requests in, answers out: keys, paths, filters, freshness, and who sees what."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mdmem.app import Answers, Local
from mdmem.errors import ConfigError, LockError
from mdmem.index import read
from tests.bed import Bed, git, memory


def ask(here: Answers, op: str, **request: Any) -> dict[str, Any]:
    answer = here.answer({"op": op, **request})
    assert answer["ok"], answer
    return answer


def refusal(here: Answers, op: str, **request: Any) -> dict[str, Any]:
    answer = here.answer({"op": op, **request})
    assert not answer["ok"], answer
    error: dict[str, Any] = answer["error"]
    return error


def names(answer: dict[str, Any]) -> list[str]:
    return [Path(m["path"]).name for m in answer.get("hits", answer.get("memories"))]


# --- finding by key ------------------------------------------------------------------------------------


def test_a_key_a_path_or_enough_of_either_means_one_memory(bed: Bed, here: Answers) -> None:
    bed.put("ops/deploy.md", memory("How to deploy.", key="deploy:blyck"))
    bed.put("café.md", "The café.")
    bed.put("other.md", "Other.")
    ask(here, "sync")

    whole = str(bed.folder / "ops" / "deploy.md")
    for text in ("deploy:blyck", "Deploy:BLYCK", "ops/deploy.md", whole, "blyck", "ops/dep", "deploy"):
        assert ask(here, "find", key=text)["rel"] == "ops/deploy.md", text
    assert ask(here, "find", key="deploy.md", cwd=str(bed.folder / "ops"))["rel"] == "ops/deploy.md"
    assert ask(here, "find", key="cafe\u0301.md")["rel"] == "café.md"
    assert ask(here, "find", key="other.md")["rel"] == "other.md"


def test_c4_a_name_that_is_not_utf8_is_found_by_its_bytes_and_as_it_is_shown(bed: Bed, here: Answers) -> None:
    raw = os.fsdecode(b"caf\xe9.md")
    (bed.folder / raw).write_text("A café.")
    ask(here, "sync")

    for text in (raw, "caf\\xE9.md", "caf\\xE9", str(bed.folder / raw)):
        found = ask(here, "find", key=text, cwd="/")
        assert found["rel"] == raw, text
    assert ask(here, "show", key=raw)["text"] == "A café."
    assert names(ask(here, "search", query=raw)) == ["caf\\xE9.md"]


def test_an_unclear_key_lists_the_choices_and_the_valid_one_wins_over_ended_ones(bed: Bed, here: Answers) -> None:
    bed.put("deploy-a.md", "a")
    bed.put("deploy-b.md", "b")
    bed.put("plan-old.md", memory("x", status="archived"))
    bed.put("plan-new.md", "y")
    ask(here, "sync")
    error = refusal(here, "find", key="deploy")

    assert error["exit_code"] == 2
    assert [choice.split("  ")[0] for choice in error["choices"]] == ["deploy-a", "deploy-b"]
    assert ask(here, "find", key="plan")["rel"] == "plan-new.md"
    assert refusal(here, "find", key="nowhere")["exit_code"] == 3
    assert refusal(here, "find", key="  ")["exit_code"] == 2
    assert refusal(here, "find", key=3)["exit_code"] == 2


PAYLOADS = ["..", "../..", "/etc/passwd", "../state/index.db", "a\0b", "~", "~/x", "con", "nul", "\udcff", "%2e%2e",
            "./a.md/../../x", "*", "a.md\n", "[[secret]]", "secret", "bob/secret.md", "secret:key"]  # fmt: skip


@pytest.mark.parametrize("payload", PAYLOADS)
def test_k6_a_key_is_looked_up_and_never_leads_outside_the_callers_scopes(
    bed: Bed, here: Answers, payload: str
) -> None:
    bed.put("secret.md", memory("guarded", key="secret:key"), Path(bed.app.agents_folder) / "bob")
    bed.put("mine.md", "mine")
    ask(here, "sync")

    for op in ("find", "show"):
        assert refusal(here, op, key=payload)["exit_code"] in (2, 3)
    assert names(ask(here, "search", query=payload, limit=100)) in ([], ["mine.md"])
    assert ask(here, "show", key="secret:key", agent="bob")["text"].endswith("guarded\n")
    for agent in ("../bob", "/bob", ".", "bob/../bob"):
        assert refusal(here, "search", query="x", agent=agent)["exit_code"] == 2


# --- show and use ----------------------------------------------------------------------------------------


def test_show_counts_as_a_use_and_warns_of_what_has_ended(bed: Bed, here: Answers) -> None:
    bed.put("a.md", memory("body here", key="k", status="archived", tags="[x]"))
    ask(here, "sync")
    first = ask(here, "show", key="k")["memory"]
    again = ask(here, "show", key="k")["memory"]

    assert (first["hit_count"], again["hit_count"]) == (1, 2)
    assert first["body"] == "body here\n"
    assert first["tags"] == ["x"]
    assert "archived" in first["warning"]
    (bed.folder / "a.md").unlink()
    assert refusal(here, "show", key="k")["exit_code"] == 3


# --- searching ---------------------------------------------------------------------------------------------


def test_g12_no_hit_is_of_a_file_that_changed_or_left(bed: Bed, here: Answers) -> None:
    for n in range(5):
        bed.put(f"m{n}.md", f"words {n}")
    ask(here, "sync")
    (bed.folder / "m0.md").unlink()
    bed.put("m1.md", "something else")
    (bed.folder / "m2.md").rename(bed.folder / "moved.md")
    found = names(ask(here, "search", query="words"))

    assert sorted(found) in (["m3.md", "m4.md"], ["m3.md", "m4.md", "moved.md"])
    assert names(ask(here, "search", query="something")) == ["m1.md"]


def test_lists_are_filtered_and_leave_out_what_has_ended(bed: Bed, here: Answers) -> None:
    bed.put("a.md", memory("x", type="rule", domain="Ops"))
    bed.put("b.md", memory("x", type="workflow"))
    bed.put("c.md", memory("x", status="archived"))
    ask(here, "sync")

    assert names(ask(here, "list")) == ["a.md", "b.md"]
    assert names(ask(here, "list", type="policy")) == ["a.md"]
    assert names(ask(here, "list", type=["procedure", "rule"])) == ["a.md", "b.md"]
    assert names(ask(here, "list", domain="ops")) == ["a.md"]
    assert names(ask(here, "list", status="archived")) == ["c.md"]
    listed = ask(here, "list", include_invalid=True)["memories"]
    assert [m["invalid"] for m in listed] == [None, None, "archived"]


@pytest.mark.parametrize(
    "request_",
    [
        {"op": "search", "query": "x", "mode": "magic"},
        {"op": "search", "query": "x", "type": "fcat"},
        {"op": "search", "query": "x", "scope": "everyone"},
        {"op": "search", "query": "x", "limit": 0},
        {"op": "search", "query": "x", "limit": True},
        {"op": "search", "query": "x", "as_of": "soon"},
        {"op": "search", "query": ["x"]},
        {"op": "list", "type": 3},
        {"op": "fly"},
        {},
    ],
)
def test_a_request_that_is_wrong_says_so(here: Answers, request_: dict[str, Any]) -> None:
    answer = here.answer(request_)

    assert answer["error"]["exit_code"] == 2
    assert answer["error"]["what"]


def test_an_unknown_word_is_answered_with_the_nearest(here: Answers) -> None:
    assert refusal(here, "search", query="x", type="fcat")["hint"] == "did you mean 'fact'?"
    assert "keyword" in refusal(here, "search", query="x", mode="zzz")["hint"]


def test_a_search_says_what_it_could_not_ask_and_each_hit_why_it_is_there(bed: Bed, here: Answers) -> None:
    bed.put("a.md", memory("words", created="2026-01-01", updated="2026-01-01"))
    ask(here, "sync")
    answer = ask(here, "search", query="words", as_of="2099-11-29")
    (hit,) = answer["hits"]

    assert answer["degraded"] == ["no vectors: no embedder is set; see `mdmem config show`"]
    assert set(hit["why"]) == {
        "lexical", "semantic", "temporal", "graph", "relevance", "recency", "confidence", "exact_key", "via",
    }  # fmt: skip
    assert (hit["mode"], hit["rank"]) == ("hybrid", 1)
    explained = ask(here, "explain", query="what words")
    assert (explained["terms"], explained["expression"]) == (["words"], '"words"')


def test_a_folder_that_is_still_being_read_is_said_to_be(bed: Bed, here: Answers) -> None:
    bed.put("a.md", "kumquats")
    ask(here, "sync")
    assert isinstance(here.backend, Local)
    assert here.backend.store is not None
    here.backend.store.db.execute("UPDATE scope_folder SET complete = 0")
    answer = ask(here, "search", query="kumquats", mode="keyword")

    assert names(answer) == ["a.md"]
    assert answer["degraded"] == [
        f"{bed.folder} is being read for the first time, and not all of it is found yet; see `mdmem status`"
    ]


def test_what_began_with_the_next_day_did_not_hold_on_a_day(bed: Bed, here: Answers) -> None:
    bed.put("that-day.md", memory("words", created="2026-05-03", valid_from="2026-05-03"))
    bed.put("next-day.md", memory("words", created="2026-05-04T00:00:00Z"))
    bed.put("holds-later.md", memory("words", created="2026-05-01", valid_from="2026-05-04"))
    ask(here, "sync")

    assert names(ask(here, "search", query="words", as_of="2026-05-03")) == ["that-day.md"]


def test_a_fault_of_ours_is_logged_and_said_to_be_one(
    here: Answers, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> dict[str, Any]:
        raise ZeroDivisionError

    monkeypatch.setattr(here.backend, "status", broken)

    assert refusal(here, "status")["exit_code"] == 70
    assert "ZeroDivisionError" in caplog.text


# --- scopes and trust -----------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, bed: Bed) -> Path:
    root = tmp_path.resolve() / "acme"
    (root / ".mdmem").mkdir(parents=True)
    (root / "src").mkdir()
    git(root, "init", "-q", "-b", "main")
    bed.put("p.md", memory("project words", type="feedback", scope="user", key="user:key"), root / ".mdmem")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a")
    return root


def test_k8_an_untrusted_project_is_not_searched_and_says_so(bed: Bed, here: Answers, project: Path) -> None:
    ask(here, "sync")
    answer = ask(here, "search", query="words", cwd=str(project / "src"))
    assert answer["hits"] == []
    assert "not trusted" in answer["degraded"][-1]
    status = ask(here, "status", cwd=str(project))["status"]
    assert status["untrusted"] == [{"path": str(project / ".mdmem"), "reason": "not trusted here"}]

    bed.app.trust(str(project))
    ask(here, "reload")
    ask(here, "sync")
    assert names(ask(here, "search", query="words", cwd=str(project / "src"))) == ["p.md"]
    assert ask(here, "search", query="words", cwd="/")["hits"] == []
    bed.app.untrust(str(project))
    ask(here, "sync")
    assert ask(here, "search", query="words", cwd=str(project))["hits"] == []
    assert ask(here, "status")["status"]["untrusted"][0]["reason"] == "not trusted here"


def test_k10_the_scope_comes_from_the_place_and_never_from_the_file(bed: Bed, here: Answers, project: Path) -> None:
    bed.put("u.md", memory("user words", key="user:key"))
    bed.app.trust(str(project))
    ask(here, "sync")
    hits = ask(here, "search", query="words", cwd=str(project))["hits"]

    assert {(h["scope"], h["scope_ref"], Path(h["path"]).name) for h in hits} == {
        ("user", None, "u.md"),
        ("project", "acme", "p.md"),
    }
    assert names(ask(here, "search", query="words", cwd=str(project), scope="user")) == ["u.md"]


def test_k11_a_scope_folder_that_is_a_link_is_not_trusted(bed: Bed, here: Answers, project: Path) -> None:
    bed.app.trust(str(project))
    (project / ".mdmem").rename(project / "real")
    (project / ".mdmem").symlink_to(bed.folder)
    bed.put("u.md", "user words")
    ask(here, "sync")

    assert bed.app.project_of(str(project)) is None
    assert [why for _, why in bed.app.roster().untrusted] == ["the scope folder is a link or no folder"]
    assert [s.kind for s in bed.app.roster().scopes] == ["user"]


def test_k8_another_repository_at_the_same_place_is_not_trusted(bed: Bed, project: Path) -> None:
    import shutil

    bed.app.trust(str(project))
    assert bed.app.project_of(str(project)) is not None
    git_folder = project / ".git"
    shutil.copytree(git_folder, project / "copy")
    shutil.rmtree(git_folder)
    (_, why) = bed.app.roster().untrusted[0]
    assert "no repository" in why, "anything may be unpacked here"

    (project / "copy").rename(git_folder)
    assert bed.app.roster().untrusted == [], "the same first commit"
    shutil.rmtree(git_folder)
    git(project, "init", "-q")
    git(project, "commit", "-q", "--allow-empty", "-m", "other")
    (_, why) = bed.app.roster().untrusted[0]
    assert "another repository" in why


def test_a_new_memory_goes_to_the_scope_asked_for_else_the_project_else_the_user(bed: Bed, project: Path) -> None:
    bed.app.trust(str(project))
    cwd = str(project / "src")

    assert bed.app.target(None, cwd, None).kind == "project"
    assert bed.app.target("user", cwd, None).kind == "user"
    assert bed.app.target(None, cwd, "bob").label == "agent:bob"
    assert bed.app.target(None, "/", None).kind == "user"


def test_a_target_that_is_not_there_says_what_to_do(bed: Bed, project: Path) -> None:
    from mdmem.errors import NotFoundError, UntrustedError, UsageError

    with pytest.raises(UntrustedError, match="not trusted") as told:
        bed.app.target("project", str(project), None)
    assert "mdmem trust" in str(told.value.hint)
    with pytest.raises(NotFoundError, match="no project"):
        bed.app.target("project", "/", None)
    with pytest.raises(UsageError, match="which agent"):
        bed.app.target("agent", None, None)
    with pytest.raises(NotFoundError):
        bed.app.untrust("/nowhere")


def test_agents_see_their_own_folder_and_no_other(bed: Bed, here: Answers) -> None:
    for agent in ("bob", "eve", "not an id!"):
        bed.put(f"{agent[:3]}.md", f"words of {agent}", Path(bed.app.agents_folder) / agent)
    (Path(bed.app.agents_folder) / "link").symlink_to(bed.folder)
    ask(here, "sync")

    assert names(ask(here, "search", query="words", agent="bob")) == ["bob.md"]
    assert names(ask(here, "search", query="words")) == []
    assert [s.ref for s in bed.app.roster().scopes if s.kind == "agent"] == ["bob", "eve"]


def test_a_mount_is_recalled_and_never_written_to(bed: Bed, here: Answers, tmp_path: Path) -> None:
    mount = tmp_path.resolve() / "notes"
    bed.put("n.md", "mounted words", mount)
    (bed.root / "config.toml").write_text(f'[[scopes.mounts]]\npath = "{mount}"\n')
    bed.app.__dict__.pop("settings")
    ask(here, "sync")

    assert names(ask(here, "search", query="mounted")) == ["n.md"]
    assert [p.name for p in mount.iterdir()] == ["n.md"]
    states = {s["path"]: s["state"] for s in ask(here, "status")["status"]["scopes"]}
    assert states[str(mount)] == "read-only"


# --- layout -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config",
    [
        'user = "{root}"',
        'user = "{root}/state"',
        'user = "{root}/run/deeper/.."',
        'user = "{root}/agents"',
        'user = "{root}/inbox"',
        'user = "{root}/u"\nagents = "{root}/u/agents"',
        'user = "{root}/u"\ninbox = "{root}/u/in"',
    ],
)
def test_j7_nothing_of_ours_may_lie_in_a_scope_folder(bed: Bed, here: Answers, config: str) -> None:
    (bed.root / "config.toml").write_text(f"[scopes]\n{config.format(root=bed.root)}\n")
    bed.app.__dict__.pop("settings")
    error = refusal(here, "sync")

    assert error["exit_code"] == 6
    assert "lies inside the scope folder" in error["what"]


def test_b10_after_a_full_run_a_scope_folder_holds_memories_and_the_manifest_alone(bed: Bed, here: Answers) -> None:
    bed.put("sub/a.md", "words")
    ask(here, "sync")
    ask(here, "search", query="words")
    ask(here, "show", key="sub/a")
    ask(here, "reindex")
    ask(here, "reindex", vectors=True)

    assert sorted(str(p.relative_to(bed.folder)) for p in bed.folder.rglob("*")) == ["MEMORY.md", "sub", "sub/a.md"]


def test_the_folder_of_mdmem_itself_is_no_project(bed: Bed, tmp_path: Path) -> None:
    home = tmp_path.resolve()
    bed.root.rename(home / ".mdmem")
    from mdmem.app import App
    from tests.bed import paths_in

    app = App(paths_in(home / ".mdmem"))

    assert app.untrusted_at(str(home)) is None
    (home / ".mdmem").rename(bed.root)


def test_status_tells_each_folder_its_state_and_every_problem(bed: Bed, here: Answers, tmp_path: Path) -> None:
    bed.put("a.md", "words")
    bed.put("b.md", "---\nname: [open\n---\nx")
    ask(here, "sync")
    status = ask(here, "status")["status"]
    (scope,) = status["scopes"]

    assert (scope["state"], scope["memories"], scope["watch"], scope["full_text"]) == ("ok", 2, "off", True)
    assert status["daemon"]["running"] is False
    assert [Path(p["path"]).name for p in status["problems"]] == ["b.md"]
    assert status["index"]["memories"] == 2
    bed.folder.rename(tmp_path / "aside")
    ask(here, "sync")
    assert ask(here, "status")["status"]["scopes"][0]["state"] == "offline"
    (tmp_path / "aside").rename(bed.folder)


def test_a_slip_in_scopes_toml_keeps_what_it_said_before(bed: Bed, here: Answers, project: Path) -> None:
    bed.app.trust(str(project))
    (project / ".mdmem/p.md").write_text("kumquats of the project")
    ask(here, "sync")
    listed = Path(bed.app.paths.scopes_file)
    good = listed.read_text()
    listed.write_text(good + "\n[[project]\n")
    answer = ask(here, "search", query="kumquats", cwd=str(project), mode="keyword")

    assert [hit["key"] for hit in answer["hits"]] == ["p"]
    assert "not a list of projects" in answer["degraded"][0]
    (problem,) = ask(here, "status")["status"]["problems"]
    assert (problem["path"], problem["code"]) == (str(listed), "scopes-broken")
    with pytest.raises(ConfigError):
        bed.app.trust(str(project.parent))
    assert listed.read_text().endswith("[[project]\n")
    listed.write_text(good)
    assert ask(here, "search", query="kumquats", cwd=str(project), mode="keyword")["degraded"] == []


def test_no_vectors_are_waited_for_where_no_embedder_is_set(bed: Bed, here: Answers) -> None:
    bed.put("a.md", "words")
    ask(here, "sync")
    with here.backend.reader() as db:
        assert read.vector_counts(db)[0] == 1

    assert ask(here, "status")["status"]["index"]["pending_vectors"] == 0


def test_a_key_command_gives_the_embedders_key(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    def settings(text: str) -> str | None:
        start = '[embedder]\nmodel = "openai"\nurl = "http://127.0.0.1:1/v1"\nname = "m"\n'
        (bed.root / "config.toml").write_text(start + text)
        bed.app.__dict__.pop("settings", None)
        return bed.app.model_settings().api_key

    monkeypatch.delenv("MDMEM_EMBEDDER_MODEL")
    assert settings("") is None
    assert settings('api_key_command = "echo secret"') == "secret"
    assert settings('api_key_command = "true"') is None
    monkeypatch.setenv("THE_KEY", "other")
    assert settings('api_key_env = "THE_KEY"') == "other"
    for wrong in ('api_key_env = "UNSET_KEY"', 'api_key_command = "false"', 'api_key_command = "no such program"'):
        with pytest.raises(ConfigError):
            settings(wrong)


def test_a_command_with_an_embedder_searches_by_meaning(
    bed: Bed, here: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.models.hash_embedder import HashEmbedder

    local = here.backend
    assert isinstance(local, Local)
    embedder = HashEmbedder()
    monkeypatch.setattr(bed.app, "embedder", lambda: embedder)
    bed.put("a.md", "deployments")
    ask(here, "sync")
    assert "no vectors yet" in ask(here, "search", query="deploying")["degraded"][0]
    assert local.store is not None
    bed.store = local.store
    bed.embed_all(embedder)

    assert ask(here, "search", query="deploying", mode="semantic")["hits"][0]["why"]["semantic"] == 1
    monkeypatch.setattr(local, "_embedder", None)
    monkeypatch.setattr(bed.app, "embedder", lambda: None)
    assert not local.has_embedder()
    with pytest.raises(Exception, match="no embedder"):
        local.embed("x")


def test_g4_a_lock_that_is_held_is_an_error_of_its_own(bed: Bed, here: Answers) -> None:
    with Local(bed.app, wait_s=0.0) as second:
        assert second.store is None
        assert refusal(Answers(second), "reindex")["exit_code"] == LockError.exit_code
