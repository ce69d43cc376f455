import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pipeline.index import vectors as module
from rag_pipeline.index.lists import Lists
from rag_pipeline.index.vectors import Vectors


def stored(by_row: np.ndarray, order: np.ndarray) -> Vectors:
    """One list, in this order of rows."""
    lists = Lists(by_row[:1], np.array([0, len(order)], np.int64), order, np.argsort(order).astype(np.int32))
    return Vectors(by_row[order], lists, probes=1)


def test_by_hand() -> None:
    data = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    query = np.array([0.8, 0.6], np.float32)
    mask = np.array([True, False, True])
    for vectors, expected in (
        (Vectors(data, None, probes=0), {0: 0.8, 2: 0.96}),
        (stored(data, np.array([2, 0, 1], np.int32)), {0: 0.8, 2: 0.96}),
    ):
        rows, cosines = vectors.under(mask, query)
        assert dict(zip(rows.tolist(), cosines.tolist(), strict=True)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("share", [0.0, 2.0])
@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 50])
def test_every_row_has_the_bits_it_has_alone(
    monkeypatch: pytest.MonkeyPatch, count: int, share: float, threads: int
) -> None:
    """Gathered in blocks (share 2) or taken from the product with all (share 0), by one thread or several."""
    monkeypatch.setattr(module, "cores", lambda: threads)
    monkeypatch.setattr(module, "THREAD_ROWS", 2)
    monkeypatch.setattr(module, "BLOCK", 4)
    monkeypatch.setattr(module, "GATHER_SHARE", share)
    data = np.random.default_rng(0).standard_normal((count, 384)).astype(np.float32)
    query = np.random.default_rng(1).standard_normal(384).astype(np.float32)
    alone = np.array([np.vecdot(row, query) for row in data], np.float32)
    order = np.random.default_rng(2).permutation(count).astype(np.int32)
    for vectors in (Vectors(data, None, probes=0), stored(data, order)):
        np.testing.assert_array_equal(vectors @ query, alone)
        rows, cosines = vectors.under(np.ones(count, np.bool_), query)
        assert sorted(rows.tolist()) == list(range(count))
        np.testing.assert_array_equal(cosines, alone[rows])


@settings(max_examples=50)
@given(st.data())
def test_under_a_mask_rows_have_the_cosines_they_have_without(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 30))
    by_row = np.random.default_rng(count).standard_normal((count, 8)).astype(np.float32)
    order = np.array(data.draw(st.permutations(range(count))), np.int32)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)
    query = by_row[0]
    for vectors in (stored(by_row, order), Vectors(by_row, None, probes=0)):
        rows, cosines = vectors.under(mask, query)
        assert sorted(rows.tolist()) == np.flatnonzero(mask).tolist()
        np.testing.assert_array_equal(cosines, (vectors @ query)[rows])


@pytest.mark.parametrize("failing", [0, 3, 9])
def test_a_fault_in_any_part_is_raised(monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
    monkeypatch.setattr(module, "cores", lambda: 3)
    monkeypatch.setattr(module, "THREAD_ROWS", 2)
    seen: list[int] = []

    def work(part: slice) -> None:
        seen.extend(range(part.start, part.stop))
        if part.start <= failing < part.stop:
            raise MemoryError

    with pytest.raises(MemoryError):
        module._shared_out(10, work)
    assert sorted(seen) == list(range(10)) and len(set(seen)) == 10
