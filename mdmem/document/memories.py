"""A Document in, a Memory with every key typed and every default filled in out; what can't be typed is a problem."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from mdmem.document.dates import moment, normalise_date
from mdmem.document.keys import DATE_KEYS, KNOWN_KEYS, canonical
from mdmem.document.prose import first_sentence, link_target, links_of, one_line, spans_of, title_of, without_code
from mdmem.document.shape import Document, Report, Value
from mdmem.errors import Problem
from mdmem.memory import DEFAULT_TYPE, SOURCES, STABILITIES, STATUSES, TYPE_ALIASES, TYPES, Memory

# What other tools write as `type` for any file of theirs: it says nothing about this one.
_FOREIGN_TYPES = frozenset(("note", "memory"))
# Open Knowledge Format's words for a status.
_OKF_STATUS = {"deprecated": "archived", "draft": "active", "stable": "active"}
# What is taken from a `metadata` map; anything else in it is another tool's.
_METADATA_KEYS = KNOWN_KEYS - {"id", "key", "source", "proof", "probe", "for"}
_LIST_ITEM = re.compile(r"\[\[[^\[\]]*\]\]|[^,，、\n]+")
_WIKILINK = re.compile(r"!?\[\[([^\[\]]*)\]\]")
_NUMBER = re.compile(r"[+]?(?:\d{1,6}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE]-?\d{1,2})?(\s*%)?", re.ASCII)
_CONFIDENCE_HINT = "write a number from 0 to 1, such as confidence: 0.9, or a percentage"


def memory_of(doc: Document, *, path: str, scope: str) -> tuple[Memory, list[Problem]]:
    """Type a document; never raises.

    `path` is relative to the scope folder, POSIX and printable; `scope` is "user", "project" or "agent". The problems
    are those of typing: the document's own are not repeated.
    """
    typing = _Typing(doc, path)
    prose = without_code(doc.body)
    stem = path[:-3] if path.lower().endswith(".md") else path
    key = unicodedata.normalize("NFC", one_line(typing.text("key")))
    type_name = typing.type_of(DEFAULT_TYPE.get(scope, "fact"))
    source = typing.choice("source", SOURCES, {}) or "stated"
    proof = typing.text("proof").strip() or None
    assumed = 1.0 if type_name == "capability" and proof else SOURCES[source]
    name = one_line(typing.text("name")) or title_of(doc.body) or _words_of(stem)
    dates = typing.dates()
    memory = Memory(
        key=key or unicodedata.normalize("NFC", stem),
        name=name,
        description=one_line(typing.text("description")) or first_sentence(doc.body),
        body=doc.body,
        type=type_name,
        confidence=typing.confidence(assumed),
        source=source,
        domain=one_line(typing.text("domain")) or None,
        topic=one_line(typing.text("topic")) or None,
        status=typing.choice("status", STATUSES, _OKF_STATUS),
        stability=typing.choice("stability", STABILITIES, {}),
        valid_from=dates.get("valid_from"),
        invalid_at=dates.get("invalid_at"),
        expires=dates.get("expires"),
        supersedes=typing.items("supersedes"),
        superseded_by=next(iter(typing.items("superseded_by")), None),
        derived_from=typing.items("derived_from"),
        entities=typing.items("entities"),
        tags=typing.tags(),
        aliases=typing.items("aliases"),
        links=links_of(prose),
        code_spans=spans_of(prose),
        proof=proof,
        probe=typing.text("probe").strip() or None,
        roles=typing.items("for"),
        created=dates.get("created"),
        updated=dates.get("updated"),
        id=one_line(typing.text("id")) or None,
        explicit_key=bool(key),
        extra=typing.extra,
    )
    return memory, typing.report.problems


def is_proposal(value: Value | None) -> bool:
    """Whether `candidate` is mdmem's own, from the inbox: why a memory was proposed is no part of what it says."""
    return isinstance(value, dict) and value.get("scope") in DEFAULT_TYPE


def _words_of(stem: str) -> str:
    """The file name in words: `ops/deploy-blyck_now` is "deploy blyck now"."""
    last = stem.rpartition("/")[2]
    return " ".join(re.sub(r"[-_\s]+", " ", last).split()) or last or "memory"


class _Typing:
    """The known values of one document, each read by its key; and the rest, in `extra`."""

    def __init__(self, doc: Document, path: str) -> None:
        self.report = Report(path)
        self.known: dict[str, Value] = {}
        self.lines: dict[str, int] = {}
        self.extra: dict[str, Any] = {}
        spellings: list[tuple[str, str]] = []
        for key, value in doc.fields.items():
            if key in KNOWN_KEYS:
                self.known[key], self.lines[key] = value, doc.lines[key]
            else:
                spellings.append((canonical(key), key))
        for known, key in spellings:
            if known in KNOWN_KEYS and self.known.get(known, "") == "":
                self.known[known], self.lines[known] = doc.fields[key], doc.lines[key]
            else:
                self.extra[key] = doc.fields[key]
        if is_proposal(self.extra.get("candidate")):
            del self.extra["candidate"]
        self._take_metadata(doc.lines.get("metadata", 1))

    def _take_metadata(self, line: int) -> None:
        """Claude Code keeps `type` and its like in a `metadata` map; what is not used stays in extra."""
        metadata = self.extra.get("metadata")
        if not isinstance(metadata, dict):
            return
        rest: dict[str, Value] = {}
        for key, value in metadata.items():
            known = canonical(key)
            if known in _METADATA_KEYS and self.known.get(known, "") == "":
                self.known[known], self.lines[known] = value, line
            else:
                rest[key] = value
        if rest:
            self.extra["metadata"] = rest
        else:
            del self.extra["metadata"]

    def text(self, key: str) -> str:
        value = self.known.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        texts = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
        if len(texts) != 1 or len(value) != 1:
            self._problem(key, "wrong-shape", f"{key} is {_shape(value)}, not one text", f"write {key}: and one text")
        return ", ".join(texts)

    def items(self, key: str) -> tuple[str, ...]:
        """Texts of a list, of "a, b", or of one text; wikilinks are unwrapped, doubles left out."""
        found: dict[str, None] = {}
        if key in self.known:
            for text in self._texts(key, self.known[key]):
                link = _WIKILINK.fullmatch(text)
                item = link_target(link[1]) if link else one_line(text)
                if item:
                    found[item] = None
        return tuple(found)

    def _texts(self, key: str, value: Value) -> list[str]:
        if isinstance(value, str):
            # One text that is no list stays whole, commas inside a link too.
            return [part.strip() for part in _LIST_ITEM.findall(value)]
        if isinstance(value, dict):
            self._problem(key, "wrong-shape", f"{key} is a map, not a list", f"write {key}: [one, two]")
            return []
        texts: list[str] = []
        for item in value:
            text = _only_text(item)
            if text is not None:
                texts.append(text.strip())
            else:
                self._problem(key, "wrong-shape", f"{key} holds {_shape(item)}", f"write {key}: [one, two]")
        return texts

    def tags(self) -> tuple[str, ...]:
        value = self.known.get("tags")
        if isinstance(value, str) and value.startswith("#") and all(word[0] == "#" for word in value.split()):
            return tuple(dict.fromkeys(word.strip("#,，、") for word in value.split() if word.strip("#,，、")))
        return tuple(dict.fromkeys(tag.lstrip("#") for tag in self.items("tags") if tag.lstrip("#")))

    def choice(self, key: str, accepted: tuple[str, ...] | dict[str, float], also: dict[str, str]) -> str | None:
        text = one_line(self.text(key)).lower()
        if not text or text in accepted:
            return text or None
        if text in also:
            return also[text]
        self._problem(key, f"unknown-{key}", f"{key} is '{text[:60]}'", f"use one of: {', '.join(accepted)}")
        return None

    def type_of(self, default: str) -> str:
        text = one_line(self.text("type")).lower()
        name = TYPE_ALIASES.get(text, text)
        if name in TYPES:
            return name
        if name and name not in _FOREIGN_TYPES:
            nearest = _nearest(name)
            hint = f"did you mean '{nearest}'? " if nearest else ""
            what = f"type is '{text[:60]}', which is none of ours; read as '{default}'"
            self._problem("type", "unknown-type", what, f"{hint}use one of: {', '.join(TYPES)}")
        return default

    def confidence(self, default: float) -> float:
        text = one_line(self.text("confidence"))
        if not text:
            return default
        found = _NUMBER.fullmatch(text)
        number = float(text.rstrip("% ")) / (100 if found[1] else 1) if found else -1.0
        if 0 <= number <= 1:
            return number
        what = f"confidence is '{text[:60]}', not a number from 0 to 1"
        self._problem("confidence", "bad-confidence", what, _CONFIDENCE_HINT)
        return default

    def dates(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for key in self.known.keys() & DATE_KEYS:
            text = one_line(self.text(key))
            date = normalise_date(text) if text else None
            if date:
                found[key] = date
            elif text:
                what = f"{key} is '{text[:60]}', which is no date"
                self._problem(key, "bad-date", what, f"write {key}: 2026-11-02, or 2026-11-02T10:00:00Z")
        start, end = found.get("valid_from"), found.get("invalid_at")
        if start and end and moment(start) > moment(end):
            what = f"valid_from ({start}) is after invalid_at ({end})"
            self._problem("valid_from", "dates-crossed", what, "exchange the two, or correct one")
        return found

    def _problem(self, key: str, code: str, message: str, hint: str) -> None:
        self.report.add(self.lines.get(key), code, message, hint)


def _only_text(item: Value) -> str | None:
    """The text of an item; `[[name]]` without quotes is, to YAML, a list in a list."""
    while isinstance(item, list) and len(item) == 1:
        item = item[0]
    return item if isinstance(item, str) else None


def _shape(value: Value) -> str:
    if isinstance(value, dict):
        return "a map"
    return "a list" if isinstance(value, list) else "text"


def _nearest(name: str) -> str | None:
    import difflib  # only for a type that is wrong

    near = difflib.get_close_matches(name, (*TYPES, *TYPE_ALIASES), n=1, cutoff=0.6)
    return TYPE_ALIASES.get(near[0], near[0]) if near else None
