from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.embedding.encoder import equal_lengths
from rag_pipeline.embedding.onnx_runtime import OnnxEmbedder
from rag_pipeline.errors import ModelUnavailable
from rag_pipeline_tests.embedding.tiny import WORDS, exported_table


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> OnnxEmbedder:
    return OnnxEmbedder(exported_table(tmp_path_factory.mktemp("models")), threads=2)


@pytest.mark.parametrize(
    ("text", "vector"),
    [
        ("east", (1, 0, 0)),
        ("far", (0.6, 0.8, 0)),
        ("east north", (0.5**0.5, 0.5**0.5, 0)),
        ("east east far", (5 / 41**0.5, 4 / 41**0.5, 0)),
        ("nobody", (0, 0, 1)),
    ],
)
def test_mean_pooling_to_unit_length(embedder: OnnxEmbedder, text: str, vector: tuple[float, ...]) -> None:
    alone, paired = embedder.embed([text]), embedder.embed([text, "north"])
    assert alone.dtype == np.float32
    np.testing.assert_allclose(alone[0], vector, atol=1e-7)
    np.testing.assert_array_equal(alone[0], paired[0])


def test_cls_pooling_takes_the_first_token(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(exported_table(tmp_path, pooling="cls"))
    np.testing.assert_allclose(embedder.embed(["north east east"]), [[0, 1, 0]])


def test_text_over_the_limit_is_cut_off(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(exported_table(tmp_path, max_tokens=3))
    assert embedder.max_tokens == 3
    np.testing.assert_array_equal(embedder.embed(["east east east north"]), embedder.embed(["east"]))


def test_prefixes_belong_to_their_role_and_to_the_limit(tmp_path: Path) -> None:
    """A document that fits without its prefix must fit with it: nothing may be cut off unseen."""
    embedder = OnnxEmbedder(exported_table(tmp_path, max_tokens=3, query_prefix="query: ", document_prefix="north "))
    assert embedder.max_tokens == 2
    assert embedder.query_prefix == "query: "
    np.testing.assert_allclose(embedder.embed(["east"], "document"), [[0.5**0.5, 0.5**0.5, 0]], atol=1e-7)
    np.testing.assert_allclose(embedder.embed(["east"], "query"), [[0.2**0.5, 0, 0.8**0.5]], atol=1e-7)


def test_nothing_and_texts_without_tokens(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 3)
    np.testing.assert_array_equal(embedder.embed(["", "east", "  "]), [[0, 0, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(embedder.embed([""]), [[0, 0, 0]])


@given(st.lists(st.lists(st.sampled_from([*WORDS, "?"]), max_size=12).map(" ".join), max_size=20))
def test_a_text_has_the_same_bits_in_any_company(embedder: OnnxEmbedder, texts: list[str]) -> None:
    """Padded batches change low bits, and near-ties then rank differently from build to build."""
    together = embedder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_array_equal(vector, embedder.embed([text])[0])


def test_threads_may_share_it(embedder: OnnxEmbedder) -> None:
    texts = ["east", "north", "far", "east far", "north far far"] * 8
    expected = embedder.embed(texts)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(embedder.embed, [texts] * 16):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("lengths", "budget", "groups"),
    [
        ([], 4, []),
        ([2, 3, 2, 2], 4, [[1], [0, 2], [3]]),
        ([9], 4, [[0]]),
        ([0, 1, 0], 4, [[1]]),
        ([1, 1, 1, 1, 1], 4, [[0, 1, 2, 3], [4]]),
    ],
)
def test_equal_lengths(lengths: list[int], budget: int, groups: list[list[int]]) -> None:
    assert equal_lengths([[7] * n for n in lengths], budget) == groups


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    exported = exported_table(tmp_path)
    (exported.folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelUnavailable, match="can't be opened"):
        OnnxEmbedder(exported)


def test_the_tokenizer_counts_without_truncation(embedder: OnnxEmbedder) -> None:
    assert embedder.tokenizer.count("east " * 50) == 50
