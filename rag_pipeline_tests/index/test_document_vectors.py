import numpy as np
import pytest

from rag_pipeline.index import document_vectors
from rag_pipeline.index.document_vectors import DocumentVectors
from rag_pipeline.index.vectors import Vectors

VECTORS = np.array([[1, 0], [0, 1], [0, 1], [1, 0], [-1, 0]], np.float32)


def test_by_hand() -> None:
    """(1, 0) + (0, 1) + (0, 1) points at (1, 2); opposite chunks cancel out."""
    found = DocumentVectors(Vectors(VECTORS, None, 0)).of([(0, 3), (3, 4), (3, 5)])
    assert found.tolist() == pytest.approx(np.array([[1 / 5**0.5, 2 / 5**0.5], [1, 0], [0, 0]]), abs=1e-6)
    assert DocumentVectors(Vectors(VECTORS, None, 0)).of([]).shape == (0, 2)


def test_each_is_read_once_and_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = VECTORS.copy()
    vectors = DocumentVectors(Vectors(stored, None, 0))
    before = vectors.of([(0, 3)])
    stored[:] = 0
    assert np.array_equal(vectors.of([(0, 3)]), before)
    monkeypatch.setattr(document_vectors, "CACHED", 2)
    vectors.of([(n, n + 1) for n in range(5)])
    assert len(vectors._known) <= 2
