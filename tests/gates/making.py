"""Secrets as their makers describe them: prefixes, alphabets and lengths of the vendors' own documents, seeded.

Nothing here looks at the table of rules. Literal prefixes are cut in two, so that no scanner takes this for a leak.
"""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from collections.abc import Callable

UPPER, LOWER, DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
ALNUM = UPPER + LOWER + DIGITS
URL_SAFE = f"{ALNUM}-_"
BASE32 = UPPER + "234567"
HEX = "0123456789abcdef"

Make = Callable[[random.Random], str]


def of(r: random.Random, alphabet: str, length: int) -> str:
    return "".join(r.choices(alphabet, k=length))


def b64(r: random.Random, size: int) -> str:
    return base64.b64encode(r.randbytes(size)).decode()


def safe64(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def an_id(r: random.Random) -> str:
    return str(uuid.UUID(int=r.getrandbits(128), version=4))


def word(r: random.Random) -> str:
    return r.choice("shop ledger crane harbour violet kettle comet maple".split())


def password(r: random.Random) -> str:
    """As a person makes one: a word, a number, sometimes a sign."""
    return word(r).capitalize() + str(r.randint(10, 9999)) + r.choice(["", "!", "#x", "&y"])


def jwt(r: random.Random) -> str:
    head = safe64({"alg": r.choice(["HS256", "RS256"]), "typ": "JWT"})
    body = safe64({"sub": str(r.randint(1, 10**9)), "iat": r.randint(10**9, 2 * 10**9)})
    return f"{head}.{body}.{of(r, URL_SAFE, 43)}"


def pem(name: str) -> Make:
    def make(r: random.Random) -> str:
        lines = "\n".join(of(r, f"{ALNUM}+/", 64) for _ in range(4))
        return f"-----BEGIN {name}PRIVATE " + f"KEY-----\n{lines}\n-----END {name}PRIVATE KEY-----"

    return make


def luhn(digits: str) -> str:
    total = 0
    for n, c in enumerate(reversed(digits)):
        twice = int(c) * 2 if n % 2 == 0 else int(c)
        total += twice - 9 if twice > 9 else twice
    return digits + str(-total % 10)


def card(r: random.Random) -> str:
    digits = luhn(r.choice(["4", "51", "55", "37"]) + of(r, DIGITS, 14))[:16]
    digits = luhn(digits[:14]) if digits.startswith("37") else luhn(digits[:15])
    return r.choice([digits, " ".join(digits[at : at + 4] for at in range(0, len(digits), 4))])


def chinese_id(r: random.Random) -> str:
    body = f"{r.choice(['110105', '310104', '440305'])}19{r.randint(50, 99)}{r.randint(1, 12):02}{r.randint(1, 28):02}"
    body += of(r, DIGITS, 3)
    weighed = sum(int(c) * (2 ** (17 - n) % 11) for n, c in enumerate(body))
    return body + "10X98765432"[weighed % 11]


def iban(r: random.Random) -> str:
    account = of(r, DIGITS, 18)
    check = 98 - int(account + "131400") % 97  # DE00, moved to the end
    code = f"DE{check:02}{account}"
    return r.choice([code, " ".join(code[at : at + 4] for at in range(0, len(code), 4))])


def mobile(r: random.Random) -> str:
    return r.choice(["138", "139", "150", "186", "177"]) + of(r, DIGITS, 8)


KINDS: dict[str, Make] = {
    "aws id": lambda r: r.choice(["AK" + "IA", "AS" + "IA"]) + of(r, BASE32, 16),
    "aws secret": lambda r: "aws_secret_access_key = " + of(r, f"{ALNUM}+/", 40),
    "github": lambda r: r.choice(["ghp", "gho", "ghs"]) + "_" + of(r, ALNUM, 36),
    "github fine": lambda r: "github" + "_pat_" + of(r, ALNUM, 22) + "_" + of(r, ALNUM, 59),
    "gitlab": lambda r: "gl" + "pat-" + of(r, URL_SAFE, 20),
    "slack bot": lambda r: "xox" + "b-" + "-".join((of(r, DIGITS, 12), of(r, DIGITS, 12), of(r, ALNUM, 24))),
    "slack hook": lambda r: (
        "https://hooks.slack" + f".com/services/T{of(r, UPPER, 8)}/B{of(r, UPPER, 8)}/{of(r, ALNUM, 24)}"
    ),
    "discord hook": lambda r: f"https://discord.com/api/webhooks/1{of(r, DIGITS, 18)}/{of(r, URL_SAFE, 68)}",
    "discord bot": lambda r: (
        f"{base64.b64encode(('1' + of(r, DIGITS, 18)).encode()).decode().rstrip('=')}.{of(r, URL_SAFE, 6)}"
        f".{of(r, URL_SAFE, 38)}"
    ),
    "stripe": lambda r: r.choice(["sk", "rk"]) + "_live_" + of(r, ALNUM, r.choice([24, 99])),
    "stripe hook": lambda r: "wh" + "sec_" + of(r, ALNUM, 32),
    "google": lambda r: "AI" + "za" + of(r, URL_SAFE, 35),
    "google client": lambda r: "GOC" + "SPX-" + of(r, URL_SAFE, 28),
    "openai": lambda r: "sk-" + "proj-" + of(r, URL_SAFE, 74) + "T3Blbk" + "FJ" + of(r, URL_SAFE, 74),
    "openai old": lambda r: "s" + "k-" + of(r, ALNUM, 20) + "T3Blbk" + "FJ" + of(r, ALNUM, 20),
    "anthropic": lambda r: "sk-" + "ant-api03-" + of(r, URL_SAFE, 93) + "AA",
    "hugging face": lambda r: "h" + "f_" + of(r, UPPER + LOWER, 34),
    "npm": lambda r: "np" + "m_" + of(r, ALNUM, 36),
    "pypi": lambda r: "py" + "pi-AgEIcHlwaS5vcmc" + of(r, URL_SAFE, 140),
    "azure storage": lambda r: "DefaultEndpointsProtocol=https;AccountName=shop;Account" + "Key=" + b64(r, 64),
    "digital ocean": lambda r: "dop" + "_v1_" + of(r, HEX, 64),
    "twilio": lambda r: "S" + "K" + of(r, HEX, 32),
    "sendgrid": lambda r: "S" + "G." + of(r, URL_SAFE, 22) + "." + of(r, URL_SAFE, 43),
    "telegram": lambda r: f"{r.randint(10**9, 10**10 - 1)}:A" + "A" + of(r, URL_SAFE, 33),
    "shopify": lambda r: "shp" + "at_" + of(r, HEX, 32),
    "square": lambda r: "sq0" + "atp-" + of(r, URL_SAFE, 22),
    "mailgun": lambda r: "ke" + "y-" + of(r, HEX, 32),
    "mailchimp": lambda r: of(r, HEX, 32) + f"-us{r.randint(1, 21)}",
    "heroku": lambda r: f"HEROKU_API_KEY={an_id(r)}",
    "vault": lambda r: "hv" + "s." + of(r, URL_SAFE, 92),
    "age": lambda r: "AGE-SECRET" + "-KEY-1" + of(r, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "rsa key": pem("RSA "),
    "ssh key": pem("OPENSSH "),
    "pkcs8 key": pem(""),
    "jwt": jwt,
    "postgres": lambda r: f"postgresql://{word(r)}:{password(r).replace('#', '-')}@db.internal:5432/{word(r)}",
    "mongo": lambda r: f"mongodb+srv://{word(r)}:{of(r, ALNUM, 16)}@cluster0.{of(r, LOWER, 5)}.mongodb.net/{word(r)}",
    "redis": lambda r: f"redis://:{of(r, ALNUM, 20)}@cache:6379/0",
    "url": lambda r: f"https://{word(r)}:{of(r, ALNUM, 20)}@git.internal/{word(r)}.git",
    "basic": lambda r: "Authorization: Basic " + base64.b64encode(f"{word(r)}:{password(r)}".encode()).decode(),
    "bearer": lambda r: "Authorization: Bearer " + of(r, ALNUM, 40),
    "netrc": lambda r: f"machine api.internal login {word(r)} password {password(r)}",
    "docker": lambda r: f'"auth": "{base64.b64encode(f"{word(r)}:{password(r)}".encode()).decode()}"',
    "kubeconfig": lambda r: f"    client-key-data: {b64(r, 600)}",
    "databricks": lambda r: "da" + "pi" + of(r, HEX, 32),
    "linear": lambda r: "lin" + "_api_" + of(r, ALNUM, 40),
    "notion": lambda r: "nt" + "n_" + of(r, DIGITS, 11) + of(r, ALNUM, 35),
    "grafana": lambda r: "gl" + "sa_" + of(r, ALNUM, 32) + "_" + of(r, HEX, 8),
    "postman": lambda r: "PM" + "AK-" + of(r, HEX, 24) + "-" + of(r, HEX, 34),
    "new relic": lambda r: "NR" + "AK-" + of(r, UPPER + DIGITS, 27),
    "atlassian": lambda r: "ATA" + "TT3" + of(r, URL_SAFE, 180) + "=" + of(r, "0123456789ABCDEF", 8),
    "docker hub": lambda r: "dckr" + "_pat_" + of(r, URL_SAFE, 27),
    "assigned": lambda r: f"{r.choice(['DB_PASSWORD', 'password', 'admin_pwd'])}{r.choice(['=', ': '])}{password(r)}",
    "client secret": lambda r: f"client_secret: {of(r, ALNUM, 32)}",
    "api key": lambda r: f'X-Api-Key: "{of(r, HEX, 32)}"',
    "sentence": lambda r: f"the password of the {word(r)} box is {password(r)}",
    "chinese": lambda r: f"{r.choice(['数据库密码是', '路由器口令：', '后台登录密码为 '])}{password(r)}",
    "card": lambda r: f"the company card is {card(r)}",
    "chinese id": lambda r: f"身份证号 {chinese_id(r)}",
    "iban": lambda r: f"refunds go to {iban(r)}",
    "ssn": lambda r: f"SSN {r.randint(100, 665)}-{r.randint(10, 99)}-{r.randint(1000, 9999)}",
    "mobile": lambda r: f"手机号：{mobile(r)}",
    "phone": lambda r: f"phone +44 20 {r.randint(1000, 9999)} {r.randint(1000, 9999)}",
}


def secrets(seed: int, each: int) -> list[tuple[str, str]]:
    """(kind, text) of so many of each kind."""
    r = random.Random(seed)
    return [(kind, make(r)) for kind, make in KINDS.items() for _ in range(each)]
