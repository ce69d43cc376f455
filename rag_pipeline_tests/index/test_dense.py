from pathlib import Path

import numpy as np
import pytest

from rag_pipeline.errors import InvalidSource
from rag_pipeline.index import dense
from rag_pipeline.index.dense import OnDisk, batches, open_array, write_vectors


@pytest.fixture
def given(tmp_path: Path) -> OnDisk:
    vectors = np.random.default_rng(0).normal(size=(7, 4))
    np.save(tmp_path / "given.npy", vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    return OnDisk(tmp_path / "given.npy")


def test_an_array_on_disk_is_read_as_one_in_memory(given: OnDisk) -> None:
    array = np.load(given.path)
    assert (len(given), given.shape) == (7, (7, 4))
    assert np.array_equal(given[2:5], array[2:5])
    assert np.array_equal(given[np.array([6, 0, 6])], array[[6, 0, 6]])


def test_batches_cover_every_row_once(given: OnDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "BATCH", 3)
    array = np.load(given.path)
    for vectors in (given, array):
        found = list(batches(vectors))
        assert [first for first, _ in found] == [0, 3, 6]
        assert np.array_equal(np.concatenate([block for _, block in found]), array)


def test_vectors_are_written_in_the_order_asked_for(
    given: OnDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "BATCH", 3)
    order = np.array([3, 1, 6, 0, 2])
    write_vectors(tmp_path / "out.npy", given, order)
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == np.float32
    assert np.array_equal(out, np.load(given.path)[order].astype(np.float32))
    write_vectors(tmp_path / "none.npy", given, order[:0])
    assert open_array(tmp_path / "none.npy").shape == (0, 4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0, 1.1])
def test_the_first_vector_that_cannot_be_searched_is_named(
    given: OnDisk, tmp_path: Path, bad: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "BATCH", 3)
    array = np.load(given.path)
    array[5] *= bad
    np.save(given.path, array)
    with pytest.raises(InvalidSource, match=r"1 vectors hold NaN.*first in row 4"):
        write_vectors(tmp_path / "out.npy", given, np.array([0, 1, 2, 3, 5]))
