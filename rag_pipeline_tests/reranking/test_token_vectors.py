from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.errors import ModelUnavailable
from rag_pipeline.reranking.base import Passage
from rag_pipeline.reranking.maxsim import MaxSimReranker
from rag_pipeline.reranking.token_vectors import OnnxTokenEncoder, unit_rows
from rag_pipeline_tests.reranking.tiny_models import SPECIAL, write_encoder, write_tokenizer

WORDS = ("pump", "valve", "oil")
TABLE = np.array([[9, 9]] * len(SPECIAL) + [[2, 0], [0, 3], [3, 4]])


@pytest.fixture
def encoder(tmp_path: Path) -> OnnxTokenEncoder:
    write_tokenizer(tmp_path / "tokenizer.json", WORDS)
    write_encoder(tmp_path / "model.onnx", TABLE)
    return OnnxTokenEncoder(tmp_path / "model.onnx", tmp_path / "tokenizer.json", fingerprint="tiny", threads=2)


def test_a_unit_vector_a_token_without_the_special_ones(encoder: OnnxTokenEncoder) -> None:
    ids = encoder.ids(["pump oil", "Valve", ""])
    assert ids == [[4, 6], [5], []]
    first, second, empty = encoder.vectors(ids)
    np.testing.assert_allclose(first, [[1, 0], [0.6, 0.8]], atol=1e-6)
    np.testing.assert_allclose(second, [[0, 1]], atol=1e-6)
    assert (first.dtype, empty.shape) == (np.float32, (0, 2))


def test_the_same_bits_alone_or_among_others(encoder: OnnxTokenEncoder) -> None:
    alone = encoder.vectors([[4, 6]])[0]
    among = encoder.vectors([[5], [4, 6], [6, 6, 6]])[1]
    assert alone.tobytes() == among.tobytes()


def test_reranks(encoder: OnnxTokenEncoder) -> None:
    passages = [Passage("a", "valve"), Passage("b", "oil"), Passage("c", "valve pump")]
    assert MaxSimReranker(encoder).rerank("pump", passages) == (("c", 1.0), ("b", 0.6), ("a", 0.0))


def test_a_row_of_zeros_stays_one() -> None:
    assert unit_rows(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist() == [
        [0.0, 0.0],
        [pytest.approx(0.6), pytest.approx(0.8)],
    ]


def test_a_missing_file_and_a_graph_without_token_output(tmp_path: Path) -> None:
    write_tokenizer(tmp_path / "tokenizer.json", WORDS)
    write_encoder(tmp_path / "pooled.onnx", TABLE, output="sentence_embedding")
    for model in ("absent.onnx", "pooled.onnx"):
        with pytest.raises(ModelUnavailable, match=model):
            OnnxTokenEncoder(tmp_path / model, tmp_path / "tokenizer.json", fingerprint="x")
