"""What a command is about: the words and flags of it in; project, environment, host, image, account or database out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_PUBLIC_MAIL = frozenset(
    "gmail googlemail outlook hotmail live icloud me qq foxmail yahoo proton protonmail pm gmx aol".split()
)
_PUBLIC_MAIL |= frozenset(("163", "126"))
_LOCAL = re.compile(r"(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal)\Z", re.IGNORECASE)
_HEALTH = re.compile(
    r"/(?:_?health\w*|healthz|health-?check|livez?|liveness|readyz?|readiness|alive|ping|_?status|up|heartbeat"
    r"|version|actuator/health)(?:/|\Z|\?|#)",
    re.IGNORECASE,
)
_TOP_LEVEL = re.compile(r"\.(?:dev|live|test|demo)(?=[:/'\"]|\Z)", re.IGNORECASE)  # of a host, no environment
_GENERIC = frozenset(
    "database db url uri dsn pg postgres postgresql mysql mongo mongodb redis connection string conn my cnf sql".split()
)
_BUCKET = re.compile(r"(?:s3|gs|r2|b2|az|oss|cos|minio|https)://\S|[A-Za-z][\w-]+:(?![\\/]{1,2})[\w.-]+")
_ON_HOST = re.compile(r"(?:[\w.-]+@[\w.-]+|[\w.-]{2,})::?(?!//)|rsync://")


def environment(words: Iterable[str], known: Mapping[str, str]) -> str:
    """The first environment that the words name: `--env=staging`, `$PROD_URL`, `s3://app-stg`; "" where none does."""
    for word in words:
        if word.startswith(("/", "~", "--stage")) or " " in word:
            word = word.partition("=")[2]  # of `--stage=x` only the x
        for part in re.findall(r"[A-Za-z]+", _TOP_LEVEL.sub("", word)):
            if part.lower() in known:
                return known[part.lower()]
    return ""


def with_environment(target: str, name: str, known: Mapping[str, str]) -> str:
    """`api` and `staging` are `api-staging`; `api-stg` says it already."""
    said = {known.get(part.lower()) for part in re.findall(r"[A-Za-z]+", target)}
    return target if not name or name in said else f"{target}-{name}"


def basename(path: str) -> str:
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def shaped(value: str, shape: str, *, project: str, known: Mapping[str, str]) -> str:
    """A raw value as a target; "" where it can't be one."""
    if shape == "database":
        return _database(value, project, known)
    if shape == "image":
        value = image(value)
    if "$" in value or "`" in value or "…" in value:
        return ""
    readers = {"host": host, "account": account, "file": stem, "health": _health}
    return readers[shape](value) if shape in readers else value.strip("'\"")


def host(value: str) -> str:
    """Of a URL, `user@host:path` or `host:port`; "" for this machine."""
    if "$" in value:
        return ""
    value = re.sub(r"^[A-Za-z][\w+.-]*://", "", value)
    value = re.split(r"[/?#]", value, maxsplit=1)[0].rpartition("@")[2]
    name = value.rsplit(":", 1)[0] if value.count(":") <= 1 else value
    return "" if _LOCAL.match(name) else name.lower()


def registry(value: str) -> str:
    first, slash, _ = value.partition("/")
    return first if slash and ("." in first or ":" in first) else ""


def image(value: str) -> str:
    """registry.example/app/web:12 is app-web."""
    value = value.removeprefix("docker://")
    place = registry(value)
    name = value[len(place) + 1 :] if place else value
    return re.sub(r"[@:].*", "", name).strip("/").replace("/", "-")


def account(value: str) -> str:
    """Of a mail address the organisation: its domain's first label, or the name where the domain is everybody's."""
    name, at, domain = value.strip().strip("'\"[]().,").partition("@")
    label = domain.partition(".")[0].lower()
    return name if not at or label in _PUBLIC_MAIL else label


def stem(value: str) -> str:
    name = basename(value)
    return "" if name == ":memory:" else name.rsplit(".", 1)[0] or name


def _health(value: str) -> str:
    return host(value) if _HEALTH.search(value) or re.match(r"\w+://health\b", value) else ""


def _database(value: str, project: str, known: Mapping[str, str]) -> str:
    """A name, the path of a URL, or its host; of `$STAGING_URL` and option files what they add to the project."""
    if "://" in value:
        path = re.sub(r"^[A-Za-z][\w+.-]*://[^/?]*/?", "", value).partition("?")[0]
        return path if path and "$" not in path else host(value) or project
    if value.startswith("$") or value.endswith((".cnf", ".ini")):
        words = [w.lower() for w in re.findall(r"[A-Za-z]+", basename(value))]
        own = [w for w in words if w not in _GENERIC and w not in known and w not in project.lower()]
        return "-".join([project, *own]) if project else "-".join(own)
    if "=" in value:  # a connection string of libpq
        found = re.search(r"\bdbname=([\w.-]+)", value) or re.search(r"\bhost=([\w.-]+)", value)
        return found[1] if found else project
    return "" if "$" in value or " " in value else _name_or_host(value)


def _name_or_host(value: str) -> str:
    return value.lower() if _LOCAL.match(value) else host(value)


def paths(words: Iterable[str]) -> tuple[str, bool, bool]:
    """Of the words behind a test runner: what they add to the target; whether they are files, or single tests."""
    added: list[str] = []
    files = False
    for word in words:
        if "::" in word or "#" in word or re.search(r"\w:\d+\Z", word):
            return "", False, True
        part = basename(word.removesuffix("...").rstrip("/."))
        if not part or part.lower() in _WHOLE or "=" in word:
            continue
        is_file = bool(re.search(r"\.\w{1,5}\Z", part)) and not _WHOLE_PROJECT.search(part)
        files |= is_file
        added.append(re.sub(r"(?:[._-](?:test|spec)s?)?\.\w{1,5}\Z", "", part) if is_file else part)
    return ("-".join(added) if len(added) <= 2 else added[0]), files, False


_WHOLE = frozenset("test tests src spec specs __tests__ lib app run discover . * **".split())


# Files that stand for all of a project.
_WHOLE_PROJECT = re.compile(r"\.(?:slnx?|[cfv]b?sproj|vcxproj|proj|toml|ya?ml|json|mk|ninja)\Z")


def task_part(name: str, project: str, known: Mapping[str, str]) -> str:
    """What the name of a task says beyond its kind: `test:unit` is unit, `smoke-test` smoke."""
    name = re.sub(r"\.(?:sh|py|rb|[mc]?[jt]s|ps1)\Z", "", basename(name))
    parts = re.split(r"[-:_.]+", name)
    parts = parts[:-1] if parts[-1].lower() in ("test", "tests") else parts[1:]  # `smoke-test`, `test-smoke`
    plain = {"all", "ci", "run", "js", "py", "sh", "deploy", "build", "test", "prod"}
    own = [p for p in parts if p.lower() not in known and p.lower() not in plain and p.lower() not in project.lower()]
    return "-".join(own)


def goes(words: tuple[str, ...], way: str) -> bool:
    """Whether a copy goes toward a bucket, a host, or from a host to here. Without words it is taken at its word."""
    if len(words) < 2:
        return way == "bucket" and not words
    *sources, last = words
    pattern = _BUCKET if way == "bucket" else _ON_HOST
    from_there = any(pattern.match(word) for word in sources)
    to_there = bool(pattern.match(last))
    return from_there and not to_there if way == "here" else to_there and not from_there


def on_host(words: Iterable[str]) -> str:
    return next((host(word) for word in words if _ON_HOST.match(word) or "://" in word or "@" in word), "")


def bucket(words: Iterable[str]) -> str:
    found = next((word for word in words if re.match(r"\w+://", word)), "")
    return re.split(r"[/?]", found.partition("://")[2])[0]
