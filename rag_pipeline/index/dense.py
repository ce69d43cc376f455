"""vectors.npy of a build: the given vectors in the build's row order, refused where one can't be searched.

Every read and write of a batch maps the file anew: a mapping's pages count as the process's memory until it goes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
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
        # As a plain array: numpy's own class for mapped ones takes microseconds longer for every slice.
        array: NDArray[Any] = np.load(path, mmap_mode="r").view(np.ndarray)
    except ValueError:
        array = np.load(path)
        if array.size:
            raise
    return array


@dataclass(frozen=True, slots=True)
class OnDisk:
    """Vectors (n, dimension) of an `.npy` file, read as an array is: `vectors[rows]`, `len`. Raises like open_array."""

    path: Path

    @property
    def shape(self) -> tuple[int, ...]:
        return open_array(self.path).shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: NDArray[np.integer] | slice) -> Floats:
        return np.asarray(open_array(self.path)[rows])


def batches(vectors: Floats | OnDisk) -> Iterator[tuple[int, Floats]]:
    """(first row, rows) of consecutive runs of BATCH rows."""
    for first in range(0, len(vectors), BATCH):
        yield first, vectors[first : first + BATCH]


def given_vectors(folder: Path, *, dimension: int, model: str) -> tuple[OnDisk, NDArray[np.int64]]:
    """`vectors.npy` (n, dimension) and `rows.npy` (n) of an embedding stage.

    Raises InvalidSource where the two don't fit together, IncompatibleBuild where the model has another dimension.
    """
    try:
        vectors = OnDisk(folder / VECTORS)
        shape = vectors.shape
        rows: NDArray[np.int64] = np.load(folder / "rows.npy")
    except (OSError, ValueError) as error:
        raise InvalidSource(f"{folder}: no readable vectors ({error}); run the embedding step again") from error
    if len(shape) != 2 or shape[0] != len(rows):
        raise InvalidSource(f"{folder}: {shape} vectors for {len(rows)} rows; run the embedding step again")
    if shape[1] != dimension:
        raise IncompatibleBuild(
            f"{folder}: vectors of dimension {shape[1]}, but {model} has {dimension}; embed again with {model}"
        )
    return vectors, rows


def write_vectors(path: Path, vectors: OnDisk, order: NDArray[np.integer]) -> None:
    """Write `vectors[order]` as float32. Raises InvalidSource for one that can't be searched, OSError (disk full)."""
    shape = (len(order), vectors.shape[1])
    if not len(order):
        np.save(path, np.zeros(shape, np.float32))
        return
    new_array(path, dtype=np.float32, shape=shape)
    for first in range(0, len(order), BATCH):
        batch = np.asarray(vectors[order[first : first + BATCH]], np.float32)
        if (bad := unsearchable(batch)).any():
            raise InvalidSource(
                f"{int(bad.sum())} vectors hold NaN, are zero or not of unit length, the first in row"
                f" {first + int(bad.argmax())}; remove them from the embedding cache and embed again"
            )
        np.load(path, mmap_mode="r+")[first : first + len(batch)] = batch


def unsearchable(vectors: Floats) -> NDArray[np.bool_]:
    """Per row: NaN, infinite, zero or not of unit length. NaN fails every distance query; zero is near everything."""
    lengths = np.linalg.norm(vectors, axis=1)
    return np.asarray(~(np.abs(lengths - 1) < UNIT_TOLERANCE), np.bool_)
