// Written by `mdmem connect opencode`, removed by `mdmem disconnect opencode`. What you change here is lost.
//
// OpenCode 1.x calls `server`, 2.x calls `setup`. Both hand what happens to `mdmem hook opencode EVENT` (JSON on stdin)
// and take its answer: {"context": text} at session.start and prompt, {"continue": text} at session.idle.
// OpenCode forgets pushed system text with each request, so what a session was given is kept here and pushed again.

import { spawn } from "node:child_process"

const LAUNCHER = "@LAUNCHER@"
const TIMEOUT_MS = 5000
const MAX_SESSIONS = 200

function hook(event, payload) {
  return new Promise((resolve) => {
    let out = ""
    try {
      const child = spawn(LAUNCHER, ["hook", "opencode", event], { stdio: ["pipe", "pipe", "ignore"] })
      const timer = setTimeout(() => child.kill(), TIMEOUT_MS)
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => { out += text })
      child.stdin.on("error", () => {})
      child.on("error", () => { clearTimeout(timer); resolve({}) })
      child.on("close", () => {
        clearTimeout(timer)
        try { resolve(JSON.parse(out) || {}) } catch { resolve({}) }
      })
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve({}) // memory that fails must never fail the agent
    }
  })
}

function memory(directory) {
  const sessions = new Map()
  const children = new Set() // sub-agents: their prompts are not the person's
  let last = Promise.resolve()

  const state = (id) => {
    if (!sessions.has(id)) {
      if (sessions.size >= MAX_SESSIONS) sessions.delete(sessions.keys().next().value)
      sessions.set(id, { started: false, context: [], said: "", asked: "" })
    }
    return sessions.get(id)
  }
  const call = async (event, id, more) => hook(event, { session_id: id, cwd: directory, ...more })
  const inOrder = (work) => (last = last.then(work, work))

  const start = async (id) => {
    const session = state(id)
    if (session.started) return session
    session.started = true
    const answer = await call("session.start", id, {})
    if (answer.context) session.context.push(answer.context)
    return session
  }

  return {
    child: (id) => children.add(id),
    prompt: (id, prompt) => inOrder(async () => {
      if (!id || !prompt || children.has(id)) return
      if (prompt === state(id).asked) return // it is ours, not the person's: still the same turn
      const session = await start(id)
      session.said = session.asked = ""
      const answer = await call("prompt", id, { prompt })
      if (answer.context) session.context.push(answer.context)
    }),
    context: async (id) => {
      if (!id || children.has(id)) return []
      await last
      return (await start(id)).context
    },
    said: (id, text) => { if (id && text) state(id).said = text },
    compacted: (id) => inOrder(async () => {
      if (!id || children.has(id)) return
      sessions.delete(id)
      await call("session.compacted", id, {})
    }),
    idle: (id) => inOrder(async () => {
      if (!id || children.has(id) || !sessions.has(id)) return ""
      const session = state(id)
      const again = session.asked !== "" // once a turn, or two of us could talk for ever
      const answer = await call("session.idle", id, { last_assistant_message: session.said, stop_hook_active: again })
      if (again || !answer.continue) return ""
      session.asked = answer.continue
      return answer.continue
    }),
    ended: (id) => { sessions.delete(id); children.delete(id) },
  }
}

// Requests of OpenCode's own, for the title of a session or the summary of a compaction: no name tells them (1.18).
const ASIDE = /^\s*You are an? [^.]{0,40}\b(title|summari[sz])/i

// OpenCode 1.x
async function server({ client, directory }) {
  const known = memory(directory)
  const assistant = new Set()
  const settings = new Map() // the agent and model that a session is in
  const handlers = {
    "session.created": ({ info }) => { if (info.parentID) known.child(info.id) },
    "session.deleted": ({ info }) => known.ended(info.id),
    "session.compacted": ({ sessionID }) => known.compacted(sessionID),
    "message.updated": ({ info }) => {
      if (info.role !== "assistant") return
      if (assistant.size > MAX_SESSIONS) assistant.clear()
      assistant.add(info.id)
    },
    "message.part.updated": ({ part }) => {
      if (part.type === "text" && !part.synthetic && assistant.has(part.messageID)) known.said(part.sessionID, part.text)
    },
    "session.idle": async ({ sessionID }) => {
      const text = await known.idle(sessionID)
      if (!text) return
      const body = { ...settings.get(sessionID), parts: [{ type: "text", text }] }
      await client.session.prompt({ path: { id: sessionID }, body })
    },
  }
  return {
    "chat.message": async (input, output) => {
      const parts = (output.parts || []).filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
      if (settings.size > MAX_SESSIONS) settings.clear()
      settings.set(input.sessionID, { agent: input.agent, model: input.model })
      await known.prompt(input.sessionID, parts.map((part) => part.text).join("\n"))
    },
    "experimental.chat.system.transform": async (input, output) => {
      if (ASIDE.test(output.system[0] || "")) return
      output.system.push(...(await known.context(input.sessionID)))
    },
    event: async ({ event }) => {
      try {
        const work = handlers[event.type]?.(event.properties || {})
        if (event.type !== "session.idle") await work
        else work.catch(() => {}) // a prompt of ours must not wait for the handler that sent it
      } catch {} // events of later versions may look different
    },
  }
}

// OpenCode 2.x
async function setup(ctx) {
  if (typeof ctx?.session?.hook !== "function" || typeof ctx.event?.subscribe !== "function") return
  const known = memory(ctx.location?.directory)
  const controller = new AbortController()
  await ctx.session.hook("prompt", (event) => known.prompt(event.sessionID, event.prompt?.text))
  await ctx.session.hook("context", async (event) => {
    for (const text of await known.context(event.sessionID)) event.system.push({ type: "text", text })
  })
  const handlers = {
    "session.created": ({ sessionID, parentID }) => { if (parentID) known.child(sessionID) },
    "session.deleted": ({ sessionID }) => known.ended(sessionID),
    "session.text.ended": ({ sessionID, text }) => known.said(sessionID, text),
    "session.compaction.ended": ({ sessionID }) => known.compacted(sessionID),
    "session.execution.succeeded": async ({ sessionID }) => {
      const text = await known.idle(sessionID)
      if (text) await ctx.session.prompt({ sessionID, text, delivery: "queue" })
    },
  }
  const listen = async () => {
    for await (const event of ctx.event.subscribe({ signal: controller.signal })) {
      Promise.resolve(handlers[event.type]?.(event.data || {})).catch(() => {})
    }
  }
  listen().catch(() => {}) // not waited for: OpenCode loads the next plugin when this returns
  return () => controller.abort()
}

export default { id: "mdmem", server, setup }
