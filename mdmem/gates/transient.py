"""A proposed memory in; whether its own words say that it holds for a while only out."""

from __future__ import annotations

import functools
import re

from mdmem.gates.proposed import Proposed, Verdict

# Things that are called temporary for good: a fact about them lasts.
_THINGS = (
    r"credentials?|files?|director(?:y|ies)|dirs?|folders?|tables?|tokens?|passwords?|urls?|redirects?|variables?|keys?"
    r"|tablespace|storage|buffers?|objects?|queues?|workers?|contracts?|permits?|visas?|addresses|links?"
)
_DINGE = "文件|目录|表|凭证|凭据|变量|密码|令牌|对象|链接|存储|空间|队列|缓存|证书|工"


@functools.cache
def _pattern() -> re.Pattern[str]:
    return re.compile(
        rf"\b(?:temporarily|temp(?:orary)?\b(?![ -](?:\w+[ -])?(?:{_THINGS})\b|[/.])"
        r"|this (?:one )?time\b(?![ -]?(?:zone|series|stamp|frame|limit|out))|(?:just|only) (?:this )?once\b"
        r"|for now\b|right now\b|at the moment\b|for the moment\b|for the time being\b|one[- ]off\b|today\b(?!\()"
        r"|tonight\b|tomorrow\b|yesterday\b|this (?:morning|afternoon|evening|week|weekend)\b|until further notice\b)"
        rf"|临时(?!(?:的)?(?:{_DINGE}))|暂时|暂且|这次|这一次|本次|这回|今天|今日|今晚|今早|明天|昨天|本周|这周|眼下|先这样",
        re.IGNORECASE,
    )


def transient(proposed: Proposed) -> Verdict:
    """Refuses what says 'this time', 'today', '临时' and the like in its name or description."""
    found = _pattern().search(f"{proposed.name}\n{proposed.description}")
    if found is None:
        return Verdict(True, "nothing says that it holds for a while only")
    return Verdict(False, f"it holds for a while only: it says {found[0].lower()!r}")
