from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.errors import IncompatibleBuild, ModelUnavailable
from rag_pipeline.index.open import Index, open_build
from rag_pipeline.retrieval import query_vector as module
from rag_pipeline.retrieval.query_vector import query_vector
from rag_pipeline_tests.fakes import WordEmbedder
from rag_pipeline_tests.stages import build, document


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return open_build(build(tmp_path, [document("a.md", "x")]).folder)


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> WordEmbedder:
    module.forget()
    embedder = WordEmbedder(max_tokens=10)
    monkeypatch.setitem(module._embedders, (Path("models"), "f"), embedder)
    return embedder


def ask(index: Index, text: str, fingerprint: str = "f") -> tuple[np.ndarray, tuple[str, ...]]:
    found = query_vector(text, index=index, models=Path("models"), fingerprint=fingerprint)
    return found.vector, found.markers


def test_each_text_is_embedded_once(index: Index, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHED_VECTORS", 2)
    for text in ("one", "two", "one", "three", "one", "two"):
        vector, markers = ask(index, text)
        assert markers == ()
        np.testing.assert_array_equal(vector, embedder.embed([text])[0])
        embedder.calls.pop()
    assert embedder.calls == [["one"], ["two"], ["three"], ["two"]]  # "two" was used least when "three" came


def test_what_the_model_would_not_read_is_cut_at_a_token(index: Index, embedder: WordEmbedder) -> None:
    assert ask(index, "a b c d e f g h")[1] == ()
    assert ask(index, "a b c d e f g h i")[1] == ("query=truncated",)
    assert embedder.calls[-1] == ["a b c d e f g h"]
    embedder.query_prefix = "query :"
    assert ask(index, "a b c d e f g h")[1] == ("query=truncated",)
    assert embedder.calls[-1] == ["a b c d e f"]


def test_another_dimension(index: Index, embedder: WordEmbedder) -> None:
    embedder.dimension = 3
    with pytest.raises(IncompatibleBuild, match=r"dimension 3, .*words-64-256\) with 64"):
        ask(index, "x")


def test_a_model_that_is_not_here(index: Index, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="0123456789abcdef"):
        query_vector("x", index=index, models=tmp_path, fingerprint="0123456789abcdef")


def test_a_passage_is_embedded_as_a_document_and_kept_apart(index: Index, embedder: WordEmbedder) -> None:
    roles: list[str] = []
    embed = embedder.embed
    embedder.embed = lambda texts, role="document": roles.append(role) or embed(texts, role)  # type: ignore[method-assign]
    asked = [
        query_vector("same", index=index, models=Path("models"), fingerprint="f", role=role).cached  # type: ignore[arg-type]
        for role in ("query", "document", "query", "document")
    ]
    assert roles == ["query", "document"]
    assert asked == [False, False, True, True]
