"""What every embedder promises, proved on each of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from mdmem.models import Embedder, EmbedError, cosine, same_weights

AWKWARD = {
    "empty": "",
    "blank": " \n\t ",
    "newlines": "\n" * 10_000,
    "NUL": "\0",
    "NUL inside": "deploy\0blyck",
    "half a pair": "deploy \ud83d blyck",
    "only half a pair": "\udc80",
    "control": "\x01\x1b[31m\x7f",
    "bidi and joiners": "\u202edeploy\u200d\u2066",
    "beyond the plane": "🦤" * 40,
    "not a character": "\uffff\ufffe",
    "accents upon accents": "a" + "\u0301" * 200,
}
BLANK = {"empty", "blank", "newlines", "NUL"}


def vectors(embedder: Embedder, texts: list[str]) -> list[bytes]:
    found = embedder.passages(texts)
    assert not [error for error in found if isinstance(error, EmbedError)]
    return [vector for vector in found if isinstance(vector, bytes)]


def test_each_text_gets_one_vector_of_the_dimension_in_order(embedder: Embedder) -> None:
    texts = ["deploy to staging", "the cat sat on the mat", "数据库在夜里备份"]

    together = vectors(embedder, texts)
    alone = [vectors(embedder, [text])[0] for text in texts]

    assert [len(vector) for vector in together] == [embedder.dimension] * 3
    assert all(same_weights(one, other) for one, other in zip(together, alone, strict=True))
    assert not same_weights(together[0], together[1])


def test_the_identity_names_the_dimension_and_no_address(embedder: Embedder) -> None:
    dimension = len(vectors(embedder, ["one"])[0])

    assert embedder.id.endswith(f"/{dimension}")
    assert "http" not in embedder.id


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.passages([]) == []


def test_a_question_is_nearer_to_its_answer_than_to_other_memories(embedder: Embedder) -> None:
    answer, other = vectors(embedder, ["the staging database is backed up at night", "Dana prefers small commits"])

    question = embedder.query("when is the staging database backed up?")

    assert cosine(question, answer) > cosine(question, other)


@pytest.mark.parametrize("kind", AWKWARD)
def test_an_awkward_text_gives_a_vector_or_an_error_beside_the_others(embedder: Embedder, kind: str) -> None:
    before, found, after = embedder.passages(["deploy", AWKWARD[kind], "deploy"])

    assert isinstance(found, EmbedError if kind in BLANK else bytes)
    assert isinstance(before, bytes)
    assert before == after


def test_a_huge_text_gives_a_vector(bounded: Embedder) -> None:
    assert len(vectors(bounded, ["internationalization " * 5_000])) == 1


def test_a_blank_question_is_refused(embedder: Embedder) -> None:
    with pytest.raises(EmbedError) as caught:
        embedder.query(" \0 ")

    assert caught.value.retry_after_s is None
    assert caught.value.exit_code == 5
    assert caught.value.hint


def test_h10_the_canary_is_the_same_twice(embedder: Embedder) -> None:
    assert same_weights(embedder.canary(), embedder.canary())


def test_after_closing_it_takes_its_weights_up_again(embedder: Embedder) -> None:
    before = embedder.query("deploy")
    embedder.close()
    embedder.close()

    assert embedder.query("deploy") == before


def test_threads_get_the_vectors_that_one_thread_gets(embedder: Embedder) -> None:
    texts = [f"memory number {number} of the staging cluster" for number in range(4)]
    passages, queries = vectors(embedder, texts), [embedder.query(text) for text in texts]

    with ThreadPoolExecutor(4) as pool:
        again = [pool.submit(vectors, embedder, texts) for _ in range(2)]
        asked = [pool.submit(embedder.query, text) for text in texts]

    assert [future.result() for future in again] == [passages, passages]
    assert [future.result() for future in asked] == queries
