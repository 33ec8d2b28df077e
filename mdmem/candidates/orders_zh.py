"""A Chinese sentence in, the lasting order in it out: 永远不要, 以后, 必须, 一律."""

from __future__ import annotations

import re

from mdmem.candidates.orders_en import LIKELY, SURE, WEAK, Order
from mdmem.candidates.own_words import QUOTED
from mdmem.document.han import simple_characters


def _any(words: str) -> str:
    return "|".join(words.split())


_LEAD = re.compile(
    "(?:"
    + _any("另外 还有 并且 而且 但是 但 不过 请 麻烦 拜托 注意 记住 对了 好的 好 嗯 那 然后 最后 重要")
    + r"|提醒一下|你|您|大家|[，,：:、\s])*"
)
QUESTION = re.compile(
    r"[?？]|[吗呢嘛么](?:[。！!，,\s]|\Z)|哪[个里些]|"
    + _any("为什么 为啥 怎么 是不是 能不能 要不要 会不会 可不可以 有没有 是否 难道 什么时候 多少")
)
# 规则：…, 定个规矩：…: whatever follows is meant to last.
_RULE = re.compile(
    r"(?:另外|还有|再|那|我们|咱们|给你|加|定|立|有|一|个|条|项|新|的|团队|项目)*(?:规则|规矩|约定|规定|原则"
    r"|惯例)[^，。:：]{0,6}[:：]\s*"
    r"|[^，。:：]{0,8}(?:再说一遍|强调一下|说个规矩|定个规矩|惯例是)[:：，,]?\s*"
)
# What says that something is meant to last, or for everything; and what makes an order of it.
_MARK = re.compile(
    r"统一|长期有效|每次都|不限于这次|不只这一次|任何时候|以后都不要|以后也|今后[^，。]{0,8}也|一直(?:用|遵守|保持)"
    r"|都保持|整个(?:项目|仓库)|所有(?:服务|项目|仓库|接口)"
    r"|(?:公司|团队|项目|仓库)(?:里|中|内|的)?[^，。]{0,6}(?:不|只|都|惯例|统一)|永远由|全部(?:用|要)|惯例"
)
_DIRECT = re.compile(r"不允许|不准|不得|不用|别|不要|都?要|用|必须|只|不能|由|保持|遵守|写")
# 以后 inside of a sentence: 单个文件以后都别超过 500 行.
_LASTING_INSIDE = re.compile(
    r"[^，。]{1,10}(?:以后|今后|往后)(?:[都也](?!不?会|没|不是|能|可以|行|好)|一律|别|不要|不准|必须|统一|全部|只)"
)
# "…，以后都用 x": the second half is the order.
CUE = re.compile(r"[，,；;]\s*(?=[^，,。]{0,8}(?:以后|今后|往后|从现在起|顺便|规矩|另外|还有))")
_ONE_OFF = re.compile(
    r"这个(?:文件|分支|任务|PR|函数|改动|问题|提交)|"
    + _any(
        "这次 这一次 本次 今天 今晚 明天 现在 目前 暂时 临时 先不要 先别 等一下 等会 待会 马上 刚才 刚刚 这段 这里 那个"
    )
    + "|"
    + _any("再说 再看 再弄 再改 再加 再考虑 再做")
)
_NOT_ONCE = re.compile(r"不(?:限于|只|光|仅)(?:是)?(?:这次|这一次|本次|今天)")
# Told, guessed or described, not asked for.
_STORY = re.compile(
    r"(?:他|她|它|有人|同事|老板|客户|文档|报错|日志|提示|系统|编译器)[^，。]{0,6}(?:说|提示|显示|写着|写了|里写"
    r"|要求|报)"
    r"|[，,。]\s*(?:帮我|快|请|按这个|照此|照这个)[^，。]{0,6}(?:修改|实现|实作|改|写|处理|调整|补)"
    r"|[，,。；]\s*(?:请|所以|就|帮我|麻烦)?[^，。]{0,16}(?:实现|做出来|做一下|加上|加个|加一[个条]|改一下|迁移过去"
    r"|查一下|补上)"
    r"|[，,]\s*改 ?[\w./]+|在 ?[\w .-]+ ?里(?:实现|加|改|处理)"
    r"|必须是[^要]|了一下?$|禁止[^，。]{1,6}的[^，。]{1,6}(?:返回|显示|是|会|报|跳|变)"
    r"|[，,。]\s*(?:帮我|快|请)?(?:查|看|修|改|优化|处理|解决|排查)(?:一下|看|下|查)|"
    + _any("原来 好像 应该是 可能 估计 据说 看起来 似乎 居然 竟然 怪不得 之前总 才能 一直没")
)
_TASK = re.compile(
    _any("给 帮 把 加 添加 新增 增加 实现 写个 写一个 做个 做一个 弄 改成 修 设计 支持")
)  # what is to be built
_STRONG = re.compile(
    r"永远(?:不要|别|不能|不准|不许|不得|不)|绝对(?:不要|别|不能|不准|不许|不可)|绝不|千万(?:不要|别|不能)|"
    + _any("严禁 禁止 一律 不准 不许 不得 坚决不")
)
_LASTING = re.compile(r"(?:以后|今后|往后|从现在起|从现在开始|从今以后|从今天起|从今往后|从此)[都就也请，,\s]*")
_LATER = re.compile(  # "以后" as "later", or as "since then"
    r"就(?:能|会|可以|好)|的|出|没|报|还|想|再|不(?:会|用|能|行|再)|"
    + _any("可能 会 应该 能 可以 有时间 有空 也许 大概 打算")
)
_MUST = re.compile(
    r"必须|务必|一定要|都[要得](?!等|花|挂|崩|报|失败|卡|死|疯)|始终|总是要|每次[^，。]{1,20}[都要先必]"
    r"|(?:每个|所有|任何)[^，。]{1,20}(?:都要|必须|都得|不能|不要)"
)
_OF_SOMEBODY = re.compile(r"我(?!们)|这|那|它|他")
_BARE = re.compile(rf"不要|勿|别(?!{_any('的 人 名 处 墅 急 担心 怕 慌 忘 管 客气 闹 提 扯 逗 着急 太')})")
_IDLE = re.compile(_any("紧 用 客气 好意思 急 担心 怕 慌 管它 管这 错 一样 行 过 然 同 是 对 够 了"))


def order(sentence: str) -> Order | None:
    plain = simple_characters(sentence)  # as long: what is found in it stands at the same place in the sentence
    named = _RULE.match(plain)
    lead = _LEAD.match(plain, named.end() if named else 0)
    start = lead.end() if lead else 0
    body = plain[start:].strip()
    if not body or QUOTED in body or QUESTION.search(body) or _STORY.search(body) or _TASK.match(body):
        return None
    if _ONE_OFF.search(_NOT_ONCE.sub("", _LASTING.sub("", body))):
        return None
    confidence = _confidence(body) or (LIKELY if named and len(body) >= 5 else 0.0)
    first = re.split(r"[，,。；;：:（(]", body, maxsplit=1)[0]
    return Order(sentence[start:].strip(), first if len(first) >= 5 else body, confidence) if confidence else None


def _confidence(body: str) -> float:
    if lasting := _LASTING.match(body):
        rest = body[lasting.end() :]
        return SURE if len(rest) >= 3 and not _LATER.match(rest) else 0.0
    if _STRONG.search(body) or _LASTING_INSIDE.match(body):
        return SURE
    if found := _MUST.search(body):
        return LIKELY if len(body) - found.end() >= 2 and not _OF_SOMEBODY.match(body) else 0.0
    if found := _BARE.match(body):
        rest = body[found.end() :]
        weak = WEAK if len(rest) >= 3 and not _IDLE.match(rest) and not _POINTING.search(rest) else 0.0
        return LIKELY if weak and _MARK.search(body) else weak
    return LIKELY if _MARK.search(body) and _DIRECT.search(body) and not _OF_SOMEBODY.match(body) else 0.0


_POINTING = re.compile(r"这|那|它")
