"""A value that stands where a secret would in, whether it is one by its shape out. Pure."""

from __future__ import annotations

import base64
import binascii
import re
import string
from collections.abc import Callable

MIN_PASSWORD, MIN_TOKEN = 6, 12
_LOOKED_AT = 100  # characters of a value that tell a placeholder
_MIN_DISTINCT = 5  # fewer kinds of characters than this are a filler: xxxx, 0000, abab
_MIN_CHANGES = 0.25  # of random characters about half are of another class than the one before; of words one in ten

# What documentation writes in the place of a value, and what code writes to fetch it from elsewhere.
_IN_PLACEHOLDERS = (
    "example", "placeholder", "redacted", "your-", "your_", "dummy", "change-me", "changeme", "change_me", "xxxx",
    "***", "...", "<", ">", "{{", "${", "%{", "$(", "process.env", "environ", "getenv", "env[", "secrets.",
)  # fmt: skip
_BEFORE_REFERENCES = (
    "$", "%", "@", "{", "(", "[", "my-", "my_", "the-", "the_", "some-", "insert-", "insert_", "replace-", "replace_",
    "op://", "arn:", "ssm:", "sha1:", "sha256:", "sha256-", "sha512:", "sha512-", "md5:",
)  # fmt: skip
_WORDS_FOR_IT = frozenset(
    """none null nil true false undefined string str text secret password passwd pass pwd token key user username admin
    root guest postgres mysql test testing required optional empty hidden value foo bar foobar""".split()
)
# Values that vendors and standards print themselves.
_PRINTED = frozenset(
    ("sk_te" + "st_4eC39HqLyjWDarjtT1zdp7dc", "sk_te" + "st_BQokikJOvBiI2HlWgH4olfQ2", "QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
)
# Words with digits in them that follow "the password is": products, algorithms, lengths, times.
_TECHNICAL = (
    r"1password(?:'s)?|keepass\w*|sha-?\d+|md5|bcrypt\w*|argon2\w*|pbkdf2\w*|scrypt\w*|base\d\d|utf-?8|oauth\d?"
    r"|aes-?\d+\w*|rsa-?\d+|ed25519|ecdsa\w*|x509|[hre]s\d{3}|k8s|ipv[46]|v\d[\w.]*|\d+[a-z%+]{1,2}|\d+-?(?:char|bit|byte|day|hour|week"
    r"|month|min|sec|digit|letter|word)\w*|\d+(?:[.:/T+Zx-]\d*)+"
)
_EMAIL = r"[\w.+-]+@(?:localhost|(?:[\w-]+\.)+[a-z]{2,10})"
_FILE = (
    r"[\w./~-]+\.(?:py|js|ts|json|ya?ml|toml|txt|md|env|pem|key|pub|sh|go|rs|java|sql|html|css|conf|ini|cfg|log|gpg|asc"
    r"|kdbx|enc|local|internal)"
)
_WORDS = r"(?:[a-z]+\d{0,2}|\d{1,4}|)(?:[-_./:](?:[a-z]+\d{0,2}|\d{1,4}|))+"
_NAME = re.compile("|".join((_TECHNICAL, _EMAIL, _FILE, _WORDS)), re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_CLASSES = bytes(
    ord("a") if chr(c) in string.ascii_lowercase else ord("A") if chr(c) in string.ascii_uppercase
    else ord("0") if chr(c) in string.digits else c for c in range(256)
)  # fmt: skip
_ASCII = re.compile(r"[ -~]*")
_OPENING, _CLOSING = "\"'`“‘", "\"'`”’.,;:)]}"


def classes_of(text: str) -> bytes:
    """The text with `a` for each small letter, `A` for each capital, `0` for each digit, and all else as it is."""
    return text.encode("utf-8", "replace").translate(_CLASSES)


def changes(classes: bytes) -> int:
    """How often a character is of another class than the one before; a capital that opens a word is no change."""
    letters = classes.replace(b"A", b"a")
    return classes.count(b"aA") + letters.count(b"a0") + letters.count(b"0a")


def bare(value: str) -> str:
    """A value without its quotes, and without what ends the sentence around it."""
    quoted = value[:1] in _OPENING
    kept = _ASCII.match(value.lstrip(_OPENING))
    text = kept[0] if kept else ""
    return text.rstrip("\"'`") if quoted else text.rstrip(_CLOSING)


def is_real(value: str) -> bool:
    """Not a placeholder, a reference to another place, a filler, or a value that documentation prints."""
    low = value[:_LOOKED_AT].lower()
    if value in _PRINTED or low.startswith(_BEFORE_REFERENCES) or any(word in low for word in _IN_PLACEHOLDERS):
        return False
    if low in _WORDS_FOR_IT or (low[-1].isdigit() and low[:-1] in _WORDS_FOR_IT):
        return False
    return len(value) < MIN_TOKEN or len(set(value)) >= _MIN_DISTINCT


def is_password(value: str) -> bool:
    """Letters mixed with digits or signs, or a row of digits; not a name, a path, a version or an expression."""
    if len(value) < MIN_PASSWORD or " " in value or value[0] in "/~-&" or "://" in value or "(" in value:
        return False
    if _NAME.fullmatch(value):
        return False
    if value.isdigit():
        return True
    letters = any(c.isalpha() for c in value)
    return letters and (any(c.isdigit() for c in value) or any(c in "!@#$%^&*~" for c in value[1:-1]))


def is_token(value: str) -> bool:
    """Long, and random to look at."""
    if len(value) < MIN_TOKEN or " " in value or value[0] in "/~" or "://" in value or "(" in value:
        return False
    if _NAME.fullmatch(value) or _UUID.fullmatch(value):
        return False
    digits = sum(c.isdigit() for c in value)
    mixed = value != value.lower() and value != value.upper() and len(value) >= 16
    if digits == len(value) or not (digits or mixed):
        return False
    return digits * 4 >= len(value) or changes(classes_of(value)) >= _MIN_CHANGES * len(value)


def _is_login(value: str) -> bool:
    return not re.fullmatch(r"[\d.]{1,5}|\d+(?:\.\d+)+", value)


def _is_short_secret(value: str) -> bool:
    """After 密码是 a row of four digits counts: no other reading is left."""
    return (value.isdigit() and len(value) >= 4) or is_password(value)


def _is_mixed_password(value: str) -> bool:
    return is_password(value) and not value.isdigit() and changes(classes_of(value)) >= _MIN_CHANGES * len(value)


def _is_basic(value: str) -> bool:
    """Base64 of `name:password`."""
    try:
        text = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    name, colon, password = text.partition(":")
    return bool(name and colon and len(password) >= 3) and text.isprintable()


CHECKS: dict[str, Callable[[str], bool]] = {
    "any": bool,
    "basic": _is_basic,
    "chinese": _is_short_secret,
    "login": _is_login,
    "password": is_password,
    "prose": is_password,
    "random": _is_mixed_password,
    "token": is_token,
}
