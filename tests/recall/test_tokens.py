"""The estimate of tokens, against counts that real tokenizers gave."""

# ruff: noqa: E501  # measured texts stand as they were measured

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.recall.tokens import count_tokens

# (the greatest count of cl100k_base, o200k_base and Anthropic's published tokenizer, text), measured.
MEASURED = [
    (16, 'Answer first: conclusion before reasons. The user prefers short sentences and hates filler.'),
    (36, '- [capability] deploy:blyck: this machine can deploy directly; npm run dist, s3 cp, invalidate (verified, 2026-11-02)'),
    (28, 'def transaction(connection: Connection) -> Iterator[None]:\n    connection.execute("BEGIN IMMEDIATE")\n    try:\n        yield\n'),
    (30, '/usr/lib/python3.11/site-packages/mdmem/recall/__pycache__/block.cpython-311.pyc'),
    (33, 'https://github.com/anthropics/claude-code/issues/40216?utm=x&y=%20abc#L10-L20'),
    (38, '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9'),
    (55, '9bFlIkpYt5HfavHYMD5hzcS7hsPRxCcQPDRMQYnrLx571dR+RG/OwqPYEXNhEOV4G8zOppZ2LmEWxunJ'),
    (44, 'QRJZ5X5NGSIM6LTO2P43AUZTGQVKU36SKS3S3C5LNM5RGUMC7OGIVZGBKCAU75CW'),
    (43, '{"key": "deploy:blyck", "scope": null, "n": 17, "x": [1, 2, {"a": true}], "score": 0.8719}'),
    (48, '550e8400-e29b-41d4-a716-446655440000 2026-11-29T10:00:00Z v1.2.3-rc.4+build.5'),
    (16, 'AWS_SECRET_ACCESS_KEY XMLHttpRequest getElementById README SELECT COUNT FROM'),
    (179, '部署之前先跑一遍测试，然后上传到服务器。用户要求先给结论再解释原因；不要使用《手册》以外的配置。数据库迁移必须在事务中完成，并且备份旧文件。龘靐齉爩麤灪鱻籲。春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。繁體中文：這個專案的記憶體檔案必須經過審核，憂鬱的臺灣烏龜。'),
    (92, 'デプロイの前に必ずテストを実行してください。ユーザーは結論から先に書くことを望んでいます。ｶﾀｶﾅ。薔薇、檸檬、躊躇する。キーボードショートカットを無効にする。'),
    (84, '배포하기 전에 반드시 테스트를 실행하세요. 사용자는 결론을 먼저 원합니다. 데이터베이스 마이그레이션은 트랜잭션 안에서 수행됩니다. 뷁뛟쀍 꿻.'),
    (82, 'Перед выкладкой обязательно прогони тесты. Пользователь хочет сначала вывод, затем обоснование. Миграция базы данных выполняется в одной транзакции; съёмщик объявляет щёголя.'),
    (52, 'Trước khi triển khai phải chạy kiểm thử. Người dùng muốn kết luận trước.'),
    (47, 'Vor der Veröffentlichung müssen die Prüfungen laufen. Donaudampfschifffahrtsgesellschaftskapitän Überprüfungsverfahrensänderungsgesetz.'),
    (43, 'Ennen julkaisua testit on ajettava; epäjärjestelmällistyttämättömyydellänsäkäänköhän'),
    (54, 'قبل النشر يجب تشغيل الاختبارات. يريد المستخدم الخلاصة أولاً.'),
    (82, 'तैनाती से पहले परीक्षण अवश्य चलाएँ। उपयोगकर्ता पहले निष्कर्ष चाहता है।'),
    (80, 'ก่อนปล่อยต้องรันการทดสอบ ผู้ใช้ต้องการข้อสรุปก่อน'),
    (53, 'ከመልቀቅ በፊት ሙከራዎችን ያሂዱ'),
    (53, '\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f680 deploy \U0001f389 \u2764\ufe0f\u200d\U0001f525 \U0001f3f3\ufe0f\u200d\U0001f308 \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7'),
    (29, '→ ← ✓ ✗ … — “x” ‘y’ • ™ © ½ ² €£¥'),
    (71, 'z kqdMXXIhLIrusvxrksMUMyzTmYOwTUe weofjbujsjbtqkjbpcfxuyvytmw qamvdaasfodglcqemfotdqi rrB4SbDouEOeUZArDAfyTE0UZ2ODJ'),
    (47, 'lPAD >O8US[QQVKW"_?Y1,@Z"x#<7D!ukT6  1+%N^j=ZDe2$Z@~*eeT5.Lf'),
    (47, '漤鍺罖膷釚醨鉂覔熴奔攈譙阉聭弉鴒梨酐先進'),
    (40, '𩧍𠿖𤪗𤉦𥍇𨆇𠝘𢏝𨬺𠸐'),
    (29, '띾쩨돚뫊땃쥫냖뚻퐶뷝'),
    (5, '                                        x\n\n\t\t\ty'),
    (19, 'a &#x3C;b&#x3E; &#x200B;'),
]  # fmt: skip


@pytest.mark.parametrize(("real", "text"), MEASURED)
def test_never_fewer_than_a_real_tokenizer_counts_and_not_wildly_more(real: int, text: str) -> None:
    assert real <= count_tokens(text) <= 4 * real


@given(st.lists(st.text(), max_size=6))
def test_the_counts_of_lines_add_up(texts: list[str]) -> None:
    lines = [text.replace("\n", "") for text in texts]

    assert count_tokens("\n".join(lines)) == sum(map(count_tokens, lines)) + max(len(lines) - 1, 0)


@given(st.text(max_size=200))
def test_any_text_has_a_count(text: str) -> None:
    assert (count_tokens(text) > 0) == bool(text)
