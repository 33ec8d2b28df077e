"""What is to be kept in a file, or is kept there, in; the secrets in it as problems, or a refusal, out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mdmem.document.decode import decode, line_of
from mdmem.document.shape import Report
from mdmem.errors import Problem, RefusedError
from mdmem.gates.secret import Finding, find_secrets

CODE = "secret"
_HINT = "keep it in a secret store and say here where; whoever may have read it has it, so replace it there too"


def secret_problems(data: bytes, path: str) -> list[Problem]:
    """A problem for each secret in the bytes of a memory file: its kind and line, never the value."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        decoded = decode(data, Report(path))
        text = decoded.text if decoded else ""
    return [
        Problem(path, line_of(text, f.start), CODE, f"{_looks_like(f)}; this memory stays out of the index", _HINT)
        for f in find_secrets(text)
    ]


def refuse_secrets(text: str, fields: Mapping[str, str | Sequence[str]] | None = None) -> None:
    """Raise RefusedError where a text, or the fields that go with it, hold a secret; it names the kinds and lines."""
    _refuse(find_secrets(text), in_text=True)
    for key, value in (fields or {}).items():
        for part in [value] if isinstance(value, str) else value:
            _refuse(find_secrets(f"{key}: {part}") or find_secrets(part), in_text=False)


def refuse_held(data: bytes, path: str) -> None:
    """Raise RefusedError where the bytes of a memory file hold a secret."""
    for problem in secret_problems(data, path):
        raise RefusedError(problem.message, where=f"{path}:{problem.line}", hint=problem.hint)


def _refuse(found: list[Finding], *, in_text: bool) -> None:
    for finding in found:
        where = f"line {finding.line} of the text" if in_text and finding.line > 1 else None
        raise RefusedError(f"{_looks_like(finding)}; nothing was written", where=where, hint=_HINT)


def _looks_like(finding: Finding) -> str:
    return f"this {'is' if finding.level == 'certain' else 'looks like'} a secret: {finding.kind}"
