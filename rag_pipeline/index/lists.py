"""Inverted lists: rows grouped by their nearest centroid, so that a search reads only the groups near the query.

Distances inside the groups that are read are exact; what is approximate is which groups are. How many have to be read
for a recall@10 of 0.995 is measured on the build itself, and kept with it (IVF as in Jégou et al. 2011, "Product
Quantization for Nearest Neighbor Search", without the quantization). `vectors.npy` then lies in the order of the
groups; `Vectors` reads it by row.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.dense import Floats, OnDisk, batches, open_array
from rag_pipeline.index.files import LISTS

LISTS_A_ROOT = 1.5
"""Lists for n rows: this many times the root of n, so that finding the lists costs about as much as reading them."""
SAMPLED_A_LIST = 64
ITERATIONS = 8
SEED = 0

QUERIES = 200
NEIGHBOURS = 10
NOISE = 0.8
"""Length of what is added to a chunk's vector to make a query of it: cosine about 0.78, as a good answer has."""
RECALL = 0.995
SPARE = 1.5
"""Lists read in proportion to those the made-up queries needed: real ones are less like the chunks."""


@dataclass(frozen=True, slots=True)
class Lists:
    centroids: Floats
    """(lists, dimension)."""
    indptr: NDArray[np.int64]
    """(lists + 1,): list i is the positions `indptr[i]:indptr[i + 1]` of vectors.npy."""
    rows: NDArray[np.int32]
    """(chunks,): the row at each position."""
    positions: NDArray[np.int32]
    """(chunks,): the position of each row."""

    def near(self, vector: Floats, *, probes: int, least: int = 0) -> Iterator[slice]:
        """Positions of the `probes` lists nearest to the vector, nearest first, and of more where those hold fewer than
        `least` rows."""
        scores = np.vecdot(self.centroids, vector)
        held = 0
        for place, number in enumerate(np.lexsort((np.arange(len(scores)), -scores))):
            if place >= probes and held >= least:
                return
            span = slice(int(self.indptr[number]), int(self.indptr[number + 1]))
            held += span.stop - span.start
            yield span


def make_lists(vectors: Floats | OnDisk, *, lists: int = 0) -> Lists:
    """Spherical k-means on a sample, then every row to its nearest centroid. `vectors` (n, dimension), unit length.

    `lists` 0: by the number of rows. The seed is fixed.
    """
    count = min(len(vectors), lists or round(LISTS_A_ROOT * math.sqrt(len(vectors))))
    random = np.random.default_rng(SEED)
    chosen = np.sort(random.choice(len(vectors), min(len(vectors), SAMPLED_A_LIST * count), replace=False))
    sample = np.ascontiguousarray(vectors[chosen])
    centroids = sample[np.sort(random.choice(len(sample), count, replace=False))].copy()
    for _ in range(ITERATIONS):
        nearest = _nearest(sample, centroids)
        order = np.argsort(nearest, kind="stable")
        present, starts = np.unique(nearest[order], return_index=True)
        sums = np.add.reduceat(sample[order], starts, axis=0)
        centroids[present] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    nearest = _nearest(vectors, centroids)
    rows = np.argsort(nearest, kind="stable").astype(np.int32)
    positions = np.empty(len(rows), np.int32)
    positions[rows] = np.arange(len(rows), dtype=np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(nearest, minlength=count))]).astype(np.int64)
    return Lists(np.asarray(centroids, np.float32), indptr, rows, positions)


def probes_needed(vectors: Floats | OnDisk, lists: Lists, *, recall: float = RECALL) -> int:
    """How many lists a search has to read for this recall@10, `SPARE` included. `vectors` by row."""
    random = np.random.default_rng(SEED)
    count = min(QUERIES, len(vectors))
    picked = np.sort(random.choice(len(vectors), count, replace=False))
    noise = random.standard_normal((count, vectors.shape[1])) * NOISE / math.sqrt(vectors.shape[1])
    queries = np.asarray(vectors[picked] + noise, np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    best = _exact(vectors, queries, min(NEIGHBOURS, len(vectors)))
    list_of = np.searchsorted(lists.indptr, lists.positions[best], side="right") - 1
    order = np.argsort(-(queries @ lists.centroids.T), axis=1, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(order.shape[1])[None, :], axis=1)
    needed = np.sort(np.take_along_axis(place, list_of, axis=1).ravel())
    enough = int(needed[min(len(needed) - 1, math.ceil(recall * len(needed)) - 1)]) + 1
    return min(len(lists.centroids), math.ceil(SPARE * enough))


def write_lists(folder: Path, lists: Lists) -> None:
    (folder / LISTS).mkdir()
    for name in ("centroids", "indptr", "rows", "positions"):
        np.save(folder / LISTS / f"{name}.npy", getattr(lists, name))


def open_lists(folder: Path) -> Lists | None:
    """None where the build has none. Raises OSError, ValueError."""
    if not (folder / LISTS).is_dir():
        return None
    return Lists(**{n: open_array(folder / LISTS / f"{n}.npy") for n in ("centroids", "indptr", "rows", "positions")})


def _nearest(vectors: Floats | OnDisk, centroids: Floats) -> NDArray[np.int64]:
    return np.concatenate([(block @ centroids.T).argmax(axis=1) for _, block in batches(vectors)])


def _exact(vectors: Floats | OnDisk, queries: Floats, limit: int) -> NDArray[np.int64]:
    """(queries, limit) rows of the nearest vectors, in no order; a batch of rows at a time."""
    rows = np.zeros((len(queries), 0), np.int64)
    scores = np.zeros((len(queries), 0), np.float32)
    for first, block in batches(vectors):
        found = queries @ block.T
        numbers = np.broadcast_to(np.arange(first, first + len(block)), found.shape)
        scores, rows = np.hstack([scores, found]), np.hstack([rows, numbers])
        if scores.shape[1] > limit:
            keep = np.argpartition(-scores, limit - 1, axis=1)[:, :limit]
            scores, rows = np.take_along_axis(scores, keep, axis=1), np.take_along_axis(rows, keep, axis=1)
    return rows
