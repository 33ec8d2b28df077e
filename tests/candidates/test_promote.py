"""From events to candidates: the example logs as events, chains, failures, secrets, caps."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import astuple
from pathlib import Path

import pytest

from mdmem.activity.events import Event, Source
from mdmem.candidates.candidate import Candidate, Doubt
from mdmem.candidates.promote import Promoter
from tests.candidates.test_commands import learned, ran

# The events of the example logs of ten agents, as their readers give them: runs and what the person said.
EVENTS = [
    Event(**{"at": None, **row, "source": Source(*row["source"])})
    for row in map(json.loads, Path(__file__).with_name("events.jsonl").read_text("utf-8").splitlines())
]
PUSH = "rule:never-push-to-main"
# What must be found, and after "|" what may be.
WANTED = {
    "claude-code": f"""{PUSH} test:brindle build:brindle aws:brindle-deployer deploy:brindle-staging
        rule:绝对不要直接改生产库 db:brindle-staging rule:never-log-customer-e-mail-addresses
        ssh:stage1.brindle.example gh:brindle-bot test:brindle-smoke publish:@brindle/docs-kit rule:always-sign-tags
        | health:staging.brindle.example gh:brindle""",
    "codex": f"""{PUSH} test:brindle-api build:brindle-api kubectl:brindle-staging deploy:brindle-api-staging
        rule:以后部署之前必须先跑一遍-go-vet ssh:stage1.brindle.example db:brindle-api test:brindle-api-queue
        rule:always-use-release-account-for-pushes build:brindle-migrations-image publish:brindle-migrations-image
        redis:cache.brindle.example publish:brindle-api-release
        | lint:brindle-api docker:registry.example.com gh:brindle-bot""",
    "gemini-cli": f"""{PUSH} test:brindle-py build:brindle-py gcloud:brindle-staging deploy:brindle-py-staging
        rule:日志里永远不要输出用户的手机号 db:brindle-py-staging rule:never-skip-slow-ones |""",
    "opencode": f"""{PUSH} test:brindle-rs build:brindle-rs fly:brindle deploy:brindle-worker-staging
        rule:以后任何表结构改动都必须写-migration db:brindle-rs-staging publish:brindle-client
        ssh:stage1.brindle.example | audit:brindle-rs""",
    "goose": f"""{PUSH} test:brindle-web build:brindle-web-image docker:registry.example.com
        publish:brindle-web-image deploy:brindle-web-staging rule:以后不要在白天重启服务 db:brindle-web-staging
        ssh:stage2.brindle.example | lint:brindle-web""",
    "aider": f"{PUSH} rule:部署文档站点之前一定要先跑链接检查 |",
    "copilot-cli": f"{PUSH} test:brindle-cli build:brindle-cli publish:brindle-cli ssh:stage1.brindle.example |",
    "pi": f"""{PUSH} test:brindle-kit deploy:brindle-kit-preview db:brindle-kit-preview
        rule:以后发布预览之前先问我一声 |""",
    "qwen-code": "rule:永远不要直接推送到-main test:brindle-job deploy:brindle-job-staging |",
    "cursor": f"{PUSH} rule:以后改样式之前先截图 |",
}
SECRETS = ("AKIA", "wJalr", "not-a-real", "ghp_", "hunter2", "s3cr3t")


def learn(events: list[Event], **more: object) -> list[Candidate | Doubt]:
    promoter = Promoter(mask=lambda text: text, **more)  # type: ignore[arg-type]
    return [found for event in events for found in promoter.feed(event)]


def test_the_example_logs_give_what_they_must_and_nothing_else() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for one in learn(EVENTS):
        if isinstance(one, Candidate):
            found[one.evidence[0].agent].add(one.key)

    for agent, wanted in WANTED.items():
        must, may = (set(part.split()) for part in wanted.split("|"))
        assert must <= found[agent], (agent, must - found[agent])
        assert found[agent] <= must | may, (agent, found[agent] - must - may)
        assert len(found[agent]) < 20


def test_nothing_secret_of_the_example_logs_is_kept() -> None:
    kept = str([astuple(one) for one in learn(EVENTS)])

    assert EVENTS
    assert not [secret for secret in SECRETS if secret in kept]


def test_forgetting_everything_in_between_loses_no_key() -> None:
    each = {one.key for event in EVENTS for one in learn([event]) if isinstance(one, Candidate)}

    assert {one.key for one in learn(EVENTS) if isinstance(one, Candidate)} <= each | {"deploy:brindle-staging"}


@pytest.mark.parametrize("outcome", ["failed", "unknown", "declined"])
@pytest.mark.parametrize(
    "command", ["npm test", "vercel deploy --prod", "gh auth status", "npm publish", "ssh web1 ls"]
)
def test_only_a_success_gives_a_candidate(command: str, outcome: str) -> None:
    assert not learned(ran(command, "Logged in to x account y", outcome=outcome))
    assert not learned(ran(command)._replace(exit_code=3))


def said(text: str, **more: object) -> Event:
    event = Event(
        "said", "claude-code", "s", text, Source("log.jsonl", 3, 1), cwd="/home/me/work/shop", who="person", text=text
    )
    return event._replace(**more)  # type: ignore[arg-type]


def test_a_chain_is_the_shortest_way_that_worked() -> None:
    *_, deploy = learned(
        said("deploy it"),
        ran("ls -la"),
        ran("npm run build", "1 error", outcome="failed"),
        ran("npm ci"),
        ran("npm run build"),
        ran("npm test"),
        ran("git status"),
        ran("npm run build"),
        ran("docker login registry.acme.dev"),
        ran("aws sts get-caller-identity", "arn:aws:iam::1:user/ci"),
        ran("make deploy ENV=staging", outcome="failed"),
        ran("cd web && make deploy ENV=staging && echo done"),
    )

    assert deploy.key == "deploy:shop-web-staging"
    assert deploy.chain == (
        "npm ci",
        "npm run build",
        "docker login registry.acme.dev",
        "cd web && make deploy ENV=staging",
    )
    assert "1. `npm ci`\n2. `npm run build`\n" in deploy.body


def test_a_turn_ends_a_chain() -> None:
    *_, deploy = learned(ran("npm run build"), said("and now deploy"), ran("make deploy"))

    assert deploy.chain == ("make deploy",)
    assert "1." not in deploy.body


def test_an_upload_and_its_invalidation_are_one_deploy() -> None:
    upload, both = learned(
        ran("aws s3 sync dist s3://shop-staging"), ran("aws cloudfront create-invalidation --distribution-id E1")
    )

    assert upload.key == both.key == "deploy:shop-staging"
    assert len(both.chain) == 2


def test_the_same_thing_is_told_once_a_session_and_a_deploy_once_a_turn() -> None:
    events = [ran("npm test"), ran("npm test -- --ci"), ran("make deploy"), ran("make deploy")]

    assert [c.key for c in learned(*events)] == ["test:shop", "deploy:shop"]
    assert [c.key for c in learned(*events, said("again"), *events)] == ["test:shop", "deploy:shop", "deploy:shop"]
    assert len(learned(ran("npm test"), ran("npm test", session="t"))) == 2


def test_what_stands_in_a_candidate() -> None:
    [found] = learned(ran("kubectl auth can-i create deployments -n shop", "yes", at="2026-11-12T08:00:00Z"))

    assert (found.type, found.kind, found.source, found.confidence, found.scope) == (
        "capability",
        "auth",
        "tool",
        1.0,
        "user",
    )
    assert found.proof == "kubectl auth can-i ok"
    assert found.probe == "kubectl auth can-i create deployments -n shop"
    assert found.entities == ("kubectl", "shop")
    [evidence] = found.evidence
    assert (evidence.agent, evidence.session, evidence.path, evidence.offset) == ("claude-code", "s", "log.jsonl", 7)
    assert evidence.text == 'kubectl auth can-i create deployments -n shop → exit 0: "yes"'


def test_a_failure_of_one_thing_puts_its_key_in_doubt() -> None:
    found = learn([ran("make deploy"), ran("cd . && make deploy -j2", outcome="failed"), ran("make deploy")])

    assert [type(one).__name__ for one in found] == ["Candidate", "Doubt", "Candidate"]
    assert {one.key for one in found} == {"deploy:shop"}


@pytest.mark.parametrize("command", ["npm run build && make deploy && npm publish", "npm test", "ls", "make deploy -n"])
def test_what_failed_is_not_guessed(command: str) -> None:
    assert not [one for one in learn([ran(command, outcome="failed")]) if isinstance(one, Doubt)]


@pytest.mark.parametrize(
    "command",
    [
        "mysql -h db -uapp -phunter2 orders -e 'select 1'",
        "mysql -h db -u app --password=hunter2 orders -e 'select 1'",
        "PGPASSWORD=hunter2 psql -h db -U app orders -c 'select 1'",
        "psql postgres://app:hunter2@db.acme.dev/orders -c 'select 1'",
        "psql -h db orders -c \"alter user app password 'hunter2'\"",
        "psql 'host=db dbname=orders password=hunter2' -c 'select 1'",
        "redis-cli -h cache -a hunter2 ping",
        "redis-cli -u redis://:hunter2@cache:6379 ping",
        "mongosh 'mongodb+srv://u:hunter2@m.acme.dev/orders?authSource=admin&x=hunter2' --eval 1",
        "docker login -u octo -p hunter2 ghcr.io",
        "docker login -u octo --password hunter2 ghcr.io",
        "docker build --build-arg NPM_TOKEN=hunter2 -t acme/shop .",
        "docker run -e API_KEY=hunter2 app pytest",
        "curl -fsS -H 'Authorization: Bearer hunter2hunter2' https://api.acme.dev/health",
        "curl -fsSu me:hunter2 https://api.acme.dev/health",
        "curl -fsS 'https://api.acme.dev/health?token=hunter2'",
        "curl -fsS https://me:hunter2@api.acme.dev/health",
        "vercel deploy --prod --token hunter2",
        "vercel deploy --prod --token=hunter2",
        "netlify deploy --prod -a hunter2",
        "twine upload -u __token__ -p hunter2 dist/*",
        "netlify deploy --prod -a=hunter2",
        "dotnet nuget push x.nupkg -k=hunter2",
        "railway up --service token=hunter2",
        "sqlite3 'file:app.db?key=hunter2' 'select 1'",
        "uv publish --token hunter2",
        "poetry publish -u __token__ -p hunter2",
        "dotnet nuget push x.nupkg -k hunter2",
        "helm upgrade api ./c --set db.password=hunter2,replicas=2",
        "helm upgrade api ./c --set-string 'auth.token=hunter2'",
        "vault login hunter2",
        "cargo login hunter2",
        "heroku container:release web -a shop && HEROKU_API_KEY=hunter2 npm run deploy",
        "sshpass -p hunter2 ssh root@web1 uptime",
        "ssh root@web1 'DB_PASSWORD=hunter2 ./migrate'",
        "ssh root@web1 'mysql --password hunter2 -e x'",
        "make deploy TOKEN=hunter2",
        "make deploy DB_PASSWORD=hunter2 ENV=staging",
        "npm run deploy -- --api-key hunter2",
        "npm publish --otp 123456 --//registry.npmjs.org/:_authToken=hunter2",
        "env SECRET_KEY=hunter2 FOO=s3cr3t pytest",
        "export TOKEN=hunter2 && npm test",
        "TOKEN=hunter2 npm test",
        "terraform apply -auto-approve -var db_password=hunter2",
        "terraform apply -auto-approve -var 'db_password=hunter2'",
        "az login --service-principal -u app -p hunter2 --tenant acme",
        "rsync -a --password-file <(echo hunter2) dist/ web1:/srv",
        "ansible-playbook site.yml -e ansible_become_pass=hunter2",
        "clickhouse-client -h ch --password hunter2 -q 'select 1'",
        "sqlcmd -S db -U sa -P hunter2 -Q 'select 1'",
        "snyk test --auth hunter2",
        "kubectl apply -f k8s --token=hunter2",
        "pytest <<< hunter2",
        "psql orders <<EOF\nalter role x password 'hunter2';\nEOF",
        "git push https://octo:hunter2@github.com/acme/shop v1.0.0",
    ],
)
def test_no_secret_of_a_command_is_kept(command: str) -> None:
    for outcome in ("ok", "failed"):
        found = learn([ran(command, "password=hunter2\ntoken hunter2", outcome=outcome)])
        assert "hunter2" not in str([astuple(one) for one in found])
        assert "s3cr3t" not in str([astuple(one) for one in found])
    assert not isinstance(found, tuple)
    assert learned(ran(command)), "it is a success all the same"


def test_what_the_mask_knows_is_refused_whole_and_masked_in_evidence() -> None:
    promoter = Promoter(mask=lambda text: text.replace("octo", "[secret]"))

    assert not promoter.feed(ran("fly deploy --app octo"))
    [doubt] = promoter.feed(ran("fly deploy --app x --remote-only octo", outcome="failed"))
    assert "octo" not in str(astuple(doubt))
    assert not promoter.feed(said("Never call octo in tests"))


def test_a_person_s_rule_with_a_credential_is_refused() -> None:
    assert not learn([said("always deploy with AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE")])
    assert not learn([said("remember: the password: hunter2")])
    assert learn([said("always deploy with $AWS_PROFILE set")])


def test_only_the_person_makes_rules() -> None:
    text = "Never push to main."

    assert [one.key for one in learn([said(text)])] == [PUSH]
    assert not learn([said(text, who="assistant")])
    assert not learn([said(text, subagent="a1")])
    assert not learn([ran("cat AGENTS.md", text)])


def test_a_rule_is_the_project_s_unless_it_says_everywhere() -> None:
    [here] = learn([said("always use uv here")])
    [everywhere] = learn([said("always use uv in all my projects")])

    assert isinstance(here, Candidate)
    assert isinstance(everywhere, Candidate)
    assert (here.scope, everywhere.scope) == ("project", "user")
    assert (here.source, here.type, here.body) == ("stated", "rule", "always use uv here")


def test_a_session_gives_a_handful_and_a_folder_twenty_a_day() -> None:
    one = [ran(f"docker push ghcr.io/acme/app{n}:1", at="2026-11-12") for n in range(40)]
    many = [event._replace(session=f"s{n}") for n, event in enumerate(one)]

    assert len(learned(*one)) == 16
    assert len(learned(*many)) == 20
    assert len(learned(*many, *(e._replace(at="2026-11-13", session="x" + e.session) for e in many[-5:]))) == 25


def test_the_root_of_the_project_names_it() -> None:
    event = ran("npm test")._replace(cwd="/home/me/work/shop/web")

    assert [c.key for c in learn([event], root_of=lambda _: "/home/me/work/shop")] == ["test:shop-web"]
    assert [c.key for c in learn([event])] == ["test:web"]
    assert [c.key for c in learn([event._replace(cwd="C:\\work\\shop")])] == ["test:shop"]
    assert not learn([event._replace(cwd=None)])
