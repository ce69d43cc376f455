from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.index.ann_check import ann_recall
from rag_pipeline.index.open import Index, open_build
from rag_pipeline.settings.build import IndexSettings
from rag_pipeline_tests.stages import build, document, pumps


def test_a_small_build_is_found_whole(pump_index: Index) -> None:
    result = ann_recall(pump_index)
    assert result.passed
    assert result.numbers["recall"] == 1.0


def test_clustered_vectors(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    centres = random.normal(size=(5, 64))
    vectors = centres[random.integers(0, 5, 400)] + random.normal(size=(400, 64)) * 0.3
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    documents = [document("a.md", *(f"text {n}" for n in range(400)))]
    index = open_build(build(tmp_path, documents, vectors=vectors).folder)
    assert ann_recall(index, queries=50).passed
    index.close()


def test_an_index_that_finds_other_rows_fails(pump_index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows deleted from an HNSW index are one way to get there: at 95 % deleted it returned a tenth of them."""
    monkeypatch.setattr(pump_index, "nearest", lambda vector, limit: [0])
    result = ann_recall(pump_index)
    assert not result.passed
    assert result.numbers["recall"] == pytest.approx(1 / 8, abs=0.001)
    assert "ef_search" in result.message


def test_a_plan_without_the_index_fails(pump_index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump_index, "nearest_plan", lambda vector, limit: "SEQ_SCAN TOP_N")
    assert not ann_recall(pump_index).passed


def test_nothing_to_measure(tmp_path: Path) -> None:
    for documents, settings in ((pumps(), IndexSettings(hnsw=False)), ([], IndexSettings())):
        index = open_build(build(tmp_path / str(settings.hnsw), documents, settings=settings).folder)
        assert ann_recall(index).numbers["queries"] == 0
        index.close()
