from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_pipeline.index.term_counts import TermCounts


def test_by_hand(tmp_path: Path) -> None:
    with TermCounts(tmp_path) as counts:
        counts.add([["b", "a", "b"], []])
        counts.add([["c", "b"]])
        assert counts.terms == ["b", "a", "c"]
        assert counts.lengths.tolist() == [3, 0, 2]
        assert counts.frequencies().tolist() == [2, 1, 1]
        for _ in range(2):  # read as often as one likes
            assert [batch.tolist() for batch in counts.batches()] == [
                [[0, 1], [0, 0], [2, 1]],
                [[0, 2], [2, 2], [1, 1]],
            ]
    assert list(tmp_path.iterdir()) == []


def test_nothing_was_added(tmp_path: Path) -> None:
    with TermCounts(tmp_path) as counts:
        assert (counts.terms, counts.lengths.tolist(), counts.frequencies().tolist()) == ([], [], [])
        assert list(counts.batches()) == []


@given(st.lists(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=4), max_size=4))
def test_what_was_counted_is_what_was_added(batches: list[list[list[str]]]) -> None:
    expected = {
        (term, row): times
        for row, tokens in enumerate(tokens for batch in batches for tokens in batch)
        for term, times in Counter(tokens).items()
    }
    with TemporaryDirectory() as folder, TermCounts(Path(folder)) as counts:
        for batch in batches:
            counts.add(batch)
        found = {
            (counts.terms[term], int(row)): int(times)
            for array in counts.batches()
            for term, row, times in array.T.tolist()
        }
        held = Counter(term for term, _ in expected)
        assert counts.frequencies().tolist() == [held[term] for term in counts.terms]
        for array in counts.batches():
            order = np.lexsort((array[1], array[0]))
            assert order.tolist() == list(range(array.shape[1]))
    assert found == expected
