"""vectors.npy of a build: the given vectors in the build's row order, refused where one can't be searched."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.arrays import new_array
from rag_pipeline.errors import IncompatibleBuild, InvalidSource
from rag_pipeline.index.files import VECTORS

BATCH = 8192
UNIT_TOLERANCE = 1e-3

Floats = NDArray[np.float32]


def open_array(path: Path) -> NDArray[Any]:
    """Memory-mapped, read-only; an empty array can't be mapped and is read. Raises OSError, ValueError."""
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r")
    except ValueError:
        array = np.load(path)
        if array.size:
            raise
    return array


def given_vectors(folder: Path, *, dimension: int, model: str) -> tuple[Floats, NDArray[np.int64]]:
    """`vectors.npy` (n, dimension) and `rows.npy` (n) of an embedding stage.

    Raises InvalidSource where the two don't fit together, IncompatibleBuild where the model has another dimension.
    """
    try:
        vectors = open_array(folder / VECTORS)
        rows: NDArray[np.int64] = np.load(folder / "rows.npy")
    except (OSError, ValueError) as error:
        raise InvalidSource(f"{folder}: no readable vectors ({error}); run the embedding step again") from error
    if vectors.ndim != 2 or len(vectors) != len(rows):
        raise InvalidSource(f"{folder}: {vectors.shape} vectors for {len(rows)} rows; run the embedding step again")
    if vectors.shape[1] != dimension:
        raise IncompatibleBuild(
            f"{folder}: vectors of dimension {vectors.shape[1]}, but {model} has {dimension}; embed again with {model}"
        )
    return vectors, rows


def write_vectors(path: Path, vectors: Floats, order: NDArray[np.int64]) -> Iterator[tuple[int, Floats]]:
    """Write `vectors[order]` as float32, yielding (first row, batch) of every batch written. Raises InvalidSource."""
    if not len(order):
        np.save(path, np.zeros((0, vectors.shape[1]), np.float32))
        return
    out = new_array(path, dtype=np.float32, shape=(len(order), vectors.shape[1]))
    for first in range(0, len(order), BATCH):
        batch = np.ascontiguousarray(vectors[order[first : first + BATCH]], np.float32)
        if (bad := unsearchable(batch)).any():
            raise InvalidSource(
                f"{int(bad.sum())} vectors hold NaN, are zero or not of unit length, the first in row"
                f" {first + int(bad.argmax())}; remove them from the embedding cache and embed again"
            )
        out[first : first + len(batch)] = batch
        yield first, batch
    out.flush()


def unsearchable(vectors: Floats) -> NDArray[np.bool_]:
    """Per row: NaN, infinite, zero or not of unit length. NaN fails every distance query; zero is near everything."""
    lengths = np.linalg.norm(vectors, axis=1)
    return np.asarray(~(np.abs(lengths - 1) < UNIT_TOLERANCE), np.bool_)
