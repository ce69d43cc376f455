"""The vectors of an open build, addressed by row however they lie on disk.

Where there are lists, vectors are stored in their order, and what is asked by row is looked up by position. Products
with a query are made row by row (`vecdot`): a row has the same bits whatever rows are beside it, so they can be shared
out over threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.lists import Lists
from rag_pipeline.processor import cores

BLOCK = 1024
"""Rows gathered at once: 1.5 MB of 384 dimensions, which stay in a core's cache."""
GATHER_SHARE = 0.25
"""Below this share of rows they are gathered; above it the product with all is faster. 200,000 vectors of 384
dimensions took 12 ms on one machine, where a tenth gathered in stored order took 8 and a fifth 15, and 21 ms on
another, where a tenth took 3, a quarter 9 and a half 23: the share is between the two."""
THREAD_ROWS = 16_384
"""Rows that are worth a thread, which costs 0.1 ms to start. A second one halves the time where a core can't use all of
the memory's bandwidth, and gains a twentieth where it can."""


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
        products = self._all(query)
        return np.asarray(products if self.lists is None else products[self.lists.positions])

    def under(
        self, mask: NDArray[np.bool_], query: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(rows, cosines) of the rows in a mask (chunks,), in the order they are stored."""
        places = np.flatnonzero(mask if self.lists is None else mask[self.lists.rows])
        rows = places if self.lists is None else self.lists.rows[places].astype(np.int64)
        if len(places) >= GATHER_SHARE * len(self.data):
            return rows, self._all(query)[places]
        cosines = np.empty(len(places), np.float32)

        def gather(part: slice) -> None:
            for first in range(part.start, part.stop, BLOCK):
                block = slice(first, min(first + BLOCK, part.stop))
                np.vecdot(self.data[places[block]], query, out=cosines[block])

        _shared_out(len(places), gather)
        return rows, cosines

    def _all(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosines as stored."""
        cosines = np.empty(len(self.data), np.float32)
        _shared_out(len(cosines), lambda part: np.vecdot(self.data[part], query, out=cosines[part]))
        return cosines

    def near(
        self, query: NDArray[np.float32], *, probes: int, least: int = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(rows, cosines) of all chunks in the `probes` lists nearest to the query, and in more of them until there are
        `least` rows. Needs lists."""
        assert self.lists is not None
        spans = list(self.lists.near(query, probes=probes, least=least))
        rows = np.concatenate([self.lists.rows[span] for span in spans]).astype(np.int64)
        return rows, np.concatenate([np.vecdot(self.data[span], query) for span in spans])


def _shared_out(rows: int, work: Callable[[slice], object]) -> None:
    """`work` on equal parts of the rows, one for each core but none smaller than THREAD_ROWS; raises what it raises."""
    parts = max(1, min(cores(), rows // THREAD_ROWS))
    ends = [rows * n // parts for n in range(parts + 1)]
    slices = [slice(first, end) for first, end in pairwise(ends)]
    if parts == 1:
        work(slices[0])
        return
    with ThreadPoolExecutor(parts - 1) as threads:
        others = [threads.submit(work, part) for part in slices[1:]]
        work(slices[0])
        for other in others:
            other.result()
