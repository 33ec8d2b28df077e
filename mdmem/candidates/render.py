"""A command in, the text of it that may be kept out: what could be a secret is left away by where it stands."""

from __future__ import annotations

import re

from mdmem.candidates.rules import Rules, Tool
from mdmem.candidates.shell import Command

GONE = "…"
_MAX_READ, _MAX_WORD, _MAX_TEXT = 500, 120, 400  # no pattern is tried on more than the first
_SAFE = re.compile(r"[\w@%+=:,./~{}*?$^#…\[\]-]+\Z")
_REFERENCE = re.compile(r"\$\{?[A-Za-z_]\w*\}?\Z|\$\((?! *(?:echo|printf|print)\b)[\w./ -]+\)\Z")
_USERINFO = re.compile(r"([A-Za-z][\w+.-]*://)[^/\s@'\"]*(?:@[^/\s@'\"]*)*@")
_QUERY = re.compile(r"([A-Za-z][\w+.-]*:[^\s?'\"]*)\?[^\s'\"]+")
_HEADER = re.compile(r"(?i)\b(?:bearer|basic|token|authorization:?)\s+\S{6,}|\bauthorization\s*:")
_LITERAL = re.compile(r"'[^']*'")


class Renderer:
    """Knows which flags and names carry secrets."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        names = "|".join(map(re.escape, rules.secret_names))
        self._name = re.compile(rf"(?i)(?:^|[^a-z])(?:\w*[_.-])?(?:{names})(?:$|[^a-z])|(?:{names})$")
        flags = "|".join(re.escape(flag) for flag in rules.secret_flags if flag.startswith("--"))
        self._flag = re.compile(rf"(?i)((?:{flags})[= ]+)(?!\$)\S+")
        self._assigned = re.compile(rf"(?i)\b(\w*(?:{names}))(\s*[:=]\s*)(?!\$)(?:'[^']*'|\"[^\"]*\"|[^\s'\",;&|]+)")

    def command(self, command: Command, program: str) -> str:
        """On one line, quoted as a shell needs it, with the folder it runs in, and the host or container."""
        words = self._words(command.argv, self._rules.tool(program))
        env = [self._env(word) for word in command.env]
        reads = [f"< {_quoted(self.text(to))}" for operator, to in command.redirections if operator == "<"]
        runner = [_quoted(self.text(word)) for word in command.runner]
        text = " ".join([*env, *runner, *map(_quoted, words), *reads])
        if command.via:
            inner = f"'{text}'" if command.via[0] == "ssh" else text
            text = f"{command.via[0]} {self.text(command.via[1])} {inner}"
        elif command.cwd:
            text = f"cd {_quoted(self.text(command.cwd))} && {text}"
        return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT].rstrip() + GONE

    def hides(self, text: str) -> bool:
        """A secret stands in a text, as far as names and places tell."""
        return self._without(text) != text

    def _without(self, text: str) -> str:
        text = _USERINFO.sub(r"\1", text)
        if _HEADER.search(text):
            return GONE
        return self._assigned.sub(rf"\1\2{GONE}", self._flag.sub(rf"\1{GONE}", text))

    def text(self, text: str) -> str:
        """A free text or one word: no userinfo, no query, no header, no assigned secret."""
        text = text[:_MAX_READ].partition("\n")[0] + (GONE if "\n" in text else "")
        text = self._without(_QUERY.sub(rf"\1?{GONE}", text))
        if " " in text:
            text = _LITERAL.sub(f"'{GONE}'", text)
        return text if len(text) <= _MAX_WORD else text[:_MAX_WORD].rstrip() + GONE

    def _words(self, argv: tuple[str, ...], tool: Tool) -> list[str]:
        out = [argv[0]]
        hidden = False  # the next word is the value of a secret
        for n, word in enumerate(argv[1:], 1):
            by_name = n > 1 and not argv[n - 1].startswith("-")  # "password x": a flag behind it is no value of it
            if hidden and not _REFERENCE.match(word) and not (by_name and word.startswith("-")):
                out.append(GONE)
                hidden = False
                continue
            hidden = self._announces(word, tool)
            out.append(self._word(word, tool))
            if word in tool.hides:
                return [*out, *([GONE] if argv[n + 1 :] else [])]
        return out

    def _announces(self, word: str, tool: Tool) -> bool:
        """Its value stands in the next word."""
        if "=" in word or len(word) > _MAX_WORD:
            return False
        if word in self._rules.secret_flags or word in tool.secret or self._name.search(word.lstrip("-")):
            return word in tool.secret or (word not in tool.keeps and word.lower() not in _HARMLESS)
        return tool.combined and _letter(word, tool) == len(word) - 1

    def _word(self, word: str, tool: Tool) -> str:
        word = word[:_MAX_READ]
        name, equals, value = word.partition("=")
        secret = name in self._rules.secret_flags or name in tool.secret or self._name.search(name)
        if equals and secret and " " not in name and not _REFERENCE.match(value):
            return f"{name}={GONE}"
        if word[:2] in tool.secret and word[:2] in tool.attached and len(word) > 2 and not word.startswith("--"):
            return word[:2] + GONE
        at = _letter(word, tool) if tool.combined else 0
        if at and at < len(word) - 1:
            return word[: at + 1] + GONE
        return self.text(self._nested(word))

    def _nested(self, word: str) -> str:
        """`db.password=x` behind `--set`, `user:pass` behind a colon: the value of a name that is a secret's."""
        head, *value = re.split(r"[:=]", word, maxsplit=1) if "://" not in word and " " not in word else [word]
        if value and value[0] and self._name.search(head) and not _REFERENCE.match(value[0]):
            return word[: len(head) + 1] + GONE
        return word

    def _env(self, word: str) -> str:
        name, _, value = word.partition("=")
        return word if value.lower() in self._rules.environments or _REFERENCE.match(value) else f"{name}={GONE}"


_HARMLESS = frozenset(
    ("--password-stdin", "--no-password", "-w", "auth", "session", "token", "secret", "secrets", "pass")
)


def _letter(word: str, tool: Tool) -> int:
    """Where in `-su` the letter of a secret stands, else 0."""
    if word.startswith("--") or not word.startswith("-"):
        return 0
    for n, letter in enumerate(word[1:], 1):
        if f"-{letter}" in tool.secret:
            return n
        if f"-{letter}" in tool.values:
            return 0
    return 0


def _quoted(word: str) -> str:
    if word and _SAFE.match(word):
        return word
    if "$" in word or "`" in word:
        return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "'" + word.replace("'", "'\\''") + "'"
