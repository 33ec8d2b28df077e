"""The plugin for OpenCode, run by node in the way that 1.x and 2.x call it, with a real command behind it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.agents.conftest import Machine

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node runs the plugin here, as Bun does in OpenCode")

# Answers as `mdmem hook opencode` does, and keeps what it was asked.
HOOK = """#!{python}
import json, os, sys
event, payload = sys.argv[3], json.load(sys.stdin)
with open(os.environ["HOME"] + "/calls", "a") as calls:
    print(json.dumps([sys.argv[1:3], event, payload]), file=calls)
{extra}
if event == "prompt":
    print(json.dumps({{"context": "about " + payload["prompt"]}}))
elif event == "session.start":
    print(json.dumps({{"context": "rules"}}))
elif event == "session.idle" and "cannot" in payload["last_assistant_message"]:
    print(json.dumps({{"continue": "you can"}}))
"""

V1 = """
import plugin from "PLUGIN"
const sent = []
const client = { session: { prompt: async (request) => { sent.push(request) } } }
const hooks = await plugin.server({ client, directory: "/w/shop" })
const ask = (id, text) => hooks["chat.message"]({ sessionID: id, agent: "plan" }, { parts: [
  { type: "text", text }, { type: "text", text: "made up", synthetic: true }, { type: "file" }] })
const system = async (id) => {
  const output = { system: ["base"] }
  await hooks["experimental.chat.system.transform"]({ sessionID: id }, output)
  return output.system
}
const event = (type, properties) => hooks.event({ event: { type, properties } })
const seen = []
await event("session.created", { info: { id: "s1" } })
await event("session.created", { info: { id: "child", parentID: "s1" } })
await ask("child", "do this")
seen.push(await system("child"))
await ask("s1", "deploy")
seen.push(await system("s1"))
for (const base of ["You are a title generator. You", "You are a context summarization agent. You"]) {
  const output = { system: [base] }
  await hooks["experimental.chat.system.transform"]({ sessionID: "s1" }, output)
  if (output.system.length > 1) throw new Error("given to a request of OpenCode's own")
}
await ask("s1", "test")
seen.push(await system("s1"))
await event("message.updated", { info: { id: "m1", role: "assistant" } })
const part = (messageID, text) =>
  event("message.part.updated", { part: { type: "text", messageID, sessionID: "s1", text } })
await part("u1", "I cannot")
await part("m1", "I cannot do it")
await event("session.idle", { sessionID: "s1" })
await hooks["experimental.chat.system.transform"]({ sessionID: "s1" }, { system: [] })
for (const { body } of sent) await hooks["chat.message"]({ sessionID: "s1" }, { parts: body.parts })
await event("session.idle", { sessionID: "s1" })
await event("session.compacted", { sessionID: "s1" })
seen.push(await system("s1"))
await event("unknown.event", undefined)
await event("session.created", {})
console.log(JSON.stringify({ seen, sent }))
"""

V2 = """
import plugin from "PLUGIN"
const sent = [], hooks = {}
let feed, ended
const events = []
const wake = () => feed && feed()
const ctx = {
  location: { directory: "/w/shop" },
  session: {
    hook: async (name, call) => { hooks[name] = call },
    prompt: async (request) => { sent.push(request) },
  },
  event: { async *subscribe({ signal }) {
    signal.addEventListener("abort", () => { ended = true; wake() })
    while (!ended) {
      while (events.length) yield events.shift()
      await new Promise((resolve) => { feed = resolve })
    }
  } },
}
const stop = await plugin.setup(ctx)
const event = async (type, data) => {
  events.push({ type, data })
  wake()
  await new Promise((resolve) => setTimeout(resolve, 0))
}
const ask = (id, text) => hooks.prompt({ sessionID: id, prompt: { text } })
const system = async (id) => {
  const request = { sessionID: id, system: [{ type: "text", text: "base" }] }
  await hooks.context(request)
  return request.system.map((part) => part.text)
}
const seen = []
await event("session.created", { sessionID: "child", parentID: "s1" })
await ask("child", "do this")
seen.push(await system("child"))
await ask("s1", "deploy")
seen.push(await system("s1"))
await ask("s1", "test")
seen.push(await system("s1"))
await event("session.text.ended", { sessionID: "s1", text: "I cannot do it" })
await event("session.execution.succeeded", { sessionID: "s1" })
await event("session.compaction.ended", { sessionID: "s1" })
seen.push(await system("s1"))
stop()
console.log(JSON.stringify({ seen, sent }))
"""

SEEN = [["base"], ["base", "rules", "about deploy"], ["base", "rules", "about deploy", "about test"], ["base", "rules"]]


def run(machine: Machine, program: str, extra: str = "") -> Any:
    machine.script("bin/mdmem", HOOK.format(python=sys.executable, extra=extra))
    (outcome,) = machine.connect("opencode")
    assert outcome.error is None
    plugin = (machine.home / ".config/opencode/plugin/mdmem.js").read_bytes()
    machine.put("run/plugin.mjs", plugin)
    main = machine.put("run/main.mjs", program.replace("PLUGIN", "./plugin.mjs").encode())
    done = subprocess.run(
        [str(NODE), str(main)], capture_output=True, timeout=60, env={"HOME": str(machine.home)}, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def calls(machine: Machine) -> list[Any]:
    return [json.loads(line) for line in (machine.home / "calls").read_text().splitlines()]


@pytest.mark.parametrize("rel", ["bin/mdmem", 'my tools/it\'s "new" ü/mdmem'])
def test_version_1_is_given_memory_and_tells_what_happens(machine: Machine, rel: str) -> None:
    launcher = machine.install(rel)
    machine.script(rel, HOOK.format(python=sys.executable, extra=""))
    told = run(machine, V1)

    assert told["seen"] == SEEN
    body = {"agent": "plan", "parts": [{"type": "text", "text": "you can"}]}
    assert told["sent"] == [{"path": {"id": "s1"}, "body": body}]
    common, said = {"session_id": "s1", "cwd": "/w/shop"}, {"last_assistant_message": "I cannot do it"}
    assert calls(machine) == [
        [["hook", "opencode"], "session.start", common],
        [["hook", "opencode"], "prompt", common | {"prompt": "deploy"}],
        [["hook", "opencode"], "prompt", common | {"prompt": "test"}],
        [["hook", "opencode"], "session.idle", common | said | {"stop_hook_active": False}],
        [["hook", "opencode"], "session.idle", common | said | {"stop_hook_active": True}],
        [["hook", "opencode"], "session.compacted", common],
        [["hook", "opencode"], "session.start", common],
    ]
    assert launcher.endswith("/mdmem")


def test_version_2_is_given_the_same(machine: Machine) -> None:
    told = run(machine, V2)

    assert told["seen"] == SEEN
    assert told["sent"] == [{"sessionID": "s1", "text": "you can", "delivery": "queue"}]
    assert [event for _, event, _ in calls(machine)] == [
        "session.start",
        "prompt",
        "prompt",
        "session.idle",
        "session.compacted",
        "session.start",
    ]


@pytest.mark.parametrize("extra", ["sys.exit(1)", "print('not JSON'); sys.exit()", "print('null'); sys.exit()"])
@pytest.mark.parametrize("program", [V1, V2], ids=["v1", "v2"])
def test_memory_that_fails_does_not_fail_the_agent(machine: Machine, program: str, extra: str) -> None:
    told = run(machine, program, extra)

    assert told == {"seen": [["base"]] * 4, "sent": []}


def test_a_command_that_is_gone_does_not_fail_the_agent(machine: Machine) -> None:
    program = V1.replace("const sent", 'import { unlinkSync } from "node:fs"\nunlinkSync("LAUNCHER")\nconst sent', 1)
    told = run(machine, program.replace("LAUNCHER", machine.launcher))

    assert told == {"seen": [["base"]] * 4, "sent": []}
