"""A Chinese text in, one spelling of it out: simplified, with one word for what has two."""

from __future__ import annotations

import re

from mdmem.document.han import simple_characters

_TERMS = {
    "您": "你",
    "登入": "登录",
    "存取": "访问",
    "使用者": "用户",
    "连线": "连接",
    "金钥": "密钥",
    "凭据": "凭证",
    "帐号": "账号",
    "丛集": "集群",
    "伺服器": "服务器",
    "资料库": "数据库",
    "主控台": "控制台",
}
_TERM = re.compile("|".join(_TERMS))


def simplified(text: str) -> str:
    """Lower case, simplified. No longer than the text, but perhaps shorter."""
    return _TERM.sub(lambda term: _TERMS[term[0]], simple_characters(text).lower())
