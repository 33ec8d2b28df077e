"""Settings as people really have them: others' hooks and servers, comments where the agent allows them, any style."""

from __future__ import annotations

CLAUDE = b"""{
    "model": "opus",
    "permissions": {"allow": ["Bash(npm test:*)", "Read(~/notes/**)"], "deny": []},
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [{"type": "command", "command": "~/bin/guard.sh --strict", "timeout": 10}]
            }
        ],
        "Stop": [
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "other-memory hook claude-code Stop"
                    }
                ]
            }
        ]
    },
    "statusLine": {"type": "command", "command": "~/.claude/line.sh"}
}"""

CLAUDE_JSON = (
    b'{"numStartups": 41, "tips": {"a": 3}, "projects": {"/w/shop": {"mcpServers": {}}},'
    b' "mcpServers": {"docs": {"type": "http", "url": "https://x.example"}}}\n'
)

CODEX_HOOKS = (
    b'{\r\n\t"hooks": {\r\n\t\t"SessionStart": [\r\n\t\t\t{\r\n\t\t\t\t"matcher": "startup|resume",\r\n\t\t\t\t'
    b'"hooks": [\r\n\t\t\t\t\t{"type": "command", "command": "python3 ctx.py", "statusMessage": "Loading"}\r\n'
    b'\t\t\t\t]\r\n\t\t\t}\r\n\t\t],\r\n\t\t"Stop": []\r\n\t}\r\n}\r\n'
)

CODEX_TOML = b"""# my codex
model = "gpt-5.9"   # the big one
notify = ["notify-send", "codex"]

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs-mcp"]
  [mcp_servers.docs.env]
  TOKEN = '''
[mcp_servers.mdmem]
is only text here
'''

[projects."/w/shop"]
trust_level = "trusted" # yes"""

GEMINI = b"""\xef\xbb\xbf// Settings of mine
{
  "theme": "GitHub", // light
  /* servers */
  "mcpServers": {
    "docs": { "command": "npx", "args": ["docs"] }, // keep
  },
  "hooks": {
    "BeforeTool": [
      { "matcher": "run_shell_command", "hooks": [{ "type": "command", "command": "./check.sh" }] },
    ],
    // nothing for BeforeAgent yet
  },
}
"""

QWEN = b"""{
   "$version": 3,
   "model": {"name": "qwen3-coder-plus"},
   "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "node", "args": ["p.cjs"]}]}]}
   // no servers
}
"""

CURSOR_HOOKS = b"""{
  "version": 1, // the only one
  "hooks": {
    "stop": [
      { "command": "./hooks/audit.sh" }
    ],
    "beforeShellExecution": [{"command": "guard", "failClosed": true}]
  }
}
"""

CURSOR_MCP = b'{\n  "mcpServers": {}\n}\n'

COPILOT_MCP = b'{"mcpServers":{"docs":{"type":"local","command":"npx","args":[],"tools":["*"]}}}'

OPENCODE = b"""{
  "$schema": "https://opencode.ai/config.json",
  // models
  "model": "anthropic/claude",
  "plugin": ["opencode-wakatime"],
  "mcp": {
    "docs": { "type": "local", "command": ["npx", "docs"], "enabled": false },
  },
}
"""

OPENCODE_2 = b"""{
  "plugins": ["x"],
  "mcp": {
    "servers": {
      "docs": { "type": "local", "command": ["npx", "docs"] }
    }
  }
}
"""

GOOSE = b"""# goose
GOOSE_PROVIDER: anthropic
extensions:
    # the usual one
    developer:
        enabled: true
        type: builtin
        name: developer
        timeout: 300
    memory:
        enabled: false   # we have mdmem
        type: builtin

GOOSE_MODEL: claude
"""

HINTS = b"Use pnpm, never npm.\n\nTests: `pnpm test`"

# (path below the home, bytes, mode)
RICH: dict[str, list[tuple[str, bytes, int]]] = {
    "claude-code": [(".claude/settings.json", CLAUDE, 0o600), (".claude.json", CLAUDE_JSON, 0o600)],
    "codex": [(".codex/hooks.json", CODEX_HOOKS, 0o644), (".codex/config.toml", CODEX_TOML, 0o640)],
    "gemini": [(".gemini/settings.json", GEMINI, 0o644)],
    "qwen": [(".qwen/settings.json", QWEN, 0o600)],
    "cursor": [(".cursor/hooks.json", CURSOR_HOOKS, 0o644), (".cursor/mcp.json", CURSOR_MCP, 0o644)],
    "copilot": [(".copilot/mcp-config.json", COPILOT_MCP, 0o600)],
    "opencode": [(".config/opencode/opencode.jsonc", OPENCODE, 0o644)],
    "goose": [(".config/goose/config.yaml", GOOSE, 0o600), (".config/goose/.goosehints", HINTS, 0o644)],
}
