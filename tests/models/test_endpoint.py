"""The endpoint against a scripted server: part H of the failure catalogue."""

from __future__ import annotations

import json
import math
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Any

import pytest

from mdmem.errors import ConfigError
from mdmem.models import EmbedderSettings, EmbedError, make_embedder, same_weights
from mdmem.models.embedder import CANARY
from mdmem.models.endpoint import EndpointEmbedder
from mdmem.models.gate import Gate
from tests.models.hash_embedder import HashEmbedder
from tests.models.scripted_server import Entries, ScriptedServer, Step, on_word

KEY = "sk-canary-4711-do-not-show"
SECRET = "the-memory-text-nobody-may-see"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


OPENED: list[EndpointEmbedder] = []


def endpoint(server: ScriptedServer, *, clock: Clock | None = None, **settings: Any) -> EndpointEmbedder:
    chosen = EmbedderSettings(model="openai", **{"url": server.url, "name": "words", "timeout_s": 5.0, **settings})
    gates = {}
    if clock is not None:
        gates["gate"] = Gate(clock=clock, spread=lambda: 1.0)
        gates["pace"] = Gate(clock=clock, spread=lambda: 1.0, threshold=2)
    OPENED.append(EndpointEmbedder(chosen, **gates))
    return OPENED[-1]


@pytest.fixture(autouse=True)
def closed_connections() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def failed(found: list[bytes | EmbedError]) -> list[EmbedError]:
    return [error for error in found if isinstance(error, EmbedError)]


def only_error(found: list[bytes | EmbedError]) -> EmbedError:
    (error,) = found
    assert isinstance(error, EmbedError)
    return error


def vector_of(text: str, **other: Any) -> bytes:
    return HashEmbedder(**other).query(text)


def changed(**what: Any) -> Callable[[Entries], Entries]:
    """Changes the first entry."""
    return lambda entries: [{**entries[0], **what}, *entries[1:]]


# --- what is sent and what comes back


def test_texts_are_posted_to_the_embeddings_of_the_url_with_the_key() -> None:
    with ScriptedServer() as server:
        found = endpoint(server, api_key=KEY, passage_prefix="doc: ").passages(["deploy", "rollback"])

    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.payload == {"model": "words", "input": ["doc: deploy", "doc: rollback"]}
    assert found == [vector_of("doc: deploy"), vector_of("doc: rollback")]


def test_without_a_key_no_authorization_is_sent() -> None:
    with ScriptedServer() as server:
        endpoint(server).query("deploy")

    assert "authorization" not in server.requests[0].headers


def test_many_texts_go_in_batches() -> None:
    texts = [f"memory {number}" for number in range(7)]
    with ScriptedServer() as server:
        found = endpoint(server, batch=3).passages(texts)

    assert [len(request.texts) for request in server.requests] == [3, 3, 1]
    assert found == [vector_of(text) for text in texts]


def test_blank_texts_are_not_sent() -> None:
    with ScriptedServer() as server:
        found = endpoint(server).passages(["", "deploy", "\0"])

    assert server.requests[0].texts == ["deploy"]
    assert [type(vector) for vector in found] == [EmbedError, bytes, EmbedError]


def test_g8_the_identity_changes_with_model_host_dimension_and_prefix() -> None:
    with ScriptedServer() as server:
        embedder = endpoint(server)
        before = embedder.id
        embedder.query("deploy")
        other = endpoint(server, passage_prefix="doc: ", dimensions=64)

    assert before == f"openai:words@{server.host}/?"
    assert embedder.id == f"openai:words@{server.host}/64"
    assert other.id.startswith(f"openai:words@{server.host}/64+")


def test_a_wanted_dimension_is_asked_for_and_insisted_on() -> None:
    with ScriptedServer(embedder=HashEmbedder(32)) as server:
        error = only_error(endpoint(server, dimensions=16).passages(["deploy"]))

    assert server.requests[0].payload["dimensions"] == 16
    assert "32" in error.what
    assert "16" in error.what


# --- H1, H2: no answer


def test_h1_a_server_that_is_down_is_named_and_tried_again_later() -> None:
    with ScriptedServer() as server:
        embedder = endpoint(server)
    error = only_error(embedder.passages(["deploy"]))

    assert error.where == server.host
    assert "refused" in error.what
    assert error.retry_after_s is not None


def test_h1_a_server_that_hangs_up_is_tried_again_later() -> None:
    with ScriptedServer([Step(drop=True)]) as server:
        embedder = endpoint(server)
        error = only_error(embedder.passages(["deploy"]))

        assert error.retry_after_s is not None
        assert embedder.query("deploy") == vector_of("deploy")


def test_h1_after_a_few_failures_the_server_is_left_alone_and_then_tried_once() -> None:
    clock = Clock()
    with ScriptedServer([Step(status=503)] * 3) as server:
        embedder = endpoint(server, clock=clock)
        for _ in range(10):
            embedder.passages(["deploy"])
        with pytest.raises(EmbedError) as caught:
            embedder.query("deploy")

        assert len(server.requests) == 3
        assert caught.value.retry_after_s == pytest.approx(2.0)
        clock.now += 2.1
        assert embedder.query("deploy") == vector_of("deploy")
        assert embedder.passages(["deploy"]) == [vector_of("deploy")]


@pytest.mark.parametrize(
    "step", [Step(delay_s=30), Step(drip_s=0.05), Step(drip_s=0.05, status=500), Step(drip_s=0.05, body=b"{" * 10_000)]
)
def test_h2_a_slow_answer_is_given_up_at_the_deadline(step: Step) -> None:
    with ScriptedServer(then=step) as server:
        embedder = endpoint(server, timeout_s=0.3)
        started = time.monotonic()
        error = only_error(embedder.passages(["deploy"]))
        with pytest.raises(EmbedError):
            embedder.query("deploy", deadline_s=0.1)
        took_s = time.monotonic() - started

    assert "within 0.3 s" in error.what
    assert error.retry_after_s is not None
    assert took_s < 1.5


def test_h2_queries_that_are_late_do_not_shut_out_passages() -> None:
    clock = Clock()
    with ScriptedServer([Step(delay_s=30)] * 3) as server:
        embedder = endpoint(server, clock=clock)
        for _ in range(9):
            with pytest.raises(EmbedError):
                embedder.query("deploy", deadline_s=0.05)
        assert len(server.requests) == 2  # then queries were held back at once
        server.take(server.requests[0])  # the third slow step

        assert embedder.passages(["deploy"]) == [vector_of("deploy")]
        clock.now += 60
        assert embedder.query("deploy") == vector_of("deploy")


def test_h2_a_batch_too_large_for_the_deadline_is_smaller_next_time() -> None:
    with ScriptedServer([Step(delay_s=30)]) as server:
        embedder = endpoint(server, timeout_s=0.2, batch=8)
        late = embedder.passages(["deploy"] * 8)
        again = embedder.passages(["deploy"] * 8)

    assert [len(request.texts) for request in server.requests] == [8, 4, 4]
    assert len(failed(late)) == 8
    assert not failed(again)


def test_h2_batches_grow_again_while_all_goes_well() -> None:
    with ScriptedServer([Step(delay_s=30)]) as server:
        embedder = endpoint(server, timeout_s=0.2, batch=4)
        embedder.passages(["deploy"] * 4)
        embedder.passages(["deploy"] * 13)

    assert [len(request.texts) for request in server.requests] == [4, 2, 3, 4, 4]


# --- H3, G9: wrong answers


def test_h3_answers_out_of_order_are_put_in_order() -> None:
    with ScriptedServer([Step(change=lambda entries: entries[::-1])]) as server:
        found = endpoint(server).passages(["deploy", "rollback", "backup"])

    assert found == [vector_of(text) for text in ("deploy", "rollback", "backup")]


def test_h3_answers_without_indexes_are_taken_as_they_come() -> None:
    def bare(entries: Entries) -> Entries:
        return [{"embedding": entry["embedding"]} for entry in entries]

    with ScriptedServer([Step(change=bare)]) as server:
        found = endpoint(server).passages(["deploy", "rollback"])

    assert found == [vector_of("deploy"), vector_of("rollback")]


BROKEN_BATCHES: dict[str, Step] = {
    "one too few": Step(change=lambda entries: entries[1:]),
    "one too many": Step(change=lambda entries: [*entries, entries[0]]),
    "an index twice": Step(change=changed(index=1)),
    "an index out of range": Step(change=changed(index=7)),
    "an index that is true": Step(change=changed(index=False)),
    "an index missing": Step(change=changed(index=None)),
    "vectors of two lengths": Step(change=changed(embedding=[1.0, 2.0])),
    "not JSON": Step(body=b"<html>busy</html>"),
    "not UTF-8": Step(body=b"\xff\xfe\x00"),
    "deep JSON": Step(body=b"[" * 100_000),
    "a list": Step(body=b"[]"),
    "no data": Step(body=b'{"object": "list"}'),
    "data of text": Step(body=b'{"data": ["a", "b"]}'),
    "nothing": Step(body=b""),
    "a vector of no numbers": Step(change=changed(embedding=[])),
    "a huge number": Step(body=b'{"data": [{"index": ' + b"9" * 5_000 + b"}]}"),
}


@pytest.mark.parametrize("kind", BROKEN_BATCHES)
def test_h3_a_batch_with_a_broken_answer_is_asked_again_in_parts(kind: str) -> None:
    with ScriptedServer([BROKEN_BATCHES[kind]]) as server:
        found = endpoint(server).passages(["deploy", "rollback"])

    assert [request.texts for request in server.requests] == [
        ["deploy", "rollback"],
        [CANARY],
        ["deploy"],
        ["rollback"],
    ]
    assert found == [vector_of("deploy"), vector_of("rollback")]


@pytest.mark.parametrize("kind", BROKEN_BATCHES)
def test_h3_a_server_that_only_answers_nonsense_is_asked_twice_and_no_more(kind: str) -> None:
    broken = BROKEN_BATCHES[kind]
    one_text = broken._replace(change=lambda entries: []) if broken.change else broken
    with ScriptedServer(then=one_text) as server:
        found = endpoint(server).passages([f"memory {number}" for number in range(32)])

    assert len(failed(found)) == 32
    assert all(error.retry_after_s is not None for error in failed(found))
    assert len(server.requests) == 2


BAD_VECTORS: dict[str, Any] = {
    "null": None,
    "text": "AAAA",
    "NaN": [math.nan] + [1.0] * 63,
    "infinite": [math.inf] + [1.0] * 63,
    "all zero": [0.0] * 64,
    "null inside": [None] + [1.0] * 63,
    "text inside": ["1.0"] + [1.0] * 63,
    "huge integer": [10**400] + [1.0] * 63,
}


@pytest.mark.parametrize("kind", BAD_VECTORS)
def test_g9_a_bad_vector_spoils_only_its_own_text(kind: str) -> None:
    with ScriptedServer(then=Step(change=changed(embedding=BAD_VECTORS[kind]))) as server:
        embedder = endpoint(server)
        bad, good = embedder.passages(["deploy", "rollback"])
        with pytest.raises(EmbedError):
            embedder.query("deploy")

    assert isinstance(bad, EmbedError)
    assert good == vector_of("rollback")
    assert embedder.dimension == 64


def test_h3_another_dimension_than_before_is_refused() -> None:
    with ScriptedServer([Step(), Step(change=changed(embedding=[1.0] * 768))]) as server:
        embedder = endpoint(server)
        embedder.passages(["deploy"])
        error = only_error(embedder.passages(["deploy"]))

    assert "768" in error.what
    assert error.retry_after_s is not None
    assert embedder.dimension == 64


def test_h8_an_endless_answer_is_cut_off() -> None:
    with ScriptedServer(then=Step(body=b" " * 2_000_000)) as server:
        error = only_error(endpoint(server).passages(["deploy"]))

    assert "longer than" in error.what


# --- H4: told to wait


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "120"},
        {"Retry-After": formatdate(1_800_000_120, usegmt=True), "Date": formatdate(1_800_000_000)},
    ],
)
def test_h4_nobody_asks_again_before_the_time_that_the_server_names(headers: dict[str, str]) -> None:
    clock = Clock()
    with ScriptedServer([Step(status=429, headers=headers)]) as server:
        embedder = endpoint(server, clock=clock)
        error = only_error(embedder.passages(["deploy"]))
        with ThreadPoolExecutor(4) as pool:
            refused = list(pool.map(embedder.passages, [["rollback"]] * 8))
        with pytest.raises(EmbedError):
            embedder.query("deploy")
        assert len(server.requests) == 1
        clock.now += 121

        assert embedder.passages(["deploy"]) == [vector_of("deploy")]
    assert error.retry_after_s == pytest.approx(120.0)
    assert [only_error(found).retry_after_s for found in refused] == [pytest.approx(120.0)] * 8


def test_h4_too_many_requests_without_a_time_shuts_the_gate_at_once() -> None:
    clock = Clock()
    with ScriptedServer([Step(status=429)]) as server:
        embedder = endpoint(server, clock=clock)
        embedder.passages(["deploy"])
        embedder.passages(["deploy"])

    assert len(server.requests) == 1


def test_h4_a_failing_server_is_not_asked_for_the_rest_of_a_long_list() -> None:
    with ScriptedServer(then=Step(status=503)) as server:
        found = endpoint(server, batch=4, clock=Clock()).passages([f"memory {number}" for number in range(100)])

    assert len(failed(found)) == 100
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_address_is_tried_once_and_explained(status: int) -> None:
    with ScriptedServer(then=Step(status=status)) as server:
        embedder = endpoint(server, clock=Clock())
        error = only_error(embedder.passages(["deploy"]))
        embedder.passages(["deploy"])

    assert len(server.requests) == 1
    assert str(status) in error.what
    assert "[embedder]" in (error.hint or "")


# --- H5: one bad text


@pytest.mark.parametrize("status", [400, 413, 422, 500])
@pytest.mark.parametrize("place", [0, 13, 31])
def test_h5_one_bad_text_fails_alone_and_is_parked(status: int, place: int) -> None:
    texts = [f"memory {number}" for number in range(32)]
    texts[place] = "poison"
    with ScriptedServer(react=on_word("poison", Step(status=status))) as server:
        embedder = endpoint(server)
        found = embedder.passages(texts)

        assert failed(found) == [found[place]]
        assert failed(found)[0].retry_after_s == (3_600.0 if status == 500 else None)
        assert len(server.requests) <= 12
        assert embedder.query("deploy") == vector_of("deploy")  # the server is not to blame


def test_h5_many_bad_texts_do_not_keep_the_good_ones_waiting() -> None:
    texts = [f"poison {number}" for number in range(9)] + [f"memory {number}" for number in range(7)]
    with ScriptedServer(react=on_word("poison", Step(status=500))) as server:
        found = endpoint(server, batch=16).passages(texts)

    assert len(failed(found)) == 9
    assert found[9:] == [vector_of(text) for text in texts[9:]]


def test_h5_a_server_that_fails_while_a_batch_is_halved_is_left_alone() -> None:
    with ScriptedServer([Step(status=400), Step()], then=Step(status=503)) as server:
        found = endpoint(server).passages([f"memory {number}" for number in range(8)])

    assert [len(request.texts) for request in server.requests] == [8, 1, 4]
    assert all(error.retry_after_s is not None for error in failed(found))
    assert len(failed(found)) == 8


def test_h5_a_lone_bad_text_is_told_from_a_bad_server() -> None:
    with ScriptedServer(react=on_word("poison", Step(status=400))) as server:
        assert only_error(endpoint(server).passages(["poison"])).retry_after_s is None
    with ScriptedServer(then=Step(status=400)) as server:
        error = only_error(endpoint(server, clock=Clock()).passages(["deploy"]))

    assert error.retry_after_s == pytest.approx(0.5)


def test_a_refused_query_does_not_count_against_the_server() -> None:
    with ScriptedServer([Step(status=400)] * 5) as server:
        embedder = endpoint(server)
        for _ in range(5):
            with pytest.raises(EmbedError) as caught:
                embedder.query("deploy")
            assert caught.value.retry_after_s is None

        assert embedder.query("deploy") == vector_of("deploy")


# --- H10: other weights


def test_h10_the_canary_tells_new_weights_behind_the_same_name() -> None:
    with ScriptedServer() as server:
        embedder = endpoint(server)
        first, again = embedder.canary(), embedder.canary()
        server.embedder = HashEmbedder(seed=7)

        assert same_weights(first, again)
        assert not same_weights(first, embedder.canary())


def test_g8_after_the_canary_a_new_dimension_is_taken_on() -> None:
    with ScriptedServer() as server:
        embedder = endpoint(server)
        ids = []
        for dimension in (384, 768, 384):
            server.embedder = HashEmbedder(dimension)
            embedder.canary()
            ids.append(embedder.id.rsplit("/")[-1])
            assert len(embedder.query("deploy")) == dimension

    assert ids == ["384", "768", "384"]


def test_a_failing_canary_keeps_the_known_dimension() -> None:
    with ScriptedServer([Step(), Step(status=503)]) as server:
        embedder = endpoint(server)
        embedder.query("deploy")
        with pytest.raises(EmbedError):
            embedder.canary()

    assert embedder.dimension == 64


# --- H11: text goes nowhere else


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_h11_a_redirect_is_not_followed(status: int) -> None:
    with ScriptedServer() as other:
        step = Step(status=status, headers={"Location": f"{other.url}/embeddings"})
        with ScriptedServer(then=step) as server:
            error = only_error(endpoint(server).passages(["deploy"]))

    assert other.requests == []
    assert "redirect" in error.what
    assert "url" in (error.hint or "")


def test_h11_a_proxy_from_the_environment_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer() as proxy, ScriptedServer() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://{proxy.host}")
        endpoint(server).query("deploy")

    assert proxy.requests == []
    assert len(server.requests) == 1


# --- K3: nothing secret in words


def everything_said(error: BaseException) -> str:
    said = "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))
    for other in (error.__cause__, error.__context__):
        said += everything_said(other) if other else ""
    return said


@pytest.mark.parametrize(
    "step",
    [
        Step(status=400, body=json.dumps({"error": SECRET}).encode()),
        Step(status=401, headers={"WWW-Authenticate": KEY}),
        Step(status=302, headers={"Location": f"http://{KEY}/"}),
        Step(status=429, headers={"Retry-After": SECRET}),
        Step(headers={SECRET: "x\x00y"}),
        Step(body=SECRET.encode()),
        Step(drop=True),
        Step(delay_s=30),
    ],
)
def test_k3_no_error_holds_the_text_or_the_key(step: Step, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with ScriptedServer(then=step) as server:
        embedder = endpoint(server, api_key=KEY, timeout_s=0.3)
        with pytest.raises(EmbedError) as caught:
            embedder.query(SECRET)
        error = only_error(embedder.passages([SECRET]))

    said = everything_said(caught.value) + everything_said(error) + embedder.id
    assert KEY not in said
    assert SECRET not in said
    assert not [record for record in caplog.records if record.name.startswith("mdmem")]


@pytest.mark.parametrize("key", [f"{KEY}\nX-Other: 1", f"{KEY}\0", f"{KEY}é"])
def test_k3_a_key_that_cannot_be_sent_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_embedder(EmbedderSettings(model="openai", url="http://127.0.0.1:1/v1", name="words", api_key=key))

    assert KEY not in everything_said(caught.value)


def test_k3_settings_do_not_show_the_key() -> None:
    assert KEY not in repr(EmbedderSettings(api_key=KEY)) + str(EmbedderSettings(api_key=KEY))


# --- closing


def test_closing_during_a_call_lets_it_end() -> None:
    with ScriptedServer([Step(delay_s=0.1)]) as server:
        embedder = endpoint(server)
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(embedder.query, "deploy")
            embedder.close()

            assert call.result() == vector_of("deploy")
