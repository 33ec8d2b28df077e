"""A memory in, the texts that get a vector out."""

from __future__ import annotations

import hashlib
import re

from mdmem.memory import Memory

# About 250 tokens of either script: inside the window of every embedder, and short enough that one subject fills it.
PIECE_WEIGHT = 1_000
WIDE_WEIGHT = 3  # a Chinese, Japanese or Korean character says about three times what a Latin letter does
MAX_PIECES = 48  # of one memory: past that a vector each would cost minutes

_BLANK = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?。！？\n])\s*")
_NAME_PART = re.compile(r"[^\W_]+")
# `(1:56 pm on 8 May, 2023)`, `[2024-05-08T13:56:00Z]`, `（2023年5月8日 下午3点）`: brackets that hold a date or a time
# of day and nothing else, as transcripts have them.
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b"
)
_STAMP = re.compile(
    r"[ \t]?[(\[（【](?:[\d\s:：.,/年月日号点时分秒上下中午周星期一二三四五六日天T+-]|Z\b"
    rf"|(?:am|pm|a\.m|p\.m|on|at|of|the|utc|gmt)\b|(?<=\d)(?:am|pm|st|nd|rd|th)\b|{_MONTH}|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b)"
    r"{4,40}[)\]）】](?!\()",
    re.IGNORECASE,
)
_DATED = re.compile(rf"\d{{4}}[-/.年]\d|\d[:：]\d\d|\d(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH} \d", re.IGNORECASE)
_WIDE = re.compile("[\u3000-\u9fff\uac00-\ud7ff\uf900-\ufaff]")


def pieces_of(memory: Memory) -> list[str]:
    """The texts of a memory, in order; at least one unless it holds no text at all.

    Each begins with the name (where it says something that the text doesn't), so that a piece from the middle still
    says what it is about. Stamps of date and time are left out: full text finds dates, and a vector of a short text
    would be more about its day than about its subject. Cut between paragraphs, else between sentences, else anywhere.
    """
    body = without_stamps(memory.body).strip()
    head = _head(memory, body)
    chunks = _chunks(body) if body else [""]
    return [text for text in (f"{head}\n{chunk}".strip() for chunk in chunks[:MAX_PIECES]) if text]


def without_stamps(text: str) -> str:
    return _STAMP.sub(lambda found: "" if _DATED.search(found[0]) else found[0], text)


def digest(text: str) -> bytes:
    """The sha256 that a piece's text is known by."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _head(memory: Memory, body: str) -> str:
    lines = [memory.name] if memory.name.lower() not in body[:400].lower() and _says_something(memory.name) else []
    if memory.description and memory.description.rstrip("…") not in body:
        lines.append(memory.description)
    return "\n".join(lines)


def _says_something(name: str) -> bool:
    """Whether a name is more words than numbers: `deploy blyck` is, `m00017` and `session-3 D1:7` are not."""
    words = _NAME_PART.findall(name)
    return 2 * sum(not any(map(str.isdigit, word)) and len(word) > 1 for word in words) > len(words)


def _chunks(body: str) -> list[str]:
    if _weight(body) <= PIECE_WEIGHT:
        return [body]
    chunks: list[str] = []
    current = ""
    for part in _parts(body):
        if current and _weight(current) + _weight(part) > PIECE_WEIGHT:
            chunks.append(current)
            current = ""
            if len(chunks) > MAX_PIECES:
                break
        current = f"{current}\n\n{part}" if current else part
    return [*chunks, current] if current else chunks


def _parts(body: str) -> list[str]:
    """Paragraphs; a long one falls into sentences, a long sentence into cuts."""
    parts: list[str] = []
    for paragraph in _BLANK.split(body):
        if _weight(paragraph) <= PIECE_WEIGHT:
            parts.append(paragraph.strip())
            continue
        for sentence in _SENTENCE.split(paragraph):
            room = PIECE_WEIGHT if sentence.isascii() else PIECE_WEIGHT // WIDE_WEIGHT
            step = len(sentence) if _weight(sentence) <= PIECE_WEIGHT else room
            parts.extend(sentence[i : i + step] for i in range(0, len(sentence), step or 1))
    return [part for part in parts if part.strip()]


def _weight(text: str) -> int:
    if text.isascii():
        return len(text)
    return len(text) + (WIDE_WEIGHT - 1) * len(_WIDE.findall(text))
