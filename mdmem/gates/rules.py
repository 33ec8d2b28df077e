"""The table of secrets (`secret_rules.toml`) in, rules ready to be tried out."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import NamedTuple

from mdmem.gates.values import CHECKS

LEVELS = ("certain", "likely", "prose")  # the surest first
# A value begins after anything but a character of a token; `\n` of a quoted string is two characters.
_BEGINNING = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"


class Rule(NamedTuple):
    """One kind of secret.

    `near`: words, one of which stands in it; `back`: characters of it before that word; `needs`: characters, one of
    which it takes; `screen`: for which texts it is tried, as the table says.
    """

    kind: str
    level: str
    near: tuple[str, ...]
    pattern: str
    fold: bool
    back: int
    needs: str
    screen: str
    check: Callable[[str], bool]

    def compiled(self) -> re.Pattern[str]:
        return _compiled(self.pattern, self.fold)


@functools.cache
def load_rules() -> tuple[Rule, ...]:
    """All rules of the table."""
    import tomllib  # only where a text is looked at
    from importlib.resources import files

    table = tomllib.loads(files("mdmem.gates").joinpath("secret_rules.toml").read_text("utf-8"))
    return tuple(
        Rule(
            kind=row["kind"],
            level=row["level"],
            near=tuple(row["near"]),
            pattern=row["pattern"] if row.get("inside") else _BEGINNING + row["pattern"],
            fold=row.get("fold", False),
            back=row.get("back", 0),
            needs=row.get("needs", ""),
            screen=row.get("screen", "run"),
            check=CHECKS[row.get("check", "any")],
        )
        for row in table["rule"]
    )


@functools.cache
def rules_near(screen: str, *, fold: bool) -> tuple[tuple[str, tuple[Rule, ...]], ...]:
    """Each word that stands near secrets of one screen, with its rules."""
    rules = [rule for rule in load_rules() if rule.screen == screen and rule.fold == fold]
    words = dict.fromkeys(near for rule in rules for near in rule.near)
    return tuple((word, tuple(rule for rule in rules if word in rule.near)) for word in words)


@functools.cache
def _compiled(pattern: str, fold: bool) -> re.Pattern[str]:
    """Made when a word of the rule is first met: all hundred would cost each start some 50 ms."""
    return re.compile(pattern, re.ASCII | (re.IGNORECASE if fold else 0))
