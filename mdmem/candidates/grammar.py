"""Tokens of a shell command in, its tree out: what runs after what, and on whose success.

The grammar is that of POSIX with bash's additions, as far as it decides which status a script ends with. What stands in
conditions, loops and functions is read only to get past it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

from mdmem.candidates.words import REDIRECTIONS, ShellError, Token, tokens

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")
_NAME = re.compile(r"[^\s()$'\"`]+\Z")
_MAX_DEPTH = 24


@dataclass(frozen=True, slots=True)
class Simple:
    """One command as written: its words, the `NAME=value` before them, whether it reads or writes a file."""

    words: tuple[Token, ...]
    env: tuple[Token, ...] = ()
    redirections: tuple[tuple[str, str], ...] = ()  # operator and target


@dataclass(frozen=True, slots=True)
class Group:
    """`kind`: subshell or group, whose status is that of `body`; opaque: its status says nothing certain of `body`."""

    kind: str
    body: Sequence


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    body: Sequence


Part: TypeAlias = Simple | Group | Function


@dataclass(frozen=True, slots=True)
class Pipe:
    parts: tuple[Part, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """Pipes joined by `operators` (&& and ||), one fewer than pipes."""

    pipes: tuple[Pipe, ...]
    operators: tuple[str, ...] = ()
    background: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    chains: tuple[Chain, ...] = ()


def parse(text: str) -> Sequence:
    """Raises ShellError for what a shell would refuse, and for the rare forms that are not read here."""
    parser = _Parser(tokens(text))
    found = parser.sequence(frozenset(), 0)
    if parser.at < len(parser.tokens):
        raise ShellError(f"unexpected {parser.tokens[parser.at].text[:20]}")
    return found


@dataclass(slots=True)
class _Parser:
    tokens: list[Token]
    at: int = 0
    _end: Token = field(default=Token("end", ""))

    def peek(self, ahead: int = 0) -> Token:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else self._end

    def is_op(self, *texts: str) -> bool:
        token = self.peek()
        return token.kind == "op" and token.text in texts

    def is_word(self, *texts: str) -> bool:
        token = self.peek()
        return token.kind == "word" and not token.quoted and token.text in texts

    def need(self, text: str) -> None:
        if not (self.is_word(text) or self.is_op(text)):
            raise ShellError(f"no {text}")
        self.at += 1

    def skip_newlines(self) -> None:
        while self.peek().kind == "newline":
            self.at += 1

    def sequence(self, until: frozenset[str], depth: int) -> Sequence:
        """Up to one of the words `until`, a closing parenthesis, `;;` or the end."""
        if depth > _MAX_DEPTH:
            raise ShellError("too deep")
        chains: list[Chain] = []
        while True:
            self.skip_newlines()
            if self.peek().kind == "end" or self.is_op(")", ";;", ";&", ";;&") or self.is_word(*until):
                return Sequence(tuple(chains))
            pipes, operators = self.chain(depth)
            background = self.is_op("&")
            chains.append(Chain(tuple(pipes), tuple(operators), background))
            if self.is_op(";", "&") or self.peek().kind == "newline":
                self.at += 1
            elif self.is_op("(") or (self.peek().kind == "word" and not self.is_word(*until)):
                raise ShellError("no end of a command")

    def chain(self, depth: int) -> tuple[list[Pipe], list[str]]:
        pipes, operators = [self.pipe(depth)], []
        while self.is_op("&&", "||"):
            operators.append(self.peek().text)
            self.at += 1
            self.skip_newlines()
            pipes.append(self.pipe(depth))
        return pipes, operators

    def pipe(self, depth: int) -> Pipe:
        negated = False
        while self.is_word("!", "time"):
            negated ^= self.peek().text == "!"
            timed = self.peek().text == "time"
            self.at += 1
            if timed and self.is_word("-p"):
                self.at += 1
        parts = [self.part(depth)]
        while self.is_op("|", "|&"):
            self.at += 1
            self.skip_newlines()
            parts.append(self.part(depth))
        return Pipe(tuple(parts), negated)

    def part(self, depth: int) -> Part:
        token = self.peek()
        if token.kind == "op" and token.text == "(":
            return self.parenthesis(depth)
        compound = _COMPOUND.get(token.text) if token.kind == "word" and not token.quoted else None
        if compound:
            self.at += 1
            found = Group(*compound(self, depth + 1))
            self.redirections()
            return found
        if self._names_a_function():
            return self.function(depth)
        return self.simple()

    def parenthesis(self, depth: int) -> Group:
        following = self.peek(1)
        if following.kind == "op" and following.text == "(" and following.start == self.peek().end:
            self.arithmetic()
            found = Group("opaque", Sequence())
        else:
            self.at += 1
            found = Group("subshell", self.sequence(frozenset(), depth + 1))
            self.need(")")
        self.redirections()
        return found

    def arithmetic(self) -> None:
        opened = 0
        while self.peek().kind != "end":
            opened += self.is_op("(") - self.is_op(")")
            self.at += 1
            if not opened:
                return
        raise ShellError("no ))")

    def _names_a_function(self) -> bool:
        name, opening, closing = self.peek(), self.peek(1), self.peek(2)
        if self.is_word("function"):
            return True
        return name.kind == "word" and opening == opening._replace(kind="op", text="(") and closing.text == ")"

    def function(self, depth: int) -> Function:
        if self.is_word("function"):
            self.at += 1
        name = self.peek().text
        if not _NAME.match(name):
            raise ShellError("no name of a function")
        self.at += 1
        if self.is_op("("):
            self.at += 1
            self.need(")")
        self.skip_newlines()
        body = self.part(depth + 1)
        if not isinstance(body, Group):
            raise ShellError("no body of a function")
        return Function(name, body.body)

    def simple(self) -> Simple:
        words: list[Token] = []
        env: list[Token] = []
        redirections: list[tuple[str, str]] = []
        while True:
            token = self.peek()
            if token.kind == "word":
                is_env = not words and _ASSIGNMENT.match(token.text)
                (env if is_env else words).append(token)
                self.at += 1
            elif token.kind == "op" and token.text in REDIRECTIONS:
                redirections.append(self.redirection())
            else:
                break
        if not (words or env or redirections):
            raise ShellError("no command")
        return Simple(tuple(words), tuple(env), tuple(redirections))

    def redirections(self) -> None:
        while self.peek().kind == "op" and self.peek().text in REDIRECTIONS:
            self.redirection()

    def redirection(self) -> tuple[str, str]:
        operator, target = self.peek(), self.peek(1)
        if target.kind != "word":
            raise ShellError("a redirection to nothing")
        self.at += 2
        return operator.text, target.text

    def group(self, depth: int) -> tuple[str, Sequence]:
        body = self.sequence(frozenset("}"), depth)
        self.need("}")
        return "group", body

    def condition(self, depth: int) -> tuple[str, Sequence]:
        chains = list(self.sequence(frozenset(("then",)), depth).chains)
        self.need("then")
        while True:
            chains += self.sequence(frozenset(("elif", "else", "fi", "then")), depth).chains
            if self.is_word("fi"):
                self.at += 1
                return "opaque", Sequence(tuple(chains))
            if not self.is_word("elif", "else", "then"):
                raise ShellError("no fi")
            self.at += 1

    def loop(self, depth: int) -> tuple[str, Sequence]:
        chains = self.sequence(frozenset(("do",)), depth).chains
        return "opaque", Sequence((*chains, *self.do(depth)))

    def each(self, depth: int) -> tuple[str, Sequence]:
        if self.is_op("("):
            self.arithmetic()
        while not self.is_word("do"):
            if self.peek().kind not in ("word", "newline") and not self.is_op(";"):
                raise ShellError("no do")
            self.at += 1
        return "opaque", Sequence(self.do(depth))

    def do(self, depth: int) -> tuple[Chain, ...]:
        self.need("do")
        body = self.sequence(frozenset(("done",)), depth)
        self.need("done")
        return body.chains

    def case(self, depth: int) -> tuple[str, Sequence]:
        self.at += 1
        self.skip_newlines()
        self.need("in")
        chains: list[Chain] = []
        while True:
            self.skip_newlines()
            if self.is_word("esac"):
                self.at += 1
                return "opaque", Sequence(tuple(chains))
            while not self.is_op(")"):
                if self.peek().kind != "word" and not self.is_op("|", "("):
                    raise ShellError("no pattern")
                self.at += 1
            self.at += 1
            chains += self.sequence(frozenset(("esac",)), depth).chains
            if self.is_op(";;", ";&", ";;&"):
                self.at += 1

    def test(self, _depth: int) -> tuple[str, Sequence]:
        while not self.is_word("]]"):
            if self.peek().kind == "end":
                raise ShellError("no ]]")
            self.at += 1
        self.at += 1
        return "opaque", Sequence()


_COMPOUND = {
    "{": _Parser.group,
    "if": _Parser.condition,
    "while": _Parser.loop,
    "until": _Parser.loop,
    "for": _Parser.each,
    "select": _Parser.each,
    "case": _Parser.case,
    "[[": _Parser.test,
}
