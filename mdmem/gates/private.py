"""A text in, the numbers in it that belong to a person out: cards, identity numbers, accounts, telephones."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator

# Cheap looks at the classes of characters (see `values.classes_of`): a text without these needs no pattern.
_SPACERS = b" -.()"
_NO_SPACERS = str.maketrans("", "", " -.()+")
_MANY_DIGITS, _SSN_SHAPE, _IBAN_SHAPE = b"0" * 10, b"000-00-0000", b"AA00"

_NUMBER = re.compile(
    r"[0-9](?<![A-Za-z0-9_.,/:=#-][0-9])"
    r"(?:[0-9]{10,18}+[Xx]?|[0-9]{2,3}(?:[ -][0-9]{3,7}){2,3}+(?: [0-9]{3}(?![0-9]))?)"
    r"(?![A-Za-z0-9_]|[.,:/-][0-9])"
)
_PHONE = re.compile(
    r"(?:\+|\(|(?<![\w.,/:=#+-])[0-9])[0-9]{0,4}+\)?(?:[ .()-]{0,2}[0-9]){4,13}+(?![A-Za-z0-9_]|[.:/-][0-9])"
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
_ABOUT_TESTS = ("test", "sandbox", "dummy", "fake", "example", "stripe", "测试", "沙箱", "示例")
_ABOUT_CARDS = ("card", "visa", "amex", "credit", "debit", "卡")
_ABOUT_IDS = (
    " id", "_id", "order", "ticket", "invoice", "tracking", "trace", "request", "build", " run ", "timestamp",
    "snowflake", "serial", "编号", "订单", "单号", "流水",
)  # fmt: skip
_ABOUT_PHONES = (
    "phone", " tel ", " tel:", " tel.", "\ntel", "mobile", " cell ", " cell:", "whatsapp", " sms", "call me",
    "call him", "call her", "call them", "call us", " call +", " call (", "dial ", " fax", "reach me", "reach him",
    "电话", "手机", "联系", "座机", "微信", "短信", "致电",
)  # fmt: skip
_BLOCK = 200  # characters; words up to a block away, in the same line, speak of a number
_MAINLAND = re.compile(r"1(?:3[0-9]|4[5-9]|5[0-35-9]|6[2567]|7[0-8]|8[0-9]|9[0-35-9])[0-9]{8}")
_FREE = re.compile(r"\+?1?8(?:00|33|44|55|66|77|88)[0-9]{7}|400[0-9]{7}|\+?(?:44|49)?0?80[08][0-9]{6,8}")
_GROUPED = re.compile(r"[0-9]{3}([ -])[0-9]{4}\1[0-9]{4}")
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
        found += _phones(text, {start for start, *_ in found})
    return found


class _Around:
    """The line around a place, as far as it can speak of it, looked through once for all places of one block."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._span = (-1, -1)
        self._line = ""
        self._has: dict[tuple[str, ...], bool] = {}

    def has(self, words: tuple[str, ...], at: int) -> bool:
        block = at // _BLOCK
        first, last = max(block - 1, 0) * _BLOCK, (block + 2) * _BLOCK
        end = self.text.find("\n", at, last)
        span = max(self.text.rfind("\n", first, at) + 1, first), end if end >= 0 else last
        if span != self._span:
            self._span, self._line, self._has = span, f"\n{self.text[slice(*span)]}".lower(), {}
        if words not in self._has:
            self._has[words] = any(word in self._line for word in words)
        return self._has[words]


def _numbers(text: str) -> Iterator[Found]:
    around = _Around(text)
    for match in _NUMBER.finditer(text):
        at, digits = match.start(), _digits(match[0])
        if len(digits) == 18 and is_chinese_id(digits):
            yield at, match.end(), "Chinese identity number", "certain"
        elif _is_card(digits, match[0], around, at):
            yield at, match.end(), "payment card number", "likely"
        elif _is_mainland_phone(digits, match[0], around, at):
            yield at, match.end(), "telephone number", "likely"


def _phones(text: str, told: set[int]) -> Iterator[Found]:
    """Numbers of any country, where the words around them speak of telephones. `told`: where others begin."""
    low = f"\n{text}".lower()
    if not any(word in low for word in _ABOUT_PHONES):
        return
    around = _Around(text)
    for match in _PHONE.finditer(text):
        if match.start() in told:
            continue
        digits = _digits(match[0])
        if not 8 <= len(digits) <= 15 or _FREE.fullmatch(digits) or _is_time(match[0]):
            continue
        if around.has(_ABOUT_PHONES, match.start()):
            yield match.start(), match.end(), "telephone number", "likely"


def _is_card(digits: str, written: str, around: _Around, at: int) -> bool:
    if not _CARDS.fullmatch(digits) or not passes_luhn(digits) or len(set(digits)) < 2:
        return False
    if digits in _TEST_CARDS and around.has(_ABOUT_TESTS, at):
        return False
    return " " in written or "-" in written or around.has(_ABOUT_CARDS, at) or not around.has(_ABOUT_IDS, at)


def _is_mainland_phone(digits: str, written: str, around: _Around, at: int) -> bool:
    """A mobile number: written in groups, after +86, or in a Chinese line that speaks of no other kind of number."""
    abroad = digits.removeprefix("86")
    if not _MAINLAND.fullmatch(abroad):
        return False
    if abroad != digits:
        return around.text[max(at - 1, 0) : at] == "+"
    if _GROUPED.fullmatch(written):
        return True  # and a number after a word for telephones is found as one of any country
    return bool(_WIDE.search(around.text, max(at - 40, 0), at + 40)) and not around.has(_ABOUT_IDS, at)


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
    return written.translate(_NO_SPACERS)


def _is_time(written: str) -> bool:
    """A date, with or without an hour, is also a row of digits."""
    return bool(re.match(r"(?:19|20)[0-9]{2}-?(?:0[1-9]|1[0-2])-?(?:[0-2][0-9]|3[01])(?![0-9])", written))
