"""The text of a shell command in, its tokens out: words with their quotes resolved, operators, here-documents skipped.

One pass from left to right, each character looked at a bounded number of times, so time grows with length alone.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_OPERATORS = (
    *("<<<", "&>>", "<<-", ";;&", "&&", "||", ";;", ";&", "|&", "<<", ">>", "<&", ">&", "<>", ">|", "&>"),
    *("&", "|", ";", "<", ">", "(", ")"),
)
REDIRECTIONS = frozenset(("<<<", "&>>", "<<-", "<<", ">>", "<&", ">&", "<>", ">|", "&>", "<", ">"))
_PLAIN = re.compile(r"[^\s'\"\\$`<>|&;()#]+")  # a run of letters that mean themselves
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_FD = re.compile(r"\d+(?=[<>])")
_IN_DOUBLE = re.compile(r"[^\"\\$`]+")
_MAX_DEPTH = 24


class ShellError(ValueError):
    """What stands there is not a whole shell command; what it does can't be told."""


class Token(NamedTuple):
    """`kind`: word, op or newline. `text`: of a word, quotes and escapes resolved, expansions as they were written.

    `quoted`: some of it stood in quotes (so it is no keyword); `start` and `end` are offsets in the command.
    """

    kind: str
    text: str
    quoted: bool = False
    start: int = 0
    end: int = 0


def tokens(text: str) -> list[Token]:
    """Raises ShellError where a quote, an expansion or a here-document doesn't end."""
    return _Lexer(text).run(0)


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.heredocs: list[tuple[str, bool]] = []  # delimiters whose bodies begin at the next line break

    def run(self, depth: int) -> list[Token]:
        """Tokens up to the end, or inside a substitution up to the closing parenthesis (it is left unread)."""
        if depth > _MAX_DEPTH:
            raise ShellError("too deep")
        found: list[Token] = []
        opened = 0
        while self._skip_blanks():
            start, char = self.at, self.text[self.at]
            if char == "\n":
                self.at += 1
                self._skip_heredocs()
                found.append(Token("newline", "\n", start=start, end=self.at))
                continue
            operator = self._operator()
            if operator is None:
                found.append(self._word(depth))
                continue
            if operator == ")" and not opened and depth:
                self.at = start
                break
            opened += {"(": 1, ")": -1}.get(operator, 0)
            found.append(Token("op", operator, start=start, end=self.at))
            if operator in ("<<", "<<-"):
                self._open_heredoc(found, depth, strip=operator == "<<-")
        if self.heredocs and self.at >= len(self.text):
            raise ShellError("a here-document without a body")
        return found

    def _skip_blanks(self) -> bool:
        """Over spaces, comments and continued lines; False at the end."""
        text = self.text
        while self.at < len(text):
            if text[self.at] in " \t\r":
                self.at += 1
            elif text.startswith("\\\n", self.at):
                self.at += 2
            elif text[self.at] == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            else:
                return True
        return False

    def _operator(self) -> str | None:
        text, at = self.text, self.at
        fd = _FD.match(text, at)  # `2>` is one operator; the number is of no interest
        if fd:
            at = fd.end()
        if text[at] not in "&|;<>()" or text.startswith(("<(", ">("), at):
            return None
        operator = next(op for op in _OPERATORS if text.startswith(op, at))
        self.at = at + len(operator)
        return operator

    def _word(self, depth: int) -> Token:
        start, quoted, parts = self.at, False, []
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if plain := _PLAIN.match(text, self.at):
                self.at = plain.end()
                parts.append(plain[0])
            elif char == "#":  # only at the start of a word is it a comment
                self.at += 1
                parts.append(char)
            elif char in "'\"\\" or text.startswith(("$'", '$"'), self.at):
                quoted = True
                parts.append(self._quoted(depth))
            elif char == "(" and parts and parts[-1].endswith("="):  # an array
                opened = self.at
                self._to_balance("(", ")", opened)
                parts.append(text[opened : self.at])
            elif char in "$`" or text.startswith(("<(", ">("), self.at):
                parts.append(self._expansion(depth))
            else:
                break
        if self.at == start:
            raise ShellError("an unknown character")
        return Token("word", "".join(parts), quoted, start, self.at)

    def _quoted(self, depth: int) -> str:
        text = self.text
        if text[self.at] == "\\":
            self.at += 2
            return "" if text[self.at - 1 : self.at] in ("\n", "") else text[self.at - 1]
        ansi = text[self.at] == "$" and text[self.at + 1] == "'"
        self.at += text[self.at] == "$"
        if ansi:
            return self._ansi()
        if text[self.at] == "'":
            end = text.find("'", self.at + 1)
            if end < 0:
                raise ShellError("an open quote")
            inside, self.at = text[self.at + 1 : end], end + 1
            return inside
        self.at += 1
        return self._double(depth)

    def _double(self, depth: int) -> str:
        text = self.text
        parts: list[str] = []
        while self.at < len(text):
            char = text[self.at]
            if char == '"':
                self.at += 1
                return "".join(parts)
            if plain := _IN_DOUBLE.match(text, self.at):
                self.at = plain.end()
                parts.append(plain[0])
            elif char == "\\":
                escaped = text[self.at + 1 : self.at + 2]
                parts.append("" if escaped == "\n" else escaped if escaped in ("$", "`", '"', "\\") else char + escaped)
                self.at += 2
            else:
                parts.append(self._expansion(depth))
        raise ShellError("an open quote")

    def _ansi(self) -> str:
        text = self.text
        parts: list[str] = []
        self.at += 1
        while self.at < len(text):
            char = text[self.at]
            self.at += 1
            if char == "'":
                return "".join(parts)
            if char == "\\":
                escaped = text[self.at : self.at + 1]
                self.at += 1
                parts.append({"n": "\n", "t": "\t", "r": "\r"}.get(escaped, escaped))
            else:
                parts.append(char)
        raise ShellError("an open quote")

    def _expansion(self, depth: int) -> str:
        """Over `$x`, `${…}`, `$(…)`, `$((…))`, a pair of backticks or a process substitution; as it was written."""
        text, start = self.text, self.at
        if text[start] == "`":
            self._to_backtick()
        elif text.startswith("$((", start):
            self._to_balance("(", ")", start + 1)
        elif text[start] in "<>" or text.startswith("$(", start):
            self.at += 2
            outer, self.heredocs = self.heredocs, []
            self.run(depth + 1)
            if self.heredocs or not text.startswith(")", self.at):
                raise ShellError("an open substitution")
            self.heredocs = outer
            self.at += 1
        elif text.startswith("${", start):
            self._to_balance("{", "}", start + 1)
        else:
            name = _VARIABLE.match(text, start + 1)
            self.at = name.end() if name else start + 1
        return text[start : self.at]

    def _to_backtick(self) -> None:
        text = self.text
        self.at += 1
        while self.at < len(text) and text[self.at] != "`":
            self.at += 2 if text[self.at] == "\\" else 1
        if self.at >= len(text):
            raise ShellError("an open substitution")
        self.at += 1

    def _to_balance(self, opening: str, closing: str, at: int) -> None:
        text, depth = self.text, 0
        while at < len(text):
            char = text[at]
            if char == "'" and opening == "{":
                end = text.find("'", at + 1)
                at = len(text) if end < 0 else end
            elif char == "\\":
                at += 1
            depth += (char == opening) - (char == closing)
            at += 1
            if not depth:
                self.at = at
                return
        raise ShellError("an open expansion")

    def _open_heredoc(self, found: list[Token], depth: int, *, strip: bool) -> None:
        if not self._skip_blanks() or self.text[self.at] == "\n":
            raise ShellError("a here-document without a name")
        word = self._word(depth)
        found.append(word)
        self.heredocs.append((word.text, strip))

    def _skip_heredocs(self) -> None:
        for delimiter, strip in self.heredocs:
            while True:
                if self.at >= len(self.text):
                    raise ShellError("an open here-document")
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                if (line.lstrip("\t") if strip else line).rstrip("\r") == delimiter:
                    break
        self.heredocs = []
