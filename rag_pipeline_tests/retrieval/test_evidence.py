import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.retrieval.evidence import add_evidence


def test_by_hand() -> None:
    """Document 7 has four candidates, of which the three best count; document 2 has one, and nothing for the others."""
    scores = np.array([0.9, 0.4, 0.8, 0.6, 0.3])
    documents = np.array([2, 7, 7, 7, 7])
    evidence = [0.9, 1.8, 1.8, 1.8, 1.8]
    expected = [s + e / 3 for s, e in zip(scores, evidence, strict=True)]
    assert add_evidence(scores, documents, share=1 / 3).tolist() == pytest.approx(expected)


def test_nothing() -> None:
    assert add_evidence(np.zeros(0), np.zeros(0, np.int32), share=1 / 3).tolist() == []
    assert add_evidence(np.array([0.5]), np.array([3]), share=0).tolist() == [0.5]


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=30))
def test_equals_the_plain_definition(pairs: list[tuple[float, int]]) -> None:
    by_document: dict[int, list[float]] = {}
    for score, document in pairs:
        by_document.setdefault(document, []).append(score)
    expected = [s + 0.5 * sum(sorted(by_document[d], reverse=True)[:3]) for s, d in pairs]
    scores, documents = (np.array(column) for column in zip(*pairs, strict=True))
    assert add_evidence(scores, documents, share=0.5).tolist() == pytest.approx(expected)
