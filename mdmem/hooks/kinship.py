"""Two texts in, whether they are about the same deed or thing out: words, in English and Chinese, no model.

A memory is only worth an interruption where it is about what could not be done: it must share a thing of its own (a name,
a tool, a host), or a deed and a thing. That both speak of access, servers or failures makes no match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

# One name for what has several, in two languages. Deeds are what is done, things what it is done to; neither names one
# thing in the world, so none of them is enough alone.
_DEEDS = {
    "deploy": "deploy deployment redeploy rollout release ship 部署 上线 发版",
    "publish": "publish publishing 发布 发佈",
    "push": "push 推送",
    "pull": "pull clone fetch 拉取 克隆",
    "merge": "merge 合并",
    "migrate": "migrate migration backfill 迁移 回填",
    "send": "send mail-out 发送 发信 寄",
    "upload": "upload 上传",
    "download": "download 下载",
    "restart": "restart reboot reload 重启",
    "sign": "sign signing codesign notarize 签名",
    "pay": "pay payment checkout purchase buy 付款 支付 下单 购买",
    "flash": "flash 烧录",
    "restore": "restore backup 恢复 备份",
    "connect": "connect connection ssh 连接 连上 连不上 登上",
    "login": "login authenticate authenticated logged auth sso 登录 认证",
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
    "database": "database databases db postgres postgresql mysql 数据库 库 数仓 warehouse",
    "production": "production prod live 生产 线上 正式环境",
    "staging": "staging preprod 预发 测试环境",
    "server": "server servers host machine box vps 服务器 主机 机器 跳板机",
    "cluster": "cluster kubernetes k8s kubectl kubeconfig helm 集群",
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
    "token": "token tokens secret secrets key keys 令牌 密钥 私钥",
    "log": "log logs 日志",
    "firmware": "firmware board 固件 开发板",
    "store": "store testflight appstore 应用商店",
    "bucket": "bucket s3 storage 存储桶",
    "ticket": "ticket issue jira 工单",
    "calendar": "calendar meeting 日历 会议",
    "chat": "slack chat message 消息 群 企业微信 飞书 钉钉",
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
    a about able access account action admin after again all also always am an and any are as ask asks at available back be
    because been before being below blocked but by can cannot cant change changes check code command commands complete
    completed configured could couldn credential credentials current currently denied did didn directly do does doesn
    doing done don each else enough environment error every everything expired failed few file files finish first for
    forbidden from further get gets give go goes going got had has hasn have haven having help here how however i if
    in inside instead into is isn it its just keep know lack last left let like limited lets ll local locally look made
    make manual manually may me means might missing mode more most must my myself name necessary need needed needs never
    new next no none nor not note nothing now of off ok old on once one only open operation or order other our out over
    own part permission permissions please possible project proper provided re ready reach really remains remote required
    requires right rights role run running runs s same sandbox see session set shell should side since so some someone
    something soon start still step stop such sure system t take task terminal than that the their them then there
    therefore these they thing things this those through time to too tool tools tried try two unable under until up update
    updated us use used user uses using valid ve verify very via want was wasn way we were what when where whether which
    while who why will with within without won work working works would write yet you your yourself sorry unfortunately
    """.split()
)
_SAID_OF_ALL_ZH = re.compile(
    "没有办法|没办法|没有权限|没有|无法|没法|不能|没能|未能|权限|凭证|凭据|账号|密码|需要|自己|手动|执行|操作|访问|环境|沙箱|当前|目前|这边|我们|你们|抱歉|所以|因此|因为|由于|但是|不过|已经|"
    "可以|完成|失败|成功|帮你|麻烦|缺少|未登录|登录不了|不了|不上|不到|进行|使用|运行|这个|那个|这台|一下|怎么|什么|命令|工具|步骤|直接|请|我|你|它|把|给|在|的|了|是|有|和|与|及|也|都|还|就|到|从|用|对|去|来|做|上|下|里|为"
)
_NAMES = {word: name for group in (_DEEDS, _THINGS) for name, words in group.items() for word in words.split()}
_ZH_NAMES = re.compile("|".join(sorted((w for w in _NAMES if not w.isascii()), key=len, reverse=True)))
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)*|\d+(?:\.\d+)+")
_PARTS = re.compile(r"[-_.]")
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_ENDING = re.compile(r"(?:ments?|ations?|ings?|ers?|ed|es|s)$")
_SIMPLE = str.maketrans("佈資庫機發郵網頁連線簽憑證鏡倉審構編譯遷據戶帳號雲鑰傳", "布资库机发邮网页连线签凭证镜仓审构编译迁据户账号云钥传")


class Words(NamedTuple):
    """What a text speaks of: deeds and things by their one name, and words that name one thing in the world."""

    deeds: frozenset[str]
    things: frozenset[str]
    names: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.deeds | self.things | self.names


def words_of(text: str) -> Words:
    """The deeds, things and names of a text. Of Chinese that no table knows, pairs of characters count as names."""
    text = text.translate(_SIMPLE)
    found = [known or word for word in _latin(text) if (known := _NAMES.get(word)) or _says_something(word)]
    found += [_NAMES[word] for word in _ZH_NAMES.findall(text)]
    rest = _SAID_OF_ALL_ZH.sub(" ", _ZH_NAMES.sub(" ", text))
    found += [run[at : at + 2] for run in _HAN.findall(rest) for at in range(len(run) - 1)]
    words = frozenset(found)
    return Words(words & _DEEDS.keys(), words & _THINGS.keys(), words - _DEEDS.keys() - _THINGS.keys())


def _latin(text: str) -> Iterable[str]:
    """Words, folded and without endings; a joined one also by its parts."""
    for match in _WORD.findall(text):
        word = match.lower()
        parts = _PARTS.split(word)
        if parts[1:]:
            yield word
        for part in parts:
            yield part if part in _NAMES or part in _SAID_OF_ALL else _stem(part)


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


def kinship(said: Words, asked: Words, memory: Words, title: Words) -> int:
    """How much a memory has to do with what could not be done: 0 for nothing, more is more.

    `said` is of the sentence, `asked` of the person's prompt, `title` of the memory's key and name alone. A name counts
    2, a deed or a thing 1, and 2 are needed. What was asked counts only beside something that was said, unless that says
    nothing of its own (`No permission.`).
    """
    about = said if said.all else asked
    direct = about.all & memory.all
    if not direct:
        return 0
    shared = direct | (asked.all & memory.all)
    score = len(shared) + len(shared & memory.names)
    if score >= 2 and (len(shared) > 1 or shared & title.names):
        return score
    # A deed alone: enough where the memory is named by it and nothing says that it was another one's.
    others = (about.things | about.names | asked.names) - memory.all
    return 1 if direct & title.deeds and not others else 0
