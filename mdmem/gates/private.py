"""A text in, the numbers in it that belong to a person out: cards, identity numbers, accounts, telephones."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator

# Cheap looks at the classes of characters (see `values.classes_of`): a text without these needs no pattern.
_SPACERS = b" -.()"
_MANY_DIGITS, _SSN_SHAPE, _IBAN_SHAPE = b"0" * 10, b"000-00-0000", b"AA00"

_NUMBER = re.compile(r"[0-9](?<![A-Za-z0-9_.,/:=#-][0-9])(?:[ -]?[0-9]){9,22}+[Xx]?(?![A-Za-z0-9_]|[.,:/-][0-9])")
_PHONE = re.compile(
    r"(?:\+|\(|(?<![\w.,/:=#+-])[0-9])[0-9]{0,4}+\)?(?:[ .()-]{0,2}[0-9]){6,13}+(?![A-Za-z0-9_]|[.:/-][0-9])"
)
_IBAN = re.compile(r"[A-Z](?<![A-Za-z0-9_][A-Z])[A-Z][0-9]{2}(?: ?[A-Z0-9]){11,30}+(?![A-Za-z0-9])")
_SSN = re.compile(r"[0-9](?<![\w.+-][0-9])[0-9]{2}-[0-9]{2}-[0-9]{4}(?![\w-])")

_CARDS = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"
    r"|3[47][0-9]{13}|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}|3(?:0[0-5]|[68][0-9])[0-9]{11}|35[0-9]{14}|62[0-9]{14,17})"
)
# What vendors print for tests; a test card in a text about tests is no one's.
_TEST_CARDS = frozenset(
    """4242424242424242 4111111111111111 4012888888881881 4000000000000002 4000000000009995 4000056655665556
    5555555555554444 5105105105105100 2223003122003222 378282246310005 371449635398431 6011111111111117
    6011000990139424 3530111333300000 30569309025904 6200000000000005""".split()
)
_ABOUT_TESTS = re.compile(r"test|sandbox|dummy|fake|example|stripe|测试|沙箱|示例", re.IGNORECASE)
_ABOUT_CARDS = re.compile(r"card|visa|amex|mastercard|credit|debit|卡", re.IGNORECASE)
_ABOUT_IDS = (
    " id", "_id", "order", "ticket", "invoice", "tracking", "trace", "request", "build", " run ", "timestamp",
    "snowflake", "serial", "编号", "订单", "单号", "流水",
)  # fmt: skip
_ABOUT_PHONES = (
    "phone", " tel ", " tel:", " tel.", "\ntel", "mobile", " cell ", " cell:", "whatsapp", " sms", "call me",
    "call him", "call her", "call them", "call us", " call +", " call (", "dial ", " fax", "reach me", "reach him",
    "电话", "手机", "联系", "座机", "微信", "短信", "致电",
)  # fmt: skip
_BLOCK = 200  # characters: as far as words speak of a number, to both sides
_MAINLAND = re.compile(r"1(?:3[0-9]|4[5-9]|5[0-35-9]|6[2567]|7[0-8]|8[0-9]|9[0-35-9])[0-9]{8}")
_FREE = re.compile(r"\+?1?8(?:00|33|44|55|66|77|88)[0-9]{7}|400[0-9]{7}|\+?(?:44|49)?0?80[08][0-9]{6,8}")
_WIDE = re.compile(r"[一-鿿]")
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)

Found = tuple[int, int, str, str]


def find_private(text: str, classes: bytes) -> list[Found]:
    """(start, end, kind, level) of each number that is someone's. `classes`: those of the text's characters."""
    found: list[Found] = []
    if _IBAN_SHAPE in classes:
        found += _ibans(text)
    if _SSN_SHAPE in classes:
        found += _social(text)
    if _MANY_DIGITS in classes.translate(None, _SPACERS):
        found += _numbers(text)
        found += _phones(text)
    return found


def _numbers(text: str) -> Iterator[Found]:
    for match in _NUMBER.finditer(text):
        digits = _digits(match[0])
        if len(digits) == 18 and is_chinese_id(digits):
            yield match.start(), match.end(), "Chinese identity number", "certain"
        elif _is_card(digits, match[0], text, match.start()):
            yield match.start(), match.end(), "payment card number", "likely"
        elif _is_mainland_phone(digits, match[0], text, match.start()):
            yield match.start(), match.end(), "telephone number", "likely"


def _phones(text: str) -> Iterator[Found]:
    """Numbers of any country, where the words around them speak of telephones."""
    if not _has(_ABOUT_PHONES, text):
        return
    block, speaks = -1, False
    for match in _PHONE.finditer(text):
        digits = _digits(match[0])
        if not 8 <= len(digits) <= 15 or _FREE.fullmatch(digits) or _is_time(match[0]):
            continue
        if block != match.start() // _BLOCK:
            block = match.start() // _BLOCK
            speaks = _has(_ABOUT_PHONES, text[max(block - 1, 0) * _BLOCK : (block + 2) * _BLOCK])
        if speaks:
            yield match.start(), match.end(), "telephone number", "likely"


def _has(words: tuple[str, ...], text: str) -> bool:
    low = f"\n{text.lower()}"
    return any(word in low for word in words)


def _is_card(digits: str, written: str, text: str, at: int) -> bool:
    if not digits.isdigit() or not _CARDS.fullmatch(digits) or not passes_luhn(digits) or len(set(digits)) < 2:
        return False
    line = text[slice(*_around(text, at))]
    if digits in _TEST_CARDS and _ABOUT_TESTS.search(line):
        return False
    return " " in written or "-" in written or bool(_ABOUT_CARDS.search(line)) or not _has(_ABOUT_IDS, line)


def _is_mainland_phone(digits: str, written: str, text: str, at: int) -> bool:
    """A mobile number: written in groups, after +86, or in a Chinese line that speaks of no other kind of number."""
    abroad = digits.removeprefix("86")
    if not _MAINLAND.fullmatch(abroad):
        return False
    if abroad != digits:
        return text[max(at - 1, 0) : at] == "+"
    if re.fullmatch(r"[0-9]{3}([ -])[0-9]{4}\1[0-9]{4}", written):
        return True
    line = text[slice(*_around(text, at))]
    return _has(_ABOUT_PHONES, line) or (bool(_WIDE.search(line)) and not _has(_ABOUT_IDS, line))


def _social(text: str) -> Iterator[Found]:
    for match in _SSN.finditer(text):
        area, group, serial = match[0].split("-")
        if area not in ("000", "666") and area < "900" and group != "00" and serial != "0000":
            yield match.start(), match.end(), "US social security number", "likely"


def _ibans(text: str) -> Iterator[Found]:
    for match in _IBAN.finditer(text):
        end = _iban_end(match[0])
        if end:
            yield match.start(), match.start() + end, "bank account number", "certain"


def _iban_end(written: str) -> int:
    """How much of it is an account number; 0 if none: a word in capitals may follow."""
    ends = [at for at in range(len(written), 14, -1) if at == len(written) or written[at] == " "]
    return next((end for end in ends if is_iban(written[:end])), 0)


def is_iban(written: str) -> bool:
    """ISO 13616: moved by four and read as a number, 1 is left of it by 97."""
    code = written.replace(" ", "")
    if not 15 <= len(code) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in code[4:] + code[:4])) % 97 == 1


def passes_luhn(digits: str) -> bool:
    """ISO/IEC 7812: the check digit of cards."""
    doubled = (int(c) * (2 if n % 2 else 1) for n, c in enumerate(reversed(digits)))
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


def is_chinese_id(code: str) -> bool:
    """GB 11643: a date of birth, and a check digit of weights by 11."""
    try:
        born = datetime.date(int(code[6:10]), int(code[10:12]), int(code[12:14]))
    except ValueError:
        return False
    total = sum(int(c) * w for c, w in zip(code[:17], _WEIGHTS, strict=True))
    return 1900 <= born.year <= 2100 and code[0] in "12345678" and "10X98765432"[total % 11] == code[17].upper()


def _digits(written: str) -> str:
    return re.sub(r"[^0-9Xx]", "", written)


def _is_time(written: str) -> bool:
    """A date, with or without an hour, is also a row of digits."""
    return bool(re.match(r"(?:19|20)[0-9]{2}-?(?:0[1-9]|1[0-2])-?(?:[0-2][0-9]|3[01])(?![0-9])", written))


def _around(text: str, at: int) -> tuple[int, int]:
    """The line around a place, as far as it can speak of it."""
    start, end = max(at - _BLOCK, 0), at + _BLOCK
    return max(text.rfind("\n", start, at) + 1, start), next((n for n in [text.find("\n", at, end)] if n >= 0), end)
