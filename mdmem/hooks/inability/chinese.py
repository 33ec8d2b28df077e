"""A Chinese sentence in, simplified or traditional, perhaps with English words in it; the signs of its clauses out.

Chinese leaves its subject out where it is plain: in a closing message that is the assistant, unless a person or a piece
of code stands before the words of inability.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mdmem.hooks.inability.han import simplified
from mdmem.hooks.inability.signs import Sign


def _any(words: str) -> str:
    return "|".join(sorted(words.split(), key=len, reverse=True))


_SPLIT = re.compile(
    r"[,，;；:：()（）—–、]+|(?:(?<=[^\s])(?=(?:但是|但|不过|所以|因此|因而|导致|故而|于是|然后|后来|而且|并且)))"
)

# --- who ------------------------------------------------------------------------------------------------------

_OPENER = (
    "抱歉 很抱歉 对不起 不好意思 遗憾 很遗憾 可惜 但是 但 不过 所以 因此 因而 因为 由于 导致 故而 而且 并且 而 且 "
    "也 都 还 仍 仍然 目前 当前 现在 暂时 暂 "
    "这里 这边 此处 本地 于是 然后 又 就 只是 其实 实在 恐怕 确实 的确 尚 依然 并 同时 另外 此外 结果 以及 和 故 "
    "则 却 一直 根本 完全 很 也就 说明 状态 在"
)
_OPENERS = re.compile(rf"^(?:(?:{_any(_OPENER)})\s*)+")
_SPEAKER = re.compile(
    r"我(?!们的?(?:客户|用户))|本机|本环境|这个 ?(?:网络|shell|terminal|session|容器|机器|环境|会话|终端|系统|主机)"
    r"|这边"
    r"|这里|这台|此环境|当前(?:的)?(?:环境|会话|账号|账户|沙箱|机器|终端"
    r"|权限)|沙箱|沙盒|sandbox|环境(?:里|中|变量|没|无)|该环境|本会话|终端里|会话(?:里|中|没)"
)
_PEOPLE = (
    r"用户|客户|成员|游客|访客|普通|大家|他们|她|他|你(?!的)|谁|任何人|人员|管理员|查看者|编辑者|所有者|代理|同事"
    r"|客服|贡献者|员工|店员|店长|财务|学生|顾客|买家|卖家|玩家|读者|患者|居民|旅客|开发者|攻击者|黑客|操作员|仓管"
)
_OTHERS = re.compile(
    rf"{_PEOPLE}|"
    r"函数|方法|解析器|代码|组件|接口|字段|请求|测试用例|按钮|"
    r"runner|api(?! ?(?:token|key|密钥))|parser|handler|user|client|request|middleware|函式|程序|脚本|线程|进程|对象"
    r"|变量|类型|编译器|模块"
    r"|worker|方案|插件|fork|构建机|负载均衡|节点|网关|机器人(?!的)|会议室|测试员|传感器|库(?!存)|查询|语句|规则"
    r"|同事|客服|版本|写法|pod|旧|新代码|系统设计|浏览器会|服务会|它"
)
_SUBJECT = re.compile(rf"^[^,，。]{{0,8}}?(?:的|^)(?:{_PEOPLE})")
_REPORTED = re.compile(
    r"日志|打印|提示|显示|报错信息|写着|反馈|列出|列了|写了一[份篇节]|记录了|描述|返回 ?[\"“`\ufffc\ufffd]|抛出"
    r"|意味着|说明了|介绍|(?:加|写|补|补充)了?[^,，。]{0,12}[一章小]节|(?:readme|文档|注释"
    r"|changelog)[^,，。]{0,6}(?:加|写|补|注明)"
)

# --- what can't be done ---------------------------------------------------------------------------------------

_CANNOT = re.compile(
    r"(?:无法|没法|没有办法|没办法|无从|不可以|不可能|不能够|不能|没能够|没能|未能|不具备|无权|不允许我|不让我"
    r"|没有能力|没有?条件|没有途径|没有可以|没有可用|没有渠道|不被允许|超出)"
)
_RULE = re.compile(r"^不(?:能|可以|可能)$")  # nobody can, or may: `main is protected, it can't be pushed to`
_COMPLEMENT = re.compile(
    r"(?<![好大少])[\u4e00-\u9fffa-z] ?(?:不了(?!解)|不上(?!线)|不到(?!位)|不进去?|不开|不下来|不下去|不起来|不动"
    r"|不出去"
    r"|不过去|不成|不出来|不通|不着)|[看听]不见|[进上过]不去|起不来|做不到|办不到|搞不定|行不通|(?:没有?|没)(?:做成"
    r"|弄成"
    r"|建成|加成"
    r"|[推传提登]上去|发出去"
    r"|跑起来|连上)"
)
_CUT_OFF = re.compile(r"[连登录] ?不|[进上]不去")
_NO_COMPLEMENT = re.compile(
    r"看不出|[判推]断不|分辨不|区分不|确定不|分不清|[复重再]现不|[来去]不了|说不出|想不到|想不出|忍不住|离不开"
    r"|少不了|免不了|受不了|用不了多|用不着|差不了|大不了"
    r"|对不上|谈不上|比不上|算不上|意想不到|找不出|感受不到|用不到|分不开|错不了|找不到(?:任何)?(?:问题|错误|理由"
    r"|bug)"
)
_DEEDS = re.compile(
    _any(
        """
        部署 发布 推送 上传 下载 访问 连接 连 登录 登 打开 执行 运行 跑 安装 装 写入 写 读取 读 获取 拉取 拉 抓 更新
        升级 重启 启动 停止 删除 创建 新建 添加 修改 设置 配置
        提交 合并 发送 发 通知 联系 付款 支付 下单 购买 操作 代劳 代 替 帮 完成 继续 进行 做 处理 验证 核对 确认
        检查 查看 看 测试 试 测 构建 编译 打包 签名 签 烧录 刷 接触
        同步 迁移 备份 恢复 回滚 触发 调用 申请 授权 截图 点击 点 扫 输入 填写 注册 接入 挂载 解锁 应用 落地 上线
        rollout push deploy publish apply merge login run build access 直接 自动
        在 从 为 对 给 把 将 通过 使用 用 到 向 与 和 去 亲自 远程 实际 真正 在此 自行 独立 开通 拨打 打印 调试 监控
        远端 push commit 转账 预约 取消 订 移动 改 建 加 传 关闭
        """
    )
)
_HARMLESS = re.compile(
    r"^(?:再|就|够|轻易|完全|百分之百|百分百|简单|一概|说)?(?:"
    + _any(
        """
        保证 推荐 建议 复现 重现 想象 同意 忍 确定 断言 确保 排除 接受 忽视 忽略 理解 判断 发现 丢 替代 区分
        再让 让它 让其 崩溃 低估 小看 否认 说 算 被 多 再 撤回 撤销 逆 帮你编写 帮你写 帮助你绕 协助你 提供
        编写恶意 昧着 预测 承诺 苟同 一概而论 两全 自己写入 更 只 不 相信 容忍 看出 透露 评论 评价 代表 解释
        替你决定 帮你决定 替你选 替你做主 替你判断 决定
        复述 想出 认同 赞同 妄下 下结论 量化 预判 预知 预料 忘 错过 否定 草率 责怪 支持
        """
    )
    + r")"
)
_CODING = re.compile(
    r"^(?:直接|再|简单)?(?:继续|开始|往下|推进|用 ?[a-z\ufffc]|改成|改为|换成|写成|省略|去掉|合并成"
    r"|拆|复用|继承|内联)"
)
_NAMED = re.compile(
    r"的(?:问题|错误|故障|缺陷|情况|现象|bug|用户|客户|请求|场景)"
)  # `the problem that one can't log in`
_PRINCIPLE = re.compile(r"恶意|绕过|破解|攻击|违法|侵权|作弊|盗|校验这|许可证检查|系统提示词|违规|有害|诈骗")

# --- what is missing ------------------------------------------------------------------------------------------

_THINGS = _any(
    """
    权限 凭证 密钥 私钥 公钥 令牌 账号 账户 密码 口令 网络 外网 内网 联网 授权 登录 登录态 访问 证书 工具 浏览器
    图形界面 界面 显示器 环境变量 设备 硬件 连接 通道 角色 白名单 会员 余额 配额
    token tokens key keys access permission permissions credentials credential secret secrets network vpn ssh sudo
    root kubeconfig api_key api docker kubectl helm gpu smtp webhook password
    account login role license licence display browser xcode keystore sso mac 能力 办法 途径 资格 手机 验证码 摄像头
    scope 磁盘 空间 权杖 串口 打印机 编译器 工具链 客户端 插件 接口权限 入口 后台 vpn 代理 管理员
    """
)
_NOT_HAVE = (
    r"(?:没有|没(?![法能想])|缺少|缺乏|缺失|缺|无(?!法)|未配置|没配置|没有配置|未找到|没有找到|没找到|找不到"
    r"|拿不到|未提供"
    r"|没提供"
    r"|没有提供|未设置|没有设置|没设置|不知道|不具备|未获得|没有获得|没拿到|未安装|没安装|没有安装|没装)"
)
_LACK = re.compile(
    rf"{_NOT_HAVE}(?!有?(?:传|带|加|改动|修改|变更|缺失|失败|过期|多余|泄露|泄漏|任何缺|问题|发现|必要|关系|影响|遗留"
    rf"|变化))[^,，。;；]{{0,14}}?(?:(?:{_THINGS})(?!控制|校验|检查|策略|管理|体系|模型|设计|点)"
    rf"|[a-z][a-z0-9_]*_(?:token|key|secret|password)\w*)"
    rf"|(?:{_THINGS})[^,，。]{{0,6}}?(?:缺失|不足|没有|未配置|无效|为空|是空的|停用|冻结|锁定|满|用完|用尽|耗尽|超限"
    rf"|过期|不可用"
    rf"|失效|不够|受限|不存在|还没有"
    rf"|没给|没配|没连|没通|断了|不通|未开通|我这里没有|我没有|不在)"
    r"|(?:未|没有|没|尚未|还没|并未|未曾)(?:被)?(?:登录|分享|启用|批准|认证|接入|接(?!口|受|到)|注入|暴露|共享"
    r"|下发|挂载"
    r"|授权"
    r"|连接|接入"
    r"|开通|安装|装|sign ?in|login|logged in"
    r"|配对|绑定|联网|install)"
    r"|没有?(?:这个|这种|此|该|相应的?|对应的?)?(?:条件|环境)(?:$|[,，。])|权限不足|权限不够|断网"
    r"|(?<!支持)离线(?!时|模式|支持|包|缓存|记|工作|使用|可用|运行)|不能上外网|不能联网|上不了网|不允许(?:访问|连接"
    r"|外网|中继|写入|执行|联网)"
)
_NOTHING_WRONG = re.compile(
    r"没有?(?:任何|其他|一个|发现)?(?:缺失|失败|过期|多余|泄露|泄漏|遗漏|遗留|问题|异常|报错"
    r"|拒绝|超时|阻塞|冲突|中断|限流)"
)
_NONE = re.compile(r"^没有[\u4e00-\u9fff]{2}")
_TOOL_LACK = re.compile(
    r"(?:没有|没装|缺少|缺|未安装|没有安装)\s*[a-z\ufffc][\w.\-]*|(?:环境|这里|这边)[^,，。]{0,8}没(?:有|配|装)$"
    r"|[里中]也?没有$"
)
_BARRED = re.compile(
    r"(?:沙箱|沙盒|环境|权限|sandbox|策略|防火墙|网络|安全组)[^,，。]{0,8}(?:限制|禁止|拦截|阻止|挡|受限|拒绝|不允许"
    r"|不让|不许)"
    r"|受限于|受制于|受到?限制|被(?:关闭|关掉|切断|阻断|隔离|断开)|被封|被禁用|被禁止|被[^,，。]{0,12}(?:拦|挡|屏蔽"
    r"|封)|被拒|被屏蔽|被挡|拒绝了?我"
    r"|是 ?(?:只读|read-?only)|我的?[^,，。]{0,6}(?:角色|账号|token|key|用户)只(?:能|有|允许)|对我(?:不可见|隐藏"
    r"|不开放)|只能用于|(?:系统|目录|磁盘|盘)是?只读|只读权限"
    r"|只有?(?:只读|查看|浏览|访客|viewer|reporter)|只有读|只能(?:读|看|查看|浏览)|一直拦|一直拒|总是拒"
)
_DENIED = re.compile(
    r"(?:域名|外部|主机|dns|服务器|远程|internal)[^,，。]{0,10}(?:解析|访问|连|ping)[^,，。]{0,2}不|解析不了"
    r"|只有[^,，。]{1,16}才(?:能|可以)|要走 ?vpn|要 ?[^,，。]{0,8}(?:token|sso|verification|login|password|验证)"
    r"|未找到命令|我(?:这里|这边|手上|手头)只有|^(?:但|却)?还?没有?配置$|unreachable|connection refused|auth\w* failed"
    r"|not accessible|(?:not"
    r"|n't) permitted|network is unreachable"
    r"|eacces|eperm|环境限制|加密压缩|密码保护"
    r"|(?:这里|这台|本机|环境)(?:机器)?是 ?(?:linux|mac|windows|arm)|[\ufffca-z_]{2,} ?(?:没有|没|未)(?:被)?(?:设置"
    r"|配置|提供)|command not found|(?:返回|报|报错|提示)? ?\b(?:401|403)\b|permission denied|access denied"
    r"|forbidden|unauthorized|拒绝|超时|需要[^,，。]{0,16}(?:权限|登录|验证码|密码|密钥|授权|凭证|扫码|xcode|账号)"
    r"|必须用|被拒|在 ?(?:sso|vpn|proxy|代理|防火墙) ?后面|人机验证|no permission|expired|not (?:logged|signed) in"
    r"|unauthenticated|invalid token|could not resolve"
)
_ELLIPSIS = re.compile(
    r"^我(?:这边|这里)?(?:[一两二三]个)?(?:也|又|都|全)?(?:不知道|不是|没有|没|不在|拿不到|给不了|不具备|没拿到)$"
    rf"|^我[^,，。]{{1,10}}没有$|(?:{_THINGS})我(?:也|都|又|并)?(?:不知道|不知晓|不掌握|没有|拿不到)$|(?:不|没)在我(?:手里|手上|这里|这边)"
    r"|只给(?:了)?我[^,，。]{0,4}(?:读|查看|只读|浏览)"
)
# `the certificate is with the cashier`: whoever holds it, it isn't the assistant.
_HELD_BY_OTHERS = re.compile(rf"(?:{_THINGS})(?:都|也)?在(?!我|你(?!们))[^,，。]{{1,10}}(?:手里|手上|那里|那儿|保管)")
_OUTSIDER = re.compile(
    r"我[^,，。]{0,8}是个?(?:普通|匿名|访客|受限)|我[^,，。]{0,10}不是 ?(?:root|管理员|所有者"
    r"|成员|owner|admin|member)"
)
_ALL_THE_SAME = re.compile(r"[^,，。]{0,4}?(?:也|就|还是|仍|照样)(?:能|可以|会)")
_ATTRIBUTE = re.compile(rf"^(?!你)[^,，。]{{0,8}}?的(?!话|原因|缘故|情况下我|(?:{_THINGS}))")

# --- what was left undone, and who is to do it ------------------------------------------------------------------

_UNDONE = re.compile(
    r"(?:没有|没|未|尚未|还没有|还没|没能|未能|并未|仍未|一个都没有)(?:再|被|能|去|实际|真正"
    r"|全部){0,2}(?:在[^,，。]{1,10})?(?:测|试|抓|下载|下来|拉|装"
    r"|查|签|付|买|寄|印|刷|录|拍|填|删|动|上|连|执行|跑|部署|发布|更新|完成|提交|推送|推|创建|上传|传|发出|发送|发"
    r"|核对|验证|改|做|运行|测试|应用|生效|成功|开始|合并|构建|安装|上线|启动|写入|恢复|同步|建|加|做成|看|编译|打包"
    r"|订|续|迁移"
    r"|上传成功|push|deploy|merge|run|publish)"
    r"|(?<!\d)(?<!\d )(?<!个)失败(?!的?原因|是因为|是由于|后|时|的)|停在|卡在|卡住|受阻|作罢|搁置|占位|只在 ?local"
    r"|只存在本地|只在本地|只 ?commit ?在本地|还只是|未完成|没完成|待完成"
    r"|还 ?open|先不做|只[用在靠][^,，。]{1,12}(?:测|跑|验证|看)过|(?<![络务电接])中断(?!:)|放弃|(?<!\d)(?<!\d )跳过"
    r"|(?:克隆|推送|上传|登录|拉取|写入|合并|提交|clone|push|merge)(?:请求)?被拒"
)
_HANDOVER = re.compile(
    r"(?:需要|需|请|麻烦|只能|得|必须|还得|烦请|劳烦|要|只好|等)[^,，。]{0,12}(?:自己|手动|本人|亲自|自行|人工|代为)"
    r"|(?:需要|得|只能|必须|还得|麻烦|得麻烦|请)(?:由)?(?:你|有[^,，。]{0,10}权限的|管理员)[^,，。]{0,10}(?:来|去"
    r"|协助|操作|执行|合并|添加|开放|处理|点|apply|push|merge|部署|发布|登录后)"
)
_ASKS = re.compile(r"(?:请|麻烦|能否)[^,，。]{0,6}(?:共享|分享|授权|开通|开放)[^,，。]{0,6}给?我")
_NOT_HANDED = re.compile(r"每次|每当|[改做]完|不需要|无需|不用|不必|不再|避免|不得|之前需要|原来|以前|以往")

# --- what undoes it ---------------------------------------------------------------------------------------------

_DONE = re.compile(
    r"(?:已|已经|都|全部|成功|顺利|重新|最终|终于)(?:了)?[^,，。没未不]{0,6}?(?:部署|推送|发布|上传|完成|解决|修复"
    r"|修好|连上|重启|恢复|成功|通过|扣款|上线|合并|改正|更正|安装|push|deploy|merge|publish|在仓库|生效|执行|就绪"
    r"|更新|登录|跑通|写入|迁移|好了)|(?:构建|测试|编译|校验|检查)(?:都|全部|已|已经)?通过"
)
# What went well beside what failed.
_ASIDE = re.compile(r"代码|其他|其余|其它|单元测试|编译|本地|草稿|文案|剩下|语法|静态检查")
_WENT_WELL = re.compile(
    r"我(?:就|便)?用[^,，。]{1,14}(?:连|查|做|跑|测|读|取|算|拉|装|编)(?:的|了|到|出)|现在 ?全?(?:green|ok|绿|好)"
    r"|后就?(?:好|正常|通过|恢复)"
    r"|改用|换了|换成|改成|绕过去"
    r"|绕开|装上|申请到|借助|(?:改为|用)[^,，。]{1,10}(?:解决|完成|核对|绕)"
    r"|通过[^,，。]{1,16}(?:核对|完成|验证|解决|拿到|确认)|成功(?:了)?$|(?:push|deploy|publish|merge"
    r"|build) ?(?:成功|好了|完成)|恢复正常|正常了|(?:修|签|搞|弄|装|连|跑|推|传)(?:好|定|上|通)(?:了|$)"
)
_EARLY = re.compile(
    r"一开始|刚开始|起初|开始时|原本|原先|最初|第一次|首次|之前|先前|本来|此前|早些时候|昨晚|昨天|上周|上次"
)
_THEN = re.compile(
    r"我(?:就|便)?用|后来|之后|以后|随后|改用|换了|换成|重新|最终|最后|于是|终于|装上|绕过|然后|好在"
    r"|幸好"
)
_BUT = re.compile(r"但|不过|现在|已经|所以|才")
_CONDITION = re.compile(
    r"^(?:而且|并且|但是|但|所以)?\s*(?:如果|若|如|假如|要是|一旦|万一|倘若|假设|只要|除非|即使|即便|哪怕|无论|不管"
    r"|当(?![前地天然]))"
)
_WHEN = re.compile(
    r"(?<![当及暂同临小超按实随届平到这那此])时(?=\s*[a-z\ufffc]|会|就|则|将|应|才|便|不|仍|也|只|自动|返回|抛|提示"
    r"|显示|报|$)|(?:的时候|的话|的情况下|时候)$"
)
_GIVEN = re.compile(
    r"^(?:没有|没|未|缺)[^,，。]{1,12}?(?:就|会|则|将|返回|抛|报 ?[\"\d]|提示)(?!没"
    r"|无)"
)  # `no key makes it exit`
_WISH = re.compile(r"如果你?(?:需要|想|要|愿意|希望|方便|同意|能|可以)|需要的话|除非|如需")
_CONCESSION = re.compile(r"^(?:虽然|虽|尽管|即使|即便|哪怕)")
_QUESTION = re.compile(r"[?？]\s*$|^(?:能不能|是不是|是否|为什么|为何|怎么|有没有|可不可以|要不要|难道)")
_THEN_ASKED = re.compile(r"[，,；;]\s*(?:请问|能不能|能否|可否|可不可以|要不要|是否|方便)[^，,；;]*[?？]\s*$")
_SCOPE = re.compile(
    r"你(?:只|说(?!的|请)|没让|没有让|没要求|要求(?!的))|不在[^,，。]{0,8}范围|按你的|等你(?:的)?(?:确认|批准|同意"
    r"|点头)|不属于"
    r"|先请你确认|你先看|按设计|设计如此|有意(?!思)|刻意|特意|故意|怎么办"
)
# The person does not want it done: to ask the assistant to try all the same would be wrong, whatever it could do.
_FORBIDDEN = re.compile(
    r"(?:你|您|用户)(?:之前|此前|刚才|刚刚|已经|已|曾经|曾|也|明确|特意)*(?:说过?|要求过?|交代过?|规定过?|吩咐过?"
    r"|告诉过?|叮嘱过?|强调过?|让|叫|希望)"
    r"[^。；]{0,12}?(?:不要|别|(?<!能)不能|不许|不准|不可以|禁止|先不|暂不|不得|勿)"
    r"|(?:你|您)(?:不让|不许|不允许|不希望|不想|禁止|没同意|没有同意|没批准|没有批准)|未经(?:你|您)|(?:违反"
    r"|违背)(?:了)?(?:你|您)"
    r"|(?:按|按照|根据|依照|遵照)(?:你|您)的(?:规定|规则|约定|偏好|反馈|规矩|要求)[^。；，,]{0,12}(?:不|别|禁止)"
)
# What was tried out, or found to be wrong: told of the work, not of what stopped it.
_TOLD = re.compile(
    r"[种个类](?:情况|情形|场景|用例)|覆盖|[补加增]了?[^,，。:：]{0,12}(?:测试|用例|校验|检查)|^根本?原?因"
    r"|发现[:：]$|%.*%"
    r"|^(?:已经?)?(?:修复|修正|支持|新增|增加|变更|优化|改进)|默认(?:会|拒绝|不|禁)|\breview\b|评审|走查|(?:现在"
    r"|改为|之后)会|模式|→"
)
_GOAL = re.compile(r"设计如此|预期行为|expected|已知限制|按设计|中间件|有意为之|这是规定|不再")


def signs(text: str) -> list[int]:
    """The signs of each clause, in order."""
    plain = simplified(text)
    if _QUESTION.search(plain.strip()) and not _THEN_ASKED.search(plain):
        return [Sign.VOID]
    if _FORBIDDEN.search(plain):
        return [Sign.VOID]
    found: list[int] = []
    hypothetical = False
    told = others = bool(_GOAL.search(plain) or _TOLD.search(plain))
    for clause in _clauses(plain):
        if _CONDITION.match(clause) or _WHEN.search(clause) or _GIVEN.match(clause):
            found.append(Sign.VOID)
            hypothetical = hypothetical or not _WISH.search(clause)
            continue
        sign = Sign.VOID if hypothetical else _read(clause, others)
        if told:
            sign &= ~(Sign.MAYBE | Sign.REASON | Sign.UNDONE)
        if _CONCESSION.match(clause) or _SCOPE.search(clause):
            sign |= Sign.VOID
        found.append(sign)
        others = told or _speaks_of_others(clause, others)
    return found


def _clauses(plain: str) -> Iterator[str]:
    return (clause for clause in (part.strip(" 。.!！…?？") for part in _SPLIT.split(plain)) if clause)


def _speaks_of_others(clause: str, before: bool) -> bool:
    if _SPEAKER.search(clause):
        return False
    return before or bool(_REPORTED.search(clause) or _SUBJECT.match(clause))


def _read(clause: str, others: bool) -> int:
    if _NOTHING_WRONG.search(clause):
        return Sign.NONE
    sign = _inability(clause, others) | _lack(clause, others)
    for what, pattern in ((Sign.UNDONE, _UNDONE), (Sign.EARLY, _EARLY), (Sign.THEN, _THEN), (Sign.BUT, _BUT)):
        if pattern.search(clause):
            sign |= what
    if not (_ASIDE.search(clause) or sign & (Sign.CANNOT | Sign.MAYBE)):
        sign |= (Sign.DONE if _DONE.search(clause) else sign) | (Sign.WORKED if _WENT_WELL.search(clause) else sign)
    if not _NOT_HANDED.search(clause):
        sign |= Sign.CANNOT if _ASKS.search(clause) else Sign.MAYBE if _HANDOVER.search(clause) else Sign.NONE
    return sign


def _who(before: str, clause: str, others: bool) -> bool | None:
    """True: the assistant; False: somebody or something else; None: not said, the clause begins with a thing."""
    if _SPEAKER.search(clause):
        return True
    rest = _OPENERS.sub("", before).strip()
    if others or _OTHERS.search(rest):
        return False
    return None if rest else True


def _inability(clause: str, others: bool) -> int:
    if found := _CANNOT.search(clause):
        before, after = clause[: found.start()], clause[found.end() :].strip()
        if _HARMLESS.match(after) or _PRINCIPLE.search(clause) or _NAMED.search(after):
            return Sign.NONE
        who = _who(before, clause, others)
        known = "我" in before or not after or found[0].endswith("能") or bool(_DEEDS.match(after))
        if _CODING.match(after) or (_RULE.search(found[0]) and not _SPEAKER.search(clause)):
            return Sign.MAYBE
        if who is None or not known:
            return Sign.MAYBE if who or (who is None and known) else Sign.NONE
        # Without a word of who it is, a reason has to stand near.
        return Sign.NONE if not who else Sign.CANNOT if _SPEAKER.search(clause) else Sign.MAYBE | Sign.BARE
    found = _COMPLEMENT.search(clause)
    if found is None or _NO_COMPLEMENT.search(clause):
        return Sign.NONE
    if clause.startswith("的", found.end()):
        return Sign.NONE
    who = _who(clause[: found.start()], clause, others)
    if who is False:
        return Sign.NONE
    return Sign.CANNOT if _SPEAKER.search(clause) else Sign.REASON if _CUT_OFF.search(found[0]) else Sign.MAYBE


def _lack(clause: str, others: bool) -> int:
    if _ELLIPSIS.search(clause) or _OUTSIDER.search(clause):
        return Sign.CANNOT
    found = _LACK.search(clause) or _TOOL_LACK.search(clause)
    if found is None:
        if _BARRED.search(clause):
            return Sign.CANNOT if _SPEAKER.search(clause) else Sign.REASON
        none = _NONE.search(_OPENERS.sub("", clause)) and not _UNDONE.search(clause)
        held = _HELD_BY_OTHERS.search(clause)
        return Sign.REASON if none or held or _DENIED.search(clause) else Sign.NONE
    before, after = clause[: found.start()], clause[found.end() :]
    named = _ATTRIBUTE.match(after) and not found[0].endswith("没有")
    if named or _ALL_THE_SAME.match(after) or re.search(r"泄露|泄漏|过期的|后顾|问题", clause):
        return Sign.NONE
    who = _who(before, clause, others)
    if who is False:
        return Sign.NONE
    return Sign.CANNOT if _SPEAKER.search(clause) else Sign.REASON | Sign.BARE if who else Sign.REASON
