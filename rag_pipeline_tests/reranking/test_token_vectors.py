from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.embedding.onnx_runtime import OnnxEncoder
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.guard import Guard
from rag_pipeline.reranking.maxsim import MaxSimReranker
from rag_pipeline.reranking.reopening import Reopening
from rag_pipeline.reranking.token_vectors import ModelTokenEncoder, unit_rows
from rag_pipeline.retrieval import rerank as stage
from rag_pipeline_tests.reranking.tiny_models import SPECIAL, write_encoder, write_tokenizer

WORDS = ("pump", "valve", "oil")
TABLE = np.array([[9, 9]] * len(SPECIAL) + [[2, 0], [0, 3], [3, 4]])


@pytest.fixture
def encoder(tmp_path: Path) -> ModelTokenEncoder:
    write_tokenizer(tmp_path / "tokenizer.json", WORDS)
    write_encoder(tmp_path / "model.onnx", TABLE)
    return opened(tmp_path)


def opened(folder: Path, *, cache_bytes: int = 0) -> ModelTokenEncoder:
    encoder = OnnxEncoder(folder / "model.onnx", threads=2)
    return ModelTokenEncoder(encoder, folder / "tokenizer.json", fingerprint="tiny", threads=2, cache_bytes=cache_bytes)


def test_a_unit_vector_a_token_without_the_special_ones(encoder: ModelTokenEncoder) -> None:
    ids = encoder.ids(["pump oil", "Valve", ""])
    assert ids == [[4, 6], [5], []]
    first, second, empty = encoder.vectors(ids)
    np.testing.assert_allclose(first, [[1, 0], [0.6, 0.8]], atol=5e-4)
    np.testing.assert_allclose(second, [[0, 1]], atol=5e-4)
    assert (first.dtype, empty.shape) == (np.float16, (0, 2))


def test_the_same_bits_alone_or_among_others(encoder: ModelTokenEncoder) -> None:
    alone = encoder.vectors([[4, 6]])[0]
    among = encoder.vectors([[5], [4, 6], [6, 6, 6]])[1]
    assert alone.tobytes() == among.tobytes()


def test_what_was_read_is_kept_and_equal(encoder: ModelTokenEncoder, tmp_path: Path) -> None:
    keeping = opened(tmp_path, cache_bytes=10_000)
    asked = [[4, 6], [5], [4, 6]]
    first, second = keeping.vectors(asked), keeping.vectors([*asked, [6]])
    assert (keeping.cache.hits, keeping.cache.misses) == (2, 3)
    for rows, again, anew in zip(first, second, encoder.vectors(asked), strict=False):
        assert rows.tobytes() == again.tobytes() == anew.tobytes()


def test_reranks(encoder: ModelTokenEncoder) -> None:
    passages = [Passage("a", "valve"), Passage("b", "oil"), Passage("c", "valve pump")]
    assert MaxSimReranker(encoder).rerank("pump", passages) == (("c", 1.0), ("b", 0.600098), ("a", 0.0))


def test_its_counts_are_shown(tmp_path: Path, encoder: ModelTokenEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = MaxSimReranker(opened(tmp_path, cache_bytes=10_000))
    guards = {"a": Guard(reranker, seconds=5), "b": Guard(Reopening("late", lambda: reranker, OSError()), seconds=5)}
    monkeypatch.setattr(stage, "_guards", guards)
    for _ in range(2):
        reranker.rerank("pump", [Passage("a", "valve"), Passage("b", "oil")])
    assert reranker.cache is not None and reranker.cache.size > 0
    assert stage.token_vector_counts() == {reranker.name: {"hits": 3, "misses": 3, "bytes": reranker.cache.size}}


def test_a_row_of_zeros_stays_one() -> None:
    assert unit_rows(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist() == [
        [0.0, 0.0],
        [pytest.approx(0.6, abs=5e-4), pytest.approx(0.8, abs=5e-4)],
    ]


def test_a_missing_file_and_a_graph_without_token_output(tmp_path: Path) -> None:
    write_tokenizer(tmp_path / "tokenizer.json", WORDS)
    write_encoder(tmp_path / "model.onnx", TABLE, output="sentence_embedding")
    with pytest.raises(ModelUnavailable, match=r"model\.onnx has no output"):
        opened(tmp_path)
    write_encoder(tmp_path / "model.onnx", TABLE)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json is missing"):
        opened(tmp_path)
