"""Traditional Chinese characters in, the simplified ones out, each in its place."""

from __future__ import annotations

# Only what people and agents say to each other about work: access, failure, deeds, rules, and who does them.
_TRADITIONAL = (
    "沒無權憑證這邊個發環網絡連線執請動辦裡裝錄檔讀寫號碼進過還來為後從說問題訪開關錯確認試設備帳戶電腦雲臺機時間實體"
    "應該們會對將現場點擊協幫導勞業務標識許記讓統級組結構給繼續維護資質鑰鎖銷門閉閱雙難離項順預頁類顯驗麼據傳載測譯貼"
    "鏡叢專佈復觸購買帶選擇擋絕聯單誰獲採僅終種變庫滿擬簽產達煩親處滾郵倉審編遷遠術運訊轉觀壞壓鏈損遞規則範圍圖際輸紀"
    "誤總雜費銀餘額檢調註團隊須縮寫嚴慣約釋處風齊樣當習遵態產"
)
_SIMPLIFIED = (
    "没无权凭证这边个发环网络连线执请动办里装录档读写号码进过还来为后从说问题访开关错确认试设备账户电脑云台机时间实体"
    "应该们会对将现场点击协帮导劳业务标识许记让统级组结构给继续维护资质钥锁销门闭阅双难离项顺预页类显验么据传载测译贴"
    "镜丛专布复触购买带选择挡绝联单谁获采仅终种变库满拟签产达烦亲处滚邮仓审编迁远术运讯转观坏压链损递规则范围图际输纪"
    "误总杂费银余额检调注团队须缩写严惯约释处风齐样当习遵态产"
)
_SIMPLE = str.maketrans(_TRADITIONAL, _SIMPLIFIED)


def simple_characters(text: str) -> str:
    """As long as the text: a place in it is the same place in the text."""
    return text.translate(_SIMPLE)
