"""The vector leg: which chunks are nearest to a query, exactly under a mask or by HNSW, and their cosines."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.rank import Rows, Scores, comparable, top
from rag_pipeline.retrieval.scope import Mask

GATHER_SHARE = 0.25
"""Below this share of unmasked rows they are gathered first; above it the whole product is faster."""


def nearest(
    index: Index,
    vector: NDArray[np.float32],
    *,
    mask: Mask,
    limit: int,
    search: Literal["auto", "exact", "hnsw"],
    exact_limit: int,
) -> tuple[Rows, tuple[str, ...]]:
    """Rows of the `limit` nearest chunks in the mask, nearest first, and markers.

    HNSW knows no mask (it would filter its own few results afterwards), so a masked search is exact whatever is asked.
    Raises InvalidSettings where HNSW is asked for and the build has none.
    """
    if mask is not None:
        return _exact(index, vector, mask, limit), (("search=exact",) if search == "hnsw" else ())
    if search == "hnsw" or (search == "auto" and index.has_hnsw and index.chunks > exact_limit):
        rows = np.array(index.nearest(vector, limit=limit), np.int64)
        return top(cosines(index, vector, rows), rows, limit), ()
    return _exact(index, vector, None, limit), ()


def cosines(index: Index, vector: NDArray[np.float32], rows: Rows) -> Scores:
    """Of the given rows; both sides are of unit length."""
    return comparable(index.vectors[rows] @ vector)


def _exact(index: Index, vector: NDArray[np.float32], mask: Mask, limit: int) -> Rows:
    rows = np.arange(index.chunks) if mask is None else np.flatnonzero(mask)
    if len(rows) < GATHER_SHARE * index.chunks:
        return top(cosines(index, vector, rows), rows, limit)
    scores = comparable(index.vectors @ vector)
    return top(scores if mask is None else scores[rows], rows, limit)
