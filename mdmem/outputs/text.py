"""JSON objects of answers in, lines for a person out. Nothing that a file holds reaches a terminal as a command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Paint = Callable[[str, str], str]  # (text, style word) -> text

SHOWN_PROBLEMS = 10
# C0 and C1 controls, DEL, bidi marks and overrides, line and paragraph separators, tag characters, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_LETTERS = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def clean(text: str, *, lines: bool = False) -> str:
    """Text as a terminal may be given it: what would move, colour or reorder it is shown escaped.

    With `lines`, newlines and tabs stay: the text of a file. CR LF is a newline there.
    """
    if lines:
        text = text.replace("\r\n", "\n")
    return _UNSAFE.sub(lambda match: escape(match[0], lines), text)


def escape(char: str, lines: bool) -> str:
    """One sign as `clean` shows what is unsafe."""
    if lines and char in "\n\t":
        return char
    number = ord(char)
    if char in _LETTERS:
        return _LETTERS[char]
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def plain(text: str, style: str) -> str:
    """The paint that leaves text as it is."""
    return text


def hit_lines(hits: Sequence[dict[str, Any]], *, explain: bool = False, paint: Paint = plain) -> Iterable[str]:
    """Search results: rank, key, type, description and path; with `explain`, why each was recalled."""
    for hit in hits:
        yield from _memory_lines(hit, f"{hit['rank']}. ", paint, _mark(hit))
        if explain:
            yield paint(f"   {reasons(hit)}", "dim")


def list_lines(memories: Sequence[dict[str, Any]], *, paint: Paint = plain) -> Iterable[str]:
    """Memories as `mdmem list` shows them."""
    for memory in memories:
        yield from _memory_lines(memory, "", paint)


def _mark(hit: dict[str, Any]) -> str:
    via = hit["why"].get("via")
    if via is not None:
        return f" · also about {clean(via)}"
    return " · by meaning" if _is_by_meaning(hit) else ""


def _is_by_meaning(hit: dict[str, Any]) -> bool:
    """No word of the query stands in it, nor is anything else known for it: the least certain hits."""
    why = hit["why"]
    others = any(why[voice] is not None for voice in ("lexical", "temporal", "graph"))
    return hit.get("mode") == "hybrid" and why["semantic"] is not None and not others and not why["exact_key"]


def _memory_lines(memory: dict[str, Any], lead: str, paint: Paint, more: str = "") -> Iterable[str]:
    scope = f"{memory['scope']}:{memory['scope_ref']}" if memory["scope_ref"] else memory["scope"]
    facts = f"{clean(memory['type'])} · {clean(scope)}"
    if memory["status"] not in ("active", memory.get("invalid")):
        facts += f" · {clean(memory['status'])}"
    head = f"{lead}{paint(clean(memory['key']), 'key')}  {paint(facts + more, 'dim')}"
    if memory.get("invalid"):
        head += "  " + paint(f"[{clean(memory['invalid'])}]", "warn")
    if memory.get("broken"):
        head += "  " + paint("[the file cannot be read now: this is its last good state]", "bad")
    yield head
    said = memory["description"] or memory["name"]
    if said:
        yield f"   {clean(said)}"
    yield paint(f"   {clean(memory['path'])}", "dim")


def reasons(hit: dict[str, Any]) -> str:
    """Why a hit was recalled, in one line."""
    why = hit["why"]
    voices = ", ".join(f"{v} #{why[v]}" for v in ("lexical", "semantic", "temporal", "graph") if why[v] is not None)
    also = f"shares {clean(why['via'])} with a hit" if why.get("via") is not None else "no voice"
    parts = ["exact key" if why["exact_key"] else "", voices or also]
    parts += [f"{name} {why[name]:.2f}" for name in ("relevance", "recency", "confidence")]
    parts.append(f"{clean(hit['source'])}, updated {clean(str(hit['updated'])[:10])}")
    return f"score {hit['score']:.4f}: " + "; ".join(part for part in parts if part)


def problem_lines(problems: Sequence[dict[str, Any]], *, limit: int | None = SHOWN_PROBLEMS) -> Iterable[str]:
    """`path:line: message`, and below it what to do."""
    for problem in problems[:limit]:
        line = f":{problem['line']}" if problem["line"] is not None else ""
        yield f"{clean(problem['path'])}{line}: {clean(problem['message'])} [{problem['code']}]"
        if problem["hint"]:
            yield f"   try: {clean(problem['hint'])}"
    if limit is not None and len(problems) > limit:
        yield f"… and {len(problems) - limit} more: mdmem status --json"


def status_lines(status: dict[str, Any], *, paint: Paint = plain) -> Iterable[str]:
    """The state of everything, compact: daemon, index, a line a folder, and what is wrong."""
    yield _daemon_line(status["daemon"], paint)
    yield from _index_lines(status, paint)
    yield from _review_lines(status, paint)
    yield ""
    for scope in status["scopes"]:
        yield from _scope_lines(scope, paint)
    if status["problems"]:
        yield ""
        yield paint(f"problems: {len(status['problems'])}", "bad")
        yield from (f"  {line}" for line in problem_lines(status["problems"]))
    for memory in status.get("unverified", ()):
        yield paint(
            f"unverified since {memory['since'][:10]}: {clean(memory['key'])} ({clean(memory['path'])})", "warn"
        )
    for untrusted in status["untrusted"]:
        yield paint(f"not read: {clean(untrusted['path'])} ({clean(untrusted['reason'])})", "warn")


def _daemon_line(daemon: dict[str, Any], paint: Paint) -> str:
    if not daemon["running"]:
        return f"daemon   {paint('not running', 'warn')}: start it with mdmem up"
    facts = f"pid {daemon['pid']}, mdmem {daemon['version']}, up {_span(daemon['uptime_s'])}, {daemon['rss_mb']:.0f} MB"
    return f"daemon   {paint('running', 'good')} ({facts})"


def _index_lines(status: dict[str, Any], paint: Paint) -> Iterable[str]:
    index, embedder = status["index"], status["embedder"]
    waiting = index["pending_vectors"]
    left = f", {_span(index['vectors_left_s'])} left" if waiting and (index["vectors_left_s"] or 0) >= 1 else ""
    vectors = f"{waiting} {'vector' if waiting == 1 else 'vectors'} to come{left}" if waiting else "vectors complete"
    yield f"index    {index['memories']} memories, {vectors}; last look {index['last_sync'] or 'never'}"
    yield f"embedder {clean(str(embedder['model']))}: {clean(str(embedder['state']))}"
    if status.get("learning"):
        yield f"learning from the activity logs of {', '.join(clean(name) for name in status['learning'])}"
    if index["notice"]:
        yield paint(f"         {clean(index['notice'])}", "warn")


def _review_lines(status: dict[str, Any], paint: Paint) -> Iterable[str]:
    waiting, rules = status.get("candidates", 0), status.get("auto_approve", 0)
    if waiting:
        yield f"review   {waiting} proposed {'memory waits' if waiting == 1 else 'memories wait'}: mdmem review"
    if rules:
        yield paint(
            f"review   {rules} {'rule lets' if rules == 1 else 'rules let'} some pass unasked (review.auto_approve)",
            "warn",
        )


def _scope_lines(scope: dict[str, Any], paint: Paint) -> Iterable[str]:
    label = f"{scope['scope']}:{scope['scope_ref']}" if scope["scope_ref"] else scope["scope"]
    state = "" if scope["state"] == "ok" else "  " + paint(scope["state"], "warn")
    yield f"{paint(clean(label), 'key')}  {clean(scope['path'])}{state}"
    watch = scope["watch"] + (f" ({clean(scope['watch_reason'])})" if scope["watch_reason"] else "")
    full = "whole" if scope["full_text"] else "not whole yet"
    drift = f" · found by the last scan {scope['last_drift']}" if scope["last_drift"] else ""
    yield f"   files {scope['memories']} · full text {full} · vectors {scope['vectors']} · watch {watch}{drift}"


def finding_lines(findings: Sequence[dict[str, Any]], *, paint: Paint = plain) -> Iterable[str]:
    """What `mdmem doctor` found: a line a check, and the repair below those that failed."""
    for finding in findings:
        word = paint("ok  ", "good") if finding["ok"] else paint("fail", "bad")
        yield f"{word} {finding['check']}: {clean(finding['message'])}"
        if finding["hint"] and not finding["ok"]:
            yield f"     try: {clean(finding['hint'])}"


def probe_line(shown: dict[str, Any]) -> str | None:
    """What `mdmem show` says of a memory's probe; None where there is nothing to say."""
    last, since = shown.get("probed"), shown.get("unverified_since")
    if since:
        return f"unverified since {since[:10]}: check it with mdmem verify, or change it"
    return f"verified {last['at'][:10]} by its probe" if last and last["ok"] else None


def _span(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
