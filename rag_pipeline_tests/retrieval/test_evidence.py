import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.retrieval.evidence import add_evidence


def test_by_hand() -> None:
    """The best score is 0.9. Document 7 has four candidates, of which the three best count; document 2 has one."""
    scores = np.array([0.9, 0.36, 0.72, 0.54, 0.27])
    documents = np.array([2, 7, 7, 7, 7])
    profile = np.array([0.5, 1.0, 1.0, 1.0, 1.0])
    of_two = 0.5 + 1.0**2 / 3
    of_seven = 1.0 + (0.8**2 + 0.6**2 + 0.4**2) / 3
    expected = [s + 0.5 * 0.9 * e for s, e in zip(scores, [of_two, *[of_seven] * 4], strict=True)]
    assert add_evidence(scores, documents, profile, share=0.5).tolist() == pytest.approx(expected)


def test_many_weak_chunks_are_no_evidence_of_a_strong_one() -> None:
    """Unsquared, three chunks at 0.5 had more evidence than one at 0.9, and the length of a document decided."""
    scores = np.array([0.9, 0.5, 0.5, 0.5])
    evidence = add_evidence(scores, np.array([0, 1, 1, 1]), np.zeros(4), share=1.0) - scores
    assert evidence[0] > evidence[1]


def test_nothing() -> None:
    assert add_evidence(np.zeros(0), np.zeros(0, np.int32), np.zeros(0), share=1 / 3).tolist() == []
    assert add_evidence(np.array([0.5]), np.array([3]), np.array([1.0]), share=0).tolist() == [0.5]
    assert add_evidence(np.array([0.0, -0.1]), np.array([0, 1]), np.ones(2), share=1).tolist() == [0.0, -0.1]


CANDIDATES = st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 4)), min_size=1, max_size=30)


@given(CANDIDATES)
def test_equals_the_plain_definition(pairs: list[tuple[float, int]]) -> None:
    best = max(score for score, _ in pairs)
    by_document: dict[int, list[float]] = {}
    for score, document in pairs:
        by_document.setdefault(document, []).append(max(score, 0) / best if best > 0 else 0)
    profile = {document: document / 4 for document in by_document}
    evidence = {d: profile[d] + sum(s**2 for s in sorted(of, reverse=True)[:3]) / 3 for d, of in by_document.items()}
    expected = [s + 0.5 * max(best, 0) * evidence[d] for s, d in pairs]
    scores, documents = (np.array(column) for column in zip(*pairs, strict=True))
    given_profile = np.array([profile[d] for d in documents])
    assert add_evidence(scores, documents, given_profile, share=0.5).tolist() == pytest.approx(expected)


@given(CANDIDATES, st.floats(0.01, 100))
def test_the_scale_of_scores_does_not_matter(pairs: list[tuple[float, int]], scale: float) -> None:
    """Raw BM25 scores of a single leg get the same evidence as fused ones."""
    scores, documents = (np.array(column) for column in zip(*pairs, strict=True))
    profile = np.full(len(scores), 0.5)
    once = add_evidence(scores, documents, profile, share=0.5)
    assert add_evidence(scores * scale, documents, profile, share=0.5).tolist() == pytest.approx(
        (once * scale).tolist()
    )


@given(CANDIDATES)
def test_the_order_inside_a_document_stays(pairs: list[tuple[float, int]]) -> None:
    scores = np.round(np.array([score for score, _ in pairs]), 3)
    documents = np.array([document for _, document in pairs])
    after = add_evidence(scores, documents, documents / 4, share=0.5)
    for one in range(len(pairs)):
        for other in range(len(pairs)):
            if documents[one] == documents[other] and scores[one] > scores[other]:
                assert after[one] > after[other]
