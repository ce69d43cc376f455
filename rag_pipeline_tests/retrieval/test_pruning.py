import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rag_pipeline.index.postings import Postings
from rag_pipeline.retrieval import pruning
from rag_pipeline.retrieval.pruning import contenders
from rag_pipeline.retrieval.rank import comparable, top
from rag_pipeline.retrieval.scope import Mask


def postings(lists: list[dict[int, float]], *, chunks: int) -> Postings:
    """One dict of row -> weight a term."""
    ordered = [sorted(one.items()) for one in lists]
    return Postings(
        term_hash=np.arange(len(lists), dtype=np.uint64),
        indptr=np.cumsum([0, *(len(one) for one in ordered)]),
        rows=np.array([row for one in ordered for row, _ in one], np.int32),
        weights=np.array([weight for one in ordered for _, weight in one], np.float32),
        chunks=chunks,
    )


def best(given: Postings, *, mask: Mask, limit: int) -> tuple[list[int], list[float]]:
    """By scoring every chunk."""
    scores = comparable(given.scores(np.arange(len(given.term_hash))))
    rows = np.flatnonzero((scores > 0) & (True if mask is None else mask))
    rows = top(scores[rows], rows, limit)
    return rows.tolist(), scores[rows].tolist()


def pruned(given: Postings, *, mask: Mask, limit: int) -> tuple[list[int], list[float]]:
    numbers = np.arange(len(given.term_hash))
    rows = contenders(given, numbers, mask=mask, limit=limit)
    scores = comparable(given.scores_of(numbers, rows))
    some = scores > 0
    rows = top(scores[some], rows[some], limit)
    return rows.tolist(), comparable(given.scores_of(numbers, rows)).tolist()


CHUNKS = 60
Lists = list[dict[int, float]]
WEIGHTS = st.one_of(st.floats(0.125, 9, width=32), st.sampled_from([1.0, 1.0000001, 0.5, 1e-7, 300.0]))
LISTS = st.lists(st.dictionaries(st.integers(0, CHUNKS - 1), WEIGHTS, max_size=CHUNKS), max_size=7)


@given(LISTS, st.integers(1, 12), st.none() | st.sets(st.integers(0, CHUNKS - 1)))
@example([{0: 1.0, 1: 1.0, 2: 1.0}, dict.fromkeys(range(CHUNKS), 0.5)], 2, None)
@example([{5: 3.0}, {5: 1.0, 9: 1.0}], 1, {9})
@example([], 3, None)
def test_the_best_are_those_of_scoring_every_chunk(lists: Lists, limit: int, allowed: set[int] | None) -> None:
    given = postings(lists, chunks=CHUNKS)
    mask = None if allowed is None else np.isin(np.arange(CHUNKS), sorted(allowed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pruning, "SHORT", 0)  # so that lists of this size are left out where they can be
        assert pruned(given, mask=mask, limit=limit) == best(given, mask=mask, limit=limit)


def many(*, seed: int) -> Postings:
    """A rare term, two middling ones and one that stands in nearly every chunk, as in a sentence."""
    random = np.random.default_rng(seed)
    lists = []
    for share, idf in ((0.001, 7.0), (0.02, 4.0), (0.05, 3.0), (0.9, 0.1)):
        rows = np.flatnonzero(random.random(50_000) < share)
        lists.append(dict(zip(rows.tolist(), (idf * random.uniform(0.5, 2, len(rows))).tolist(), strict=True)))
    return postings(lists, chunks=50_000)


@pytest.mark.parametrize("share", [None, 0.5, 0.01])
def test_a_large_index_gives_the_same(share: float | None) -> None:
    given = many(seed=1)
    mask = None if share is None else np.random.default_rng(2).random(50_000) < share
    assert pruned(given, mask=mask, limit=50) == best(given, mask=mask, limit=50)


def test_the_postings_of_a_common_word_are_not_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scoring all 45,000 chunks with the common word is what makes a search slow as the corpus grows."""
    given, looked_up = many(seed=1), []

    def weights_at(rows: NDArray[np.int32], weights: NDArray[np.float32], sought: NDArray[np.int32]) -> object:
        looked_up.append((len(rows), len(sought)))
        return real(rows, weights, sought)

    real = pruning.weights_at
    monkeypatch.setattr(pruning, "weights_at", weights_at)
    rows = contenders(given, np.arange(4), mask=None, limit=50)
    assert looked_up, "the common word's postings were added up"
    assert looked_up[-1][0] > 40_000 and looked_up[-1][1] < 500
    assert 50 <= len(rows) < 100


def test_fewer_rows_than_asked_for_are_all_of_them() -> None:
    given = postings([{3: 1.0}, {3: 2.0, 7: 1.0}], chunks=10)
    assert contenders(given, np.arange(2), mask=None, limit=50).tolist() == [3, 7]
    assert contenders(given, np.arange(2), mask=np.arange(10) > 3, limit=50).tolist() == [7]
