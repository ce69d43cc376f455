import math
from collections.abc import Iterator

import numpy as np
import pytest

from rag_pipeline.index.open import Index, open_build
from rag_pipeline.retrieval.profile import document_profile
from rag_pipeline.retrieval.searches import Search
from rag_pipeline_tests.stages import build, document

TEXTS = {
    "a.md": ("pump oil", "valve water", "filter sand"),
    "b.md": ("pump air",),
    "c.md": ("gloves", "boots"),
}
VECTORS = {"a.md": ([1, 0], [0, 1], [0, 1]), "b.md": ([1, 0],), "c.md": ([0, 1], [0, 1])}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Rows 0-2 are a's, 3 is b's, 4-5 are c's; vectors are made by hand."""
    from rag_pipeline_tests.fakes import WordEmbedder

    documents = [document(name, *paragraphs, title="x") for name, paragraphs in TEXTS.items()]
    vectors = np.array([v for of in VECTORS.values() for v in of], np.float32)
    folder = tmp_path_factory.mktemp("profile")
    index = open_build(build(folder, documents, embedder=WordEmbedder(2), vectors=vectors).folder)
    yield index
    index.close()


ROWS = np.arange(6)


def test_terms_in_different_chunks_of_a_document_add_up(index: Index) -> None:
    """a has `pump` in one chunk and `valve` in another, b `pump` alone, c neither."""
    pump, valve = (index.postings.scores(index.postings.term_numbers([t])) for t in ("pump", "valv"))
    a, b = pump[0] + valve[1], pump[3]
    found = document_profile(index, [Search("pump valve", None, True, 1.0)], ROWS, vector_weight=0.0)
    assert found.tolist() == pytest.approx([1, 1, 1, b / a, 0, 0], abs=1e-6)


def test_vectors_of_whole_documents(index: Index) -> None:
    """Cosines with (1, 0): a points at (1, 2), so 1 / sqrt(5); b at (1, 0); c at (0, 1)."""
    asked = Search("", np.array([1, 0], np.float32), False, 1.0)
    found = document_profile(index, [asked], ROWS, vector_weight=1.0)
    assert found.tolist() == pytest.approx([1 / math.sqrt(5)] * 3 + [1, 0, 0], abs=1e-6)


def test_both_legs_and_several_searches_by_weight(index: Index) -> None:
    vector = np.array([1, 0], np.float32)
    lexical = document_profile(index, [Search("pump valve", None, True, 1.0)], ROWS, vector_weight=0.0)
    dense = document_profile(index, [Search("", vector, False, 1.0)], ROWS, vector_weight=1.0)
    found = document_profile(index, [Search("pump valve", vector, True, 1.0)], ROWS, vector_weight=0.6)
    assert found.tolist() == pytest.approx((0.4 * lexical + 0.6 * dense).tolist())
    two = [Search("pump valve", vector, True, 0.75), Search("anything", vector, False, 0.25)]
    assert document_profile(index, two, ROWS, vector_weight=0.6).tolist() == pytest.approx(
        (0.75 * found + 0.25 * dense).tolist()
    )


def test_a_few_rows_stand_for_their_documents(index: Index) -> None:
    asked = [Search("pump valve", None, True, 1.0)]
    every = document_profile(index, asked, ROWS, vector_weight=0.0)
    assert document_profile(index, asked, np.array([2, 3, 5]), vector_weight=0.0).tolist() == pytest.approx(
        every[[2, 3, 5]].tolist()
    )
    assert document_profile(index, asked, np.zeros(0, np.int64), vector_weight=0.0).tolist() == []
