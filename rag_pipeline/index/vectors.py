"""The vectors of an open build, addressed by row however they lie on disk.

Where there are lists, vectors are stored in their order, and what is asked by row is looked up by position. Products
with a query are made row by row (`vecdot`): a row has the same bits whatever rows are beside it. They run on the
calling thread alone: memory is what they wait for, and a second thread gains a twentieth.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.lists import Lists

BLOCK = 1024
"""Rows gathered at once: 1.5 MB of 384 dimensions, which stay in a core's cache."""
GATHER_SHARE = 0.15
"""Below this share of rows they are gathered; above it the product with all is faster (200,000 vectors of 384
dimensions: all in 12 ms, gathered in stored order a twentieth in 4, a tenth in 8, a fifth in 15)."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Behaves as the array (chunks, dimension) by row: `vectors[rows]`, `vectors @ query`, `len`."""

    data: NDArray[np.float32]
    """As stored: in the order of the lists where there are some."""
    lists: Lists | None
    probes: int
    """Lists that a search reads unless it is told otherwise; measured when the build was made."""

    @property
    def dimension(self) -> int:
        return int(self.data.shape[1])

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: NDArray[np.integer] | list[int] | slice | int) -> NDArray[np.float32]:
        return np.asarray(self.data[rows if self.lists is None else self.lists.positions[rows]])

    def __matmul__(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine of every row with a query of unit length, (chunks,)."""
        products = np.vecdot(self.data, query)
        return np.asarray(products if self.lists is None else products[self.lists.positions])

    def under(
        self, mask: NDArray[np.bool_], query: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(rows, cosines) of the rows in a mask (chunks,), in the order they are stored."""
        places = np.flatnonzero(mask if self.lists is None else mask[self.lists.rows])
        rows = places if self.lists is None else self.lists.rows[places].astype(np.int64)
        if len(places) >= GATHER_SHARE * len(self.data):
            return rows, np.asarray(np.vecdot(self.data, query)[places])
        cosines = np.empty(len(places), np.float32)
        for first in range(0, len(places), BLOCK):
            block = slice(first, first + BLOCK)
            np.vecdot(self.data[places[block]], query, out=cosines[block])
        return rows, cosines

    def near(
        self, query: NDArray[np.float32], *, probes: int, least: int = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(rows, cosines) of all chunks in the `probes` lists nearest to the query, and in more of them until there are
        `least` rows. Needs lists."""
        assert self.lists is not None
        spans = list(self.lists.near(query, probes=probes, least=least))
        rows = np.concatenate([self.lists.rows[span] for span in spans]).astype(np.int64)
        return rows, np.concatenate([np.vecdot(self.data[span], query) for span in spans])
