"""The vectors of an open build, addressed by row however they lie on disk.

Where there are lists, vectors are stored in their order, and what is asked by row is looked up by position.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.index.lists import Lists
from rag_pipeline.index.products import product, product_at


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
        products = product(self.data, query)
        return products if self.lists is None else products[self.lists.positions]

    def under(
        self, mask: NDArray[np.bool_], query: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(rows, cosines) of the rows in a mask (chunks,), in the order they are stored."""
        places = np.flatnonzero(mask if self.lists is None else mask[self.lists.rows])
        rows = places if self.lists is None else self.lists.rows[places].astype(np.int64)
        return rows, product_at(self.data, places, query)

    def near(
        self, query: NDArray[np.float32], *, probes: int, least: int = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(rows, cosines) of all chunks in the `probes` lists nearest to the query, and in more of them until there are
        `least` rows. Needs lists."""
        assert self.lists is not None
        spans = list(self.lists.near(query, probes=probes, least=least))
        rows = np.concatenate([self.lists.rows[span] for span in spans]).astype(np.int64)
        return rows, np.concatenate([np.vecdot(self.data[span], query) for span in spans])
