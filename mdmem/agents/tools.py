"""The arguments of an MCP tool in, a short text and the same as JSON out. None writes a memory but an agent's notes."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from mdmem import edit
from mdmem.agents import shapes
from mdmem.agents.desk import Desk
from mdmem.agents.uris import uri_of
from mdmem.app import App
from mdmem.errors import NotFoundError, RefusedError, UsageError
from mdmem.files import from_printable
from mdmem.index import fold
from mdmem.memory import DEFAULT_TYPE
from mdmem.outputs import text as words
from mdmem.outputs.text import clean
from mdmem.scope import check_ref

MAX_BODY_CHARS = 50_000  # of a memory that is recalled; the resource has all of it
_MAX_SAID_CHARS = 300

Json = dict[str, Any]


class Shown(NamedTuple):
    """What a tool answers."""

    text: str
    data: Json


# --- finding ------------------------------------------------------------------


def search(desk: Desk, wanted: shapes.Search) -> Shown:
    answer = desk.ask("search", **wanted.model_dump(exclude={"cwd"}))
    hits = [
        {**_line(hit), "rank": hit["rank"], "score": hit["score"], "why": words.reasons(hit)} for hit in answer["hits"]
    ]
    lines = [f"{hit['rank']}. {_said(hit)}" for hit in hits] or ["nothing found"]
    return _shown(desk, lines, {"memories": hits}, answer["degraded"])


def recall(desk: Desk, wanted: shapes.Recall) -> Shown:
    answer = desk.ask("show", key=wanted.key, scope=wanted.scope)
    memory, body = answer["memory"], clean(answer["memory"]["body"], lines=True)
    kept = body[:MAX_BODY_CHARS]
    doubt = f"unverified since {memory['unverified_since'][:10]}" if memory["unverified_since"] else None
    line, warning = _line(memory), _cleaned(memory["warning"] or doubt)
    version = edit.version_of(answer["text"].encode("utf-8", "replace"))
    told = [
        _said(line),
        f"{line['source']}, confidence {line['confidence']}, updated {line['updated']}; {line['path']}",
    ]
    told += [f"warning: {warning}"] if warning else []
    told += [f"version {version}; its text, each line behind a bar:"]
    # The bar keeps a text from looking like lines of ours.
    told += [f"| {row}" for row in kept.removesuffix("\n").split("\n")]
    left = len(body) - len(kept)
    told += [f"({left} characters more: read {line['uri']})"] if left else []
    data = {"memory": line, "body": kept, "left_out_chars": left, "version": version, "warning": warning}
    return _shown(desk, told, data)


def listing(desk: Desk, wanted: shapes.List) -> Shown:
    asked = {"scope": wanted.scope, "type": wanted.type, "include_invalid": wanted.include_invalid}
    answer = desk.ask("list", **asked)
    found = [_line(memory) for memory in answer["memories"]]
    shown = found[: wanted.limit]
    lines = [f"- {_said(line)}" for line in shown] or ["no memories"]
    if len(shown) < len(found):
        lines.append(f"… and {len(found) - len(shown)} more: narrow it by scope or type, or use search_memory")
    return _shown(desk, lines, {"memories": shown, "total": len(found)}, answer["degraded"])


def conflicts(desk: Desk, wanted: shapes.Conflicts) -> Shown:
    del wanted
    found = [
        {
            "winner": _party(pair["winner"]),
            "loser": _party(pair["loser"]),
            "reason": clean(pair["reason"]),
            "waits_for_a_person": pair["waits"],
        }
        for pair in desk.ask("conflicts")["conflicts"]
    ]
    lines = [_conflict_line(pair) for pair in found] or ["no conflicts"]
    return _shown(desk, lines, {"conflicts": found})


def _conflict_line(pair: Json) -> str:
    winner, loser = pair["winner"]["key"], pair["loser"]["key"]
    if pair["waits_for_a_person"]:
        return f"- {winner} and {loser} can't both hold ({pair['reason']}); a person has still to say which"
    return f"- {winner} counts, {loser} is not recalled: {pair['reason']}"


# --- proposing ----------------------------------------------------------------


def propose(desk: Desk, wanted: shapes.Propose) -> Shown:
    app = App()
    untrusted = app.untrusted_at(desk.who.cwd) if wanted.scope is None else None
    if untrusted:
        desk.notes.append(
            f"{untrusted} is not trusted here (see mdmem trust): this is proposed for the user's own scope"
        )
    target = app.target(wanted.scope, desk.who.cwd, desk.who.agent if wanted.scope == "agent" else None)
    fields = _fields(
        name=wanted.name, description=wanted.description, type=wanted.type or "", key=wanted.key,
        confidence=None if wanted.confidence is None else f"{wanted.confidence:.6g}",
        entities=wanted.entities, tags=wanted.tags,
    )  # fmt: skip
    fields.setdefault("type", DEFAULT_TYPE[target.kind])
    known = _find_by_key(desk, str(fields.get("key", "")), target.kind, target.ref)
    action = "UPDATE" if known else "ADD"
    return _put(desk, (target.kind, target.ref), fields, wanted.text, wanted.evidence, action, known)


def supersede(desk: Desk, wanted: shapes.Supersede) -> Shown:
    old = desk.ask("find", key=wanted.key)["memory"]
    fields = _fields(
        name=wanted.name, description=wanted.description, type=wanted.type or old["type"], domain=old["domain"],
        supersedes=old["key"],
    )  # fmt: skip
    target = old["scope"], old["scope_ref"]
    return _put(desk, target, fields, wanted.text, wanted.evidence, "SUPERSEDE", old["key"])


def _fields(**given: str | list[str] | None) -> dict[str, str | list[str]]:
    """What the frontmatter is to hold: given values, each on one line, checked as those of any new memory are."""
    fields = {
        name: " ".join(value.split()) if isinstance(value, str) else [" ".join(item.split()) for item in value]
        for name, value in given.items()
        if value
    }
    edit.check_fields(fields)
    return fields


def _find_by_key(desk: Desk, key: str, kind: str, ref: str | None) -> str | None:
    """The key of the memory of this scope that has exactly this one."""
    if not key:
        return None
    try:
        memory = desk.ask("find", key=key, scope=[kind])["memory"]
    except (NotFoundError, UsageError):
        return None
    return memory["key"] if (fold(memory["key"]), memory["scope_ref"]) == (fold(key), ref) else None


def _put(desk: Desk, target: tuple[str, str | None], fields: dict[str, str | list[str]], text: str,
         quotes: Iterable[str], action: str, changed: str | None) -> Shown:  # fmt: skip
    """Let a proposal wait. One that a gate refuses is an error in words: whoever proposes should know why."""
    scope, ref = target
    evidence = [{"text": quote, "agent": desk.who.agent} for quote in quotes]
    answer = desk.ask(
        "propose",
        candidate={"scope": scope, "scope_ref": ref, "fields": fields, "body": text, "action": action,
                   "target": changed, "evidence": evidence},
    )  # fmt: skip
    if answer["status"] == "refused":
        raise RefusedError(f"not proposed: {answer['why']}", hint="say it in other words, or leave it")
    data = {
        "status": answer["status"],
        "candidate": clean(answer["candidate"] or ""),
        "path": clean(answer["path"] or ""),
        "action": answer["action"],
        "target": _cleaned(answer["target"]),
        "new": answer["new"],
    }
    if answer["status"] == "approved":
        return _shown(desk, [clean(answer["why"])], data)
    where = f"{scope}:{ref}" if ref else scope
    line = f"waiting for approval: {data['candidate']} ({answer['action']} in {clean(where)})"
    rest = "It is no memory, and is not recalled, until the person approves it: mdmem review"
    return _shown(desk, [line if answer["new"] else f"{line}; it waited already", rest], data)


def note(desk: Desk, wanted: shapes.Notes) -> Shown:
    app, agent = App(), _noting_agent(desk, wanted.agent)
    scope = app.agent_scope(agent)
    is_new = not os.path.isdir(scope.folder)
    today = datetime.datetime.now().astimezone().date()
    written, version = edit.write_notes(scope, wanted.text, today=today, version=wanted.version, guard=app.guard(agent))
    if is_new:
        desk.tell_daemon("reload")
    else:
        desk.tell_daemon("sync", folders={from_printable(written.folder): [written.rel]})
    line = f"noted for {clean(agent)}, version {version}: {clean(written.path)}"
    return _shown(desk, [line], {"key": clean(written.key), "path": clean(written.path), "version": version})


def _noting_agent(desk: Desk, named: str | None) -> str:
    who = desk.who
    if who.told and named not in (None, who.agent):
        raise RefusedError(f"these notes would be another agent's: you are {who.agent}", hint="leave `agent` out")
    agent = named or who.agent
    if not agent:
        raise UsageError("whose notes?", hint="give `agent`, or set MDMEM_AGENT where this server is started")
    return check_ref(agent)


# --- words --------------------------------------------------------------------


def _line(memory: Json) -> Json:
    """A memory as `shapes.Line` has it. What a file holds is cleaned as for a terminal."""
    names = (
        "key",
        "scope",
        "scope_ref",
        "path",
        "name",
        "description",
        "type",
        "status",
        "source",
        "updated",
        "invalid",
    )
    line: Json = {name: _cleaned(memory.get(name)) for name in names}
    line["description"] = (line["description"] or "")[: 2 * _MAX_SAID_CHARS]
    return {**line, "uri": uri_of(memory), "confidence": memory["confidence"]}


def _cleaned(text: str | None) -> str | None:
    return None if text is None else clean(text)


def _said(line: Json) -> str:
    """A memory in one line, its key first."""
    where = f"{line['scope']} {line['scope_ref']}" if line["scope_ref"] else line["scope"]
    ended = f", {line['invalid']}" if line["invalid"] else ""
    return f"{line['key']} ({line['type']}, {where}{ended}): {(line['description'] or line['name'])[:_MAX_SAID_CHARS]}"


def _party(memory: Json) -> Json:
    said = {name: clean(memory[name]) for name in ("key", "path", "description")}
    return {**said, "uri": uri_of(memory)}


def _shown(desk: Desk, lines: list[str], data: Json, degraded: Iterable[str] = ()) -> Shown:
    missing, notes = [clean(line) for line in degraded], [clean(line) for line in desk.notes]
    lines = [*lines, *(f"note: {line}" for line in (*missing, *notes))]
    return Shown("\n".join(lines), {**data, "degraded": missing, "notes": notes})
