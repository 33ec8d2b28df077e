"""Bytes of one file in, a Document out. Nothing a file holds is ever an exception: it becomes a problem."""

from __future__ import annotations

from mdmem.document.decode import Decoded, decode
from mdmem.document.shape import Block, Document, Report
from mdmem.document.simple import read_simple
from mdmem.document.split import Parts, find_conflict, plain_newlines, split

# No frontmatter is this long; a whole book between two rules is.
MAX_FRONT = 64 * 1024
_MAX_SHOWN = 60


def parse(data: bytes, path: str) -> Document:
    """Read a file; never raises. `path` is only named in the problems."""
    report = Report(path)
    decoded = decode(data, report)
    if decoded is None:
        return Document({}, {}, "", False, False, False, report.problems)
    if not decoded.text or decoded.text.isspace():
        return Document({}, {}, decoded.text, False, False, True, report.problems)
    return read_text(decoded, report)


def read_text(decoded: Decoded, report: Report) -> Document:
    """Read a text that is not empty."""
    text = decoded.text
    parts = split(text)
    if parts is None:
        hint = "end the block with a line '---', or begin the text with another line"
        report.add(1, "front-not-closed", "the '---' on line 1 is never closed; all of it is read as text", hint)
        parts = Parts("", "", "", text)
    conflict = find_conflict(text)
    if conflict is not None:
        hint = "choose one version and delete the lines '<<<<<<<', '=======', '>>>>>>>'"
        report.add(conflict + 1, "conflict-markers", "git's conflict markers stand here", hint)
    return _read_parts(text, parts, report, in_front=_is_in_front(parts, conflict), broken=conflict is not None)


def _is_in_front(parts: Parts, conflict: int | None) -> bool:
    return conflict is not None and conflict <= plain_newlines(parts.front).count("\n")


def _read_parts(text: str, parts: Parts, report: Report, *, in_front: bool, broken: bool) -> Document:
    if not parts.open or in_front:
        return Document({}, {}, parts.body, False, broken, False, report.problems)
    front = plain_newlines(parts.front)
    simple = read_simple(front)
    if simple is not None:
        fields, rows = simple
    else:
        block = read_front(front, report)
        if block is None:
            unreadable = report.problems[-1].code != "front-not-yaml"
            body = parts.body if unreadable else text
            return Document({}, {}, body, False, broken or unreadable, False, report.problems)
        fields, rows = block.fields, block.lines
    _report_second(parts, report)
    lines = {key: row + 2 for key, row in rows.items()}
    return Document(fields, lines, parts.body, True, broken, False, report.problems)


def read_front(front: str, report: Report) -> Block | None:
    """Read a block by YAML, then by repair; None, with the reason as the last problem, where neither can.

    The code of that problem is `front-not-yaml` where the block is text, and another where it is broken YAML.
    """
    # What the fast path takes, most of all files, pays for none of these.
    from mdmem.document.events import read_block
    from mdmem.document.repairs import has_key_line, looks_like_keys
    from mdmem.document.yaml_words import UnreadableError

    if len(front) > MAX_FRONT:
        _report_text(report, f"the block between the two fences is longer than {MAX_FRONT // 1024} KiB")
        return None
    trial = Report(report.path)
    try:
        block = read_block(front, trial)
    except UnreadableError as error:
        block = _mended(front, report) if error.mendable else None
        if block is None and not has_key_line(front):
            _report_text(report, "the lines between the two '---' hold no 'key: value'")
        elif block is None:
            where = f"line {error.row + 2}, column {error.column + 1}"
            report.add(error.row + 2, error.code, f"{where}: {error.what}", error.hint)
        return block
    if block is None and "：" in front and looks_like_keys(front):
        block = _mended(front, report)
    elif block is not None:
        report.problems.extend(trial.problems)
    if block is None:
        _report_text(report, "the lines between the two '---' hold no 'key: value'")
    return block


def _mended(front: str, report: Report) -> Block | None:
    from mdmem.document.events import read_block
    from mdmem.document.quoting import scalar
    from mdmem.document.repairs import repair
    from mdmem.document.yaml_words import UnreadableError

    def read(text: str, into: Report) -> Block | None:
        try:
            return read_block(text, into)
        except UnreadableError:
            return None

    mended = repair(front, lambda line: read(line, Report("")) is not None)
    trial = Report(report.path)
    block = read(mended[0], trial) if mended else None
    if mended is None or block is None:
        return None
    report.problems.extend(trial.problems)
    for row, key, value in mended[1]:
        shown = value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "…"
        message = f"the value of '{key}' means something else in YAML; it is read as the text it looks like"
        report.add(row + 2, "yaml-quoted", message, f"write {key}: {scalar(shown, always=True)}")
    return block


def _report_text(report: Report, message: str) -> None:
    hint = "write 'key: value' lines there, or begin the file with another line than '---'"
    report.add(1, "front-not-yaml", f"{message}; all of it is read as text", hint)


def _report_second(parts: Parts, report: Report) -> None:
    """Say so where another block follows the first: it is shown as text (some tool put one before the other)."""
    body = parts.body
    if "---" not in body[:200]:
        return
    rest = body.lstrip()
    second = split(rest) if rest.startswith("---") else None
    if second is None or not second.open:
        return
    block = read_front(plain_newlines(second.front), Report(""))
    if block is None or not block.fields:
        return
    line = plain_newlines(parts.open + parts.front + parts.close + body[: len(body) - len(rest)]).count("\n") + 1
    hint = "make one block of the two"
    report.add(line, "second-block", "a second frontmatter block; only the first is used, this is shown as text", hint)
