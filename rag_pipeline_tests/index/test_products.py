import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pipeline.index import products
from rag_pipeline.index.lists import Lists
from rag_pipeline.index.products import product, product_at
from rag_pipeline.index.vectors import Vectors


@pytest.fixture
def many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small products are shared out, and gathered in small blocks."""
    monkeypatch.setattr(products, "cores", lambda: 3)
    monkeypatch.setattr(products, "SHARE", 5)
    monkeypatch.setattr(products, "BLOCK", 4)


def test_by_hand() -> None:
    data = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    query = np.array([0.8, 0.6], np.float32)
    np.testing.assert_allclose(product(data, query), [0.8, 0.6, 0.96], rtol=1e-6)
    np.testing.assert_allclose(product_at(data, np.array([2, 0]), query), [0.96, 0.8], rtol=1e-6)


@pytest.mark.usefixtures("many_cores")
@pytest.mark.parametrize("count", [0, 1, 4, 9, 10, 14, 15, 16, 50])
def test_every_row_has_the_bits_it_has_alone(count: int) -> None:
    data = np.random.default_rng(0).standard_normal((count, 384)).astype(np.float32)
    query = np.random.default_rng(1).standard_normal(384).astype(np.float32)
    alone = np.array([np.vecdot(row, query) for row in data], np.float32)
    np.testing.assert_array_equal(product(data, query), alone)
    places = np.random.default_rng(2).permutation(count)
    np.testing.assert_array_equal(product_at(data, places, query), alone[places])


def test_an_error_in_a_part_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "SHARE", 1)
    monkeypatch.setattr(products, "cores", lambda: 2)
    with pytest.raises(IndexError):
        product_at(np.zeros((2, 3), np.float32), np.array([0, 1, 2, 9]), np.zeros(3, np.float32))


@settings(max_examples=50)
@given(st.data())
def test_under_a_mask_rows_have_the_cosines_they_have_without(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 30))
    by_row = np.random.default_rng(count).standard_normal((count, 8)).astype(np.float32)
    order = np.array(data.draw(st.permutations(range(count))), np.int32)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)
    lists = Lists(by_row[:1], np.array([0, count], np.int64), order, np.argsort(order).astype(np.int32))
    query = by_row[0]
    for vectors in (Vectors(by_row[order], lists, probes=1), Vectors(by_row, None, probes=0)):
        rows, cosines = vectors.under(mask, query)
        assert sorted(rows.tolist()) == np.flatnonzero(mask).tolist()
        np.testing.assert_array_equal(cosines, (vectors @ query)[rows])
        np.testing.assert_array_equal(cosines, np.vecdot(by_row[rows], query))
