"""The vector leg: which chunks are nearest to a query, exactly under a mask or by HNSW, and their cosines."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.open import Index
from rag_pipeline.retrieval.rank import Rows, Scores, comparable, nearly_top, top
from rag_pipeline.retrieval.scope import Mask


def nearest(
    index: Index,
    vector: NDArray[np.float32],
    *,
    mask: Mask,
    limit: int,
    search: Literal["auto", "exact", "lists", "hnsw"],
    exact_limit: int,
    probes: int = 0,
) -> tuple[Rows, tuple[str, ...]]:
    """Rows of the `limit` nearest chunks in the mask, nearest first, and markers.

    An approximate search knows no mask (it would filter its own few results afterwards), so a masked one is exact
    whatever is asked. `probes` 0: as many lists as the build was measured to need. Raises InvalidSettings where HNSW is
    asked for and the build has none; without lists, which a small build has no use for, the search is exact.
    """
    if mask is not None:
        return _exact(index, vector, mask, limit), (("search=exact",) if search in ("hnsw", "lists") else ())
    if search == "hnsw":
        rows = np.array(index.nearest(vector, limit=limit), np.int64)
        return top(cosines(index, vector, rows), rows, limit), ()
    if index.has_lists and (search == "lists" or (search == "auto" and index.chunks > exact_limit)):
        return _by_lists(index, vector, limit, probes=probes or index.vectors.probes), ()
    return _exact(index, vector, None, limit), (("search=exact",) if search == "lists" else ())


def cosines(index: Index, vector: NDArray[np.float32], rows: Rows) -> Scores:
    """Of the given rows; both sides are of unit length."""
    return comparable(np.vecdot(index.vectors[rows], vector))


def _by_lists(index: Index, vector: NDArray[np.float32], limit: int, *, probes: int) -> Rows:
    rows, scores = index.vectors.near(vector, probes=probes, least=limit)
    return top(comparable(scores), rows, limit)


def _exact(index: Index, vector: NDArray[np.float32], mask: Mask, limit: int) -> Rows:
    if mask is None:
        raw = index.vectors @ vector
        near = nearly_top(raw, limit)
        return top(comparable(raw[near]), near, limit)
    rows, raw = index.vectors.under(mask, vector)
    near = nearly_top(raw, limit)
    return top(comparable(raw[near]), rows[near], limit)
