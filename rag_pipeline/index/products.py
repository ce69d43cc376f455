"""Products of stored vectors with a query, row by row (`vecdot`): a row has the same bits whatever rows are beside it.

Lives here: how the work is cut. Large products are shared out to the cores; rows that are gathered go through a block
that stays in a core's cache, in the order they are stored, which is what makes gathering worth its while.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rag_pipeline.processor import cores

Floats = NDArray[np.float32]

BLOCK = 1024
"""Rows gathered at once; 1.5 MB of 384 dimensions."""
SHARE = 25_000
"""Rows a thread at least, 2 ms of work: below that, starting threads costs what they save."""


def product(data: Floats, query: Floats) -> Floats:
    """(n,) of all rows (n, dimension)."""
    out = np.empty(len(data), np.float32)

    def fill(begin: int, end: int) -> None:
        np.vecdot(data[begin:end], query, out=out[begin:end])

    _shared_out(len(data), fill)
    return out


def product_at(data: Floats, places: NDArray[np.integer], query: Floats) -> Floats:
    """(places,) of the rows at `places`; fastest when they ascend."""
    out = np.empty(len(places), np.float32)

    def fill(begin: int, end: int) -> None:
        for first in range(begin, end, BLOCK):
            last = min(first + BLOCK, end)
            np.vecdot(data[places[first:last]], query, out=out[first:last])

    _shared_out(len(places), fill)
    return out


def _shared_out(count: int, fill: Callable[[int, int], None]) -> None:
    """`fill` parts of 0..count side by side, on as many threads as there are cores and work."""
    threads = min(cores(), count // SHARE)
    if threads < 2:
        fill(0, count)
        return
    borders = [count * part // threads for part in range(threads + 1)]
    # numpy lets go of the interpreter inside a product, so threads do run side by side.
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(fill, *span) for span in pairwise(borders)]:
            done.result()
