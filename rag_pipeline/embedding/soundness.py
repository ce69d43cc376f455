"""When a vector may be stored and searched. Pure."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.embedding.base import Vectors

UNIT_TOLERANCE = 1e-3
"""float32 rounding stays far below; a vector that was never normalised doesn't."""


@dataclass(frozen=True, slots=True)
class Rejection:
    position: int
    """Row in what was offered."""
    rule: str
    """"nan_vector", "zero_vector", "wrong_dimension" or "not_unit_length"."""
    detail: str


def unsound(vectors: Vectors) -> NDArray[np.bool_]:
    """Rows that are not finite or not of unit length."""
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    sound: NDArray[np.bool_] = np.abs(norms - 1) <= UNIT_TOLERANCE  # NaN compares false
    return ~sound


def rejections(vectors: Vectors, dimension: int) -> tuple[Rejection, ...]:
    """The rows of `vectors` that a model of that dimension can't have meant."""
    if vectors.ndim != 2 or vectors.shape[1] != dimension:
        detail = f"shape {vectors.shape[1:]}, expected ({dimension},)"
        return tuple(Rejection(i, "wrong_dimension", detail) for i in range(len(vectors)))
    return tuple(_reason(int(i), vectors[i]) for i in np.flatnonzero(unsound(vectors)))


def _reason(position: int, vector: NDArray[np.float32]) -> Rejection:
    bad = int((~np.isfinite(vector)).sum())
    if bad:
        return Rejection(position, "nan_vector", f"{bad} of {len(vector)} numbers are not finite")
    norm = float(np.linalg.norm(vector.astype(np.float64)))
    if norm == 0:
        return Rejection(position, "zero_vector", "every number is zero")
    return Rejection(position, "not_unit_length", f"length {norm:.6g}")
