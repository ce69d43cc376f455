import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.index.open import Index
from rag_pipeline.index.postings import Postings, term_hashes


def small() -> Postings:
    """Terms a, b, c in chunks {0, 1, 2}, {1}, {1, 2} with weights 1, 10, 100."""
    hashes = term_hashes(["a", "b", "c"])
    order = np.argsort(hashes)
    rows = [[[0, 1, 2], [1], [1, 2]][n] for n in order]
    weights = [[[1.0] * 3, [10.0], [100.0] * 2][n] for n in order]
    return Postings(
        term_hash=hashes[order],
        indptr=np.concatenate([[0], np.cumsum([len(r) for r in rows])]),
        rows=np.array([r for some in rows for r in some], np.int32),
        weights=np.array([w for some in weights for w in some], np.float32),
        chunks=3,
    )


def test_scores() -> None:
    postings = small()
    assert postings.scores(postings.term_numbers(["a", "c", "c", "unknown"])).tolist() == [1, 101, 101]
    assert postings.scores(postings.term_numbers(["unknown"])).tolist() == [0, 0, 0]
    assert postings.scores(postings.term_numbers([])).tolist() == [0, 0, 0]


def test_scores_of_some_chunks_are_those_of_all_to_the_bit(pump_index: Index) -> None:
    postings = pump_index.postings
    numbers = np.arange(len(postings.term_hash))
    rows = np.arange(pump_index.chunks)[::-2]
    assert postings.scores_of(numbers, rows).tolist() == postings.scores(numbers)[rows].tolist()
    assert postings.scores_of(numbers, rows[:0]).tolist() == []
    assert postings.scores_of(numbers[:0], rows).tolist() == [0.0] * len(rows)


def test_which_chunks_hold_a_term() -> None:
    postings = small()
    (number,) = postings.term_numbers(["c"])
    assert postings.holds(number, np.array([2, 0, 1])).tolist() == [True, False, True]
    assert postings.holds(number, np.array([], np.int64)).tolist() == []


def test_rarest_terms() -> None:
    postings = small()
    numbers = postings.term_numbers(["a", "b", "c"])
    assert postings.scores(postings.rarest(numbers, limit=2)).tolist() == [0, 110, 100]
    assert postings.rarest(numbers, limit=3) is numbers


def test_a_hash_is_the_same_everywhere() -> None:
    assert term_hashes(["pump"]).tolist() == [0xDE2404A0F0D1F63C]
    assert term_hashes([]).tolist() == []
    assert len(set(term_hashes([str(n) for n in range(10_000)]).tolist())) == 10_000


def test_identifiers_and_their_parts_are_found(pump_index: Index) -> None:
    for query, expected in {
        "create_agent": "agents.md#c0",
        "E-4021": "agents.md#c1",
        "4021": "agents.md#c1",
        "C++": "agents.md#c2",
        "東京": "tokyo.md#c0",
        "cafe\u0301": "tokyo.md#c1",
        "gloves": "pump.md#c2",
    }.items():
        scores = pump_index.postings.scores(pump_index.postings.term_numbers(pump_index.analyzer.tokens(query)))
        assert pump_index.fetch([int(scores.argmax())])[0].chunk_id == expected, query


def test_best_weights_of_ranges_by_hand() -> None:
    """Chunks 0-1 have at best 1 for a, 10 for b and 100 for c; chunk 2 has 1 and 100; an empty range has nothing."""
    postings = small()
    numbers = postings.term_numbers(["a", "b", "c"])
    spans = np.array([[0, 1], [0, 2], [1, 1], [2, 3]])
    assert postings.best_weights(numbers, spans).tolist() == [1, 111, 0, 101]
    assert postings.best_weights(numbers[:0], spans).tolist() == [0, 0, 0, 0]
    assert postings.best_weights(numbers, spans[:0]).tolist() == []


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 11), st.floats(0.125, 9, width=32)), max_size=40))
def test_best_weights_equal_the_plain_definition(entries: list[tuple[int, int, float]]) -> None:
    weight = {(term, row): value for term, row, value in entries}
    lists = [sorted((row, value) for (t, row), value in weight.items() if t == term) for term in range(4)]
    postings = Postings(
        term_hash=np.arange(4, dtype=np.uint64),
        indptr=np.cumsum([0, *(len(some) for some in lists)]),
        rows=np.array([row for some in lists for row, _ in some], np.int32),
        weights=np.array([value for some in lists for _, value in some], np.float32),
        chunks=12,
    )
    spans = [(0, 3), (3, 4), (6, 6), (7, 12)]
    expected = [
        sum(max((weight.get((t, r), 0.0) for r in range(a, b)), default=0.0) for t in range(4)) for a, b in spans
    ]
    assert np.allclose(postings.best_weights(np.arange(4), np.array(spans)), expected)
    assert all(postings.rows_of(term).tolist() == [row for row, _ in some] for term, some in enumerate(lists))
