"""Two texts in, whether they are about the same deed or thing out: words, in English and Chinese, no model.

A memory is only worth an interruption where it is about what could not be done: it must share a thing of its own (a
name,
a tool, a host), or a deed and a thing. That both speak of access, servers or failures makes no match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from mdmem.hooks.inability.han import simplified

# One name for what has several, in two languages. Deeds are what is done, things what it is done to; neither names one
# thing in the world, so none of them is enough alone.
_DEEDS = {
    "deploy": "deploy deployment redeploy rollout release ship 部署 上线 发版",
    "publish": "publish publishing 发布 发佈",
    "push": "push 推送",
    "pull": "pull clone fetch 拉取 克隆",
    "merge": "merge 合并",
    "migrate": "migrate migration backfill 迁移 回填",
    "send": "send sent sending deliver delivered 发送 发信 寄",
    "upload": "upload 上传",
    "download": "download 下载",
    "restart": "restart reboot reload 重启",
    "sign": "sign signing codesign notarize 签名",
    "pay": "pay payment checkout purchase buy 付款 支付 下单 购买",
    "flash": "flash 烧录",
    "restore": "restore backup 恢复 备份",
    "connect": "connect connection 连接",
    "query": "query select sql 查询",
    "build": "build compile 构建 编译 打包",
    "screenshot": "screenshot screenshots 截图 截屏",
    "print": "print printing 打印",
    "post": "post announce notify 通知 公告",
    "rotate": "rotate rotation 轮换",
    "submit": "submit 提交",
    "trigger": "trigger rerun 触发",
    "provision": "provision terraform 开通",
    "transcribe": "transcribe ocr 转写",
}
_THINGS = {
    "ssh": "ssh publickey",
    "secret": "secrets secret",
    "database": "database databases db postgres postgresql mysql 数据库 库 数仓 warehouse",
    "production": "production prod 生产 线上 正式环境",
    "staging": "staging preprod 预发 测试环境",
    "server": "server servers host vps 服务器 主机 跳板机",
    "cluster": "cluster kubernetes k8s kubectl kubeconfig helm pods 集群",
    "email": "email emails mail smtp newsletter 邮件 邮箱",
    "package": "package packages crate wheel 包",
    "registry": "registry 仓库 镜像仓库",
    "image": "image images docker 镜像",
    "browser": "browser headless chrome playwright 浏览器",
    "site": "site website page 网站 页面",
    "dashboard": "dashboard console panel 控制台 面板 仪表盘",
    "test": "test tests e2e 测试",
    "network": "network internet proxy 网络 外网 代理 联网",
    "vpn": "vpn",
    "log": "log logs 日志",
    "firmware": "firmware board 固件 开发板",
    "store": "store testflight appstore 应用商店",
    "bucket": "bucket s3 storage 存储桶",
    "ticket": "ticket issue jira 工单",
    "calendar": "calendar meeting 日历 会议",
    "chat": "slack chat message 消息 群",
    "wecom": "wecom 企业微信",
    "feishu": "feishu lark 飞书",
    "dingtalk": "dingtalk 钉钉",
    "sms": "sms 短信",
    "phone": "phone call 电话",
    "dns": "dns record domain 域名 解析",
    "pipeline": "pipeline ci workflow 流水线",
    "printer": "printer 打印机",
    "pr": "pr 拉取请求",
    "spreadsheet": "spreadsheet sheet sheets excel 表格",
    "video": "video ffmpeg 视频",
    "audio": "audio microphone speaker 音频 麦克风",
    "certificate": "certificate certificates tls 证书",
    "branch": "branch main 分支",
}
# Words of any inability, and of any sentence: that two texts share them says nothing.
_SAID_OF_ALL = frozenset(
    """
    a about able api url cli ui http https json id token tokens key keys login logged log-in auth authenticated
    authenticate sso password passwords machine box config container access account action admin after again all
    also always am an and any are as ask asks at available back be
    because been before being below blocked but by can cannot cant change changes check code command commands complete
    completed configured could couldn credential credentials current currently denied did didn directly do does doesn
    doing done don each else enough environment error every everything expired failed few file files finish first for
    forbidden from further get gets give go goes going got had has hasn have haven having help here how however i if
    in inside instead into is isn it its just keep know lack last left let like limited lets ll local locally look made
    make manual manually may me means might missing mode more most must my myself name necessary need needed needs never
    new next no none nor not note nothing now of off ok old on once one only open operation pass passes passed
    settings or order other our out over
    own part permission permissions please possible project proper provided re ready reach really remains remote
    required
    requires right rights role run running runs s same sandbox see session set shell should side since so some someone
    something soon start still step stop such sure system t take task terminal than that the their them then there
    therefore these they thing things this those through time to too tool tools tried try two unable under until up
    update
    updated us use used user uses using valid ve verify very via want was wasn way we were what when where whether which
    while who why will with within without won work working works would write yet you your yourself sorry unfortunately
    """.split()
)
_SAID_OF_ALL_ZH = re.compile(
    "没有办法|没办法|没有权限|没有|无法|没法|不能|没能|未能|权限|凭证|凭据|账号|密码|需要|自己|手动|执行|操作|访问"
    "|环境|沙箱|当前|目前|这边|我们|你们|抱歉|所以|因此|因为|由于|但是|不过|已经|"
    "可以|完成|失败|成功|帮你|麻烦|缺少|未登录|登录不了|不了|不上|不到|进行|使用|运行|这个|那个|这台|一下|怎么|什么"
    "|命令|工具|步骤|直接|请|我|你|它|把|给|在|的|了|是|有|和|与|及|也|都|还|就|到|从|用|对|去|来|做|上|下|里|为"
)
_NAMES = {word: name for group in (_DEEDS, _THINGS) for name, words in group.items() for word in words.split()}
_ZH_NAMES = re.compile("|".join(sorted((w for w in _NAMES if not w.isascii()), key=len, reverse=True)))
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)*|\d+(?:\.\d+)+")
_PATH = re.compile(r"(?<![\w.])~?/[\w./~-]+")
_PARTS = re.compile(r"[-_.]")
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_ENDING = re.compile(r"(?:ments?|ations?|ings?|ers?|ed|es|s)$")
# Tools that a table knows a thing by, and that are a name all the same.
_TOOLS = frozenset(
    "postgres postgresql mysql kubectl kubeconfig helm docker playwright chrome s3 testflight jira slack ffmpeg "
    "terraform smtp".split()
)


class Words(NamedTuple):
    """What a text speaks of: deeds and things by their one name; names, as they are written; any other words."""

    deeds: frozenset[str]
    things: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.deeds | self.things | self.names | self.words


class About(NamedTuple):
    """What a memory is about: all its words, those that only it may have, and what it is called by."""

    words: Words
    names: frozenset[str]
    title: frozenset[str]


def words_of(text: str) -> Words:
    """The deeds, things, names and words of a text. Of Chinese that no table knows, pairs of characters are words."""
    text = _PATH.sub(" ", text)
    known: set[str] = set()
    names: set[str] = set()
    words: set[str] = set()
    for match in _WORD.finditer(text):
        for word in _forms(match[0].lower()):
            if name := _NAMES.get(word):
                known.add(name)
            if word in _TOOLS or (not name and _says_something(word)):
                (names if word in _TOOLS or _is_name(text, match) else words).add(word)
    plain = simplified(text)
    known.update(_NAMES[word] for word in _ZH_NAMES.findall(plain))
    rest = _SAID_OF_ALL_ZH.sub(" ", _ZH_NAMES.sub(" ", plain))
    words.update(run[at : at + 2] for run in _HAN.findall(rest) for at in range(len(run) - 1))
    return Words(
        frozenset(known & _DEEDS.keys()), frozenset(known & _THINGS.keys()), frozenset(names), frozenset(words)
    )


def about(key: str, name: str, description: str, entities: Iterable[str]) -> About:
    """What a memory is about. It is called by its key, and by the deed that its name begins with."""
    keyed, told = words_of(key), words_of(f"{name}. {description}")
    first = words_of(name.split()[0] if name.isascii() and name.split() else name[:4]).deeds
    called = frozenset(entity.lower() for entity in entities)
    words = Words(*(a | b for a, b in zip(keyed, told, strict=True)))
    return About(
        words._replace(names=words.names | called),
        keyed.names | keyed.words | told.names | called,
        keyed.deeds | keyed.things | first,
    )


def _forms(word: str) -> Iterable[str]:
    """A word without its ending; a joined one also by its parts."""
    parts = _PARTS.split(word)
    if parts[1:]:
        yield word
    for part in parts:
        yield part if part in _NAMES or part in _SAID_OF_ALL else _stem(part)


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Whether a word is written as a name: with capitals, digits or signs inside, or a capital within a sentence."""
    word, before = match[0], text[: match.start()].rstrip(" `\"'(*")[-1:]
    if not word[1:].islower() and len(word) > 1:
        return True
    return word[0].isupper() and bool(before) and before not in ".!?:;\n-。！？：；#"


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    if len(stem) < 3:
        return word
    for full in (stem, f"{stem}e", stem[:-1] if stem[-1] == stem[-2] else stem):
        if full in _NAMES:
            return full
    return stem.removesuffix("e")


def _says_something(word: str) -> bool:
    return len(word) > 1 and word not in _SAID_OF_ALL and f"{word}e" not in _SAID_OF_ALL


def aliases(words: Words) -> list[str]:
    """Everything that the deeds and things are called, in both languages: to search with."""
    return [alias for name in sorted(words.deeds | words.things) for alias in (_DEEDS | _THINGS)[name].split()]


def kinship(said: Words, asked: Words, memory: About) -> int:
    """How much a memory has to do with what could not be done: 0 for nothing, more is more.

    `said` is of what the assistant said, `asked` of the person's prompt, which counts only beside something that was
    said. A name counts 2, a deed or a thing 1, other words together 1; 2 are needed.
    """
    direct, shared = said.all & memory.words.all, (said.all | asked.all) & memory.words.all
    if not direct:
        return 0
    known = shared & (memory.words.deeds | memory.words.things)
    names = (shared & memory.names) - known
    score = 2 * len(names) + len(known) + bool(shared - names - known)
    strange = _strange(said.names | asked.names, memory)
    if score >= 2 and (names or (known and not strange)):
        return score
    # One deed or thing alone: enough where the memory is called by it, and hardly anything else was said.
    more = said.things - memory.words.things
    alone = direct & memory.title & memory.words.deeds or not (said.deeds - memory.words.deeds or said.words)
    return 1 if direct & memory.title and alone and not (strange or more) else 0


def _strange(names: frozenset[str], memory: About) -> bool:
    """Whether something is named that the memory does not know: another product, perhaps. A variable's name is none."""
    return any("_" not in name and not {name, _NAMES.get(name)} & memory.words.all for name in names)
